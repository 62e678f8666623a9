// Rows of tensors as they lie in the file.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/options.h"

namespace mxbench {

const char* TensorTypeName(TensorType type);
// Bytes of one row of `columns` elements; 0 when the type's block does not divide it.
uint64_t RowBytes(TensorType type, int64_t columns);
// The exact values of one row.
void DecodeRow(TensorType type, const uint8_t* row, int64_t columns, float* out);

}  // namespace mxbench
