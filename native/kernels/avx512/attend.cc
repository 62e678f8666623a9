// Attention by AVX-512: keys of bf16 caches by vdpbf16ps, a pair of dimensions of sixteen keys at
// once.
#include "kernels/lanes/attend.h"

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes.h"

namespace mxbench::avx512 {
namespace {

struct Bfloat16Kv {
  using Keys = __m512bh;
  using Query = __m512bh;
  static constexpr int kBytes = 2;
  static constexpr int kDimensionsPerStep = 2;
  static constexpr int kDimensionsPerFloat = 2;  // of a prepared query

  // Writes a query row as pairs of bf16.
  static void PrepareQuery(const float* query, int width, float* prepared) {
    for (int d = 0; d < width; d += 16) {
      const __m256bh halves = _mm512_cvtneps_pbh(_mm512_loadu_ps(query + d));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(prepared + d / 2),
                          reinterpret_cast<__m256i>(halves));
    }
  }
  MXBENCH_INLINE static Query LoadQuery(const float* prepared, int step) {
    return reinterpret_cast<__m512bh>(BroadcastInt(prepared + step));
  }
  MXBENCH_INLINE static Keys LoadKeys(const uint8_t* bytes) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(bytes));
  }
  MXBENCH_INLINE static __m512 Dot(__m512 sum, Keys keys, Query query) {
    return _mm512_dpbf16_ps(sum, keys, query);
  }
  MXBENCH_INLINE static __m512 LoadValues(const uint8_t* bytes) { return WidenBfloat16(bytes); }
};

struct Float32Kv {
  using Keys = __m512;
  using Query = __m512;
  static constexpr int kBytes = 4;
  static constexpr int kDimensionsPerStep = 1;
  static constexpr int kDimensionsPerFloat = 1;

  static void PrepareQuery(const float* query, int width, float* prepared) {
    for (int d = 0; d < width; d += 16) _mm512_storeu_ps(prepared + d, _mm512_loadu_ps(query + d));
  }
  MXBENCH_INLINE static Query LoadQuery(const float* prepared, int step) {
    return _mm512_set1_ps(prepared[step]);
  }
  MXBENCH_INLINE static Keys LoadKeys(const uint8_t* bytes) { return LoadFloats(bytes); }
  MXBENCH_INLINE static __m512 Dot(__m512 sum, Keys keys, Query query) {
    return _mm512_fmadd_ps(keys, query, sum);
  }
  MXBENCH_INLINE static __m512 LoadValues(const uint8_t* bytes) { return LoadFloats(bytes); }
};

template <int kBytes>
void StoreValue(const float* value, int head_width, uint8_t* bytes) {
  for (int d = 0; d < head_width; d += 16, bytes += 16 * kBytes) {
    const __m512 values = _mm512_loadu_ps(value + d);
    if constexpr (kBytes == 4) {
      _mm512_storeu_ps(bytes, values);
    } else {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(bytes),
                          reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(values)));
    }
  }
}

}  // namespace

void StoreKvBfloat16(const float* key, const float* value, int head_width, int slot,
                     uint8_t* head) {
  for (int d = 0; d < head_width; d += 32) {
    uint32_t pairs[16];
    const __m512 high = _mm512_maskz_loadu_ps(d + 16 < head_width ? 0xffff : 0, key + d + 16);
    const __m512bh halves = _mm512_cvtne2ps_pbh(high, _mm512_loadu_ps(key + d));
    _mm512_storeu_si512(pairs, reinterpret_cast<__m512i>(halves));
    const int count = d + 16 < head_width ? 16 : 8;
    for (int p = 0; p < count; p++) {
      __builtin_memcpy(head + 4 * ((d / 2 + p) * kSlots + slot), &pairs[p], 4);
    }
  }
  StoreValue<2>(value, head_width, head + 2 * (kSlots + slot) * head_width);
}

void StoreKvFloat32(const float* key, const float* value, int head_width, int slot, uint8_t* head) {
  for (int d = 0; d < head_width; d++) __builtin_memcpy(head + 4 * (d * kSlots + slot), key + d, 4);
  StoreValue<4>(value, head_width, head + 4 * (kSlots + slot) * head_width);
}

void AttendBfloat16(const AttendArgs& args) { lanes::Attend<Lanes, Bfloat16Kv>(args); }
void AttendFloat32(const AttendArgs& args) { lanes::Attend<Lanes, Float32Kv>(args); }

void MergeSpan(int head_width, float span_maximum, float span_sum, const float* span_out,
               float* maximum, float* sum, float* out) {
  lanes::MergeSpan<Lanes>(head_width, span_maximum, span_sum, span_out, maximum, sum, out);
}

}  // namespace mxbench::avx512
