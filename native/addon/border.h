// What the border between JavaScript and C++ has in common: the single guard that turns C++
// exceptions into JavaScript errors with a code, and converters. Types and ranges were checked in
// native/index.ts or are checked by the engine.
#pragma once

#include <napi.h>

#include <exception>
#include <new>
#include <string>

#include "model/engine_error.h"

namespace mxbench {

[[noreturn]] inline void ThrowWithCode(Napi::Env env, const char* code, const std::string& text) {
  Napi::Error error = Napi::Error::New(env, text);
  error.Set("code", Napi::String::New(env, code));
  throw error;
}

// Runs `body`; whatever C++ throws becomes a JavaScript error with one of NativeErrorCode.
template <class Body>
auto Guarded(Napi::Env env, Body&& body) {
  try {
    return body();
  } catch (const Napi::Error&) {
    throw;
  } catch (const EngineError& error) {
    ThrowWithCode(env, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    ThrowWithCode(env, "OUT_OF_MEMORY", "Out of memory.");
  } catch (const std::exception& error) {
    ThrowWithCode(env, "BAD_ARGUMENT", error.what());
  }
}

inline int IntField(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().Int32Value();
}
inline double NumberField(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::Number>().DoubleValue();
}
inline std::string TextField(const Napi::Object& object, const char* name) {
  return object.Get(name).As<Napi::String>().Utf8Value();
}

// The elements of typed array `name`, which must hold at least `count` of them.
template <class Array>
const typename std::remove_reference_t<decltype(std::declval<Array>()[0])>* ArrayField(
    const Napi::Object& object, const char* name, size_t count) {
  const Array array = object.Get(name).As<Array>();
  if (array.ElementLength() < count) {
    throw EngineError("BAD_ARGUMENT",
                      std::string(name) + " holds " + std::to_string(array.ElementLength()) +
                          " entries; the step needs " + std::to_string(count) + ".");
  }
  return const_cast<Array&>(array).Data();
}

}  // namespace mxbench
