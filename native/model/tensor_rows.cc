#include "model/tensor_rows.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace mxbench {
namespace {

constexpr int kQ8BlockBytes = 34;
constexpr int kMxfp4BlockBytes = 17;
constexpr float kE2m1[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

float FloatFromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const int exponent = half >> 10 & 31;
  const uint32_t mantissa = half & 1023u;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0)
    return std::copysign(std::ldexp(static_cast<float>(mantissa), -24), sign != 0 ? -1.0f : 1.0f);
  return std::bit_cast<float>(sign | static_cast<uint32_t>(exponent + 112) << 23 | mantissa << 13);
}

uint16_t Read16(const uint8_t* bytes) {
  uint16_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void DecodeQ8(const uint8_t* row, int64_t columns, float* out) {
  for (int64_t block = 0; block < columns / kBlock; block++, row += kQ8BlockBytes) {
    const float scale = FloatFromHalf(Read16(row));
    for (int i = 0; i < kBlock; i++) {
      out[block * kBlock + i] = scale * static_cast<float>(static_cast<int8_t>(row[2 + i]));
    }
  }
}

void DecodeMxfp4(const uint8_t* row, int64_t columns, float* out) {
  for (int64_t block = 0; block < columns / kBlock; block++, row += kMxfp4BlockBytes) {
    const float scale = std::ldexp(1.0f, row[0] - 127);
    for (int i = 0; i < kBlock / 2; i++) {
      out[block * kBlock + i] = scale * kE2m1[row[1 + i] & 15];
      out[block * kBlock + i + kBlock / 2] = scale * kE2m1[row[1 + i] >> 4];
    }
  }
}

}  // namespace

const char* TensorTypeName(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return "F32";
    case TensorType::kF16:
      return "F16";
    case TensorType::kBf16:
      return "BF16";
    case TensorType::kQ8:
      return "Q8_0";
    case TensorType::kMxfp4:
      return "MXFP4";
  }
  return "?";
}

uint64_t RowBytes(TensorType type, int64_t columns) {
  const uint64_t count = static_cast<uint64_t>(columns);
  switch (type) {
    case TensorType::kF32:
      return 4 * count;
    case TensorType::kF16:
    case TensorType::kBf16:
      return 2 * count;
    case TensorType::kQ8:
      return count % kBlock == 0 ? count / kBlock * kQ8BlockBytes : 0;
    case TensorType::kMxfp4:
      return count % kBlock == 0 ? count / kBlock * kMxfp4BlockBytes : 0;
  }
  return 0;
}

void DecodeRow(TensorType type, const uint8_t* row, int64_t columns, float* out) {
  switch (type) {
    case TensorType::kF32:
      std::memcpy(out, row, static_cast<size_t>(columns) * sizeof(float));
      return;
    case TensorType::kF16:
      for (int64_t i = 0; i < columns; i++) out[i] = FloatFromHalf(Read16(row + 2 * i));
      return;
    case TensorType::kBf16:
      for (int64_t i = 0; i < columns; i++) {
        out[i] = std::bit_cast<float>(uint32_t{Read16(row + 2 * i)} << 16);
      }
      return;
    case TensorType::kQ8:
      return DecodeQ8(row, columns, out);
    case TensorType::kMxfp4:
      return DecodeMxfp4(row, columns, out);
  }
}

}  // namespace mxbench
