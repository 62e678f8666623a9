// Sixteen floats in two AVX registers, and what the shared kernels in lanes/ do with them.
// Everything is inlined: no symbol of this folder may be linked into code that runs without AVX2.
#pragma once

#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/lanes/unroll.h"

namespace mxbench::avx2 {

// Loads without alignment or aliasing assumptions.
template <typename T>
MXBENCH_INLINE T Load(const void* bytes) {
  T value;
  __builtin_memcpy(&value, bytes, sizeof(T));
  return value;
}

// Eight bf16 as floats.
MXBENCH_INLINE __m256 WidenBfloat16(const void* bytes) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(Load<__m128i>(bytes)), 16));
}

// Eight floats as bf16 in the low halves of eight dwords, rounded half to even.
MXBENCH_INLINE __m256i RoundToBfloat16(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
}

struct Floats16 {
  __m256 low, high;
};

struct Lanes {
  using Floats = Floats16;

  // Query rows that share loads of keys, and KV blocks scored at once: eight sums in flight.
  static constexpr int kScoreRows = 4;
  static constexpr int ScoreBlocks(int rows) { return rows == 1 ? 2 : 1; }
  static constexpr int kBlocksFetchedEarly = 16;
  // Query rows that share loads of values, and vectors of dimensions summed at once.
  static constexpr int kValueRows = 4;
  static constexpr int ValueColumns(int rows) { return rows == 1 ? 4 : rows == 2 ? 2 : 1; }

  MXBENCH_INLINE static Floats Zero() { return Broadcast(0); }
  MXBENCH_INLINE static Floats Broadcast(float value) {
    return {_mm256_set1_ps(value), _mm256_set1_ps(value)};
  }
  MXBENCH_INLINE static Floats Load(const float* x) {
    return {_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8)};
  }
  MXBENCH_INLINE static void Store(float* x, Floats value) {
    _mm256_storeu_ps(x, value.low);
    _mm256_storeu_ps(x + 8, value.high);
  }
  // The first `count` (or 16) lanes; the others are 0 or stay as they are in memory.
  MXBENCH_INLINE static Floats LoadFirst(const float* x, int count) {
    if (count >= 16) return Load(x);
    return {_mm256_maskload_ps(x, Below(count)), _mm256_maskload_ps(x + 8, Below(count - 8))};
  }
  MXBENCH_INLINE static void StoreFirst(float* x, Floats value, int count) {
    if (count >= 16) return Store(x, value);
    _mm256_maskstore_ps(x, Below(count), value.low);
    _mm256_maskstore_ps(x + 8, Below(count - 8), value.high);
  }
  MXBENCH_INLINE static Floats Add(Floats a, Floats b) {
    return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)};
  }
  MXBENCH_INLINE static Floats Subtract(Floats a, Floats b) {
    return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)};
  }
  MXBENCH_INLINE static Floats Multiply(Floats a, Floats b) {
    return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)};
  }
  MXBENCH_INLINE static Floats Divide(Floats a, Floats b) {
    return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)};
  }
  MXBENCH_INLINE static Floats MultiplyAdd(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  MXBENCH_INLINE static Floats Max(Floats a, Floats b) {
    return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)};
  }
  MXBENCH_INLINE static Floats Min(Floats a, Floats b) {
    return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)};
  }
  MXBENCH_INLINE static Floats Round(Floats x) {
    return {_mm256_round_ps(x.low, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC),
            _mm256_round_ps(x.high, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  // For whole n in -250..250.
  MXBENCH_INLINE static Floats ScaleByPowerOfTwo(Floats x, Floats n) {
    return {Scale(x.low, n.low), Scale(x.high, n.high)};
  }
  // Lanes begin <= i < end keep their value, the others get `fill`.
  MXBENCH_INLINE static Floats KeepRange(Floats x, int begin, int end, float fill) {
    return {Keep(x.low, begin, end, fill), Keep(x.high, begin - 8, end - 8, fill)};
  }
  MXBENCH_INLINE static float First(Floats x) { return _mm256_cvtss_f32(x.low); }
  MXBENCH_INLINE static float ReduceAdd(Floats x) {
    const __m256 eight = _mm256_add_ps(x.low, x.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  MXBENCH_INLINE static float ReduceMax(Floats x) {
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  MXBENCH_INLINE static float SquareRoot(float x) {
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
  }

  // All ones in the lanes below `count`.
  MXBENCH_INLINE static __m256i Below(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }

 private:
  MXBENCH_INLINE static __m256 Keep(__m256 x, int begin, int end, float fill) {
    const __m256i keep = _mm256_andnot_si256(Below(begin), Below(end));
    return _mm256_blendv_ps(_mm256_set1_ps(fill), x, _mm256_castsi256_ps(keep));
  }
  MXBENCH_INLINE static __m256 PowerOfTwo(__m256i n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }
  // In two steps, since 2^n itself may leave float's range.
  MXBENCH_INLINE static __m256 Scale(__m256 x, __m256 n) {
    const __m256i whole = _mm256_cvtps_epi32(n);
    const __m256i half = _mm256_srai_epi32(whole, 1);
    return _mm256_mul_ps(_mm256_mul_ps(x, PowerOfTwo(half)),
                         PowerOfTwo(_mm256_sub_epi32(whole, half)));
  }
};

}  // namespace mxbench::avx2
