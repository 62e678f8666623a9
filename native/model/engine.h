// One loaded dense decoder (Llama, Qwen3) with its KV cache and kernel threads: forward pass and
// sampling of a step.
//
// A step runs as one job of the team: every thread walks the layers and claims pieces of each
// phase; barriers separate the phases. Nothing is allocated after construction. Calls come from one
// thread at a time.
#pragma once

#include <initializer_list>
#include <vector>

#include "model/attention.h"
#include "model/sampler.h"
#include "model/weights.h"

namespace mxbench {

class Engine {
 public:
  explicit Engine(EngineOptions options);

  // Runs the model over the step's tokens, appends their keys and values, and leaves logits for the
  // wanted rows. EngineError BAD_ARGUMENT when the step is out of bounds; nothing has been written
  // then.
  void Forward(const StepInput& step);

  // Row `row` of the last Forward()'s logits: vocabulary floats, writable.
  float* Logits(int row) const;

  // One token id a row; see sampler.h.
  void Sample(const SampleInput& input, int32_t* tokens);

  const EngineOptions& options() const { return options_; }
  size_t weight_bytes() const { return weights_.packed_bytes(); }
  size_t kv_block_bytes() const { return cache_.block_bytes(); }
  int logit_rows() const { return logit_row_count_; }

 private:
  void RunThread(int thread, const StepInput& step);
  void RunLayer(int thread, int layer, const StepInput& step);
  void Begin(const StepInput& step);
  void NormAndPack(const std::vector<float>& norm, PackedInput& input, int layer, int thread);
  void RotateAndStore(const LayerWeights& weights, int layer, const StepInput& step);
  void RotateHead(float* head, const std::vector<float>& norm, int token) const;
  void PackAttention(int layer);
  void GateAndUp(const LayerWeights& weights, int layer, int thread);
  void Head(const StepInput& step, int thread);
  float* Row(const MappedMemory& memory, int token, int width) const;
  std::vector<std::vector<const Linear*>> Readers(
      std::initializer_list<Linear LayerWeights::*> members) const;

  const EngineOptions options_;
  const Kernels& kernels_;
  Team team_;
  Weights weights_;
  KvCache cache_;
  Attention attention_;
  int query_width_;  // H*D
  int kv_width_;     // G*D
  int logit_stride_;
  int logit_row_count_ = 0;

  // Inputs of the linear layers, by what reads them.
  PackedInput attention_input_, output_input_, feed_forward_input_, down_input_, head_input_;
  // T rows of floats each.
  MappedMemory hidden_;    // residual stream, C
  MappedMemory queries_;   // H*D
  MappedMemory keys_;      // G*D
  MappedMemory values_;    // G*D
  MappedMemory attended_;  // H*D
  MappedMemory cosines_;   // D/2
  MappedMemory sines_;     // D/2
  MappedMemory logits_;    // logit_stride_
  std::vector<int> sequence_of_token_;
  std::vector<int> position_of_token_;
  std::vector<std::vector<float>> row_scratch_;  // by thread: C
  std::vector<MappedMemory> gate_scratch_;       // by thread: two of 16 x F
  std::vector<Sampler> samplers_;                // by thread
};

}  // namespace mxbench
