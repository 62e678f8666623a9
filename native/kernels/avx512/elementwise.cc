// Element-wise kernels, and the table of all AVX-512 kernels.
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/vector.h"
#include "kernels/isa_tables.h"

namespace mxbench::avx512 {

void RmsNorm(const float* x, const float* weight, int width, float epsilon, float* y) {
  __m512 parts[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(),
                     _mm512_setzero_ps()};
  for (int i = 0; i < width; i += 64) {
    MXBENCH_UNROLL(4)
    for (int part = 0; part < 4; part++) {
      const int at = i + 16 * part;
      const __m512 value = _mm512_maskz_loadu_ps(LanesBelow(width - at), x + at);
      parts[part] = _mm512_fmadd_ps(value, value, parts[part]);
    }
  }
  const float sum = _mm512_reduce_add_ps(
      _mm512_add_ps(_mm512_add_ps(parts[0], parts[1]), _mm512_add_ps(parts[2], parts[3])));
  const float mean = sum / static_cast<float>(width) + epsilon;
  const __m512 factor = _mm512_set1_ps(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean))));
  for (int i = 0; i < width; i += 16) {
    const __mmask16 lanes = LanesBelow(width - i);
    const __m512 scaled = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, x + i), factor);
    _mm512_mask_storeu_ps(y + i, lanes,
                          _mm512_mul_ps(scaled, _mm512_maskz_loadu_ps(lanes, weight + i)));
  }
}

void Rotate(float* head, const float* cosines, const float* sines, int head_width) {
  const int half = head_width / 2;
  for (int i = 0; i < half; i += 16) {
    const __mmask16 lanes = LanesBelow(half - i);
    const __m512 first = _mm512_maskz_loadu_ps(lanes, head + i);
    const __m512 second = _mm512_maskz_loadu_ps(lanes, head + half + i);
    const __m512 cosine = _mm512_maskz_loadu_ps(lanes, cosines + i);
    const __m512 sine = _mm512_maskz_loadu_ps(lanes, sines + i);
    _mm512_mask_storeu_ps(head + i, lanes,
                          _mm512_fmsub_ps(first, cosine, _mm512_mul_ps(second, sine)));
    _mm512_mask_storeu_ps(head + half + i, lanes,
                          _mm512_fmadd_ps(second, cosine, _mm512_mul_ps(first, sine)));
  }
}

void SiluMultiply(const float* gate, const float* up, int width, float* y) {
  const __m512 one = _mm512_set1_ps(1.0f);
  for (int i = 0; i < width; i += 16) {
    const __mmask16 lanes = LanesBelow(width - i);
    const __m512 x = _mm512_maskz_loadu_ps(lanes, gate + i);
    const __m512 divisor = _mm512_add_ps(one, Exp(_mm512_sub_ps(_mm512_setzero_ps(), x)));
    const __m512 silu = _mm512_div_ps(x, divisor);
    _mm512_mask_storeu_ps(y + i, lanes, _mm512_mul_ps(silu, _mm512_maskz_loadu_ps(lanes, up + i)));
  }
}

void Add(float* x, const float* y, int width) {
  for (int i = 0; i < width; i += 16) {
    const __mmask16 lanes = LanesBelow(width - i);
    const __m512 sum =
        _mm512_add_ps(_mm512_maskz_loadu_ps(lanes, x + i), _mm512_maskz_loadu_ps(lanes, y + i));
    _mm512_mask_storeu_ps(x + i, lanes, sum);
  }
}

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
