// Plain attention over one span, and the KV cache's layout.
#include <cmath>
#include <limits>

#include "kernels/reference/portable.h"

namespace mxbench::portable {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

struct Bfloat16Kv {
  static constexpr int kBytes = 2;
  static float Round(float x) { return FloatFromBfloat16(Bfloat16FromFloat(x)); }
  static float Load(const uint8_t* bytes) { return FloatFromBfloat16(LoadAs<uint16_t>(bytes)); }
  static void Store(uint8_t* bytes, float x) { StoreAs(bytes, Bfloat16FromFloat(x)); }
  // Element of K: pairs of neighbouring dimensions, slots between the pairs.
  static int KeyIndex(int dimension, int slot) {
    return dimension / 2 * 2 * kSlots + 2 * slot + dimension % 2;
  }
};

struct Float32Kv {
  static constexpr int kBytes = 4;
  static float Round(float x) { return x; }
  static float Load(const uint8_t* bytes) { return LoadAs<float>(bytes); }
  static void Store(uint8_t* bytes, float x) { StoreAs(bytes, x); }
  static int KeyIndex(int dimension, int slot) { return dimension * kSlots + slot; }
};

template <typename Kv>
void StoreKv(const float* key, const float* value, int head_width, int slot, uint8_t* head) {
  uint8_t* values = head + Kv::kBytes * kSlots * head_width;
  for (int d = 0; d < head_width; d++) {
    Kv::Store(head + Kv::kBytes * Kv::KeyIndex(d, slot), key[d]);
    Kv::Store(values + Kv::kBytes * (slot * head_width + d), value[d]);
  }
}

template <typename Kv>
float Score(const float* query, const uint8_t* head, int head_width, int slot) {
  float sum = 0;
  for (int d = 0; d < head_width; d++) {
    sum += Kv::Round(query[d]) * Kv::Load(head + Kv::kBytes * Kv::KeyIndex(d, slot));
  }
  return sum;
}

template <typename Kv>
void AttendRow(const AttendArgs& args, int row) {
  const int width = args.head_width;
  float* scores = args.scratch;
  float* out = args.out + ptrdiff_t{row} * width;
  float maximum = kNegativeInfinity;
  for (int key = args.begin[row]; key < args.end[row]; key++) {
    const uint8_t* head = args.blocks[key / kSlots];
    scores[key] = Score<Kv>(args.queries + ptrdiff_t{row} * width, head, width, key % kSlots);
    maximum = scores[key] > maximum ? scores[key] : maximum;
  }
  // Sixteen partial sums, by slot, as the vector versions have them.
  float sums[kSlots] = {};
  for (int d = 0; d < width; d++) out[d] = 0;
  for (int key = args.begin[row]; key < args.end[row]; key++) {
    const float factor = std::exp(scores[key] - maximum);
    sums[key % kSlots] += factor;
    const uint8_t* values = args.blocks[key / kSlots] + Kv::kBytes * kSlots * width +
                            Kv::kBytes * (key % kSlots * width);
    for (int d = 0; d < width; d++) out[d] += factor * Kv::Load(values + Kv::kBytes * d);
  }
  float sum = 0;
  for (const float part : sums) sum += part;
  args.maximum[row] = maximum;
  args.sum[row] = sum;
}

template <typename Kv>
void Attend(const AttendArgs& args) {
  for (int row = 0; row < args.rows; row++) AttendRow<Kv>(args, row);
}

}  // namespace

void StoreKvBfloat16(const float* key, const float* value, int head_width, int slot,
                     uint8_t* head) {
  StoreKv<Bfloat16Kv>(key, value, head_width, slot, head);
}

void StoreKvFloat32(const float* key, const float* value, int head_width, int slot, uint8_t* head) {
  StoreKv<Float32Kv>(key, value, head_width, slot, head);
}

void AttendBfloat16(const AttendArgs& args) { Attend<Bfloat16Kv>(args); }
void AttendFloat32(const AttendArgs& args) { Attend<Float32Kv>(args); }

void MergeSpan(int head_width, float span_maximum, float span_sum, const float* span_out,
               float* maximum, float* sum, float* out) {
  if (span_sum == 0) return;
  const float larger = span_maximum > *maximum ? span_maximum : *maximum;
  const float old_factor = *sum == 0 ? 0 : std::exp(*maximum - larger);
  const float span_factor = std::exp(span_maximum - larger);
  for (int d = 0; d < head_width; d++) out[d] = out[d] * old_factor + span_out[d] * span_factor;
  *sum = *sum * old_factor + span_sum * span_factor;
  *maximum = larger;
}

}  // namespace mxbench::portable
