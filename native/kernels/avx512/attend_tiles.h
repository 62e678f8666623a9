// The two loops of attention that cost time: scores of a few query rows with some KV blocks, and
// weighted sums of values of a few query rows.
#pragma once

#include "kernels/avx512/vector.h"

namespace mxbench::avx512 {

constexpr int kScoreRows = 8;
constexpr int kValueRows = 4;

// A few neighbouring query rows, and the keys that any and all of them see.
struct RowTile {
  int first;
  int rows;
  int any_begin, any_end;  // keys that at least one row sees lie within
  int all_begin, all_end;  // keys that every row sees
};

inline RowTile RowsFrom(const AttendArgs& args, int first, int most) {
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
template <typename Kv, int R, int B>
void ScoreBlocks(const AttendArgs& args, int block, const float* queries, float* scores) {
  const int steps = args.head_width / Kv::kDimensionsPerStep;
  __m512 sum[R * B];
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * B; i++) sum[i] = _mm512_setzero_ps();
  for (int step = 0; step < steps; step++) {
    __m512 keys[B];
    MXBENCH_UNROLL(4)
    for (int b = 0; b < B; b++) keys[b] = LoadFloats(args.blocks[block + b] + 64 * step);
    MXBENCH_UNROLL(8)
    for (int r = 0; r < R; r++) {
      const __m512 query = BroadcastFloat(queries + r * steps + step);
      MXBENCH_UNROLL(4)
      for (int b = 0; b < B; b++) sum[r * B + b] = Kv::Dot(sum[r * B + b], keys[b], query);
    }
  }
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * B; i++) {
    _mm512_storeu_ps(scores + i / B * kSpan + (block + i % B) * kSlots, sum[i]);
  }
}

template <typename Kv, int R>
void ScoreRows(const AttendArgs& args, const RowTile& tile, const float* queries, float* scores) {
  constexpr int kAtOnce = R <= 4 ? 4 : 2;
  const int end = (tile.any_end + kSlots - 1) / kSlots;
  int block = tile.any_begin / kSlots;
  for (; block + kAtOnce <= end; block += kAtOnce)
    ScoreBlocks<Kv, R, kAtOnce>(args, block, queries, scores);
  for (; block < end; block++) ScoreBlocks<Kv, R, 1>(args, block, queries, scores);
}

// Scores of the tile's rows (`queries` and `scores` begin at its first row).
template <typename Kv>
void ScoreTile(const AttendArgs& args, const RowTile& tile, const float* queries, float* scores) {
  using Function = void (*)(const AttendArgs&, const RowTile&, const float*, float*);
  static constexpr Function kByRows[kScoreRows] = {
      ScoreRows<Kv, 1>, ScoreRows<Kv, 2>, ScoreRows<Kv, 3>, ScoreRows<Kv, 4>,
      ScoreRows<Kv, 5>, ScoreRows<Kv, 6>, ScoreRows<Kv, 7>, ScoreRows<Kv, 8>};
  kByRows[tile.rows - 1](args, tile, queries, scores);
}

// Adds the keys [begin, end) to C vectors, from dimension `first` on, of R rows' outputs. With
// kMasked, a row takes only the keys that it sees.
template <typename Kv, int R, int C, bool kMasked>
void AddValues(const AttendArgs& args, const RowTile& tile, const float* weights, int begin,
               int end, int first) {
  const int width = args.head_width;
  float* out = args.out + tile.first * width + first;
  __m512 sum[R * C];
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * C; i++) sum[i] = _mm512_loadu_ps(out + i / C * width + 16 * (i % C));
  for (int key = begin; key < end; key++) {
    const uint8_t* value =
        args.blocks[key / kSlots] + Kv::kBytes * ((kSlots + key % kSlots) * width + first);
    __m512 values[C];
    MXBENCH_UNROLL(4)
    for (int c = 0; c < C; c++) values[c] = Kv::LoadValues(value + 16 * Kv::kBytes * c);
    MXBENCH_UNROLL(4)
    for (int r = 0; r < R; r++) {
      const int row = tile.first + r;
      if (kMasked && (key < args.begin[row] || key >= args.end[row])) continue;
      const __m512 weight = BroadcastFloat(weights + r * kSpan + key);
      MXBENCH_UNROLL(4)
      for (int c = 0; c < C; c++)
        sum[r * C + c] = _mm512_fmadd_ps(weight, values[c], sum[r * C + c]);
    }
  }
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * C; i++) _mm512_storeu_ps(out + i / C * width + 16 * (i % C), sum[i]);
}

template <typename Kv, int R, int C>
void ValueColumns(const AttendArgs& args, const RowTile& tile, const float* weights, int first) {
  const int width = args.head_width;
  MXBENCH_UNROLL(16)
  for (int i = 0; i < R * C; i++) {
    _mm512_storeu_ps(args.out + (tile.first + i / C) * width + first + 16 * (i % C),
                     _mm512_setzero_ps());
  }
  AddValues<Kv, R, C, true>(args, tile, weights, tile.any_begin, tile.all_begin, first);
  AddValues<Kv, R, C, false>(args, tile, weights, tile.all_begin, tile.all_end, first);
  AddValues<Kv, R, C, true>(args, tile, weights, tile.all_end, tile.any_end, first);
}

template <typename Kv, int R>
void ValueRows(const AttendArgs& args, const RowTile& tile, const float* weights) {
  int first = 0;
  for (; first + 64 <= args.head_width; first += 64)
    ValueColumns<Kv, R, 4>(args, tile, weights, first);
  for (; first < args.head_width; first += 16) ValueColumns<Kv, R, 1>(args, tile, weights, first);
}

// Outputs of the tile's rows (`weights` begin at its first row).
template <typename Kv>
void ValueTile(const AttendArgs& args, const RowTile& tile, const float* weights) {
  using Function = void (*)(const AttendArgs&, const RowTile&, const float*);
  static constexpr Function kByRows[kValueRows] = {ValueRows<Kv, 1>, ValueRows<Kv, 2>,
                                                   ValueRows<Kv, 3>, ValueRows<Kv, 4>};
  kByRows[tile.rows - 1](args, tile, weights);
}

}  // namespace mxbench::avx512
