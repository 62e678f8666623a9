// What an engine is made from, as plain data. The same fields as EngineOptions in native/index.ts,
// which documents them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace mxbench {

enum class TensorType { kF32, kF16, kBf16, kQ8, kMxfp4 };

struct TensorLocation {
  std::string name;
  TensorType type;
  int64_t rows;  // 1 for vectors
  int64_t columns;
  uint64_t offset_bytes;
  uint64_t length_bytes;
};

struct ModelShape {
  int layers;
  int width;
  int heads;
  int kv_heads;
  int head_width;
  int feed_forward_width;
  int vocabulary;
  float norm_epsilon;
  std::vector<double> rope_frequencies;  // head_width / 2
  double rope_amplitude;
  bool rope_interleaved;
  bool query_key_norm;  // Qwen3: RMS norm of each query and key head before the rotation
};

struct EngineOptions {
  std::string weights_path;
  ModelShape shape;
  std::vector<TensorLocation> tensors;
  ActivationFormat activations;
  Isa isa;
  int threads;
  KvFormat kv_format;
  int kv_blocks;
  int max_tokens_per_step;
  int max_sequences;
  int max_model_length;
};

}  // namespace mxbench
