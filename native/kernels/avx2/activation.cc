// Packing of activations into tiles.
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/reference/portable.h"

namespace mxbench::avx2 {
namespace {

MXBENCH_INLINE uint8_t* BlockOf(uint8_t* tile, ActivationFormat format, int tokens, int block) {
  return tile + ActivationBlockBytes(format, tokens) * static_cast<size_t>(block);
}

MXBENCH_INLINE int ReduceMax(__m256i x) {
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

MXBENCH_INLINE int ReduceAdd(__m256i x) {
  __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
  four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

// Float bits of the largest magnitude of a block; a NaN comes out on top.
MXBENCH_INLINE int LargestMagnitude(const __m256* x) {
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  __m256i largest = _mm256_setzero_si256();
  MXBENCH_UNROLL(4)
  for (int i = 0; i < 4; i++) {
    largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(x[i]), magnitude));
  }
  return ReduceMax(largest);
}

// Thirty-two int32 as int8, in order.
MXBENCH_INLINE __m256i NarrowToInt8(const __m256i* values) {
  const __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(values[0], values[1]),
                                           _mm256_packs_epi32(values[2], values[3]));
  return _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

}  // namespace

void PackInt8(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile) {
  for (int b = 0; b < blocks; b++, row += kBlock) {
    uint8_t* block = BlockOf(tile, ActivationFormat::kInt8, tokens, b);
    __m256 x[4];
    MXBENCH_UNROLL(4)
    for (int i = 0; i < 4; i++) x[i] = _mm256_loadu_ps(row + 8 * i);
    const int largest = LargestMagnitude(x);
    const bool finite = largest < 0x7f800000;
    const bool zero = !finite || largest < static_cast<int>(kSmallestMagnitudeBits);
    const float amax = Load<float>(&largest);
    const __m256 factor = _mm256_set1_ps(127.0f / amax);
    const __m256i keep = _mm256_set1_epi32(zero ? 0 : -1);
    __m256i values[4];
    __m256i sum = _mm256_setzero_si256();
    MXBENCH_UNROLL(4)
    for (int i = 0; i < 4; i++) {
      values[i] = _mm256_and_si256(keep, _mm256_cvtps_epi32(_mm256_mul_ps(x[i], factor)));
      sum = _mm256_add_epi32(sum, values[i]);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(block + kBlock * m), NarrowToInt8(values));
    const float scale = !finite ? __builtin_nanf("") : zero ? 0 : amax / 127.0f;
    const int32_t correction = -offset * ReduceAdd(sum);
    __builtin_memcpy(block + kBlock * tokens + 4 * m, &scale, 4);
    __builtin_memcpy(block + (kBlock + 4) * tokens + 4 * m, &correction, 4);
  }
}

void PackBfloat16(const float* row, int blocks, int m, int tokens, int, uint8_t* tile) {
  for (int b = 0; b < blocks; b++) {
    uint8_t* values = BlockOf(tile, ActivationFormat::kBfloat16, tokens, b) + 2 * kBlock * m;
    for (int i = 0; i < 4; i++, row += 8) {
      const __m256i halves = RoundToBfloat16(_mm256_loadu_ps(row));
      // Within each group of four inputs (one half of the register): 0, 2, 1, 3.
      const __m256i ordered = _mm256_shuffle_epi32(halves, 0xd8);
      const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(ordered, ordered), 0x08);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(values + 16 * i), _mm256_castsi256_si128(packed));
    }
  }
}

void PackFloat32(const float* row, int blocks, int m, int tokens, int, uint8_t* tile) {
  for (int b = 0; b < blocks; b++, row += kBlock) {
    uint8_t* values = BlockOf(tile, ActivationFormat::kFloat32, tokens, b) + 4 * kBlock * m;
    __builtin_memcpy(values, row, 4 * kBlock);
  }
}

}  // namespace mxbench::avx2
