// The kernels of the forward pass and their contracts. The plain loops in reference/ are the
// oracle; avx2/ and avx512/ hold the same functions for one instruction set each. Kernels neither
// allocate nor throw.
//
// Shape legend, used everywhere below `native/`:
//   T tokens of the step    B sequences       L layers            C model width
//   H attention heads       G KV heads        D head width        F feed-forward width
//   V vocabulary            S slots of a KV block (16)            N output rows     K inputs of a
//   row
//
// Determinism. Each output element is reduced in one fixed order that depends on K (or on the
// absolute position of a key) alone: never on how many tokens, rows or threads share the call. A
// request's logits are therefore bit-equal alone and in any batch, whole and chunked, within one
// instruction set and one mode.
//
// Denormals. Every thread that runs kernels calls FlushDenormals() first: on some CPUs one denormal
// product costs a microcode assist. Consequence for numerics: a product of scales below 2^-126
// counts as zero.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mxbench {

enum class Isa { kPortable, kAvx2, kAvx512 };

// How a linear layer's input is represented. kFloat32 is the oracle's mode.
enum class ActivationFormat { kFloat32, kBfloat16, kInt8 };

// How a linear layer's weights are stored after packing.
enum class WeightFormat { kMxfp4, kQ8, kBfloat16, kFloat32 };

constexpr int kRowTile = 16;    // weight rows interleaved in a packed row tile
constexpr int kTokenTile = 16;  // most tokens in one activation tile
constexpr int kBlock = 32;      // inputs that share one scale; K is a multiple of it
constexpr int kSlots = 16;      // token slots in a KV block
constexpr int kSpan = 256;      // keys whose softmax is computed together (16 KV blocks)
constexpr int kMaxHeadWidth = 256;
constexpr int kMaxQueryRows = 16;  // most query rows in one AttendSpan call

// ---- Packed weights
// ------------------------------------------------------------------------------------- All
// formats: row tiles of 16 rows one after another; within a row tile the K/32 blocks one after
// another. N is padded to a multiple of 16 with rows of zeros. Bytes of one block of one row tile:
//
//   kMxfp4 (272)   16 bytes: scale exponent of each row, stored minus one (the code table is
//   doubled); a stored
//                  byte e means the factor with float bits e << 23, so 0 means 0.0. Then four
//                  64-byte vectors j = 0..3; byte 4r+i of vector j holds, for row r, input 4j+i in
//                  its low nibble and input 16+4j+i in its high nibble (E2M1 codes).
//   kQ8 (544)      16 fp16 scales, then eight 64-byte vectors j = 0..7; byte 4r+i of vector j holds
//   input 4j+i of
//                  row r as weight + 128 (unsigned).
//   kBfloat16 (1024) sixteen 64-byte vectors p = 0..15; the two bf16 of lane r are row r's inputs
//   PairFirst(p)
//                  and PairFirst(p) + 2.
//   kFloat32 (2048) 32 vectors k = 0..31 of 16 floats, lane r = row r's input k.
constexpr size_t PackedBlockBytes(WeightFormat format) {
  switch (format) {
    case WeightFormat::kMxfp4:
      return 272;
    case WeightFormat::kQ8:
      return 544;
    case WeightFormat::kBfloat16:
      return 1024;
    case WeightFormat::kFloat32:
      return 2048;
  }
  return 0;
}

// First input of bf16 pair p (0..15) of a block: 0, 1, 4, 5, 8, 9, ... The second is two further
// on. This order is what one 16-bit table lookup makes of two neighbouring nibble bytes.
constexpr int PairFirst(int p) { return 4 * (p / 2) + p % 2; }

