// Attention of one step over the paged KV cache: cuts the work into items that threads claim, and
// puts spans together.
//
// Keys are processed in spans of 256 at fixed positions; each span's softmax is computed alone and
// folded into the running result in ascending order, whether one thread walks all spans (prefill)
// or several threads take one each (decode). So the result is the same bits however the work is
// shared.
#pragma once

#include <vector>

#include "model/kv_cache.h"
#include "model/step.h"
#include "model/team.h"

namespace mxbench {

class Attention {
 public:
  Attention(const Kernels& kernels, const ModelShape& shape, const KvCache& cache, int threads,
            int max_sequences, int max_model_length);

  // Cuts a step into items, the same for every layer. Not while threads run.
  void Plan(const StepInput& step);

  // Attends `queries` (T x H*D, scaled, rotated) of one layer; claims items until none is left. No
  // barrier at the end. Rows of sequences with one token are finished by Finish(), all others are
  // written to `out` (T x H*D).
  void RunItems(Team& team, int thread, int layer, const float* queries, float* out);

  // Completes token `token`'s row of `out`; after a barrier.
  void Finish(int token, float* out) const;

 private:
  struct Item {
    int sequence;
    int first_token;  // index in the step
    int tokens;
    int first_head;
    int heads;
    int span;  // only this span; or kAllSpans
  };
  static constexpr int kAllSpans = -1;

  struct Scratch {
    std::vector<float> queries;  // kMaxQueryRows x D
    std::vector<float> span_out;
    std::vector<float> running_out;
    std::vector<float> attend;
  };

  void PlanSequence(const StepInput& step, int sequence);
  int LastSpan(const Item& item) const;
  void AttendSpan(const Item& item, int layer, int span, Scratch& scratch, float* maximum,
                  float* sum) const;
  void GatherQueries(const Item& item, const float* queries, Scratch& scratch) const;
  void RunWhole(const Item& item, int layer, Scratch& scratch, float* out) const;
  void RunSpan(const Item& item, int layer, Scratch& scratch);
  float* Partial(int sequence, int head, int span) const;
  int QueryWidth() const { return heads_ * head_width_; }

  const Kernels& kernels_;
  const KvCache& cache_;
  int heads_;
  int group_;  // attention heads of one KV head
  int head_width_;
  int max_spans_;
  StepInput step_{};
  std::vector<Item> items_;
  std::vector<int>
      split_sequence_;            // by token: its sequence when it is finished by Finish(), else -1
  std::vector<int> split_spans_;  // by token: spans of that sequence
  std::vector<Scratch> scratch_;  // by thread
  MappedMemory partials_;         // max_sequences x H x max_spans of (maximum, sum, D floats)
};

}  // namespace mxbench
