// The kernel runs that are measured, each with the work that it does and the ceiling that binds it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/ceilings.h"

namespace mxbench::bench {

enum class Bound {
  kReadOneThread,
  kReadAllThreads,
  kReadScattered,
  kInt8,
  kBfloat16,
  kFloat32,
  kBfloat16AndFloat32
};

struct Case {
  std::string name;
  Isa isa;
  Bound bound;
  // Does the work once and returns its amount a second: bytes read for
  // the read bounds, else multiply-accumulates.
  std::function<double()> run;
  double best = 0;
};

// All cases of one instruction set. `memory` must outlive them; `inner_repetitions` is of runs
// whose data stay in a cache.
std::vector<Case> CasesOf(Isa isa, ColdMemory& memory, int inner_repetitions, int threads);

double CeilingOf(const Case& one, const Ceilings& ceilings);
const char* NameOf(Bound bound);
bool IsRead(Bound bound);

}  // namespace mxbench::bench