// ---- Activation tiles
// ----------------------------------------------------------------------------------- Up to 16
// tokens (M of them) together, so that a kernel finds token m's part of a block at a constant
// distance. Bytes of one block of a tile:
//   kInt8    40*M:  M x 32 int8 | M float scales d | M int32 offsets (-o * sum of the 32 values; o
//   = 12 for kMxfp4
//                   weights, 128 for kQ8: it cancels the offset of the unsigned weights). d =
//                   amax/127, value = round-half-even(x * (127/amax)); amax = 0 gives zeros and d =
//                   0.
//   kBfloat16 64*M: M x 32 bf16 (round-half-even) in pair order: PairFirst(0), PairFirst(0)+2,
//   PairFirst(1), ... kFloat32 128*M: M x 32 float in input order.
constexpr size_t ActivationBlockBytes(ActivationFormat format, int tokens) {
  switch (format) {
    case ActivationFormat::kFloat32:
      return size_t{128} * static_cast<size_t>(tokens);
    case ActivationFormat::kBfloat16:
      return size_t{64} * static_cast<size_t>(tokens);
    case ActivationFormat::kInt8:
      return size_t{40} * static_cast<size_t>(tokens);
  }
  return 0;
}
constexpr int OffsetOf(WeightFormat format) { return format == WeightFormat::kQ8 ? 128 : 12; }

// Writes `blocks` blocks of token m (0 <= m < tokens) of a tile. `row` holds 32*blocks floats;
// `tile` is the tile's first byte for the row's first block. `offset` is OffsetOf(weights), used by
// kInt8 alone.
using PackActivationFn = void (*)(const float* row, int blocks, int m, int tokens, int offset,
                                  uint8_t* tile);

// One activation tile times `row_tiles` consecutive packed row tiles, reduced over all K =
// 32*blocks inputs:
//   out[m * out_stride + 16*t + r] (+)= sum over k of weight[16*t + r][k] * activation[m][k]
// 1 <= tokens <= 16; `add` adds to what `out` holds. Accumulates in float32, blocks in ascending
// order; a block of the integer formats is summed exactly in int32, then enters as  f += float(sum)
// * (weight scale * activation scale).
struct MatrixArgs {
  const uint8_t* weights;  // first row tile; no alignment is assumed
  int blocks;
  int row_tiles;
  const uint8_t* activations;
  int tokens;
  float* out;
  ptrdiff_t out_stride;  // floats between tokens
  bool add;
};
using MatrixFn = void (*)(const MatrixArgs& args);

// ---- KV cache
// ------------------------------------------------------------------------------------------- One
// KV block of one layer holds 16 slots of G heads: for each head K then V.
//   bf16: K as [D/2][16 slots][2] (pairs of neighbouring dimensions), V as [16 slots][D]
//   f32:  K as [D][16 slots],                                         V as [16 slots][D]
enum class KvFormat { kBfloat16, kFloat32 };
constexpr size_t KvHeadBytes(KvFormat format, int head_width) {
  return size_t{2} * kSlots * static_cast<size_t>(head_width) *
         (format == KvFormat::kBfloat16 ? 2 : 4);
}

// Stores one head's key and value (D floats each) in slot `slot` (0..15) of that head's part of a
// block.
using StoreKvFn = void (*)(const float* key, const float* value, int head_width, int slot,
                           uint8_t* head_block);

// Attention of `rows` queries of one KV head over one span of up to 256 keys, whose blocks are
// given in order. Row i sees the keys [begin[i], end[i]) of the span (0 <= begin <= end <= 256); a
// row with an empty range gets maximum = -inf, sum = 0, and zeros. Blocks past the largest end are
// never read. Softmax within the span:
//   maximum[i] = max score, sum[i] = sum of exp(score - maximum), out[i] = sum of exp(score -
//   maximum) * V.
// Queries are already multiplied by the score scale. With kBfloat16 caches the query is rounded to
// bf16. The reduction order over keys depends on their place in the span alone. `scratch` has
// AttendScratchFloats() floats.
struct AttendArgs {
  const float* queries;          // rows x D
  int rows;                      // 1..16
  int head_width;                // multiple of 16, at most 256
  const uint8_t* const* blocks;  // head part of each block of the span
  const int32_t* begin;          // rows
  const int32_t* end;            // rows
  float* maximum;                // rows
  float* sum;                    // rows
  float* out;                    // rows x D
  float* scratch;
};
constexpr size_t AttendScratchFloats() { return size_t{kMaxQueryRows} * (kSpan + kMaxHeadWidth); }
using AttendFn = void (*)(const AttendArgs& args);

