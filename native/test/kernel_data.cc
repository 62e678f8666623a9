// Random inputs for kernel tests and readers of the packed layouts.
#include "test/kernel_data.h"

namespace mxbench::test {
namespace {

void FillMxfp4(uint8_t* block, double* values, Random& random) {
  block[0] = static_cast<uint8_t>(118 + random.Below(6));
  for (int j = 0; j < 16; j++) {
    block[1 + j] = static_cast<uint8_t>(random.Below(256));
    values[j] = std::ldexp(E2m1(block[1 + j] & 15), block[0] - 127);
    values[j + 16] = std::ldexp(E2m1(block[1 + j] >> 4), block[0] - 127);
  }
}

void FillQ8(uint8_t* block, double* values, Random& random) {
  // Mostly ordinary scales of either sign, now and then a subnormal one.
  const int ordinary = (random.Below(2) << 15) | ((4 + random.Below(8)) << 10) | random.Below(1024);
  const auto scale = static_cast<uint16_t>(random.Below(8) == 0 ? random.Below(1024) : ordinary);
  std::memcpy(block, &scale, 2);
  for (int j = 0; j < 32; j++) {
    const auto weight = static_cast<int8_t>(random.Below(256) - 128);
    block[2 + j] = static_cast<uint8_t>(weight);
    values[j] = FromHalf(scale) * weight;
  }
}

void FillFloats(bool bf16, uint8_t* block, double* values, Random& random) {
  for (int j = 0; j < 32; j++) {
    const float value = random.Normal() * 0.05f;
    const uint32_t bits = bf16 ? ReadAs<uint32_t>(&value) & 0xffff0000 : ReadAs<uint32_t>(&value);
    values[j] = ReadAs<float>(&bits);
    if (bf16) {
      const auto half = static_cast<uint16_t>(bits >> 16);
      std::memcpy(block + 2 * j, &half, 2);
    } else {
      std::memcpy(block + 4 * j, &bits, 4);
    }
  }
}

}  // namespace

SourceRows::SourceRows(WeightFormat format, int rows, int blocks, Random& random) {
  const size_t block_bytes = SourceBlockBytes(format);
  for (int row = 0; row < rows; row++) {
    bytes.emplace_back(block_bytes * static_cast<size_t>(blocks));
    values.emplace_back(static_cast<size_t>(kBlock * blocks));
    for (int b = 0; b < blocks; b++) {
      uint8_t* block = bytes.back().data() + block_bytes * static_cast<size_t>(b);
      double* decoded = values.back().data() + kBlock * b;
      if (format == WeightFormat::kMxfp4) FillMxfp4(block, decoded, random);
      if (format == WeightFormat::kQ8) FillQ8(block, decoded, random);
      if (format == WeightFormat::kBfloat16) FillFloats(true, block, decoded, random);
      if (format == WeightFormat::kFloat32) FillFloats(false, block, decoded, random);
    }
  }
}

std::vector<const uint8_t*> SourceRows::Pointers(int first, int count) const {
  std::vector<const uint8_t*> pointers;
  for (int row = first; row < first + count; row++) {
    pointers.push_back(bytes[static_cast<size_t>(row)].data());
  }
  return pointers;
}

std::vector<uint8_t> PackRows(WeightFormat format, const SourceRows& rows, int row_tiles,
                              int blocks) {
  const size_t tile_bytes = PackedBlockBytes(format) * static_cast<size_t>(blocks);
  std::vector<uint8_t> packed(tile_bytes * static_cast<size_t>(row_tiles));
  for (int t = 0; t < row_tiles; t++) {
    const std::vector<const uint8_t*> pointers = rows.Pointers(kRowTile * t, kRowTile);
    uint8_t* tile = packed.data() + tile_bytes * static_cast<size_t>(t);
    switch (format) {
      case WeightFormat::kMxfp4:
        CHECK(PackMxfp4RowTile(pointers.data(), kRowTile, blocks, tile));
        break;
      case WeightFormat::kQ8:
        PackQ8RowTile(pointers.data(), kRowTile, blocks, tile);
        break;
      case WeightFormat::kBfloat16:
        PackBfloat16RowTile(pointers.data(), kRowTile, blocks, tile);
        break;
      case WeightFormat::kFloat32:
        PackFloat32RowTile(pointers.data(), kRowTile, blocks, tile);
        break;
    }
  }
  return packed;
}

double PackedValue(WeightFormat format, const uint8_t* row_tile, int r, int k) {
  const uint8_t* block = row_tile + PackedBlockBytes(format) * static_cast<size_t>(k / kBlock);
  const int input = k % kBlock;
  if (format == WeightFormat::kMxfp4) {
    const int byte = block[16 + 64 * (input % 16 / 4) + 4 * r + input % 4];
    const double scale = block[r] == 0 ? 0 : std::ldexp(1, block[r] - 127);
    return 2 * E2m1(input < 16 ? byte & 15 : byte >> 4) * scale;
  }
  if (format == WeightFormat::kQ8) {
    const int weight = block[32 + 64 * (input / 4) + 4 * r + input % 4] - 128;
    return FromHalf(ReadAs<uint16_t>(block + 2 * r)) * weight;
  }
  if (format == WeightFormat::kBfloat16) {
    for (int p = 0; p < 16; p++) {
      if (PairFirst(p) == input) return FromBfloat16(block + 64 * p + 4 * r);
      if (PairFirst(p) + 2 == input) return FromBfloat16(block + 64 * p + 4 * r + 2);
    }
  }
  return ReadAs<float>(block + 4 * (16 * input + r));
}

double ActivationValue(ActivationFormat format, const uint8_t* tile, int tokens, int m, int k) {
  const uint8_t* block =
      tile + ActivationBlockBytes(format, tokens) * static_cast<size_t>(k / kBlock);
  const int input = k % kBlock;
  if (format == ActivationFormat::kFloat32) return ReadAs<float>(block + 4 * (kBlock * m + input));
  if (format == ActivationFormat::kInt8) {
    const double scale = ReadAs<float>(block + kBlock * tokens + 4 * m);
    return ReadAs<int8_t>(block + kBlock * m + input) * scale;
  }
  int p = 0;
  while (PairFirst(p) != input && PairFirst(p) + 2 != input) p++;
  const int half = PairFirst(p) == input ? 0 : 1;
  return FromBfloat16(block + 2 * (kBlock * m + 2 * p + half));
}

}  // namespace mxbench::test
