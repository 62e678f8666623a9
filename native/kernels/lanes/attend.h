// Attention over one span, for any instruction set. Lanes gives vectors of sixteen floats (one per
// slot of a KV block, or sixteen dimensions), Kv the cache's format. Query rows share every load of
// K and V; a row's own sums depend on its keys alone: scores are a chain over dimensions, outputs a
// chain over keys, and softmax sums go by slot.
#pragma once

#include "kernels/lanes/exp.h"

namespace mxbench::lanes {

// With few rows, as in decode, a call is bound by memory, and KV blocks are too short for hardware
// prefetching to catch on. Values are then fetched by software: those of the span's first
// Lanes::kBlocksFetchedEarly blocks while scores are computed, the others that many blocks ahead of
// their use. (Fetching keys as well was slower.)
constexpr int kFewRows = 4;

// A few neighbouring query rows, and the keys that any and all of them see.
struct RowTile {
  int first;
  int rows;
  int any_begin, any_end;  // keys that at least one row sees lie within
  int all_begin, all_end;  // keys that every row sees; within the above
};

static inline RowTile RowsFrom(const AttendArgs& args, int first, int most) {
  const int rows = args.rows - first < most ? args.rows - first : most;
  RowTile tile = {first, rows, kSpan, 0, 0, kSpan};
  for (int row = first; row < first + rows; row++) {
    const int begin = args.begin[row];
    const int end = args.end[row];
    if (begin < end && begin < tile.any_begin) tile.any_begin = begin;
    if (begin < end && end > tile.any_end) tile.any_end = end;
    if (begin > tile.all_begin) tile.all_begin = begin;
    if (end < tile.all_end) tile.all_end = end;
  }
  if (tile.all_begin >= tile.all_end) tile.all_begin = tile.all_end = tile.any_begin;
  return tile;
}

// Scores of R rows with B blocks from `block` on: R * B independent chains over the dimensions.
template <typename Lanes, typename Kv, int R, int B, bool kFetch>
void ScoreBlocks(const AttendArgs& args, int block, const float* queries, float* scores) {
  const int steps = args.head_width / Kv::kDimensionsPerStep;
  const int query_stride = args.head_width / Kv::kDimensionsPerFloat;
  const uint8_t* fetch[B];
  MXBENCH_UNROLL(4)
  for (int b = 0; b < B; b++) {
    const bool values = block + b < Lanes::kBlocksFetchedEarly;
    fetch[b] = args.blocks[block + b] + (values ? Kv::kBytes * kSlots * args.head_width : 0);
  }
  typename Lanes::Floats sum[R * B];
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * B; i++) sum[i] = Lanes::Zero();
  for (int step = 0; step < steps; step++) {
    typename Kv::Keys keys[B];
    MXBENCH_UNROLL(4)
    for (int b = 0; b < B; b++) keys[b] = Kv::LoadKeys(args.blocks[block + b] + 64 * step);
    if constexpr (kFetch) {
      MXBENCH_UNROLL(4)
      for (int b = 0; b < B; b++) __builtin_prefetch(fetch[b] + 64 * step, 0, 2);
    }
    MXBENCH_UNROLL(8)
    for (int r = 0; r < R; r++) {
      const typename Kv::Query query = Kv::LoadQuery(queries + r * query_stride, step);
      MXBENCH_UNROLL(4)
      for (int b = 0; b < B; b++) sum[r * B + b] = Kv::Dot(sum[r * B + b], keys[b], query);
    }
  }
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * B; i++) {
    Lanes::Store(scores + i / B * kSpan + (block + i % B) * kSlots, sum[i]);
  }
}

// Scores of R rows; `queries` and `scores` begin at the tile's first row.
template <typename Lanes, typename Kv, int R>
void ScoreRows(const AttendArgs& args, const RowTile& tile, const float* queries, float* scores) {
  constexpr bool kFetch = R <= kFewRows;
  constexpr int kAtOnce = Lanes::ScoreBlocks(R);
  const int end = (tile.any_end + kSlots - 1) / kSlots;
  int block = tile.any_begin / kSlots;
  for (; block + kAtOnce <= end; block += kAtOnce) {
    ScoreBlocks<Lanes, Kv, R, kAtOnce, kFetch>(args, block, queries, scores);
  }
  for (; block < end; block++) ScoreBlocks<Lanes, Kv, R, 1, kFetch>(args, block, queries, scores);
}

