#include "model/engine.h"

#include <cmath>
#include <cstring>

#include "model/engine_error.h"

namespace mxbench {
namespace {

size_t FloatBytes(int rows, int width) {
  return sizeof(float) * static_cast<size_t>(rows) * static_cast<size_t>(width);
}

void Require(bool holds, const std::string& sentence) {
  if (!holds) throw EngineError("BAD_MODEL", sentence);
}

const EngineOptions& Checked(const EngineOptions& options) {
  const ModelShape& shape = options.shape;
  Require(shape.heads > 0 && shape.kv_heads > 0 && shape.heads % shape.kv_heads == 0,
          "The number of attention heads is not a multiple of the number of KV heads.");
  Require(
      shape.head_width % kRowTile == 0 && shape.head_width <= kMaxHeadWidth,
      "The head width " + std::to_string(shape.head_width) + " is not a multiple of 16 up to 256.");
  Require(shape.width % kBlock == 0 && shape.feed_forward_width % kBlock == 0 &&
              shape.heads * shape.head_width % kBlock == 0,
          "The model's widths are not multiples of 32.");
  Require(shape.rope_frequencies.size() * 2 == static_cast<size_t>(shape.head_width),
          "The model does not rotate whole heads.");
  return options;
}

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(Checked(options)),
      kernels_(KernelsFor(options_.isa)),
      team_(options_.threads),
      weights_(options_, team_),
      cache_(options_.shape, options_.kv_format, options_.kv_blocks),
      attention_(kernels_, options_.shape, cache_, options_.threads, options_.max_sequences,
                 options_.max_model_length),
      query_width_(options_.shape.heads * options_.shape.head_width),
      kv_width_(options_.shape.kv_heads * options_.shape.head_width),
      logit_stride_(weights_.head().RowTiles() * kRowTile),
      attention_input_(kernels_,
                       Readers({&LayerWeights::query, &LayerWeights::key, &LayerWeights::value}),
                       options_.shape.width / kBlock, options_.max_tokens_per_step),
      output_input_(kernels_, Readers({&LayerWeights::output}), query_width_ / kBlock,
                    options_.max_tokens_per_step),
      feed_forward_input_(kernels_, Readers({&LayerWeights::gate, &LayerWeights::up}),
                          options_.shape.width / kBlock, options_.max_tokens_per_step),
      down_input_(kernels_, Readers({&LayerWeights::down}),
                  options_.shape.feed_forward_width / kBlock, options_.max_tokens_per_step),
      head_input_(kernels_, {{&weights_.head()}}, options_.shape.width / kBlock,
                  options_.max_tokens_per_step) {
  const ModelShape& shape = options_.shape;
  const int tokens = options_.max_tokens_per_step;
  hidden_ = MappedMemory::Anonymous(FloatBytes(tokens, shape.width));
  queries_ = MappedMemory::Anonymous(FloatBytes(tokens, query_width_));
  keys_ = MappedMemory::Anonymous(FloatBytes(tokens, kv_width_));
  values_ = MappedMemory::Anonymous(FloatBytes(tokens, kv_width_));
  attended_ = MappedMemory::Anonymous(FloatBytes(tokens, query_width_));
  cosines_ = MappedMemory::Anonymous(FloatBytes(tokens, shape.head_width / 2));
  sines_ = MappedMemory::Anonymous(FloatBytes(tokens, shape.head_width / 2));
  logits_ = MappedMemory::Anonymous(FloatBytes(tokens, logit_stride_));
  sequence_of_token_.resize(static_cast<size_t>(tokens));
  position_of_token_.resize(static_cast<size_t>(tokens));
  for (int thread = 0; thread < options_.threads; thread++) {
    row_scratch_.emplace_back(static_cast<size_t>(shape.width));
    gate_scratch_.push_back(
        MappedMemory::Anonymous(2 * FloatBytes(kTokenTile, shape.feed_forward_width)));
    samplers_.emplace_back(shape.vocabulary);
  }
}

std::vector<std::vector<const Linear*>> Engine::Readers(
    std::initializer_list<Linear LayerWeights::*> members) const {
  std::vector<std::vector<const Linear*>> readers;
  for (const LayerWeights& layer : weights_.layers()) {
    readers.emplace_back();
    for (Linear LayerWeights::*member : members) readers.back().push_back(&(layer.*member));
  }
  return readers;
}

float* Engine::Row(const MappedMemory& memory, int token, int width) const {
  return reinterpret_cast<float*>(memory.data()) + ptrdiff_t{token} * width;
}

float* Engine::Logits(int row) const { return Row(logits_, row, logit_stride_); }

void Engine::Forward(const StepInput& step) {
  CheckStep(step, {options_.max_tokens_per_step, options_.max_sequences, options_.max_model_length,
                   options_.shape.vocabulary, options_.kv_blocks});
  for (int sequence = 0; sequence < step.sequence_count; sequence++) {
    const int begin = step.query_start[sequence];
    for (int token = begin; token < step.query_start[sequence + 1]; token++) {
      sequence_of_token_[static_cast<size_t>(token)] = sequence;
      position_of_token_[static_cast<size_t>(token)] =
          step.first_position[sequence] + token - begin;
    }
  }
  attention_.Plan(step);
  for (PackedInput* input :
       {&attention_input_, &output_input_, &feed_forward_input_, &down_input_}) {
    input->SetTokens(step.token_count);
  }
  head_input_.SetTokens(step.logit_row_count);
  logit_row_count_ = step.logit_row_count;
  team_.Run([&](int thread) { RunThread(thread, step); });
}

void Engine::RunThread(int thread, const StepInput& step) {
  Begin(step);
  for (int layer = 0; layer < options_.shape.layers; layer++) RunLayer(thread, layer, step);
  Head(step, thread);
}

// Embeddings, and the rotation of each token's position, which all layers share.
void Engine::Begin(const StepInput& step) {
  const ModelShape& shape = options_.shape;
  const int half = shape.head_width / 2;
  for (int token; (token = team_.Claim()) < step.token_count;) {
    weights_.Embed(step.tokens[token], Row(hidden_, token, shape.width));
    float* cosines = Row(cosines_, token, half);
    float* sines = Row(sines_, token, half);
    const double position = position_of_token_[static_cast<size_t>(token)];
    for (int i = 0; i < half; i++) {
      const double angle = position * shape.rope_frequencies[static_cast<size_t>(i)];
      cosines[i] = static_cast<float>(shape.rope_amplitude * std::cos(angle));
      sines[i] = static_cast<float>(shape.rope_amplitude * std::sin(angle));
    }
  }
  team_.Barrier();
}

void Engine::RunLayer(int thread, int layer, const StepInput& step) {
  const LayerWeights& weights = weights_.layers()[static_cast<size_t>(layer)];
  const int width = options_.shape.width;
  NormAndPack(weights.attention_norm, attention_input_, layer, thread);
  const MatrixJob projections[] = {
      attention_input_.Job(weights.query, Row(queries_, 0, 0), query_width_, false),
      attention_input_.Job(weights.key, Row(keys_, 0, 0), kv_width_, false),
      attention_input_.Job(weights.value, Row(values_, 0, 0), kv_width_, false)};
  RunMatrices(team_, kernels_, projections, 3, step.token_count);
  RotateAndStore(weights, layer, step);
  attention_.RunItems(team_, thread, layer, Row(queries_, 0, 0), Row(attended_, 0, 0));
  team_.Barrier();
  PackAttention(layer);
  const MatrixJob output = output_input_.Job(weights.output, Row(hidden_, 0, 0), width, true);
  RunMatrices(team_, kernels_, &output, 1, step.token_count);
  NormAndPack(weights.feed_forward_norm, feed_forward_input_, layer, thread);
  GateAndUp(weights, layer, thread);
  const MatrixJob down = down_input_.Job(weights.down, Row(hidden_, 0, 0), width, true);
  RunMatrices(team_, kernels_, &down, 1, step.token_count);
}

void Engine::NormAndPack(const std::vector<float>& norm, PackedInput& input, int layer,
                         int thread) {
  const int width = options_.shape.width;
  float* row = row_scratch_[static_cast<size_t>(thread)].data();
  for (int token; (token = team_.Claim()) < input.tokens();) {
    kernels_.rms_norm(Row(hidden_, token, width), norm.data(), width, options_.shape.norm_epsilon,
                      row);
    input.PackRow(layer, token, row);
  }
  team_.Barrier();
}

void Engine::RotateHead(float* head, const std::vector<float>& norm, int token) const {
  const int head_width = options_.shape.head_width;
  if (!norm.empty()) {
    kernels_.rms_norm(head, norm.data(), head_width, options_.shape.norm_epsilon, head);
  }
  kernels_.rotate(head, Row(cosines_, token, head_width / 2), Row(sines_, token, head_width / 2),
                  head_width);
}

void Engine::RotateAndStore(const LayerWeights& weights, int layer, const StepInput& step) {
  const int head_width = options_.shape.head_width;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_width));
  const StoreKvFn store = kernels_.store_kv[static_cast<int>(cache_.format())];
  for (int token; (token = team_.Claim()) < step.token_count;) {
    float* queries = Row(queries_, token, query_width_);
    for (int head = 0; head < options_.shape.heads; head++) {
      RotateHead(queries + head * head_width, weights.query_norm, token);
    }
    for (int i = 0; i < query_width_; i++) queries[i] *= scale;
    const int position = position_of_token_[static_cast<size_t>(token)];
    const int block = step.block_tables[ptrdiff_t{sequence_of_token_[static_cast<size_t>(token)]} *
                                            step.block_table_stride +
                                        position / kSlots];
    for (int head = 0; head < options_.shape.kv_heads; head++) {
      float* key = Row(keys_, token, kv_width_) + head * head_width;
      RotateHead(key, weights.key_norm, token);
      store(key, Row(values_, token, kv_width_) + head * head_width, head_width, position % kSlots,
            cache_.HeadBlock(layer, block, head));
    }
  }
  team_.Barrier();
}

