// Vector pieces that several AVX-512 kernels share. Everything is in this namespace and inlined: no
// symbol of this folder may be linked into code that runs without AVX-512.
#pragma once

#include <immintrin.h>

#include "kernels/kernels.h"
#include "kernels/lanes/unroll.h"

namespace mxbench::avx512 {

// Loads without alignment or aliasing assumptions.
template <typename T>
MXBENCH_INLINE T Load(const void* bytes) {
  T value;
  __builtin_memcpy(&value, bytes, sizeof(T));
  return value;
}

MXBENCH_INLINE __m512 LoadFloats(const void* bytes) {
  return _mm512_loadu_ps(static_cast<const float*>(bytes));
}

// A float, or a pair of bf16, of an activation in all lanes.
MXBENCH_INLINE __m512 BroadcastFloat(const void* bytes) {
  return _mm512_set1_ps(Load<float>(bytes));
}
MXBENCH_INLINE __m512i BroadcastInt(const void* bytes) {
  return _mm512_set1_epi32(Load<int32_t>(bytes));
}

// Sixteen bf16 as floats.
MXBENCH_INLINE __m512 WidenBfloat16(const void* bytes) {
  const __m256i halves = _mm256_loadu_si256(static_cast<const __m256i*>(bytes));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}

// Lanes below `count`, which may be any number.
MXBENCH_INLINE __mmask16 LanesBelow(int count) {
  return static_cast<__mmask16>(count >= 16 ? 0xffff : count <= 0 ? 0 : (1u << count) - 1);
}

}  // namespace mxbench::avx512
