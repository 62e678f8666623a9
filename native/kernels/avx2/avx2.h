// Declarations of the AVX2 kernels (AVX2, FMA, F16C).
#pragma once

#include "kernels/kernels.h"

namespace mxbench::avx2 {

void PackInt8(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile);
void PackBfloat16(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile);
void PackFloat32(const float* row, int blocks, int m, int tokens, int offset, uint8_t* tile);

void Mxfp4Int8(const MatrixArgs& args);
void Q8Int8(const MatrixArgs& args);
void Mxfp4Bfloat16(const MatrixArgs& args);
void Bfloat16Bfloat16(const MatrixArgs& args);
void Mxfp4Float32(const MatrixArgs& args);
void Q8Float32(const MatrixArgs& args);
void Bfloat16Float32(const MatrixArgs& args);
void Float32Float32(const MatrixArgs& args);

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

}  // namespace mxbench::avx2
