// Vector pieces that several AVX-512 kernels share. Everything is in this namespace and inlined: no
// symbol of this folder may be linked into code that runs without AVX-512.
#pragma once

#include <immintrin.h>

#include "kernels/kernels.h"

namespace mxbench::avx512 {

// Unrolls the loop that follows; the count bounds it from above.
#ifdef __clang__
#define MXBENCH_UNROLL(count) _Pragma("clang loop unroll(full)")
#else
#define MXBENCH_UNROLL(count) _Pragma(MXBENCH_TEXT(GCC unroll count))
#define MXBENCH_TEXT(text) #text
#endif

// Loads without alignment or aliasing assumptions.
template <typename T>
[[gnu::always_inline]] inline T Load(const void* bytes) {
  T value;
  __builtin_memcpy(&value, bytes, sizeof(T));
  return value;
}

[[gnu::always_inline]] inline __m512 LoadFloats(const void* bytes) {
  return _mm512_loadu_ps(static_cast<const float*>(bytes));
}

// A float, or a pair of bf16, of an activation in all lanes.
[[gnu::always_inline]] inline __m512 BroadcastFloat(const void* bytes) {
  return _mm512_set1_ps(Load<float>(bytes));
}
[[gnu::always_inline]] inline __m512i BroadcastInt(const void* bytes) {
  return _mm512_set1_epi32(Load<int32_t>(bytes));
}

// Sixteen bf16 as floats.
[[gnu::always_inline]] inline __m512 WidenBfloat16(const void* bytes) {
  const __m256i halves = _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// Lanes below `count`, which may be any number.
[[gnu::always_inline]] inline __mmask16 LanesBelow(int count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

// e^x with a relative error below 2e-7; underflows to 0, overflows to infinity, NaN stays.
[[gnu::always_inline]] inline __m512 Exp(__m512 x) {
  const __m512 clamped =
      _mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-104.0f), x));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(clamped, _mm512_set1_ps(1.44269504f)), 0);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375f), clamped);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4f), r);
  __m512 p = _mm512_set1_ps(1.0f / 5040);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 720));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 120));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 24));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f / 6));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(0.5f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

}  // namespace mxbench::avx512
