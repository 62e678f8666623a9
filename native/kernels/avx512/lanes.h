// Sixteen floats in one AVX-512 register, and what the shared kernels in lanes/ do with them.
#pragma once

#include "kernels/avx512/vector.h"

namespace mxbench::avx512 {

struct Lanes {
  using Floats = __m512;

  // Query rows that share loads of keys, and KV blocks scored at once: sixteen sums in flight.
  static constexpr int kScoreRows = 8;
  static constexpr int ScoreBlocks(int rows) { return rows <= 4 ? 4 : 2; }
  static constexpr int kBlocksFetchedEarly = 3;
  // Query rows that share loads of values, and vectors of dimensions summed at once.
  static constexpr int kValueRows = 4;
  static constexpr int ValueColumns(int) { return 4; }

  MXBENCH_INLINE static Floats Zero() { return _mm512_setzero_ps(); }
  MXBENCH_INLINE static Floats Broadcast(float value) { return _mm512_set1_ps(value); }
  MXBENCH_INLINE static Floats Load(const float* x) { return _mm512_loadu_ps(x); }
  MXBENCH_INLINE static void Store(float* x, Floats value) { _mm512_storeu_ps(x, value); }
  // The first `count` (or 16) lanes; the others are 0 or stay as they are in memory.
  MXBENCH_INLINE static Floats LoadFirst(const float* x, int count) {
    return _mm512_maskz_loadu_ps(LanesBelow(count), x);
  }
  MXBENCH_INLINE static void StoreFirst(float* x, Floats value, int count) {
    _mm512_mask_storeu_ps(x, LanesBelow(count), value);
  }
  MXBENCH_INLINE static Floats Add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  MXBENCH_INLINE static Floats Subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  MXBENCH_INLINE static Floats Multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  MXBENCH_INLINE static Floats Divide(Floats a, Floats b) { return _mm512_div_ps(a, b); }
  MXBENCH_INLINE static Floats MultiplyAdd(Floats a, Floats b, Floats c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  MXBENCH_INLINE static Floats Max(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  MXBENCH_INLINE static Floats Min(Floats a, Floats b) { return _mm512_min_ps(a, b); }
  MXBENCH_INLINE static Floats Round(Floats x) { return _mm512_roundscale_ps(x, 0); }
  MXBENCH_INLINE static Floats ScaleByPowerOfTwo(Floats x, Floats n) {
    return _mm512_scalef_ps(x, n);
  }
  // Lanes begin <= i < end keep their value, the others get `fill`.
  MXBENCH_INLINE static Floats KeepRange(Floats x, int begin, int end, float fill) {
    const auto keep = static_cast<__mmask16>(LanesBelow(end) & ~LanesBelow(begin));
    return _mm512_mask_mov_ps(_mm512_set1_ps(fill), keep, x);
  }
  MXBENCH_INLINE static float First(Floats x) { return _mm512_cvtss_f32(x); }
  MXBENCH_INLINE static float ReduceAdd(Floats x) { return _mm512_reduce_add_ps(x); }
  MXBENCH_INLINE static float ReduceMax(Floats x) { return _mm512_reduce_max_ps(x); }
  MXBENCH_INLINE static float SquareRoot(float x) {
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
  }
};

}  // namespace mxbench::avx512