void Engine::PackAttention(int layer) {
  for (int token; (token = team_.Claim()) < output_input_.tokens();) {
    attention_.Finish(token, Row(attended_, 0, 0));
    output_input_.PackRow(layer, token, Row(attended_, token, query_width_));
  }
  team_.Barrier();
}

// silu(gate) * up, packed for the down projection by the thread that computed it: the product never
// leaves its cache.
void Engine::GateAndUp(const LayerWeights& weights, int layer, int thread) {
  constexpr int kTilesPerBlock = kBlock / kRowTile;
  const int tokens = feed_forward_input_.tokens();
  const MatrixGrid grid = GridFor(weights.gate.RowTiles(), tokens, team_.size(), kTilesPerBlock);
  const ptrdiff_t stride = grid.rows_per_piece * kRowTile;
  float* gates = reinterpret_cast<float*>(gate_scratch_[static_cast<size_t>(thread)].data());
  float* ups = gates + kTokenTile * options_.shape.feed_forward_width;
  const MatrixJob gate = feed_forward_input_.Job(weights.gate, gates, stride, false);
  const MatrixJob up = feed_forward_input_.Job(weights.up, ups, stride, false);
  for (int piece; (piece = team_.Claim()) < grid.Pieces();) {
    const MatrixRange range = RangeOf(grid, piece, weights.gate.RowTiles(), tokens);
    for (int tile = range.first_tile; tile < range.end_tile; tile++) {
      MultiplyTile(kernels_, gate, range, tile, tokens, gates);
      MultiplyTile(kernels_, up, range, tile, tokens, ups);
      const int columns = range.row_tiles * kRowTile;
      for (int m = 0; m < TileTokens(tokens, tile); m++) {
        float* row = gates + m * stride;
        kernels_.silu_multiply(row, ups + m * stride, columns, row);
        down_input_.Pack(layer, tile * kTokenTile + m, range.first_row_tile / kTilesPerBlock,
                         columns / kBlock, row);
      }
    }
  }
  team_.Barrier();
}

