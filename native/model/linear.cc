#include "model/linear.h"

#include <cassert>

namespace mxbench {

InputForm FormFor(WeightFormat format, ActivationFormat requested) {
  const ActivationFormat input = ActivationFor(format, requested);
  return {input, input == ActivationFormat::kInt8 ? OffsetOf(format) : 0};
}

PackedInput::PackedInput(const Kernels& kernels,
                         const std::vector<std::vector<const Linear*>>& readers, int blocks,
                         int max_tokens)
    : kernels_(kernels), blocks_(blocks) {
  for (size_t layer = 0; layer < readers.size(); layer++) {
    for (const Linear* reader : readers[layer]) {
      FormOf(reader->input, max_tokens, readers.size()).needed[layer] = true;
    }
  }
}

PackedInput::Form& PackedInput::FormOf(const InputForm& form, int max_tokens, size_t layers) {
  for (Form& known : forms_) {
    if (known.form == form) return known;
  }
  const size_t bytes = TileOffset(form.format, blocks_, TileCount(max_tokens));
  forms_.push_back({form, MappedMemory::Anonymous(bytes), std::vector<bool>(layers, false)});
  return forms_.back();
}

void PackedInput::Pack(int layer, int token, int first_block, int blocks, const float* row) const {
  const int tile = token / kTokenTile;
  const int tile_tokens = TileTokens(tokens_, tile);
  for (const Form& form : forms_) {
    if (!form.needed[static_cast<size_t>(layer)]) continue;
    const ActivationFormat format = form.form.format;
    uint8_t* bytes = form.memory.data() + TileOffset(format, blocks_, tile) +
                     static_cast<size_t>(first_block) * ActivationBlockBytes(format, tile_tokens);
    kernels_.pack[static_cast<int>(format)](row, blocks, token % kTokenTile, tile_tokens,
                                            form.form.offset, bytes);
  }
}

MatrixJob PackedInput::Job(const Linear& linear, float* out, ptrdiff_t stride, bool add) const {
  const auto same = [&](const Form& form) { return form.form == linear.input; };
  const auto found = std::find_if(forms_.begin(), forms_.end(), same);
  assert(found != forms_.end());
  return {&linear, found->memory.data(), out, stride, add};
}

MatrixGrid GridFor(int row_tiles, int tokens, int threads, int row_granule) {
  // Decode: few, large pieces, so that each streams its weights. Prefill: pieces whose weights stay
  // in the first-level caches while a run of token tiles passes over them.
  constexpr int kPrefillRowTiles = 4;
  constexpr int kPrefillTokenTiles = 8;
  const int token_tiles = TileCount(tokens);
  MatrixGrid grid{};
  grid.tiles_per_piece = std::min(token_tiles, kPrefillTokenTiles);
  grid.token_pieces = (token_tiles + grid.tiles_per_piece - 1) / grid.tiles_per_piece;
  const int wanted = 6 * threads;
  int rows = token_tiles == 1 ? (row_tiles + wanted - 1) / wanted : kPrefillRowTiles;
  rows = std::clamp(rows, 2, std::max(2, row_tiles));
  grid.rows_per_piece = (rows + row_granule - 1) / row_granule * row_granule;
  grid.row_pieces = (row_tiles + grid.rows_per_piece - 1) / grid.rows_per_piece;
  return grid;
}

MatrixRange RangeOf(const MatrixGrid& grid, int piece, int row_tiles, int tokens) {
  MatrixRange range{};
  range.first_row_tile = piece / grid.token_pieces * grid.rows_per_piece;
  range.row_tiles = std::min(grid.rows_per_piece, row_tiles - range.first_row_tile);
  range.first_tile = piece % grid.token_pieces * grid.tiles_per_piece;
  range.end_tile = std::min(range.first_tile + grid.tiles_per_piece, TileCount(tokens));
  return range;
}

void MultiplyTile(const Kernels& kernels, const MatrixJob& job, const MatrixRange& range, int tile,
                  int tokens, float* out) {
  const Linear& linear = *job.linear;
  kernels.matrix[static_cast<int>(linear.format)][static_cast<int>(linear.input.format)](
      {linear.packed + static_cast<size_t>(range.first_row_tile) * linear.RowTileBytes(),
       linear.blocks, range.row_tiles,
       job.tiles + TileOffset(linear.input.format, linear.blocks, tile), TileTokens(tokens, tile),
       out, job.stride, job.add});
}

void RunMatrices(Team& team, const Kernels& kernels, const MatrixJob* jobs, int count, int tokens) {
  constexpr int kMaxJobs = 4;
  assert(count <= kMaxJobs);
  MatrixGrid grids[kMaxJobs];
  int ends[kMaxJobs];
  int pieces = 0;
  for (int i = 0; i < count; i++) {
    grids[i] = GridFor(jobs[i].linear->RowTiles(), tokens, team.size(), 1);
    pieces += grids[i].Pieces();
    ends[i] = pieces;
  }
  for (int piece; (piece = team.Claim()) < pieces;) {
    int i = 0;
    while (piece >= ends[i]) i++;
    const MatrixJob& job = jobs[i];
    const MatrixRange range =
        RangeOf(grids[i], piece - (i == 0 ? 0 : ends[i - 1]), job.linear->RowTiles(), tokens);
    for (int tile = range.first_tile; tile < range.end_tile; tile++) {
      MultiplyTile(kernels, job, range, tile, tokens,
                   job.out + tile * kTokenTile * job.stride + range.first_row_tile * kRowTile);
    }
  }
  team.Barrier();
}

}  // namespace mxbench