// Turns one row's scores of the keys [begin, end) into weights in place; lanes outside become 0.
template <typename Lanes>
void Softmax(float* scores, int begin, int end, float* maximum, float* sum) {
  *maximum = -__builtin_inff();
  *sum = 0;
  if (begin >= end) return;
  const int first = begin / kSlots * kSlots;
  typename Lanes::Floats largest = Lanes::Broadcast(*maximum);
  for (int key = first; key < end; key += kSlots) {
    const auto score = Lanes::Load(scores + key);
    largest =
        Lanes::Max(largest, Lanes::KeepRange(score, begin - key, end - key, -__builtin_inff()));
  }
  *maximum = Lanes::ReduceMax(largest);
  const auto shift = Lanes::Broadcast(*maximum);
  typename Lanes::Floats sums = Lanes::Zero();
  for (int key = first; key < end; key += kSlots) {
    const auto raised = Exp<Lanes>(Lanes::Subtract(Lanes::Load(scores + key), shift));
    const auto weight = Lanes::KeepRange(raised, begin - key, end - key, 0.0f);
    Lanes::Store(scores + key, weight);
    sums = Lanes::Add(sums, weight);
  }
  *sum = Lanes::ReduceAdd(sums);
}

// Adds the keys [begin, end) to C vectors, from dimension `first` on, of R rows' outputs. With
// kMasked, a row takes only the keys that it sees.
template <typename Lanes, typename Kv, int R, int C, bool kMasked, bool kFetch>
void AddValues(const AttendArgs& args, const RowTile& tile, const float* weights, int begin,
               int end, int first) {
  const int width = args.head_width;
  float* out = args.out + tile.first * width + first;
  [[maybe_unused]] const int fetch_end = (tile.any_end + kSlots - 1) / kSlots;
  typename Lanes::Floats sum[R * C];
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * C; i++) sum[i] = Lanes::Load(out + i / C * width + 16 * (i % C));
  for (int key = begin; key < end; key++) {
    const int slot = kSlots + key % kSlots;
    const uint8_t* value = args.blocks[key / kSlots] + Kv::kBytes * (slot * width + first);
    typename Lanes::Floats values[C];
    if constexpr (kFetch) {
      const int ahead = key / kSlots + Lanes::kBlocksFetchedEarly;
      const int fetched = ahead < fetch_end ? ahead : key / kSlots;
      const uint8_t* next = args.blocks[fetched] + Kv::kBytes * (slot * width + first);
      MXBENCH_UNROLL(4)
      for (int i = 0; i < 16 * Kv::kBytes * C; i += 64) __builtin_prefetch(next + i, 0, 2);
    }
    MXBENCH_UNROLL(4)
    for (int c = 0; c < C; c++) values[c] = Kv::LoadValues(value + 16 * Kv::kBytes * c);
    MXBENCH_UNROLL(4)
    for (int r = 0; r < R; r++) {
      const int row = tile.first + r;
      if (kMasked && (key < args.begin[row] || key >= args.end[row])) continue;
      const auto weight = Lanes::Broadcast(weights[r * kSpan + key]);
      MXBENCH_UNROLL(4)
      for (int c = 0; c < C; c++) {
        sum[r * C + c] = Lanes::MultiplyAdd(weight, values[c], sum[r * C + c]);
      }
    }
  }
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * C; i++) Lanes::Store(out + i / C * width + 16 * (i % C), sum[i]);
}

template <typename Lanes, typename Kv, int R, int C, bool kFetch>
void ValueColumns(const AttendArgs& args, const RowTile& tile, const float* weights, int first) {
  const int width = args.head_width;
  for (int i = 0; i < R * C; i++) {
    float* out = args.out + (tile.first + i / C) * width + first;
    Lanes::Store(out + 16 * (i % C), Lanes::Zero());
  }
  AddValues<Lanes, Kv, R, C, true, kFetch>(args, tile, weights, tile.any_begin, tile.all_begin,
                                           first);
  AddValues<Lanes, Kv, R, C, false, kFetch>(args, tile, weights, tile.all_begin, tile.all_end,
                                            first);
  AddValues<Lanes, Kv, R, C, true, kFetch>(args, tile, weights, tile.all_end, tile.any_end, first);
}

