// Attention by AVX2: bf16 keys are widened to floats, two dimensions of sixteen keys a step.
#include "kernels/lanes/attend.h"

#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"

namespace mxbench::avx2 {
namespace {

struct Bfloat16Kv {
  // Of sixteen keys: one dimension, and the next.
  struct Keys {
    Floats16 first, second;
  };
  struct Query {
    __m256 first, second;
  };
  static constexpr int kBytes = 2;
  static constexpr int kDimensionsPerStep = 2;
  static constexpr int kDimensionsPerFloat = 1;  // of a prepared query

  // Writes a query row as floats that are rounded to bf16.
  static void PrepareQuery(const float* query, int width, float* prepared) {
    for (int d = 0; d < width; d += 8) {
      const __m256i halves = RoundToBfloat16(_mm256_loadu_ps(query + d));
      _mm256_storeu_ps(prepared + d, _mm256_castsi256_ps(_mm256_slli_epi32(halves, 16)));
    }
  }
  MXBENCH_INLINE static Query LoadQuery(const float* prepared, int step) {
    return {_mm256_set1_ps(prepared[2 * step]), _mm256_set1_ps(prepared[2 * step + 1])};
  }
  MXBENCH_INLINE static Keys LoadKeys(const uint8_t* bytes) {
    const __m256i low = Load<__m256i>(bytes);
    const __m256i high = Load<__m256i>(bytes + 32);
    const __m256i upper = _mm256_set1_epi32(-65536);
    return {{_mm256_castsi256_ps(_mm256_slli_epi32(low, 16)),
             _mm256_castsi256_ps(_mm256_slli_epi32(high, 16))},
            {_mm256_castsi256_ps(_mm256_and_si256(low, upper)),
             _mm256_castsi256_ps(_mm256_and_si256(high, upper))}};
  }
  MXBENCH_INLINE static Floats16 Dot(Floats16 sum, Keys keys, Query query) {
    sum = Lanes::MultiplyAdd(keys.first, {query.first, query.first}, sum);
    return Lanes::MultiplyAdd(keys.second, {query.second, query.second}, sum);
  }
  MXBENCH_INLINE static Floats16 LoadValues(const uint8_t* bytes) {
    return {WidenBfloat16(bytes), WidenBfloat16(bytes + 16)};
  }
};

struct Float32Kv {
  using Keys = Floats16;
  using Query = __m256;
  static constexpr int kBytes = 4;
  static constexpr int kDimensionsPerStep = 1;
  static constexpr int kDimensionsPerFloat = 1;

  static void PrepareQuery(const float* query, int width, float* prepared) {
    __builtin_memcpy(prepared, query, 4 * static_cast<size_t>(width));
  }
  MXBENCH_INLINE static Query LoadQuery(const float* prepared, int step) {
    return _mm256_set1_ps(prepared[step]);
  }
  MXBENCH_INLINE static Keys LoadKeys(const uint8_t* bytes) { return LoadValues(bytes); }
  MXBENCH_INLINE static Floats16 Dot(Floats16 sum, Keys keys, Query query) {
    return Lanes::MultiplyAdd(keys, {query, query}, sum);
  }
  MXBENCH_INLINE static Floats16 LoadValues(const uint8_t* bytes) {
    return {Load<__m256>(bytes), Load<__m256>(bytes + 32)};
  }
};

}  // namespace

void StoreKvBfloat16(const float* key, const float* value, int head_width, int slot,
                     uint8_t* head) {
  uint8_t* values = head + 2 * (kSlots + slot) * head_width;
  for (int d = 0; d < head_width; d += 8) {
    uint32_t keys[8];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys),
                        RoundToBfloat16(_mm256_loadu_ps(key + d)));
    for (int p = 0; p < 4; p++) {
      const uint32_t pair = keys[2 * p] | keys[2 * p + 1] << 16;
      __builtin_memcpy(head + 4 * ((d / 2 + p) * kSlots + slot), &pair, 4);
    }
    const __m256i halves = RoundToBfloat16(_mm256_loadu_ps(value + d));
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(values + 2 * d), _mm256_castsi256_si128(packed));
  }
}

void StoreKvFloat32(const float* key, const float* value, int head_width, int slot, uint8_t* head) {
  for (int d = 0; d < head_width; d++) __builtin_memcpy(head + 4 * (d * kSlots + slot), key + d, 4);
  __builtin_memcpy(head + 4 * (kSlots + slot) * head_width, value,
                   4 * static_cast<size_t>(head_width));
}

void AttendBfloat16(const AttendArgs& args) { lanes::Attend<Lanes, Bfloat16Kv>(args); }
void AttendFloat32(const AttendArgs& args) { lanes::Attend<Lanes, Float32Kv>(args); }

void MergeSpan(int head_width, float span_maximum, float span_sum, const float* span_out,
               float* maximum, float* sum, float* out) {
  lanes::MergeSpan<Lanes>(head_width, span_maximum, span_sum, span_out, maximum, sum, out);
}

}  // namespace mxbench::avx2
