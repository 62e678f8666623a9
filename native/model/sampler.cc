#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mxbench {
namespace {

// SplitMix64's finaliser: a counter-based generator, so that draw n needs no state.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Uniform in [0, 1) with 53 bits.
double Uniform(uint64_t seed, uint64_t index) {
  return static_cast<double>(Mix(Mix(seed) ^ index) >> 11) * 0x1p-53;
}

}  // namespace

Sampler::Sampler(int vocabulary) : vocabulary_(vocabulary) {
  candidates_.reserve(static_cast<size_t>(vocabulary));
}

int32_t Sampler::Draw(const Kernels& kernels, const float* logits, const SampleInput& input,
                      int row) {
  const int32_t best = kernels.argmax(logits, vocabulary_);
  const float maximum = logits[best];
  if (!std::isfinite(maximum)) return -1;
  const double temperature = static_cast<double>(input.temperature[row]);
  if (temperature <= 0) return best;
  const float min_p = input.min_p[row];
  // p(token) >= min_p * p(best) is a bound on the logit.
  const float threshold = min_p > 0 ? static_cast<float>(maximum + temperature * std::log(min_p))
                                    : -std::numeric_limits<float>::infinity();
  Gather(logits, threshold);
  const auto by_logit = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
  };
  const auto top_k = static_cast<size_t>(std::max(0, input.top_k[row]));
  const bool ordered = top_k > 0 || input.top_p[row] < 1;
  if (top_k > 0 && top_k < candidates_.size()) {
    std::nth_element(candidates_.begin(), candidates_.begin() + static_cast<ptrdiff_t>(top_k),
                     candidates_.end(), by_logit);
    candidates_.resize(top_k);
  }
  if (ordered) std::sort(candidates_.begin(), candidates_.end(), by_logit);
  const uint64_t seed = uint64_t{input.seed[2 * row + 1]} << 32 | input.seed[2 * row];
  return Pick(temperature, maximum, input.top_p[row],
              Uniform(seed, static_cast<uint64_t>(input.draw_index[row])));
}

void Sampler::Gather(const float* logits, float threshold) {
  candidates_.clear();
  for (int token = 0; token < vocabulary_; token++) {
    // False for NaN, so a broken logit is never drawn.
    if (logits[token] >= threshold && logits[token] > -std::numeric_limits<float>::infinity()) {
      candidates_.push_back({logits[token], token});
    }
  }
}

int32_t Sampler::Pick(double temperature, float maximum, float top_p, double uniform) const {
  const auto weight = [&](const Candidate& candidate) {
    return std::exp((static_cast<double>(candidate.logit) - maximum) / temperature);
  };
  double total = 0;
  for (const Candidate& candidate : candidates_) total += weight(candidate);
  size_t kept = candidates_.size();
  if (top_p < 1) {
    // The smallest prefix whose probability reaches top_p; always at least one.
    double mass = 0;
    kept = 0;
    while (kept < candidates_.size() && (kept == 0 || mass < top_p * total)) {
      mass += weight(candidates_[kept++]);
    }
    total = mass;
  }
  double left = uniform * total;
  for (size_t i = 0; i + 1 < kept; i++) {
    left -= weight(candidates_[i]);
    if (left < 0) return candidates_[i].token;
  }
  return candidates_[kept - 1].token;
}

}  // namespace mxbench
