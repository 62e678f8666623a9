#include "model/attention.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace mxbench {
namespace {

constexpr float kNegativeInfinity = -std::numeric_limits<float>::infinity();

void Normalise(int width, float sum, const float* values, float* out) {
  const float factor = 1.0f / sum;
  for (int i = 0; i < width; i++) out[i] = values[i] * factor;
}

}  // namespace

Attention::Attention(const Kernels& kernels, const ModelShape& shape, const KvCache& cache,
                     int threads, int max_sequences, int max_model_length)
    : kernels_(kernels),
      cache_(cache),
      heads_(shape.heads),
      group_(shape.heads / shape.kv_heads),
      head_width_(shape.head_width),
      max_spans_((max_model_length + kSpan - 1) / kSpan),
      partials_(MappedMemory::Anonymous(
          size_t{4} * static_cast<size_t>(max_sequences) * static_cast<size_t>(shape.heads) *
          static_cast<size_t>(max_spans_) * static_cast<size_t>(shape.head_width + 2))) {
  const size_t rows = static_cast<size_t>(kMaxQueryRows) * static_cast<size_t>(head_width_);
  for (int thread = 0; thread < threads; thread++) {
    scratch_.push_back({std::vector<float>(rows), std::vector<float>(rows),
                        std::vector<float>(rows), std::vector<float>(AttendScratchFloats())});
  }
}

void Attention::Plan(const StepInput& step) {
  step_ = step;
  items_.clear();
  split_sequence_.assign(static_cast<size_t>(step.token_count), -1);
  split_spans_.assign(static_cast<size_t>(step.token_count), 0);
  for (int sequence = 0; sequence < step.sequence_count; sequence++) PlanSequence(step, sequence);
}

void Attention::PlanSequence(const StepInput& step, int sequence) {
  const int begin = step.query_start[sequence];
  const int end = step.query_start[sequence + 1];
  const int item_heads = std::min(group_, kMaxQueryRows);
  const int item_tokens = kMaxQueryRows / item_heads;
  const bool split = end - begin == 1;
  const int spans = (step.first_position[sequence] + end - begin - 1) / kSpan + 1;
  if (split) {
    split_sequence_[static_cast<size_t>(begin)] = sequence;
    split_spans_[static_cast<size_t>(begin)] = spans;
  }
  // Late tokens first: they see the most keys, and short pieces at the end keep threads busy to the
  // last.
  for (int token = begin + (end - begin - 1) / item_tokens * item_tokens; token >= begin;
       token -= item_tokens) {
    const int tokens = std::min(item_tokens, end - token);
    for (int kv_head = 0; kv_head < heads_ / group_; kv_head++) {
      for (int head = 0; head < group_; head += item_heads) {
        const int first_head = kv_head * group_ + head;
        const int heads = std::min(item_heads, group_ - head);
        if (!split) items_.push_back({sequence, token, tokens, first_head, heads, kAllSpans});
        for (int span = 0; split && span < spans; span++) {
          items_.push_back({sequence, token, tokens, first_head, heads, span});
        }
      }
    }
  }
}

void Attention::RunItems(Team& team, int thread, int layer, const float* queries, float* out) {
  Scratch& scratch = scratch_[static_cast<size_t>(thread)];
  const int count = static_cast<int>(items_.size());
  for (int i; (i = team.Claim()) < count;) {
    const Item& item = items_[static_cast<size_t>(i)];
    GatherQueries(item, queries, scratch);
    if (item.span == kAllSpans) {
      RunWhole(item, layer, scratch, out);
    } else {
      RunSpan(item, layer, scratch);
    }
  }
}

void Attention::GatherQueries(const Item& item, const float* queries, Scratch& scratch) const {
  const size_t floats = static_cast<size_t>(item.heads) * static_cast<size_t>(head_width_);
  for (int token = 0; token < item.tokens; token++) {
    const ptrdiff_t row = ptrdiff_t{item.first_token + token} * QueryWidth();
    std::memcpy(scratch.queries.data() + static_cast<size_t>(token) * floats,
                queries + row + item.first_head * head_width_, floats * sizeof(float));
  }
}

int Attention::LastSpan(const Item& item) const {
  const int offset = item.first_token - step_.query_start[item.sequence];
  return (step_.first_position[item.sequence] + offset + item.tokens - 1) / kSpan;
}