void Engine::Head(const StepInput& step, int thread) {
  if (step.logit_row_count == 0) return;
  const int width = options_.shape.width;
  float* row = row_scratch_[static_cast<size_t>(thread)].data();
  for (int i; (i = team_.Claim()) < step.logit_row_count;) {
    kernels_.rms_norm(Row(hidden_, step.logit_rows[i], width), weights_.output_norm().data(), width,
                      options_.shape.norm_epsilon, row);
    head_input_.PackRow(0, i, row);
  }
  team_.Barrier();
  const MatrixJob head = head_input_.Job(weights_.head(), Row(logits_, 0, 0), logit_stride_, false);
  RunMatrices(team_, kernels_, &head, 1, step.logit_row_count);
}

void Engine::Sample(const SampleInput& input, int32_t* tokens) {
  if (input.row_count < 0 || input.row_count > logit_row_count_) {
    throw EngineError("BAD_ARGUMENT", "Asked to sample " + std::to_string(input.row_count) +
                                          " rows; the last step left " +
                                          std::to_string(logit_row_count_) + ".");
  }
  team_.Run([&](int thread) {
    for (int row; (row = team_.Claim()) < input.row_count;) {
      tokens[row] = samplers_[static_cast<size_t>(thread)].Draw(kernels_, Logits(row), input, row);
    }
  });
}

}  // namespace mxbench
