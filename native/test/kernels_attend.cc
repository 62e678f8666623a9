// Attention of every instruction set against double-precision truth, and bit for bit against itself
// with other rows in the call; KV storage; merging of spans.
#include <algorithm>

#include "test/kernel_data.h"

namespace mxbench::test {
namespace {

constexpr KvFormat kKvFormats[] = {KvFormat::kBfloat16, KvFormat::kFloat32};
constexpr int kHeadWidths[] = {16, 48, 64, 80, 128, 256};
constexpr int kEnds[] = {0, 1, 15, 16, 17, 127, 128, 129, 255, 256};

int Index(KvFormat format) { return static_cast<int>(format); }

// One head's KV of a span, written by the kernels under test, and the values read back by the
// contract's layout. Slots from `keys` on hold NaN, blocks past the last key do not exist.
struct Span {
  KvFormat format;
  int width;
  int keys;
  std::vector<std::vector<uint8_t>> blocks;
  std::vector<const uint8_t*> pointers;

  Span(const Kernels& kernels, KvFormat kv, int head_width, int key_count, uint64_t seed)
      : format(kv), width(head_width), keys(key_count) {
    Random random(seed);
    const std::vector<float> nan(static_cast<size_t>(width), NAN);
    for (int b = 0; b * kSlots < keys; b++) {
      blocks.emplace_back(KvHeadBytes(format, width));
      for (int slot = 0; slot < kSlots; slot++) {
        const std::vector<float> key = random.Normals(static_cast<size_t>(width));
        const std::vector<float> value = random.Normals(static_cast<size_t>(width));
        const bool real = b * kSlots + slot < keys;
        kernels.store_kv[Index(format)](real ? key.data() : nan.data(),
                                        real ? value.data() : nan.data(), width, slot,
                                        blocks.back().data());
      }
    }
    pointers.assign(kSpan / kSlots, nullptr);
    for (size_t b = 0; b < blocks.size(); b++) pointers[b] = blocks[b].data();
  }

