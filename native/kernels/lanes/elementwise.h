// Element-wise kernels for any instruction set; Lanes gives vectors of sixteen floats.
#pragma once

#include "kernels/lanes/exp.h"

namespace mxbench::lanes {

template <typename Lanes>
void RmsNorm(const float* x, const float* weight, int width, float epsilon, float* y) {
  constexpr int kParts = 4;
  typename Lanes::Floats parts[kParts] = {Lanes::Zero(), Lanes::Zero(), Lanes::Zero(),
                                          Lanes::Zero()};
  for (int i = 0; i < width; i += 16 * kParts) {
    MXBENCH_UNROLL(4)
    for (int part = 0; part < kParts; part++) {
      const int at = i + 16 * part;
      if (at >= width) break;
      const auto value = Lanes::LoadFirst(x + at, width - at);
      parts[part] = Lanes::MultiplyAdd(value, value, parts[part]);
    }
  }
  const float sum =
      Lanes::ReduceAdd(Lanes::Add(Lanes::Add(parts[0], parts[1]), Lanes::Add(parts[2], parts[3])));
  const auto factor =
      Lanes::Broadcast(1.0f / Lanes::SquareRoot(sum / static_cast<float>(width) + epsilon));
  for (int i = 0; i < width; i += 16) {
    const auto scaled = Lanes::Multiply(Lanes::LoadFirst(x + i, width - i), factor);
    Lanes::StoreFirst(y + i, Lanes::Multiply(scaled, Lanes::LoadFirst(weight + i, width - i)),
                      width - i);
  }
}

template <typename Lanes>
void Rotate(float* head, const float* cosines, const float* sines, int head_width) {
  const int half = head_width / 2;
  for (int i = 0; i < half; i += 16) {
    const int count = half - i;
    const auto first = Lanes::LoadFirst(head + i, count);
    const auto second = Lanes::LoadFirst(head + half + i, count);
    const auto cosine = Lanes::LoadFirst(cosines + i, count);
    const auto sine = Lanes::LoadFirst(sines + i, count);
    const auto turned_first =
        Lanes::Subtract(Lanes::Multiply(first, cosine), Lanes::Multiply(second, sine));
    const auto turned_second =
        Lanes::Add(Lanes::Multiply(second, cosine), Lanes::Multiply(first, sine));
    Lanes::StoreFirst(head + i, turned_first, count);
    Lanes::StoreFirst(head + half + i, turned_second, count);
  }
}

template <typename Lanes>
void SiluMultiply(const float* gate, const float* up, int width, float* y) {
  for (int i = 0; i < width; i += 16) {
    const auto x = Lanes::LoadFirst(gate + i, width - i);
    const auto divisor =
        Lanes::Add(Lanes::Broadcast(1.0f), Exp<Lanes>(Lanes::Subtract(Lanes::Zero(), x)));
    const auto silu = Lanes::Divide(x, divisor);
    Lanes::StoreFirst(y + i, Lanes::Multiply(silu, Lanes::LoadFirst(up + i, width - i)), width - i);
  }
}

template <typename Lanes>
void Add(float* x, const float* y, int width) {
  for (int i = 0; i < width; i += 16) {
    const auto sum =
        Lanes::Add(Lanes::LoadFirst(x + i, width - i), Lanes::LoadFirst(y + i, width - i));
    Lanes::StoreFirst(x + i, sum, width - i);
  }
}

}  // namespace mxbench::lanes
