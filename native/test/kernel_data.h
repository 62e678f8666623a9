// Random inputs for kernel tests, and readers of the packed layouts that are written from the
// contract in kernels.h and share no code with the kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "test/check.h"

namespace mxbench::test {

// A small generator with a fixed sequence per seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  uint32_t Bits() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return static_cast<uint32_t>((z ^ (z >> 31)) >> 32);
  }
  int Below(int end) { return static_cast<int>(Bits() % static_cast<uint32_t>(end)); }
  float Uniform() { return static_cast<float>(Bits() >> 8) * 0x1p-24f; }
  // Roughly normal, mean 0, deviation 1.
  float Normal() { return (Uniform() + Uniform() + Uniform() + Uniform() - 2.0f) * 1.7320508f; }
  std::vector<float> Normals(size_t count) {
    std::vector<float> values(count);
    for (float& value : values) value = Normal();
    return values;
  }

 private:
  uint64_t state_;
};

template <typename T>
T ReadAs(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

inline float FromBfloat16(const void* bytes) {
  const uint32_t bits = uint32_t{ReadAs<uint16_t>(bytes)} << 16;
  return ReadAs<float>(&bits);
}

// By the definition of fp16; no infinities or NaN.
inline double FromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int mantissa = half & 1023;
  const double magnitude =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

inline double E2m1(int code) {
  const double values[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code & 8 ? -values[code & 7] : values[code & 7];
}

inline std::vector<Isa> AvailableIsas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (IsaAvailable(isa)) isas.push_back(isa);
  }
  return isas;
}

constexpr WeightFormat kWeightFormats[] = {WeightFormat::kMxfp4, WeightFormat::kQ8,
                                           WeightFormat::kBfloat16, WeightFormat::kFloat32};
constexpr ActivationFormat kActivationFormats[] = {
    ActivationFormat::kFloat32, ActivationFormat::kBfloat16, ActivationFormat::kInt8};

inline const char* NameOf(WeightFormat format) {
  const char* names[] = {"mxfp4", "q8", "bf16", "f32"};
  return names[static_cast<int>(format)];
}
inline const char* NameOf(ActivationFormat format) {
  const char* names[] = {"f32", "bf16", "int8"};
  return names[static_cast<int>(format)];
}
inline const char* NameOf(KvFormat format) {
  return format == KvFormat::kBfloat16 ? "bf16" : "f32";
}

// Rows of a weights file in one format, and the values that they stand for.
struct SourceRows {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<std::vector<double>> values;

  SourceRows(WeightFormat format, int rows, int blocks, Random& random);
  std::vector<const uint8_t*> Pointers(int first, int count) const;
};

inline size_t SourceBlockBytes(WeightFormat format) {
  const size_t bytes[] = {17, 34, 64, 128};
  return bytes[static_cast<int>(format)];
}

// Packs `row_tiles` row tiles from the rows; the result has no byte to spare.
std::vector<uint8_t> PackRows(WeightFormat format, const SourceRows& rows, int row_tiles,
                              int blocks);

// What the contract says row r, input k of a packed row tile of `blocks` blocks stands for.
double PackedValue(WeightFormat format, const uint8_t* row_tile, int r, int k);

// What the contract says token m, input k of an activation tile stands for.
double ActivationValue(ActivationFormat format, const uint8_t* tile, int tokens, int m, int k);

}  // namespace mxbench::test