// Folds one span's (maximum, sum, out) into a running one of the same query row, spans in ascending
// order: both sides are rescaled to the larger maximum. An empty span (sum = 0) changes nothing.
using MergeSpanFn = void (*)(int head_width, float span_maximum, float span_sum,
                             const float* span_out, float* maximum, float* sum, float* out);

// ---- Element-wise
// --------------------------------------------------------------------------------------- y[i] =
// x[i] * weight[i] / sqrt(mean of squares + epsilon); y may be x.
using RmsNormFn = void (*)(const float* x, const float* weight, int width, float epsilon, float* y);
// Rotates one head in place; pairs are (i, i + D/2); cosines and sines hold D/2 floats of this
// position.
using RotateFn = void (*)(float* head, const float* cosines, const float* sines, int head_width);
// y[i] = silu(gate[i]) * up[i]; y may be gate.
using SiluMultiplyFn = void (*)(const float* gate, const float* up, int width, float* y);
// x[i] += y[i].
using AddFn = void (*)(float* x, const float* y, int width);
// Index of the largest value, the smallest such index on a tie; NaN counts as the smallest.
using ArgmaxFn = int32_t (*)(const float* x, int width);

struct Kernels {
  Isa isa;
  const char* name;          // "portable", "avx2", "avx512"
  PackActivationFn pack[3];  // by ActivationFormat
  MatrixFn matrix[4][3];  // by WeightFormat, ActivationFormat; null where ActivationFor never asks
                          // for the pair
  StoreKvFn store_kv[2];  // by KvFormat
  AttendFn attend[2];     // by KvFormat
  MergeSpanFn merge_span;
  RmsNormFn rms_norm;
  RotateFn rotate;
  SiluMultiplyFn silu_multiply;
  AddFn add;
  ArgmaxFn argmax;
};

// Which activation format a linear layer uses under a requested mode: float weights are never
// paired with int8 activations, and 8-bit weights have no bf16 kernel.
//   kMxfp4: as requested.  kQ8: int8 or f32 (bf16 gives f32).  kBfloat16: bf16 or f32 (int8 gives
//   bf16).  kFloat32: f32.
constexpr ActivationFormat ActivationFor(WeightFormat weights, ActivationFormat requested) {
  switch (weights) {
    case WeightFormat::kMxfp4:
      return requested;
    case WeightFormat::kQ8:
      return requested == ActivationFormat::kInt8 ? requested : ActivationFormat::kFloat32;
    case WeightFormat::kBfloat16:
      return requested == ActivationFormat::kFloat32 ? requested : ActivationFormat::kBfloat16;
    case WeightFormat::kFloat32:
      return ActivationFormat::kFloat32;
  }
  return ActivationFormat::kFloat32;
}

// The best instruction set that this CPU and operating system support, of those compiled in.
Isa BestIsa();
bool IsaAvailable(Isa isa);
// The kernels of one instruction set; it must be available.
const Kernels& KernelsFor(Isa isa);

// Sets flush-to-zero and denormals-are-zero for the calling thread (no effect where the CPU has no
// such mode).
void FlushDenormals();

// ---- Packing (once at load; plain code, in reference/pack.cc)
// ------------------------------------------- Each packs 16 rows ("row tile") from row-major
// sources; `rows` < 16 pads with zero rows. `source_rows[r]` points at row r's first byte in the
// file's layout:
//   MXFP4: K/32 blocks of 17 bytes (E8M0 exponent, then 16 bytes: low nibble = element j, high
//   nibble = element j+16) Q8_0:  K/32 blocks of 34 bytes (fp16 scale, 32 int8) BF16 / F16 / F32: K
//   elements.
// PackMxfp4 returns false when it met exponent 255 (NaN); exponents 0 and 1 are flushed to a zero
// factor.
bool PackMxfp4RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed);
void PackQ8RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed);
void PackBfloat16RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed);
void PackFloat32RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed);
// F16 widened exactly to the kFloat32 layout.
void PackFloat16RowTile(const uint8_t* const* source_rows, int rows, int blocks, uint8_t* packed);

}  // namespace mxbench
