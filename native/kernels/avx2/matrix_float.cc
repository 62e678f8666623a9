// Float and bf16 activations by AVX2 (bf16 is widened to float). The weights of a block become
// floats once, in a buffer that stays in the first-level cache, then every token of the tile uses
// them. A block is summed from zero, inputs in ascending order, then scaled into the running sum.
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"

namespace mxbench::avx2 {
namespace {

constexpr int kTokensAtOnce = 4;

// One block of a row tile as floats, [input][row], and its scales.
struct alignas(32) Decoded {
  float weight[kBlock][kRowTile];
  float scale[kRowTile];
};

MXBENCH_INLINE void StoreInts(float* to, __m256i values) {
  _mm256_store_ps(to, _mm256_cvtepi32_ps(values));
}

struct Mxfp4 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kMxfp4);

  static void Decode(const uint8_t* block, Decoded& out) {
    const __m256i table = _mm256_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12,
                                           0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    const __m256i nibble = _mm256_set1_epi8(15);
    for (int j = 0; j < 8; j++) {
      for (int half = 0; half < 2; half++) {
        const __m256i bytes = Load<__m256i>(block + 16 + 64 * (j % 4) + 32 * half);
        const __m256i codes = j < 4 ? bytes : _mm256_srli_epi16(bytes, 4);
        const __m256i values = _mm256_shuffle_epi8(table, _mm256_and_si256(codes, nibble));
        float* to = &out.weight[4 * j][8 * half];
        StoreInts(to, _mm256_srai_epi32(_mm256_slli_epi32(values, 24), 24));
        StoreInts(to + kRowTile, _mm256_srai_epi32(_mm256_slli_epi32(values, 16), 24));
        StoreInts(to + 2 * kRowTile, _mm256_srai_epi32(_mm256_slli_epi32(values, 8), 24));
        StoreInts(to + 3 * kRowTile, _mm256_srai_epi32(values, 24));
      }
    }
    const __m128i exponents = Load<__m128i>(block);
    const __m256i low = _mm256_slli_epi32(_mm256_cvtepu8_epi32(exponents), 23);
    const __m256i high = _mm256_slli_epi32(_mm256_cvtepu8_epi32(_mm_srli_si128(exponents, 8)), 23);
    Lanes::Store(out.scale, {_mm256_castsi256_ps(low), _mm256_castsi256_ps(high)});
  }
  MXBENCH_INLINE static Floats16 Enter(const Decoded& decoded, Floats16 sum, Floats16 f) {
    return Lanes::MultiplyAdd(sum, Lanes::Load(decoded.scale), f);
  }
};

struct Q8 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kQ8);

  static void Decode(const uint8_t* block, Decoded& out) {
    for (int j = 0; j < 8; j++) {
      for (int half = 0; half < 2; half++) {
        const __m256i bytes = Load<__m256i>(block + 32 + 64 * j + 32 * half);
        const __m256i values = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
        float* to = &out.weight[4 * j][8 * half];
        StoreInts(to, _mm256_srai_epi32(_mm256_slli_epi32(values, 24), 24));
        StoreInts(to + kRowTile, _mm256_srai_epi32(_mm256_slli_epi32(values, 16), 24));
        StoreInts(to + 2 * kRowTile, _mm256_srai_epi32(_mm256_slli_epi32(values, 8), 24));
        StoreInts(to + 3 * kRowTile, _mm256_srai_epi32(values, 24));
      }
    }
    Lanes::Store(out.scale, {_mm256_cvtph_ps(Load<__m128i>(block)),
                             _mm256_cvtph_ps(Load<__m128i>(block + 16))});
  }
  MXBENCH_INLINE static Floats16 Enter(const Decoded& decoded, Floats16 sum, Floats16 f) {
    return Lanes::MultiplyAdd(sum, Lanes::Load(decoded.scale), f);
  }
};

struct Bfloat16 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kBfloat16);

  static void Decode(const uint8_t* block, Decoded& out) {
    const __m256i upper = _mm256_set1_epi32(-65536);
    for (int p = 0; p < kBlock / 2; p++) {
      for (int half = 0; half < 2; half++) {
        const __m256i pair = Load<__m256i>(block + 64 * p + 32 * half);
        float* to = &out.weight[PairFirst(p)][8 * half];
        _mm256_store_ps(to, _mm256_castsi256_ps(_mm256_slli_epi32(pair, 16)));
        _mm256_store_ps(to + 2 * kRowTile, _mm256_castsi256_ps(_mm256_and_si256(pair, upper)));
      }
    }
  }
  MXBENCH_INLINE static Floats16 Enter(const Decoded&, Floats16 sum, Floats16 f) {
    return Lanes::Add(sum, f);
  }
};

