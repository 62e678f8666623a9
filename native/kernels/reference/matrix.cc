// Plain matrix kernels, one template for all formats: decode a block of 16 rows, then multiply it
// with every token of the tile. Written so that a compiler can vectorise the inner loops.
#include <cmath>
#include <type_traits>

#include "kernels/reference/portable.h"

namespace mxbench::portable {
namespace {

// The weights of one block of a row tile without their scales, and the scales. Integers lie row by
// row, since their sums may be taken in any order; floats input by input, since theirs may not.
struct Integers {
  int16_t weight[kRowTile][kBlock];
  float scale[kRowTile];
  int16_t& At(int k, int r) { return weight[r][k]; }
};
struct Floats {
  float weight[kBlock][kRowTile];
  float scale[kRowTile];
  float& At(int k, int r) { return weight[k][r]; }
};

template <typename Decoded>
void DecodeMxfp4(const uint8_t* block, Decoded& out) {
  for (int r = 0; r < kRowTile; r++) {
    out.scale[r] = FloatFromBits(uint32_t{block[r]} << 23);
    // A local copy: the compiler cannot know that `out` leaves `block` alone.
    uint8_t bytes[kBlock / 2];
    for (int j = 0; j < 4; j++) std::memcpy(bytes + 4 * j, block + 16 + 64 * j + 4 * r, 4);
    for (int k = 0; k < kBlock / 2; k++) {
      out.At(k, r) = DoubledE2m1(bytes[k] & 15);
      out.At(k + 16, r) = DoubledE2m1(bytes[k] >> 4);
    }
  }
}

template <typename Decoded>
void DecodeQ8(const uint8_t* block, Decoded& out) {
  for (int r = 0; r < kRowTile; r++) {
    out.scale[r] = FloatFromHalf(LoadAs<uint16_t>(block + 2 * r));
    for (int k = 0; k < kBlock; k++) {
      const int weight = block[32 + 64 * (k / 4) + 4 * r + k % 4] - 128;
      out.At(k, r) = static_cast<int16_t>(weight);
    }
  }
}

void DecodeBfloat16(const uint8_t* block, Floats& out) {
  for (int r = 0; r < kRowTile; r++) {
    out.scale[r] = 1;
    for (int p = 0; p < kBlock / 2; p++) {
      const uint8_t* pair = block + 64 * p + 4 * r;
      out.weight[PairFirst(p)][r] = FloatFromBfloat16(LoadAs<uint16_t>(pair));
      out.weight[PairFirst(p) + 2][r] = FloatFromBfloat16(LoadAs<uint16_t>(pair + 2));
    }
  }
}

void DecodeFloat32(const uint8_t* block, Floats& out) {
  std::memcpy(out.weight, block, sizeof(out.weight));
  for (float& scale : out.scale) scale = 1;
}

template <WeightFormat kWeights, typename Decoded>
void Decode(const uint8_t* block, Decoded& out) {
  if constexpr (kWeights == WeightFormat::kMxfp4) DecodeMxfp4(block, out);
  if constexpr (kWeights == WeightFormat::kQ8) DecodeQ8(block, out);
  if constexpr (kWeights == WeightFormat::kBfloat16) DecodeBfloat16(block, out);
  if constexpr (kWeights == WeightFormat::kFloat32) DecodeFloat32(block, out);
}

// f[r] += block sum of token m, for integers: exact inside the block, one fused step into f.
template <ActivationFormat kActivations>
void AddBlock(const Integers& weights, const uint8_t* block, int m, int tokens, float* f) {
  int16_t value[kBlock];
  for (int k = 0; k < kBlock; k++)
    value[k] = reinterpret_cast<const int8_t*>(block)[kBlock * m + k];
  int32_t sum[kRowTile];
  for (int r = 0; r < kRowTile; r++) {
    int32_t row_sum = 0;
    for (int k = 0; k < kBlock; k++) row_sum += weights.weight[r][k] * value[k];
    sum[r] = row_sum;
  }
  const float scale = LoadAs<float>(block + kBlock * tokens + 4 * m);
  for (int r = 0; r < kRowTile; r++) {
    f[r] = std::fma(static_cast<float>(sum[r]), weights.scale[r] * scale, f[r]);
  }
}

// The same for floats: the block is summed from zero, then scaled into f.
template <ActivationFormat kActivations>
void AddBlock(const Floats& weights, const uint8_t* block, int m, int, float* f) {
  float value[kBlock];
  if constexpr (kActivations == ActivationFormat::kBfloat16) {
    for (int p = 0; p < kBlock / 2; p++) {
      const uint8_t* pair = block + 2 * kBlock * m + 4 * p;
      value[PairFirst(p)] = FloatFromBfloat16(LoadAs<uint16_t>(pair));
      value[PairFirst(p) + 2] = FloatFromBfloat16(LoadAs<uint16_t>(pair + 2));
    }
  } else {
    std::memcpy(value, block + 4 * kBlock * m, sizeof(value));
  }
  float sum[kRowTile] = {};
  for (int k = 0; k < kBlock; k++) {
    for (int r = 0; r < kRowTile; r++) sum[r] += weights.weight[k][r] * value[k];
  }
  for (int r = 0; r < kRowTile; r++) f[r] += sum[r] * weights.scale[r];
}

template <WeightFormat kWeights, ActivationFormat kActivations>
void Matrix(const MatrixArgs& args) {
  using Decoded = std::conditional_t<kActivations == ActivationFormat::kInt8, Integers, Floats>;
  const size_t activation_bytes = ActivationBlockBytes(kActivations, args.tokens);
  const uint8_t* weights = args.weights;
  for (int t = 0; t < args.row_tiles; t++) {
    float f[kTokenTile][kRowTile] = {};
    const uint8_t* activations = args.activations;
    for (int b = 0; b < args.blocks; b++) {
      Decoded decoded;
      Decode<kWeights>(weights, decoded);
      for (int m = 0; m < args.tokens; m++) {
        AddBlock<kActivations>(decoded, activations, m, args.tokens, f[m]);
      }
      weights += PackedBlockBytes(kWeights);
      activations += activation_bytes;
    }
    for (int m = 0; m < args.tokens; m++) {
      float* out = args.out + m * args.out_stride + kRowTile * t;
      for (int r = 0; r < kRowTile; r++) out[r] = args.add ? out[r] + f[m][r] : f[m][r];
    }
  }
}

}  // namespace

MatrixFn MatrixKernel(WeightFormat weights, ActivationFormat activations) {
  using W = WeightFormat;
  using A = ActivationFormat;
  if (ActivationFor(weights, activations) != activations) return nullptr;
  const bool int8 = activations == A::kInt8;
  const bool bf16 = activations == A::kBfloat16;
  switch (weights) {
    case W::kMxfp4:
      return int8   ? Matrix<W::kMxfp4, A::kInt8>
             : bf16 ? Matrix<W::kMxfp4, A::kBfloat16>
                    : Matrix<W::kMxfp4, A::kFloat32>;
    case W::kQ8:
      return int8 ? Matrix<W::kQ8, A::kInt8> : Matrix<W::kQ8, A::kFloat32>;
    case W::kBfloat16:
      return bf16 ? Matrix<W::kBfloat16, A::kBfloat16> : Matrix<W::kBfloat16, A::kFloat32>;
    case W::kFloat32:
      return Matrix<W::kFloat32, A::kFloat32>;
  }
  return nullptr;
}

}  // namespace mxbench::portable
