// Plain packing of activations into tiles; the oracle of the vector versions.
#include <cmath>
#include <limits>

#include "kernels/reference/portable.h"

namespace mxbench::portable {
namespace {

// Rounds half to even for |x| < 2^22: adding 1.5 * 2^23 leaves no fraction bits.
int32_t RoundToInt(float x) {
  constexpr float kNoFraction = 12582912.0f;
  return static_cast<int32_t>((x + kNoFraction) - kNoFraction);
}

// Largest magnitude as float bits: the order of the bits is the order of the magnitudes, and a NaN
// comes out on top.
uint32_t LargestMagnitude(const float* x) {
  uint32_t largest = 0;
  for (int k = 0; k < kBlock; k++) {
    const uint32_t magnitude = BitsOfFloat(x[k]) & 0x7fffffff;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

void QuantizeBlock(const float* x, int m, int tokens, int offset, uint8_t* block) {
  const uint32_t largest = LargestMagnitude(x);
  const bool finite = largest < 0x7f800000;
  const bool zero = !finite || largest < kSmallestMagnitudeBits;
  const float amax = FloatFromBits(largest);
  const float factor = zero ? 0.0f : 127.0f / amax;
  int32_t sum = 0;
  int8_t* values = reinterpret_cast<int8_t*>(block) + kBlock * m;
  for (int k = 0; k < kBlock; k++) {
    const int32_t value = zero ? 0 : RoundToInt(x[k] * factor);
    values[k] = static_cast<int8_t>(value);
    sum += value;
  }
  const float scale = !finite ? std::numeric_limits<float>::quiet_NaN() : zero ? 0 : amax / 127.0f;
  StoreAs(block + kBlock * tokens + 4 * m, scale);
  StoreAs(block + (kBlock + 4) * tokens + 4 * m, -offset * sum);
}

}  // namespace

void PackInt8(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile) {
  const size_t bytes = ActivationBlockBytes(ActivationFormat::kInt8, tokens);
  for (int b = 0; b < blocks; b++)
    QuantizeBlock(row + kBlock * b, m, tokens, offset, tile + bytes * static_cast<size_t>(b));
}

void PackBfloat16(const float* row, int blocks, int m, int tokens, int, uint8_t* tile) {
  const size_t bytes = ActivationBlockBytes(ActivationFormat::kBfloat16, tokens);
  for (int b = 0; b < blocks; b++) {
    uint8_t* values = tile + bytes * static_cast<size_t>(b) + 2 * kBlock * m;
    for (int p = 0; p < kBlock / 2; p++) {
      const float* first = row + kBlock * b + PairFirst(p);
      StoreAs(values + 4 * p, Bfloat16FromFloat(first[0]));
      StoreAs(values + 4 * p + 2, Bfloat16FromFloat(first[2]));
    }
  }
}

void PackFloat32(const float* row, int blocks, int m, int tokens, int, uint8_t* tile) {
  const size_t bytes = ActivationBlockBytes(ActivationFormat::kFloat32, tokens);
  for (int b = 0; b < blocks; b++) {
    std::memcpy(tile + bytes * static_cast<size_t>(b) + 4 * kBlock * m, row + kBlock * b,
                4 * kBlock);
  }
}

}  // namespace mxbench::portable
