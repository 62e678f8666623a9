// Draws one token from a row of logits.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace mxbench {

// R entries each; see SampleInput in native/index.ts.
struct SampleInput {
  int row_count;
  const float* temperature;
  const int32_t* top_k;
  const float* top_p;
  const float* min_p;
  const uint32_t* seed;  // two words a row
  const int32_t* draw_index;
};

class Sampler {
 public:
  explicit Sampler(int vocabulary);

  // Token of row `row`, or -1 when its largest logit is not finite. temperature 0 takes the largest
  // logit, the smallest id on a tie. Otherwise: softmax of logits / temperature, then min-p, top-k
  // and top-p in this order, then one draw by the random number that (seed, draw_index) fix, so a
  // request's draws do not depend on what else runs.
  int32_t Draw(const Kernels& kernels, const float* logits, const SampleInput& input, int row);

 private:
  struct Candidate {
    float logit;
    int32_t token;
  };
  void Gather(const float* logits, float threshold);
  int32_t Pick(double temperature, float maximum, float top_p, double uniform) const;

  int vocabulary_;
  std::vector<Candidate> candidates_;
};

}  // namespace mxbench
