// A packed weight matrix and the packed inputs it multiplies.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"
#include "model/mapped_memory.h"
#include "model/team.h"

namespace mxbench {

// How a linear layer reads its input. Layers that share an input may need different forms of it.
struct InputForm {
  ActivationFormat format = ActivationFormat::kFloat32;
  int offset = 0;  // OffsetOf() the weights; only int8 depends on it
  bool operator==(const InputForm&) const = default;
};

// N x K weights in row tiles (kernels.h). `packed` points into the engine's one block of packed
// weights.
struct Linear {
  WeightFormat format = WeightFormat::kFloat32;
  InputForm input;
  int rows = 0;  // N, before padding to whole row tiles
  int blocks = 0;
  const uint8_t* packed = nullptr;

  int RowTiles() const { return (rows + kRowTile - 1) / kRowTile; }
  size_t RowTileBytes() const { return static_cast<size_t>(blocks) * PackedBlockBytes(format); }
  size_t PackedBytes() const { return static_cast<size_t>(RowTiles()) * RowTileBytes(); }
};

// The form that weights of `format` read under a requested activation mode.
InputForm FormFor(WeightFormat format, ActivationFormat requested);

// One product of a phase: out[token * stride + row] (+)= linear x input.
struct MatrixJob {
  const Linear* linear;
  const uint8_t* tiles;
  float* out;
  ptrdiff_t stride;
  bool add;
};

// The activation tiles that the linear layers of one role read, in every form that one of them
// needs.
class PackedInput {
 public:
  // `readers[layer]` share an input, whose rows have 32*blocks floats.
  PackedInput(const Kernels& kernels, const std::vector<std::vector<const Linear*>>& readers,
              int blocks, int max_tokens);

  // How many tokens the next rows belong to. Not while threads pack or read.
  void SetTokens(int tokens) { tokens_ = tokens; }
  // Packs blocks [first_block, first_block + blocks) of token `token` from 32*blocks floats for the
  // readers of `layer`; any thread.
  void Pack(int layer, int token, int first_block, int blocks, const float* row) const;
  void PackRow(int layer, int token, const float* row) const {
    Pack(layer, token, 0, blocks_, row);
  }
  // The product of `linear`, one of the readers, with these tiles.
  MatrixJob Job(const Linear& linear, float* out, ptrdiff_t stride, bool add) const;

  int tokens() const { return tokens_; }

 private:
  struct Form {
    InputForm form;
    MappedMemory memory;
    std::vector<bool> needed;  // by layer
  };
  Form& FormOf(const InputForm& form, int max_tokens, size_t layers);

  const Kernels& kernels_;
  int blocks_;
  int tokens_ = 0;
  std::vector<Form> forms_;
};

// Bytes from the first tile to tile `tile`; all tiles before the last one hold kTokenTile tokens.
inline size_t TileOffset(ActivationFormat format, int blocks, int tile) {
  return static_cast<size_t>(tile) * static_cast<size_t>(blocks) *
         ActivationBlockBytes(format, kTokenTile);
}
inline int TileCount(int tokens) { return (tokens + kTokenTile - 1) / kTokenTile; }
inline int TileTokens(int tokens, int tile) {
  return std::min(kTokenTile, tokens - tile * kTokenTile);
}

// How a product is cut into pieces that threads claim.
struct MatrixGrid {
  int rows_per_piece;  // row tiles
  int row_pieces;
  int tiles_per_piece;  // token tiles
  int token_pieces;
  int Pieces() const { return row_pieces * token_pieces; }
};
// `row_granule`: pieces are multiples of so many row tiles.
MatrixGrid GridFor(int row_tiles, int tokens, int threads, int row_granule);

// What piece `piece` of a product covers.
struct MatrixRange {
  int first_row_tile;
  int row_tiles;
  int first_tile;  // token tiles
  int end_tile;
};
MatrixRange RangeOf(const MatrixGrid& grid, int piece, int row_tiles, int tokens);

// The range's rows for one token tile; `out` is where row 0 of the range goes for the tile's first
// token.
void MultiplyTile(const Kernels& kernels, const MatrixJob& job, const MatrixRange& range, int tile,
                  int tokens, float* out);

// Runs all products, sharing their pieces among the team's threads; ends with a barrier. Inside
// Team::Run().
void RunMatrices(Team& team, const Kernels& kernels, const MatrixJob* jobs, int count, int tokens);

}  // namespace mxbench
