// EngineOptions of native/index.ts as plain C++ data.
#pragma once

#include <napi.h>

#include "model/options.h"

namespace mxbench {

// EngineError BAD_ARGUMENT on a name that is not one of the closed sets.
EngineOptions EngineOptionsFrom(const Napi::Object& options);

const char* ActivationName(ActivationFormat format);
const char* KvFormatName(KvFormat format);

}  // namespace mxbench
