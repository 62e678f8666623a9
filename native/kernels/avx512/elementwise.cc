// Element-wise kernels, and the table of all AVX-512 kernels.
#include "kernels/lanes/elementwise.h"

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"
#include "kernels/isa_tables.h"

namespace mxbench::avx512 {

void RmsNorm(const float* x, const float* weight, int width, float epsilon, float* y) {
  lanes::RmsNorm<Lanes>(x, weight, width, epsilon, y);
}

void Rotate(float* head, const float* cosines, const float* sines, int head_width) {
  lanes::Rotate<Lanes>(head, cosines, sines, head_width);
}

void SiluMultiply(const float* gate, const float* up, int width, float* y) {
  lanes::SiluMultiply<Lanes>(gate, up, width, y);
}

void Add(float* x, const float* y, int width) { lanes::Add<Lanes>(x, y, width); }

int32_t Argmax(const float* x, int width) {
  // Each lane keeps its first largest value; a lane that has seen only NaN (at first: nothing)
  // takes any number.
  __m512 best = _mm512_set1_ps(__builtin_nanf(""));
  __m512i best_index = _mm512_set1_epi32(0x7fffffff);
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int i = 0; i < width; i += 16) {
    const __mmask16 lanes = LanesBelow(width - i);
    const __m512 value = _mm512_maskz_loadu_ps(lanes, x + i);
    const __mmask16 number = _mm512_mask_cmp_ps_mask(lanes, value, value, _CMP_ORD_Q);
    const __mmask16 better = _mm512_mask_cmp_ps_mask(number, value, best, _CMP_NLE_UQ);
    best = _mm512_mask_mov_ps(best, better, value);
    best_index = _mm512_mask_mov_epi32(best_index, better, index);
    index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
  }
  const __mmask16 number = _mm512_cmp_ps_mask(best, best, _CMP_ORD_Q);
  if (number == 0) return 0;
  const __m512 largest = _mm512_set1_ps(_mm512_mask_reduce_max_ps(number, best));
  const __mmask16 winners = _mm512_mask_cmp_ps_mask(number, best, largest, _CMP_EQ_OQ);
  return _mm512_mask_reduce_min_epi32(winners, best_index);
}

const Kernels& Table() {
  static constexpr Kernels kTable = {Isa::kAvx512,
                                     "avx512",
                                     {PackFloat32, PackBfloat16, PackInt8},
                                     {{Mxfp4Float32, Mxfp4Bfloat16, Mxfp4Int8},
                                      {Q8Float32, nullptr, Q8Int8},
                                      {Bfloat16Float32, Bfloat16Bfloat16, nullptr},
                                      {Float32Float32, nullptr, nullptr}},
                                     {StoreKvBfloat16, StoreKvFloat32},
                                     {AttendBfloat16, AttendFloat32},
                                     MergeSpan,
                                     RmsNorm,
                                     Rotate,
                                     SiluMultiply,
                                     Add,
                                     Argmax};
  return kTable;
}

}  // namespace mxbench::avx512
