// Declarations of the plain kernels, and the numeric conventions that all instruction sets share.
#pragma once

#include "kernels/kernels.h"
#include "kernels/reference/number_formats.h"

namespace mxbench {

// A block of activations whose largest magnitude is below this (2^-119, as float bits) is quantized
// as zeros: 127 / amax would leave float's range. A block that holds an infinity or a NaN gets a
// NaN scale, so that the damage shows in the result.
constexpr uint32_t kSmallestMagnitudeBits = 8u << 23;

namespace portable {

void PackInt8(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile);
void PackBfloat16(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile);
void PackFloat32(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile);

MatrixFn MatrixKernel(WeightFormat weights, ActivationFormat activations);

void StoreKvBfloat16(const float* key, const float* value, int head_width, int slot, uint8_t* head);
void StoreKvFloat32(const float* key, const float* value, int head_width, int slot, uint8_t* head);
void AttendBfloat16(const AttendArgs& args);
void AttendFloat32(const AttendArgs& args);
void MergeSpan(int head_width, float span_maximum, float span_sum, const float* span_out,
               float* maximum, float* sum, float* out);

void RmsNorm(const float* x, const float* weight, int width, float epsilon, float* y);
void Rotate(float* head, const float* cosines, const float* sines, int head_width);
void SiluMultiply(const float* gate, const float* up, int width, float* y);
void Add(float* x, const float* y, int width);
int32_t Argmax(const float* x, int width);

}  // namespace portable
}  // namespace mxbench
