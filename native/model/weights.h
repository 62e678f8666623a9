// The weights of a model, packed for the kernels once at load.
#pragma once

#include <unordered_map>
#include <vector>

#include "model/linear.h"
#include "model/options.h"

namespace mxbench {

struct LayerWeights {
  std::vector<float> attention_norm;
  std::vector<float> feed_forward_norm;
  std::vector<float> query_norm;  // empty without query_key_norm
  std::vector<float> key_norm;
  Linear query, key, value, output;
  Linear gate, up, down;
};

class Weights {
 public:
  // Maps the file, checks every tensor against the shape, and packs on the team's threads.
  // EngineError BAD_MODEL names the tensor that is missing, misshapen, out of the file, or holds a
  // NaN scale.
  Weights(const EngineOptions& options, Team& team);

  // Writes the embedding of `token` (width floats).
  void Embed(int token, float* row) const;

  const std::vector<LayerWeights>& layers() const { return layers_; }
  const std::vector<float>& output_norm() const { return output_norm_; }
  const Linear& head() const { return head_; }
  size_t packed_bytes() const { return packed_.bytes(); }

 private:
  struct PackTask {
    Linear* linear;
    const TensorLocation* tensor;
    int interleaved_head_width;  // 0: rows in file order
    size_t offset;               // of the packed matrix
  };

  const TensorLocation& Find(const std::string& name, int64_t rows, int64_t columns) const;
  std::vector<float> Vector(const std::string& name, int64_t columns) const;
  void Plan(Linear* linear, const std::string& name, int64_t rows, int64_t columns,
            ActivationFormat activations, int interleaved_head_width = 0);
  void PlanLayer(const EngineOptions& options, int layer);
  void PackAll(Team& team);
  bool PackRowTile(const PackTask& task, int row_tile) const;

  MappedMemory file_;
  MappedMemory packed_;
  size_t planned_bytes_ = 0;
  std::vector<PackTask> tasks_;
  std::unordered_map<std::string, TensorLocation> tensors_;
  const TensorLocation* embedding_ = nullptr;
  std::vector<LayerWeights> layers_;
  std::vector<float> output_norm_;
  Linear head_;
};

}  // namespace mxbench