// Outputs of R rows; `weights` begin at the tile's first row.
template <typename Lanes, typename Kv, int R, bool kFetch>
void ValueRows(const AttendArgs& args, const RowTile& tile, const float* weights) {
  constexpr int kColumns = Lanes::ValueColumns(R);
  int first = 0;
  for (; first + 16 * kColumns <= args.head_width; first += 16 * kColumns) {
    ValueColumns<Lanes, Kv, R, kColumns, kFetch>(args, tile, weights, first);
  }
  for (; first < args.head_width; first += 16) {
    ValueColumns<Lanes, Kv, R, 1, kFetch>(args, tile, weights, first);
  }
}

// Calls the one of Rows::Run<1>, ..., Rows::Run<kMost> that is made for the tile's number of rows.
template <typename Lanes, typename Kv, int kMost>
void ScoreTile(const AttendArgs& args, const RowTile& tile, const float* queries, float* scores) {
  if constexpr (kMost > 0) {
    if (tile.rows == kMost) return ScoreRows<Lanes, Kv, kMost>(args, tile, queries, scores);
    ScoreTile<Lanes, Kv, kMost - 1>(args, tile, queries, scores);
  }
}

template <typename Lanes, typename Kv, int kMost>
void ValueTile(const AttendArgs& args, const RowTile& tile, const float* weights) {
  if constexpr (kMost > 0) {
    if (tile.rows == kMost) {
      constexpr bool kLate = Lanes::kBlocksFetchedEarly < kSpan / kSlots;
      return kLate && args.rows <= kFewRows
                 ? ValueRows<Lanes, Kv, kMost, kLate>(args, tile, weights)
                 : ValueRows<Lanes, Kv, kMost, false>(args, tile, weights);
    }
    ValueTile<Lanes, Kv, kMost - 1>(args, tile, weights);
  }
}

template <typename Lanes, typename Kv>
void Attend(const AttendArgs& args) {
  float* scores = args.scratch;
  float* queries = args.scratch + kMaxQueryRows * kSpan;
  const int query_stride = args.head_width / Kv::kDimensionsPerFloat;
  for (int row = 0; row < args.rows; row++) {
    Kv::PrepareQuery(args.queries + row * args.head_width, args.head_width,
                     queries + row * query_stride);
  }
  for (int row = 0; row < args.rows; row += Lanes::kScoreRows) {
    const RowTile tile = RowsFrom(args, row, Lanes::kScoreRows);
    ScoreTile<Lanes, Kv, Lanes::kScoreRows>(args, tile, queries + row * query_stride,
                                            scores + row * kSpan);
  }
  for (int row = 0; row < args.rows; row++) {
    Softmax<Lanes>(scores + row * kSpan, args.begin[row], args.end[row], args.maximum + row,
                   args.sum + row);
  }
  for (int row = 0; row < args.rows; row += Lanes::kValueRows) {
    const RowTile tile = RowsFrom(args, row, Lanes::kValueRows);
    ValueTile<Lanes, Kv, Lanes::kValueRows>(args, tile, scores + row * kSpan);
  }
}

template <typename Lanes>
void MergeSpan(int head_width, float span_maximum, float span_sum, const float* span_out,
               float* maximum, float* sum, float* out) {
  if (span_sum == 0) return;
  const float larger = span_maximum > *maximum ? span_maximum : *maximum;
  const float old_factor =
      *sum == 0 ? 0 : Lanes::First(Exp<Lanes>(Lanes::Broadcast(*maximum - larger)));
  const float span_factor = Lanes::First(Exp<Lanes>(Lanes::Broadcast(span_maximum - larger)));
  for (int d = 0; d < head_width; d += 16) {
    const auto kept = Lanes::Multiply(Lanes::Load(out + d), Lanes::Broadcast(old_factor));
    const auto span = Lanes::Load(span_out + d);
    Lanes::Store(out + d, Lanes::MultiplyAdd(span, Lanes::Broadcast(span_factor), kept));
  }
  *sum = *sum * old_factor + span_sum * span_factor;
  *maximum = larger;
}

}  // namespace mxbench::lanes