struct Float32 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kFloat32);

  static void Decode(const uint8_t* block, Decoded& out) {
    __builtin_memcpy(out.weight, block, sizeof(out.weight));
  }
  MXBENCH_INLINE static Floats16 Enter(const Decoded&, Floats16 sum, Floats16 f) {
    return Lanes::Add(sum, f);
  }
};

// Copies the block's activations of all tokens as floats in input order.
void LoadActivations(const uint8_t* block, int tokens, bool bf16, float* values) {
  if (!bf16) {
    __builtin_memcpy(values, block, 4 * kBlock * static_cast<size_t>(tokens));
    return;
  }
  // Pair order is 0, 2, 1, 3 in each group of four.
  for (int i = 0; i < kBlock * tokens; i += 8) {
    const __m256 pairs = WidenBfloat16(block + 2 * i);
    _mm256_storeu_ps(values + i, _mm256_permute_ps(pairs, 0xd8));
  }
}

// Adds the block to the running sums of M tokens.
template <typename Weights, int M>
MXBENCH_INLINE void AddBlock(const Decoded& decoded, const float* values, Floats16* f) {
  Floats16 sum[M];
  MXBENCH_UNROLL(4)
  for (int m = 0; m < M; m++) sum[m] = Lanes::Zero();
  for (int k = 0; k < kBlock; k++) {
    const Floats16 weight = Lanes::Load(decoded.weight[k]);
    MXBENCH_UNROLL(4)
    for (int m = 0; m < M; m++) {
      sum[m] = Lanes::MultiplyAdd(weight, Lanes::Broadcast(values[kBlock * m + k]), sum[m]);
    }
  }
  MXBENCH_UNROLL(4)
  for (int m = 0; m < M; m++) f[m] = Weights::Enter(decoded, sum[m], f[m]);
}

template <typename Weights, ActivationFormat kActivations>
void Matrix(const MatrixArgs& args) {
  const size_t activation_bytes = ActivationBlockBytes(kActivations, args.tokens);
  const uint8_t* weights = args.weights;
  for (int t = 0; t < args.row_tiles; t++) {
    Floats16 f[kTokenTile];
    for (int m = 0; m < args.tokens; m++) f[m] = Lanes::Zero();
    const uint8_t* activations = args.activations;
    for (int b = 0; b < args.blocks; b++) {
      Decoded decoded;
      float values[kTokenTile * kBlock];
      Weights::Decode(weights, decoded);
      LoadActivations(activations, args.tokens, kActivations == ActivationFormat::kBfloat16,
                      values);
      int m = 0;
      for (; m + kTokensAtOnce <= args.tokens; m += kTokensAtOnce) {
        AddBlock<Weights, kTokensAtOnce>(decoded, values + kBlock * m, f + m);
      }
      for (; m < args.tokens; m++) AddBlock<Weights, 1>(decoded, values + kBlock * m, f + m);
      weights += Weights::kBytes;
      activations += activation_bytes;
    }
    for (int m = 0; m < args.tokens; m++) {
      float* out = args.out + m * args.out_stride + kRowTile * t;
      Lanes::Store(out, args.add ? Lanes::Add(Lanes::Load(out), f[m]) : f[m]);
    }
  }
}

}  // namespace

void Mxfp4Float32(const MatrixArgs& args) { Matrix<Mxfp4, ActivationFormat::kFloat32>(args); }
void Mxfp4Bfloat16(const MatrixArgs& args) { Matrix<Mxfp4, ActivationFormat::kBfloat16>(args); }
void Q8Float32(const MatrixArgs& args) { Matrix<Q8, ActivationFormat::kFloat32>(args); }
void Bfloat16Float32(const MatrixArgs& args) { Matrix<Bfloat16, ActivationFormat::kFloat32>(args); }
void Bfloat16Bfloat16(const MatrixArgs& args) {
  Matrix<Bfloat16, ActivationFormat::kBfloat16>(args);
}
void Float32Float32(const MatrixArgs& args) { Matrix<Float32, ActivationFormat::kFloat32>(args); }

}  // namespace mxbench::avx2
