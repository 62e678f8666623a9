// Packs rows of a weights file into the row tiles that every kernel reads. Runs once, at load, and
// is the same code for all instruction sets.
#include <cstring>

#include "kernels/kernels.h"
#include "kernels/reference/number_formats.h"

namespace mxbench {
namespace {

constexpr int kMxfp4FileBlock = 17;
constexpr int kQ8FileBlock = 34;

// One row of one MXFP4 block. False when the exponent is NaN.
bool PackMxfp4Block(const uint8_t* source, int row, uint8_t* block) {
  const int exponent = source[0];
  // The code table is doubled, hence one less. 2^-127 and 2^-126 of a doubled table would be
  // denormal: they become a zero factor.
  block[row] = static_cast<uint8_t>(exponent <= 1 || exponent == 255 ? 0 : exponent - 1);
  for (int j = 0; j < 4; j++) {
    std::memcpy(block + 16 + 64 * j + 4 * row, source + 1 + 4 * j, 4);
  }
  return exponent != 255;
}

// The file's byte k holds inputs k (low nibble) and k + 16 (high), which is the packed order too;
// only rows are interleaved.
void PackQ8Block(const uint8_t* source, int row, uint8_t* block) {
  std::memcpy(block + 2 * row, source, 2);
  for (int k = 0; k < kBlock; k++) {
    const int weight = static_cast<int8_t>(source[2 + k]);
    block[32 + 64 * (k / 4) + 4 * row + k % 4] = static_cast<uint8_t>(weight + 128);
  }
}

// Packs a tile of float rows whose element k of row r is read by `element`.
template <typename Element>
void PackFloats(int rows, int blocks, uint8_t* packed, Element element) {
  std::memset(packed, 0, static_cast<size_t>(blocks) * PackedBlockBytes(WeightFormat::kFloat32));
  for (int r = 0; r < rows; r++) {
    for (int k = 0; k < blocks * kBlock; k++) {
      StoreAs(packed + (size_t{16} * static_cast<size_t>(k) + static_cast<size_t>(r)) * 4,
              element(r, k));
    }
  }
}

}  // namespace

bool PackMxfp4RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed) {
  const size_t bytes = PackedBlockBytes(WeightFormat::kMxfp4);
  std::memset(packed, 0, static_cast<size_t>(blocks) * bytes);
  bool finite = true;
  for (int r = 0; r < rows; r++) {
    for (int b = 0; b < blocks; b++) {
      finite &= PackMxfp4Block(source_rows[r] + ptrdiff_t{b} * kMxfp4FileBlock, r,
                               packed + static_cast<size_t>(b) * bytes);
    }
  }
  return finite;
}

void PackQ8RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed) {
  const size_t bytes = PackedBlockBytes(WeightFormat::kQ8);
  for (int b = 0; b < blocks; b++) {
    uint8_t* block = packed + static_cast<size_t>(b) * bytes;
    std::memset(block, 0, 32);
    std::memset(block + 32, 128, bytes - 32);
    for (int r = 0; r < rows; r++) {
      PackQ8Block(source_rows[r] + ptrdiff_t{b} * kQ8FileBlock, r, block);
    }
  }
}

void PackBfloat16RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed) {
  const size_t bytes = PackedBlockBytes(WeightFormat::kBfloat16);
  std::memset(packed, 0, static_cast<size_t>(blocks) * bytes);
  for (int r = 0; r < rows; r++) {
    for (int b = 0; b < blocks; b++) {
      for (int p = 0; p < kBlock / 2; p++) {
        const uint8_t* first = source_rows[r] + 2 * (ptrdiff_t{b} * kBlock + PairFirst(p));
        uint8_t* pair = packed + static_cast<size_t>(b) * bytes + 64 * p + 4 * r;
        std::memcpy(pair, first, 2);
        std::memcpy(pair + 2, first + 4, 2);
      }
    }
  }
}

void PackFloat32RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed) {
  PackFloats(rows, blocks, packed,
             [=](int r, int k) { return LoadAs<float>(source_rows[r] + ptrdiff_t{4} * k); });
}

void PackFloat16RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed) {
  PackFloats(rows, blocks, packed, [=](int r, int k) {
    return FloatFromHalf(LoadAs<uint16_t>(source_rows[r] + ptrdiff_t{2} * k));
  });
}

}  // namespace mxbench
