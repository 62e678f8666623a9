// One step's plan as the scheduler made it; see StepInput in native/index.ts.
#pragma once

#include <cstdint>

namespace mxbench {

struct StepInput {
  int token_count;
  const int32_t* tokens;
  int sequence_count;
  const int32_t* query_start;     // sequence_count + 1
  const int32_t* first_position;  // sequence_count
  const int32_t* block_tables;    // sequence_count x block_table_stride
  int block_table_stride;
  int logit_row_count;
  const int32_t* logit_rows;  // ascending token indices
};

struct StepLimits {
  int max_tokens;
  int max_sequences;
  int max_model_length;
  int vocabulary;
  int kv_blocks;
};

// EngineError BAD_ARGUMENT names the first entry that would read or write out of bounds.
void CheckStep(const StepInput& step, const StepLimits& limits);

}  // namespace mxbench
