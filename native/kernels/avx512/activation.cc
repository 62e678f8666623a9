// Packing of activations into tiles.
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/vector.h"
#include "kernels/reference/portable.h"

namespace mxbench::avx512 {
namespace {

MXBENCH_INLINE uint8_t* BlockOf(uint8_t* tile, ActivationFormat format, int tokens, int block) {
  return tile + ActivationBlockBytes(format, tokens) * static_cast<size_t>(block);
}

// Float bits of the largest magnitude; a NaN comes out on top.
MXBENCH_INLINE int LargestMagnitude(__m512 low, __m512 high) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  const __m512i largest = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
                                           _mm512_and_si512(_mm512_castps_si512(high), magnitude));
  return _mm512_reduce_max_epi32(largest);
}

}  // namespace

void PackInt8(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile) {
  for (int b = 0; b < blocks; b++, row += kBlock) {
    uint8_t* block = BlockOf(tile, ActivationFormat::kInt8, tokens, b);
    const __m512 low = _mm512_loadu_ps(row);
    const __m512 high = _mm512_loadu_ps(row + 16);
    const int largest = LargestMagnitude(low, high);
    const bool finite = largest < 0x7f800000;
    const bool zero = !finite || largest < static_cast<int>(kSmallestMagnitudeBits);
    const float amax = Load<float>(&largest);
    const __m512 factor = _mm512_set1_ps(127.0f / amax);
    const __mmask16 keep = zero ? 0 : 0xffff;
    const __m512i low_values = _mm512_maskz_cvtps_epi32(keep, _mm512_mul_ps(low, factor));
    const __m512i high_values = _mm512_maskz_cvtps_epi32(keep, _mm512_mul_ps(high, factor));
    __m128i* values = reinterpret_cast<__m128i*>(block + kBlock * m);
    _mm_storeu_si128(values, _mm512_cvtepi32_epi8(low_values));
    _mm_storeu_si128(values + 1, _mm512_cvtepi32_epi8(high_values));
    const float scale = !finite ? __builtin_nanf("") : zero ? 0 : amax / 127.0f;
    const int32_t correction =
        -offset * _mm512_reduce_add_epi32(_mm512_add_epi32(low_values, high_values));
    __builtin_memcpy(block + kBlock * tokens + 4 * m, &scale, 4);
    __builtin_memcpy(block + (kBlock + 4) * tokens + 4 * m, &correction, 4);
  }
}

void PackBfloat16(const float* row, int blocks, int m, int tokens, int, uint8_t* tile) {
  // Within each group of four inputs: 0, 2, 1, 3.
  const __m512i order = _mm512_set_epi16(31, 29, 30, 28, 27, 25, 26, 24, 23, 21, 22, 20, 19, 17, 18,
                                         16, 15, 13, 14, 12, 11, 9, 10, 8, 7, 5, 6, 4, 3, 1, 2, 0);
  for (int b = 0; b < blocks; b++, row += kBlock) {
    uint8_t* values = BlockOf(tile, ActivationFormat::kBfloat16, tokens, b) + 2 * kBlock * m;
    const __m512bh halves = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + 16), _mm512_loadu_ps(row));
    _mm512_storeu_si512(values, _mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(halves)));
  }
}

void PackFloat32(const float* row, int blocks, int m, int tokens, int, uint8_t* tile) {
  for (int b = 0; b < blocks; b++, row += kBlock) {
    uint8_t* values = BlockOf(tile, ActivationFormat::kFloat32, tokens, b) + 4 * kBlock * m;
    _mm512_storeu_ps(values, _mm512_loadu_ps(row));
    _mm512_storeu_ps(values + 64, _mm512_loadu_ps(row + 16));
  }
}

}  // namespace mxbench::avx512
