// Chooses the instruction set from what the CPU and the operating system support.
#include "kernels/isa_tables.h"

#if MXBENCH_X86
#include <xmmintrin.h>
#endif

namespace mxbench {

bool IsaAvailable(Isa isa) {
#if MXBENCH_X86
  // The compiler's run-time check also asks XGETBV whether the operating system saves the
  // registers.
  if (isa == Isa::kAvx2) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  }
  if (isa == Isa::kAvx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
           __builtin_cpu_supports("avx512bf16") && IsaAvailable(Isa::kAvx2);
  }
#endif
  return isa == Isa::kPortable;
}

Isa BestIsa() {
  if (IsaAvailable(Isa::kAvx512)) return Isa::kAvx512;
  return IsaAvailable(Isa::kAvx2) ? Isa::kAvx2 : Isa::kPortable;
}

const Kernels& KernelsFor(Isa isa) {
#if MXBENCH_X86
  if (isa == Isa::kAvx512) return avx512::Table();
  if (isa == Isa::kAvx2) return avx2::Table();
#endif
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