void Attention::AttendSpan(const Item& item, int layer, int span, Scratch& scratch, float* maximum,
                           float* sum) const {
  const int32_t* table = step_.block_tables + ptrdiff_t{item.sequence} * step_.block_table_stride +
                         span * kSpan / kSlots;
  const int offset = item.first_token - step_.query_start[item.sequence];
  const int first_visible = step_.first_position[item.sequence] + offset + 1 - span * kSpan;
  int32_t begin[kMaxQueryRows] = {};
  int32_t end[kMaxQueryRows];
  for (int token = 0; token < item.tokens; token++) {
    const int visible = std::clamp(first_visible + token, 0, kSpan);
    std::fill_n(end + token * item.heads, item.heads, visible);
  }
  const int rows = item.tokens * item.heads;
  const uint8_t* blocks[kSpan / kSlots];
  const int block_count = (end[rows - 1] + kSlots - 1) / kSlots;
  for (int i = 0; i < block_count; i++) {
    blocks[i] = cache_.HeadBlock(layer, table[i], item.first_head / group_);
  }
  kernels_.attend[static_cast<int>(cache_.format())](
      {scratch.queries.data(), rows, head_width_, blocks, begin, end, maximum, sum,
       scratch.span_out.data(), scratch.attend.data()});
}

void Attention::RunWhole(const Item& item, int layer, Scratch& scratch, float* out) const {
  const int rows = item.tokens * item.heads;
  float maximum[kMaxQueryRows], sum[kMaxQueryRows] = {};
  float span_maximum[kMaxQueryRows], span_sum[kMaxQueryRows];
  std::fill_n(maximum, rows, kNegativeInfinity);
  std::fill_n(scratch.running_out.data(), rows * head_width_, 0.0f);
  const int last = LastSpan(item);
  for (int span = 0; span <= last; span++) {
    AttendSpan(item, layer, span, scratch, span_maximum, span_sum);
    for (int row = 0; row < rows; row++) {
      kernels_.merge_span(head_width_, span_maximum[row], span_sum[row],
                          scratch.span_out.data() + row * head_width_, &maximum[row], &sum[row],
                          scratch.running_out.data() + row * head_width_);
    }
  }
  for (int row = 0; row < rows; row++) {
    const ptrdiff_t token = item.first_token + row / item.heads;
    const int head = item.first_head + row % item.heads;
    Normalise(head_width_, sum[row], scratch.running_out.data() + row * head_width_,
              out + token * QueryWidth() + head * head_width_);
  }
}

float* Attention::Partial(int sequence, int head, int span) const {
  const size_t index =
      (static_cast<size_t>(sequence) * static_cast<size_t>(heads_) + static_cast<size_t>(head)) *
          static_cast<size_t>(max_spans_) +
      static_cast<size_t>(span);
  return reinterpret_cast<float*>(partials_.data()) + index * static_cast<size_t>(head_width_ + 2);
}

void Attention::RunSpan(const Item& item, int layer, Scratch& scratch) {
  float maximum[kMaxQueryRows], sum[kMaxQueryRows];
  AttendSpan(item, layer, item.span, scratch, maximum, sum);
  for (int row = 0; row < item.heads; row++) {
    float* partial = Partial(item.sequence, item.first_head + row, item.span);
    partial[0] = maximum[row];
    partial[1] = sum[row];
    std::memcpy(partial + 2, scratch.span_out.data() + row * head_width_,
                static_cast<size_t>(head_width_) * sizeof(float));
  }
}

void Attention::Finish(int token, float* out) const {
  const int sequence = split_sequence_[static_cast<size_t>(token)];
  if (sequence < 0) return;
  const int spans = split_spans_[static_cast<size_t>(token)];
  float running[kMaxHeadWidth];
  for (int head = 0; head < heads_; head++) {
    float maximum = kNegativeInfinity, sum = 0;
    std::fill_n(running, head_width_, 0.0f);
    for (int span = 0; span < spans; span++) {
      const float* partial = Partial(sequence, head, span);
      kernels_.merge_span(head_width_, partial[0], partial[1], partial + 2, &maximum, &sum,
                          running);
    }
    Normalise(head_width_, sum, running,
              out + ptrdiff_t{token} * QueryWidth() + head * head_width_);
  }
}

}  // namespace mxbench
