// Element-wise kernels, and the table of all AVX2 kernels.
#include "kernels/lanes/elementwise.h"

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"
#include "kernels/isa_tables.h"

namespace mxbench::avx2 {
namespace {

// The better of two candidates: a number before NaN, then the larger, then the first.
struct Candidate {
  float value;
  int32_t index;
};

MXBENCH_INLINE Candidate Better(Candidate a, Candidate b) {
  const bool a_number = a.value == a.value;
  const bool b_number = b.value == b.value;
  if (!b_number || (a_number && a.value > b.value)) return a;
  if (!a_number || b.value > a.value) return b;
  return a.index < b.index ? a : b;
}

}  // namespace

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
  __m256 best = _mm256_set1_ps(__builtin_nanf(""));
  __m256i best_index = _mm256_setzero_si256();
  __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  int i = 0;
  for (; i + 8 <= width; i += 8) {
    const __m256 value = _mm256_loadu_ps(x + i);
    const __m256 better = _mm256_and_ps(_mm256_cmp_ps(value, best, _CMP_NLE_UQ),
                                        _mm256_cmp_ps(value, value, _CMP_ORD_Q));
    best = _mm256_blendv_ps(best, value, better);
    best_index = _mm256_blendv_epi8(best_index, index, _mm256_castps_si256(better));
    index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
  }
  float values[8];
  int32_t indices[8];
  _mm256_storeu_ps(values, best);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(indices), best_index);
  Candidate winner = {__builtin_nanf(""), 0};
  for (int lane = 0; lane < 8; lane++) winner = Better(winner, {values[lane], indices[lane]});
  for (; i < width; i++) winner = Better(winner, {x[i], i});
  return winner.index;
}

const Kernels& Table() {
  static constexpr Kernels kTable = {Isa::kAvx2,
                                     "avx2",
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

}  // namespace mxbench::avx2