  const uint8_t* Head(int key) const { return blocks[static_cast<size_t>(key / kSlots)].data(); }
  double Key(int key, int d) const {
    const int slot = key % kSlots;
    if (format == KvFormat::kFloat32) return ReadAs<float>(Head(key) + 4 * (d * kSlots + slot));
    return FromBfloat16(Head(key) + 2 * ((d / 2 * kSlots + slot) * 2 + d % 2));
  }
  double Value(int key, int d) const {
    const int at = (kSlots + key % kSlots) * width + d;
    return format == KvFormat::kFloat32 ? ReadAs<float>(Head(key) + 4 * at)
                                        : FromBfloat16(Head(key) + 2 * at);
  }
};

struct Result {
  std::vector<float> maximum, sum, out;
};

Result Attend(const Kernels& kernels, const Span& span, const float* queries, int rows,
              const std::vector<int32_t>& begin, const std::vector<int32_t>& end) {
  const auto count = static_cast<size_t>(rows);
  Result result{std::vector<float>(count, 7), std::vector<float>(count, 7),
                std::vector<float>(count * static_cast<size_t>(span.width), 7)};
  const std::vector<float> exact(queries, queries + rows * span.width);
  std::vector<float> scratch(AttendScratchFloats(), NAN);
  kernels.attend[Index(span.format)]({exact.data(), rows, span.width, span.pointers.data(),
                                      begin.data(), end.data(), result.maximum.data(),
                                      result.sum.data(), result.out.data(), scratch.data()});
  return result;
}

float RoundedQuery(KvFormat format, float value) {
  if (format == KvFormat::kFloat32) return value;
  uint32_t bits = ReadAs<uint32_t>(&value);
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  return ReadAs<float>(&bits);
}

// Exact softmax of one row; `out` is divided by the sum.
void Truth(const Span& span, const float* query, int begin, int end, double* maximum, double* sum,
           std::vector<double>& out) {
  std::vector<double> scores;
  *maximum = -INFINITY;
  for (int key = begin; key < end; key++) {
    double score = 0;
    for (int d = 0; d < span.width; d++)
      score += RoundedQuery(span.format, query[d]) * span.Key(key, d);
    scores.push_back(score);
    *maximum = std::max(*maximum, score);
  }
  *sum = 0;
  out.assign(static_cast<size_t>(span.width), 0);
  for (int key = begin; key < end; key++) {
    const double weight = std::exp(scores[static_cast<size_t>(key - begin)] - *maximum);
    *sum += weight;
    for (int d = 0; d < span.width; d++) out[static_cast<size_t>(d)] += weight * span.Value(key, d);
  }
}

void CheckRow(const Span& span, const Result& result, int row, const float* query, int begin,
              int end) {
  double maximum, sum;
  std::vector<double> out;
  Truth(span, query, begin, end, &maximum, &sum, out);
  const std::string detail = "width " + std::to_string(span.width) + " keys " +
                             std::to_string(begin) + ".." + std::to_string(end);
  const auto at = static_cast<size_t>(row);
  CHECK_NEAR(result.maximum[at], maximum, 1e-5, detail);
  CHECK_NEAR(result.sum[at], sum, 2e-5 * sum, detail);
  for (size_t d = 0; d < out.size(); d++) {
    CHECK_NEAR(result.out[at * out.size() + d], out[d], 5e-5 * sum, detail);
  }
}

// Runs rows with the given ranges together; each must match truth and its own bits when alone.
void CheckCall(const Kernels& kernels, const Span& span, const std::vector<int32_t>& begin,
               const std::vector<int32_t>& end, uint64_t seed) {
  const int rows = static_cast<int>(begin.size());
  Random random(seed);
  std::vector<float> queries = random.Normals(begin.size() * static_cast<size_t>(span.width));
  for (float& query : queries) query /= std::sqrt(static_cast<float>(span.width));
  const Result together = Attend(kernels, span, queries.data(), rows, begin, end);
  for (int row = 0; row < rows; row++) {
    const auto at = static_cast<size_t>(row);
    const float* query = queries.data() + row * span.width;
    CheckRow(span, together, row, query, begin[at], end[at]);
    const Result alone = Attend(kernels, span, query, 1, {begin[at]}, {end[at]});
    CHECK_SAME_BYTES(&together.maximum[at], alone.maximum.data(), 4);
    CHECK_SAME_BYTES(&together.sum[at], alone.sum.data(), 4);
    CHECK_SAME_BYTES(together.out.data() + row * span.width, alone.out.data(),
                     4 * static_cast<size_t>(span.width));
  }
}

}  // namespace

TEST(stored_keys_and_values_are_read_back_in_the_contract_layout) {
  for (const Isa isa : AvailableIsas()) {
    for (const KvFormat format : kKvFormats) {
      const Kernels& kernels = KernelsFor(isa);
      SetSubject(std::string("store_kv ") + NameOf(format), kernels.name);
      for (const int width : kHeadWidths) {
        Random random(static_cast<uint64_t>(width));
        std::vector<uint8_t> block(KvHeadBytes(format, width), 0xee);
        const std::vector<float> key = random.Normals(static_cast<size_t>(width));
        const std::vector<float> value = random.Normals(static_cast<size_t>(width));
        const int slot = width / 16 % kSlots;
        kernels.store_kv[Index(format)](key.data(), value.data(), width, slot, block.data());
        const size_t bytes = format == KvFormat::kBfloat16 ? 2 : 4;
        const std::ptrdiff_t touched =
            std::count_if(block.begin(), block.end(), [](uint8_t b) { return b != 0xee; });
        CHECK(touched <= static_cast<std::ptrdiff_t>(2 * bytes) * width,
              "other slots are left alone");
        Span view(kernels, format, width, 0, 1);
        view.blocks.push_back(block);
        for (int d = 0; d < width; d++) {
          CHECK(view.Key(slot, d) == RoundedQuery(format, key[static_cast<size_t>(d)]));
          CHECK(view.Value(slot, d) == RoundedQuery(format, value[static_cast<size_t>(d)]));
        }
      }
    }
  }
}

TEST(attention_matches_truth_at_every_span_end_and_number_of_rows) {
  for (const Isa isa : AvailableIsas()) {
    for (const KvFormat format : kKvFormats) {
      SetSubject(std::string("attend ") + NameOf(format), KernelsFor(isa).name);
      int rows = 1;
      for (const int width : kHeadWidths) {
        for (const int end : kEnds) {
          const Span span(KernelsFor(isa), format, width, end, static_cast<uint64_t>(end + width));
          const auto count = static_cast<size_t>(rows);
          CheckCall(KernelsFor(isa), span, std::vector<int32_t>(count, 0),
                    std::vector<int32_t>(count, end), static_cast<uint64_t>(rows));
          rows = rows % kMaxQueryRows + 1;
        }
      }
    }
  }
}

TEST(attention_rows_with_different_ranges_do_not_influence_each_other) {
  for (const Isa isa : AvailableIsas()) {
    for (const KvFormat format : kKvFormats) {
      SetSubject(std::string("attend ") + NameOf(format), KernelsFor(isa).name);
      for (const int width : {16, 80, 128}) {
        for (int rows = 2; rows <= kMaxQueryRows; rows++) {
          std::vector<int32_t> causal_begin, causal_end, window_begin, window_end, wild_begin,
              wild_end;
          Random random(static_cast<uint64_t>(rows * width));
          for (int row = 0; row < rows; row++) {
            causal_begin.push_back(0);
            causal_end.push_back(std::max(0, 113 + row - rows / 2 * 16));
            window_begin.push_back(33 + row);
            window_end.push_back(161 + row);
            const int one = random.Below(257), other = random.Below(257);
            wild_begin.push_back(row == 1 ? other : std::min(one, other));
            wild_end.push_back(row == 1 ? other : std::max(one, other));
          }
          const Span full(KernelsFor(isa), format, width, 256, 9);
          const Span causal(KernelsFor(isa), format, width, causal_end.back(), 9);
          CheckCall(KernelsFor(isa), causal, causal_begin, causal_end, 1);
          CheckCall(KernelsFor(isa), full, window_begin, window_end, 2);
          CheckCall(KernelsFor(isa), full, wild_begin, wild_end, 3);
        }
      }
    }
  }
}

TEST(blocks_before_the_first_and_past_the_last_key_are_never_read) {
  for (const Isa isa : AvailableIsas()) {
    for (const KvFormat format : kKvFormats) {
      SetSubject(std::string("attend ") + NameOf(format), KernelsFor(isa).name);
      Span span(KernelsFor(isa), format, 64, 100, 3);
      span.pointers[0] = span.pointers[1] = nullptr;
      // The empty row's range lies in a missing block.
      CheckCall(KernelsFor(isa), span, {40, 0, 32, 50}, {100, 0, 90, 51}, 4);
    }
  }
}

TEST(merging_a_span_whose_scores_are_far_below_adds_exactly_nothing) {
  for (const Isa isa : AvailableIsas()) {
    SetSubject("merge_span", KernelsFor(isa).name);
    const std::vector<float> far(16, 1e6f);
    std::vector<float> out(16, 0.0f);
    float maximum = 0, sum = 1;
    KernelsFor(isa).merge_span(16, -1000, 5, far.data(), &maximum, &sum, out.data());
    CHECK(maximum == 0 && sum == 1);
    for (const float value : out) CHECK(value == 0);
    KernelsFor(isa).merge_span(16, 1000, 5, far.data(), &maximum, &sum, out.data());
    CHECK(maximum == 1000 && sum == 5);
    for (const float value : out) CHECK(value == 1e6f);
  }
}

TEST(merging_spans_gives_the_softmax_over_all_keys) {
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject("merge_span", kernels.name);
    for (const int width : kHeadWidths) {
      const Span span(kernels, KvFormat::kFloat32, width, 200, 8);
      const std::vector<float> query = Random(2).Normals(static_cast<size_t>(width));
      Result running{{-INFINITY}, {0}, std::vector<float>(static_cast<size_t>(width), 0)};
      // The empty parts at the start, middle and end must change nothing.
      const int edges[] = {0, 0, 70, 70, 129, 200, 200};
      for (size_t i = 0; i + 1 < std::size(edges); i++) {
        const Result part = Attend(kernels, span, query.data(), 1, {edges[i]}, {edges[i + 1]});
        const Result before = running;
        kernels.merge_span(width, part.maximum[0], part.sum[0], part.out.data(),
                           running.maximum.data(), running.sum.data(), running.out.data());
        if (edges[i] == edges[i + 1]) {
          CHECK(running.sum[0] == before.sum[0] && running.maximum[0] == before.maximum[0]);
          CHECK_SAME_BYTES(running.out.data(), before.out.data(), 4 * static_cast<size_t>(width));
        }
      }
      CheckRow(span, running, 0, query.data(), 0, 200);
    }
  }
}

}  // namespace mxbench::test
