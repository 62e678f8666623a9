// The one exception of the native side: a code that JavaScript callers match, and one sentence.
#pragma once

#include <stdexcept>
#include <string>

namespace mxbench {

class EngineError : public std::runtime_error {
 public:
  // One of NativeErrorCode in native/index.ts.
  EngineError(const char* code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  const char* code() const { return code_; }

 private:
  const char* code_;
};

}  // namespace mxbench
