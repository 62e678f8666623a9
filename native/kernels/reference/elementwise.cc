// Plain element-wise kernels, and the table of all plain kernels.
#include <cmath>

#include "kernels/isa_tables.h"
#include "kernels/reference/portable.h"

namespace mxbench::portable {

void RmsNorm(const float* x, const float* weight, int width, float epsilon, float* y) {
  // Sixteen partial sums keep the loop free of one long dependency, so that it vectorises.
  float parts[16] = {};
  int i = 0;
  for (; i + 16 <= width; i += 16) {
    for (int lane = 0; lane < 16; lane++) parts[lane] += x[i + lane] * x[i + lane];
  }
  for (; i < width; i++) parts[i % 16] += x[i] * x[i];
  float sum = 0;
  for (const float part : parts) sum += part;
  const float factor = 1.0f / std::sqrt(sum / static_cast<float>(width) + epsilon);
  for (int j = 0; j < width; j++) y[j] = x[j] * factor * weight[j];
}

void Rotate(float* head, const float* cosines, const float* sines, int head_width) {
  const int half = head_width / 2;
  for (int i = 0; i < half; i++) {
    const float first = head[i];
    const float second = head[i + half];
    head[i] = first * cosines[i] - second * sines[i];
    head[i + half] = second * cosines[i] + first * sines[i];
  }
}

void SiluMultiply(const float* gate, const float* up, int width, float* y) {
  for (int i = 0; i < width; i++) y[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
}

void Add(float* x, const float* y, int width) {
  for (int i = 0; i < width; i++) x[i] += y[i];
}

int32_t Argmax(const float* x, int width) {
  int32_t best = 0;
  for (int32_t i = 1; i < width; i++) {
    const bool better = x[i] > x[best] || (std::isnan(x[best]) && !std::isnan(x[i]));
    if (better) best = i;
  }
  return best;
}

const Kernels& Table() {
  using W = WeightFormat;
  using A = ActivationFormat;
  static const Kernels kTable = {
      Isa::kPortable,
      "portable",
      {PackFloat32, PackBfloat16, PackInt8},
      {{MatrixKernel(W::kMxfp4, A::kFloat32), MatrixKernel(W::kMxfp4, A::kBfloat16),
        MatrixKernel(W::kMxfp4, A::kInt8)},
       {MatrixKernel(W::kQ8, A::kFloat32), nullptr, MatrixKernel(W::kQ8, A::kInt8)},
       {MatrixKernel(W::kBfloat16, A::kFloat32), MatrixKernel(W::kBfloat16, A::kBfloat16), nullptr},
       {MatrixKernel(W::kFloat32, A::kFloat32), nullptr, nullptr}},
      {StoreKvBfloat16, StoreKvFloat32},
      {AttendBfloat16, AttendFloat32},
      MergeSpan,
      RmsNorm,
      Rotate,
      SiluMultiply,
      Add,
      Argmax};
  return kTable;
}

}  // namespace mxbench::portable
