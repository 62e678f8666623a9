// NativeEngine of native/index.ts.
#pragma once

#include <napi.h>

#include <memory>

#include "model/engine.h"

namespace mxbench {

class EngineObject : public Napi::ObjectWrap<EngineObject> {
 public:
  static Napi::Function Define(Napi::Env env);
  explicit EngineObject(const Napi::CallbackInfo& info);

 private:
  Engine& Open(Napi::Env env) const;
  Napi::Value Info(const Napi::CallbackInfo& info);
  void Forward(const Napi::CallbackInfo& info);
  Napi::Value Logits(const Napi::CallbackInfo& info);
  void Sample(const Napi::CallbackInfo& info);
  void Close(const Napi::CallbackInfo& info);

  // Shared with the ArrayBuffer over the logits, which JavaScript may hold on to for longer than
  // this object.
  std::shared_ptr<Engine> engine_;
  Napi::Reference<Napi::ArrayBuffer> logits_;
};

}  // namespace mxbench
