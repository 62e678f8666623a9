// The exponential of sixteen floats, for any instruction set.
#pragma once

#include "kernels/kernels.h"
#include "kernels/lanes/unroll.h"

namespace mxbench::lanes {

// e^x with a relative error below 2e-7; underflows to 0, overflows to infinity, NaN stays.
template <typename Lanes>
MXBENCH_INLINE typename Lanes::Floats Exp(typename Lanes::Floats x) {
  const auto constant = [](float value) { return Lanes::Broadcast(value); };
  // Max and Min return their second operand where one is NaN.
  const auto clamped = Lanes::Min(constant(89.0f), Lanes::Max(constant(-104.0f), x));
  const auto n = Lanes::Round(Lanes::Multiply(clamped, constant(1.44269504f)));
  // x - n ln 2 in two steps: n times the first part is exact.
  auto r = Lanes::MultiplyAdd(n, constant(-0.693359375f), clamped);
  r = Lanes::MultiplyAdd(n, constant(2.12194440e-4f), r);
  auto p = constant(1.0f / 5040);
  p = Lanes::MultiplyAdd(p, r, constant(1.0f / 720));
  p = Lanes::MultiplyAdd(p, r, constant(1.0f / 120));
  p = Lanes::MultiplyAdd(p, r, constant(1.0f / 24));
  p = Lanes::MultiplyAdd(p, r, constant(1.0f / 6));
  p = Lanes::MultiplyAdd(p, r, constant(0.5f));
  p = Lanes::MultiplyAdd(p, r, constant(1.0f));
  p = Lanes::MultiplyAdd(p, r, constant(1.0f));
  return Lanes::ScaleByPowerOfTwo(p, n);
}

}  // namespace mxbench::lanes
