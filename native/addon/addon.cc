// The export table of the addon.
#include <napi.h>
#include <pthread.h>
#include <time.h>

#include "addon/border.h"
#include "addon/engine_object.h"

namespace mxbench {
namespace {

Napi::Value AvailableIsas(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (IsaAvailable(isa)) names.Set(names.Length(), KernelsFor(isa).name);
  }
  return names;
}

Napi::Value NameOfBestIsa(const Napi::CallbackInfo& info) {
  return Napi::String::New(info.Env(), KernelsFor(BestIsa()).name);
}

void NameThread(const Napi::CallbackInfo& info) {
  // The kernel keeps 15 bytes and refuses longer names.
  const std::string name = info[0].As<Napi::String>().Utf8Value().substr(0, 15);
  pthread_setname_np(pthread_self(), name.c_str());
}

Napi::Value MonotonicNs(const Napi::CallbackInfo& info) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Napi::Number::New(
      info.Env(), static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec));
}

Napi::Value CreateEngine(const Napi::CallbackInfo& info) {
  return EngineObject::Define(info.Env()).New({info[0]});
}

Napi::Object Initialise(Napi::Env env, Napi::Object exports) {
  exports.Set("availableIsas", Napi::Function::New<AvailableIsas>(env));
  exports.Set("bestIsa", Napi::Function::New<NameOfBestIsa>(env));
  exports.Set("nameThread", Napi::Function::New<NameThread>(env));
  exports.Set("monotonicNs", Napi::Function::New<MonotonicNs>(env));
  exports.Set("createEngine", Napi::Function::New<CreateEngine>(env));
  return exports;
}

}  // namespace
}  // namespace mxbench

namespace {
Napi::Object InitialiseAddon(Napi::Env env, Napi::Object exports) {
  return mxbench::Initialise(env, exports);
}
}  // namespace

NODE_API_MODULE(mxbench, InitialiseAddon)
