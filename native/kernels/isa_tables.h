// The kernel table of each instruction set, for dispatch.cc alone.
#pragma once

#include "kernels/kernels.h"

namespace mxbench {

namespace portable {
const Kernels& Table();
}
#if MXBENCH_X86
namespace avx2 {
const Kernels& Table();
}
namespace avx512 {
const Kernels& Table();
}
#endif

}  // namespace mxbench
