#include "model/step.h"

#include <string>

#include "kernels/kernels.h"
#include "model/engine_error.h"

namespace mxbench {
namespace {

void Require(bool holds, const char* what, int64_t value) {
  if (!holds) {
    throw EngineError("BAD_ARGUMENT", std::string("The step's ") + what +
                                          " is out of range: " + std::to_string(value) + ".");
  }
}

void CheckSequence(const StepInput& step, const StepLimits& limits, int sequence) {
  const int begin = step.query_start[sequence];
  const int end = step.query_start[sequence + 1];
  Require(begin < end && end <= step.token_count, "query_start", end);
  const int64_t first = step.first_position[sequence];
  const int64_t last = first + end - begin - 1;
  Require(first >= 0, "position", first);
  Require(last < limits.max_model_length, "position", last);
  const int blocks = static_cast<int>(last / kSlots) + 1;
  Require(blocks <= step.block_table_stride, "block table length", blocks);
  const int32_t* table = step.block_tables + int64_t{sequence} * step.block_table_stride;
  for (int i = 0; i < blocks; i++) {
    Require(table[i] >= 0 && table[i] < limits.kv_blocks, "KV block", table[i]);
  }
}

}  // namespace

void CheckStep(const StepInput& step, const StepLimits& limits) {
  Require(step.token_count > 0 && step.token_count <= limits.max_tokens, "token count",
          step.token_count);
  Require(step.sequence_count > 0 && step.sequence_count <= limits.max_sequences, "sequence count",
          step.sequence_count);
  for (int i = 0; i < step.token_count; i++) {
    Require(step.tokens[i] >= 0 && step.tokens[i] < limits.vocabulary, "token id", step.tokens[i]);
  }
  Require(step.query_start[0] == 0 && step.query_start[step.sequence_count] == step.token_count,
          "query_start", step.query_start[step.sequence_count]);
  for (int b = 0; b < step.sequence_count; b++) CheckSequence(step, limits, b);
  Require(step.logit_row_count >= 0 && step.logit_row_count <= limits.max_tokens, "logit row count",
          step.logit_row_count);
  for (int i = 0; i < step.logit_row_count; i++) {
    const int row = step.logit_rows[i];
    Require(row >= 0 && row < step.token_count && (i == 0 || row > step.logit_rows[i - 1]),
            "logit row", row);
  }
}

}  // namespace mxbench
