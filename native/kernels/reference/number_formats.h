// Scalar conversions between float and the stored number formats, for the plain kernels, packing
// and tests. Everything has internal linkage: a copy compiled for one instruction set must never be
// linked into code that runs without it.
#pragma once

#include <cstdint>
#include <cstring>

namespace mxbench {
namespace {

// Reads any trivially copyable value from bytes of any alignment.
template <typename T>
[[maybe_unused]] inline T LoadAs(const void* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

template <typename T>
[[maybe_unused]] inline void StoreAs(void* bytes, T value) {
  std::memcpy(bytes, &value, sizeof(T));
}

[[maybe_unused]] inline float FloatFromBits(uint32_t bits) { return LoadAs<float>(&bits); }
[[maybe_unused]] inline uint32_t BitsOfFloat(float value) { return LoadAs<uint32_t>(&value); }

// Twice the E2M1 value of a code: magnitudes 0, 1, 2, 3, 4, 6, 8, 12. Arithmetic, not a table, so
// that loops over it vectorise everywhere.
[[maybe_unused]] inline int16_t DoubledE2m1(int code) {
  const auto m = static_cast<int16_t>(code & 7);
  const int magnitude = m + (m > 4 ? m - 4 : 0) + (m > 6 ? 2 : 0);
  return static_cast<int16_t>(code & 8 ? -magnitude : magnitude);
}

[[maybe_unused]] inline float FloatFromBfloat16(uint16_t bits) {
  return FloatFromBits(uint32_t{bits} << 16);
}

// Rounds half to even; a NaN stays a (quiet) NaN.
[[maybe_unused]] inline uint16_t Bfloat16FromFloat(float value) {
  const uint32_t bits = BitsOfFloat(value);
  const uint32_t rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>((nan ? bits | 0x00400000 : rounded) >> 16);
}

// Exact for every fp16, subnormals included; integer code, so that a flush-to-zero mode does not
// reach it.
[[maybe_unused]] inline float FloatFromHalf(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  uint32_t exponent = (half >> 10) & 31;
  uint32_t mantissa = half & 0x3ffu;
  if (exponent == 31) return FloatFromBits(sign | 0x7f800000 | mantissa << 13);
  if (exponent == 0) {
    if (mantissa == 0) return FloatFromBits(sign);
    exponent = 1;
    for (; (mantissa & 0x400) == 0; exponent--) mantissa <<= 1;
    mantissa &= 0x3ff;
  }
  return FloatFromBits(sign | (exponent + 112) << 23 | mantissa << 13);
}

}  // namespace
}  // namespace mxbench
