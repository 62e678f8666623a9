// Attention over one span. Query rows share every load of K and V; a row's own sums depend on its
// keys alone: scores on a chain over dimensions, values on a chain over keys, softmax sums by slot.
#include "kernels/avx512/attend_tiles.h"
#include "kernels/avx512/avx512.h"

namespace mxbench::avx512 {
namespace {

struct Bfloat16Kv {
  static constexpr int kBytes = 2;
  static constexpr int kDimensionsPerStep = 2;

  // Writes a query row as the score loop reads it: one dword a step.
  static void PrepareQuery(const float* query, int width, float* prepared) {
    for (int d = 0; d < width; d += 16) {
      const __m256bh halves = _mm512_cvtneps_pbh(_mm512_loadu_ps(query + d));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(prepared + d / 2),
                          reinterpret_cast<__m256i>(halves));
    }
  }
  [[gnu::always_inline]] static __m512 Dot(__m512 sum, __m512 keys, __m512 query) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(keys),
                            reinterpret_cast<__m512bh>(query));
  }
  [[gnu::always_inline]] static __m512 LoadValues(const uint8_t* bytes) {
    return WidenBfloat16(bytes);
  }
};

struct Float32Kv {
  static constexpr int kBytes = 4;
  static constexpr int kDimensionsPerStep = 1;

  static void PrepareQuery(const float* query, int width, float* prepared) {
    for (int d = 0; d < width; d += 16) _mm512_storeu_ps(prepared + d, _mm512_loadu_ps(query + d));
  }
  [[gnu::always_inline]] static __m512 Dot(__m512 sum, __m512 keys, __m512 query) {
    return _mm512_fmadd_ps(keys, query, sum);
  }
  [[gnu::always_inline]] static __m512 LoadValues(const uint8_t* bytes) {
    return LoadFloats(bytes);
  }
};

// Turns one row's scores of the keys [begin, end) into weights in place; lanes outside become 0.
void Softmax(float* scores, int begin, int end, float* maximum, float* sum) {
  const __m512i slots = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i first = _mm512_set1_epi32(begin);
  const __m512i last = _mm512_set1_epi32(end);
  __m512 largest = _mm512_set1_ps(-__builtin_inff());
  for (int key = begin / kSlots * kSlots; key < end; key += kSlots) {
    const __m512i keys = _mm512_add_epi32(slots, _mm512_set1_epi32(key));
    const __mmask16 seen =
        _mm512_mask_cmplt_epi32_mask(_mm512_cmpge_epi32_mask(keys, first), keys, last);
    largest = _mm512_mask_max_ps(largest, seen, largest, _mm512_loadu_ps(scores + key));
  }
  *maximum = _mm512_reduce_max_ps(largest);
  *sum = 0;
  if (begin >= end) return;
  const __m512 shift = _mm512_set1_ps(*maximum);
  __m512 sums = _mm512_setzero_ps();
  for (int key = begin / kSlots * kSlots; key < end; key += kSlots) {
    const __m512i keys = _mm512_add_epi32(slots, _mm512_set1_epi32(key));
    const __mmask16 seen =
        _mm512_mask_cmplt_epi32_mask(_mm512_cmpge_epi32_mask(keys, first), keys, last);
    const __m512 difference = _mm512_sub_ps(_mm512_loadu_ps(scores + key), shift);
    const __m512 weight = _mm512_maskz_mov_ps(seen, Exp(difference));
    _mm512_storeu_ps(scores + key, weight);
    sums = _mm512_add_ps(sums, weight);
  }
  *sum = _mm512_reduce_add_ps(sums);
}

template <typename Kv>
void Attend(const AttendArgs& args) {
  float* scores = args.scratch;
  float* queries = args.scratch + kMaxQueryRows * kSpan;
  const int query_stride = args.head_width / Kv::kDimensionsPerStep;
  for (int row = 0; row < args.rows; row++) {
    Kv::PrepareQuery(args.queries + row * args.head_width, args.head_width,
                     queries + row * query_stride);
  }
  for (int row = 0; row < args.rows; row += kScoreRows) {
    const RowTile tile = RowsFrom(args, row, kScoreRows);
    if (tile.rows > 0)
      ScoreTile<Kv>(args, tile, queries + row * query_stride, scores + row * kSpan);
  }
  for (int row = 0; row < args.rows; row++) {
    Softmax(scores + row * kSpan, args.begin[row], args.end[row], args.maximum + row,
            args.sum + row);
  }
  for (int row = 0; row < args.rows; row += kValueRows) {
    ValueTile<Kv>(args, RowsFrom(args, row, kValueRows), scores + row * kSpan);
  }
}

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

void AttendBfloat16(const AttendArgs& args) { Attend<Bfloat16Kv>(args); }
void AttendFloat32(const AttendArgs& args) { Attend<Float32Kv>(args); }

void MergeSpan(int head_width, float span_maximum, float span_sum, const float* span_out,
               float* maximum, float* sum, float* out) {
  if (span_sum == 0) return;
  const float larger = span_maximum > *maximum ? span_maximum : *maximum;
  const __m512 differences = _mm512_mask_mov_ps(_mm512_set1_ps(span_maximum - larger), 1,
                                                _mm512_set1_ps(*maximum - larger));
  const __m512 factors = Exp(differences);
  const float old_factor = *sum == 0 ? 0 : _mm512_cvtss_f32(factors);
  const float span_factor = _mm_cvtss_f32(_mm_permute_ps(_mm512_castps512_ps128(factors), 1));
  for (int d = 0; d < head_width; d += 16) {
    const __m512 kept = _mm512_mul_ps(_mm512_loadu_ps(out + d), _mm512_set1_ps(old_factor));
    const __m512 span = _mm512_loadu_ps(span_out + d);
    _mm512_storeu_ps(out + d, _mm512_fmadd_ps(span, _mm512_set1_ps(span_factor), kept));
  }
  *sum = *sum * old_factor + span_sum * span_factor;
  *maximum = larger;
}

}  // namespace mxbench::avx512
