// Float activations, the oracle's mode: every weight becomes a float, inputs in ascending order
// (bf16 weights: in pair order). A block is summed from zero, then scaled into the running sum.
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/matrix_driver.h"

namespace mxbench::avx512 {
namespace {

constexpr int kTokensAtOnce = 8;  // a block's sums and the running sums share 32 registers

// Each format gives the weights of step k (0..31) of a block, the input that they belong to, and
// how the block's sum enters the running sum.
struct Mxfp4 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kMxfp4);
  static constexpr int Input(int k) { return k; }

  // vpermps reads four bits of an index, which is one nibble.
  MXBENCH_INLINE static __m512 Weight(const uint8_t* block, int k) {
    const __m512 table =
        _mm512_setr_ps(0, 1, 2, 3, 4, 6, 8, 12, -0.0f, -1, -2, -3, -4, -6, -8, -12);
    const __m512i nibbles = _mm512_loadu_si512(block + 16 + 64 * (k % 16 / 4));
    const auto shift = static_cast<unsigned>(8 * (k % 4) + 4 * (k / 16));
    return _mm512_permutexvar_ps(_mm512_srli_epi32(nibbles, shift), table);
  }

  MXBENCH_INLINE static __m512 Enter(const uint8_t* block, __m512 sum, __m512 f) {
    const __m512i exponents = _mm512_cvtepu8_epi32(Load<__m128i>(block));
    return _mm512_fmadd_ps(sum, _mm512_castsi512_ps(_mm512_slli_epi32(exponents, 23)), f);
  }
};

struct Q8 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kQ8);
  static constexpr int Input(int k) { return k; }

  MXBENCH_INLINE static __m512 Weight(const uint8_t* block, int k) {
    const __m512i bytes = _mm512_loadu_si512(block + 32 + 64 * (k / 4));
    const __m512i value = _mm512_and_si512(
        _mm512_srli_epi32(bytes, static_cast<unsigned>(8 * (k % 4))), _mm512_set1_epi32(255));
    return _mm512_sub_ps(_mm512_cvtepi32_ps(value), _mm512_set1_ps(128));
  }

  MXBENCH_INLINE static __m512 Enter(const uint8_t* block, __m512 sum, __m512 f) {
    return _mm512_fmadd_ps(sum, _mm512_cvtph_ps(Load<__m256i>(block)), f);
  }
};

struct Bfloat16 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kBfloat16);
  static constexpr int Input(int k) { return PairFirst(k / 2) + 2 * (k % 2); }

  MXBENCH_INLINE static __m512 Weight(const uint8_t* block, int k) {
    const __m512i pair = _mm512_loadu_si512(block + 64 * (k / 2));
    return _mm512_castsi512_ps(k % 2 == 0 ? _mm512_slli_epi32(pair, 16)
                                          : _mm512_and_si512(pair, _mm512_set1_epi32(-65536)));
  }

  MXBENCH_INLINE static __m512 Enter(const uint8_t*, __m512 sum, __m512 f) {
    return _mm512_add_ps(sum, f);
  }
};

struct Float32 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kFloat32);
  static constexpr int Input(int k) { return k; }

  MXBENCH_INLINE static __m512 Weight(const uint8_t* block, int k) {
    return LoadFloats(block + 64 * k);
  }

  MXBENCH_INLINE static __m512 Enter(const uint8_t*, __m512 sum, __m512 f) {
    return _mm512_add_ps(sum, f);
  }
};

// M tokens from `first` on, of the args.tokens in the tile.
template <typename Weights, int M>
void RunTokens(const MatrixArgs& args, int row_tile, int first) {
  const size_t row_bytes = static_cast<size_t>(args.blocks) * Weights::kBytes;
  const size_t activation_bytes = ActivationBlockBytes(ActivationFormat::kFloat32, args.tokens);
  const uint8_t* weights = args.weights + static_cast<size_t>(row_tile) * row_bytes;
  const uint8_t* activations = args.activations + 4 * kBlock * first;
  __m512 f[M];
  MXBENCH_UNROLL(8)
  for (int m = 0; m < M; m++) f[m] = _mm512_setzero_ps();
  for (int b = 0; b < args.blocks;
       b++, weights += Weights::kBytes, activations += activation_bytes) {
    __m512 sum[M];
    MXBENCH_UNROLL(8)
    for (int m = 0; m < M; m++) sum[m] = _mm512_setzero_ps();
    MXBENCH_UNROLL(32)
    for (int k = 0; k < kBlock; k++) {
      const __m512 weight = Weights::Weight(weights, k);
      MXBENCH_UNROLL(8)
      for (int m = 0; m < M; m++) {
        const __m512 value = BroadcastFloat(activations + 4 * (kBlock * m + Weights::Input(k)));
        sum[m] = _mm512_fmadd_ps(weight, value, sum[m]);
      }
    }
    MXBENCH_UNROLL(8)
    for (int m = 0; m < M; m++) f[m] = Weights::Enter(weights, sum[m], f[m]);
  }
  MXBENCH_UNROLL(8)
  for (int m = 0; m < M; m++) {
    StoreRows(args.out + (first + m) * args.out_stride + kRowTile * row_tile, f[m], args.add);
  }
}

template <typename Weights>
struct Float32Kernel {
  template <int M>
  static void Run(const MatrixArgs& args, int row_tile) {
    if constexpr (M <= kTokensAtOnce) {
      RunTokens<Weights, M>(args, row_tile, 0);
    } else {
      RunTokens<Weights, kTokensAtOnce>(args, row_tile, 0);
      RunTokens<Weights, M - kTokensAtOnce>(args, row_tile, kTokensAtOnce);
    }
  }
};

}  // namespace

void Mxfp4Float32(const MatrixArgs& args) { RunMatrix<Float32Kernel<Mxfp4>>(args); }
void Q8Float32(const MatrixArgs& args) { RunMatrix<Float32Kernel<Q8>>(args); }
void Bfloat16Float32(const MatrixArgs& args) { RunMatrix<Float32Kernel<Bfloat16>>(args); }
void Float32Float32(const MatrixArgs& args) { RunMatrix<Float32Kernel<Float32>>(args); }

}  // namespace mxbench::avx512
