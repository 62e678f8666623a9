// Bf16 activations by vdpbf16ps: one instruction takes a pair of inputs of 16 rows. A block is
// summed from zero in pair order, then scaled into the running sum.
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/matrix_driver.h"

namespace mxbench::avx512 {
namespace {

constexpr int kPairs = kBlock / 2;
constexpr int kTokensAtOnce = 8;  // sixteen weight vectors and the sums share 32 registers

// vpermw reads five bits of an index: sixteen bf16 values twice make masking of nibbles
// unnecessary.
MXBENCH_INLINE __m512i NibbleTable() {
  const __m256i values = _mm256_setr_epi16(
      0x0000, 0x3f80, 0x4000, 0x4040, 0x4080, 0x40c0, 0x4100, 0x4140, static_cast<short>(0x8000),
      static_cast<short>(0xbf80), static_cast<short>(0xc000), static_cast<short>(0xc040),
      static_cast<short>(0xc080), static_cast<short>(0xc0c0), static_cast<short>(0xc100),
      static_cast<short>(0xc140));
  return _mm512_broadcast_i64x4(values);
}

struct Mxfp4 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kMxfp4);

  MXBENCH_INLINE static void Decode(const uint8_t* block, __m512i table, __m512i* pair) {
    MXBENCH_UNROLL(4)
    for (int j = 0; j < 4; j++) {
      const __m512i nibbles = _mm512_loadu_si512(block + 16 + 64 * j);
      pair[2 * j] = _mm512_permutexvar_epi16(nibbles, table);
      pair[2 * j + 1] = _mm512_permutexvar_epi16(_mm512_srli_epi16(nibbles, 8), table);
      pair[2 * j + 8] = _mm512_permutexvar_epi16(_mm512_srli_epi16(nibbles, 4), table);
      pair[2 * j + 9] = _mm512_permutexvar_epi16(_mm512_srli_epi16(nibbles, 12), table);
    }
  }

  MXBENCH_INLINE static __m512 Enter(const uint8_t* block, __m512 sum, __m512 f) {
    const __m512i exponents = _mm512_cvtepu8_epi32(Load<__m128i>(block));
    return _mm512_fmadd_ps(sum, _mm512_castsi512_ps(_mm512_slli_epi32(exponents, 23)), f);
  }
};

struct Bfloat16 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kBfloat16);

  MXBENCH_INLINE static void Decode(const uint8_t* block, __m512i, __m512i* pair) {
    MXBENCH_UNROLL(16)
    for (int p = 0; p < kPairs; p++) pair[p] = _mm512_loadu_si512(block + 64 * p);
  }

  MXBENCH_INLINE static __m512 Enter(const uint8_t*, __m512 sum, __m512 f) {
    return _mm512_add_ps(sum, f);
  }
};

// M tokens from `first` on, of the args.tokens in the tile.
template <typename Weights, int M>
void RunTokens(const MatrixArgs& args, int row_tile, int first) {
  const size_t row_bytes = static_cast<size_t>(args.blocks) * Weights::kBytes;
  const size_t activation_bytes = ActivationBlockBytes(ActivationFormat::kBfloat16, args.tokens);
  const uint8_t* weights = args.weights + static_cast<size_t>(row_tile) * row_bytes;
  const uint8_t* activations = args.activations + 2 * kBlock * first;
  const __m512i table = NibbleTable();
  __m512 f[M];
  MXBENCH_UNROLL(8)
  for (int m = 0; m < M; m++) f[m] = _mm512_setzero_ps();
  for (int b = 0; b < args.blocks;
       b++, weights += Weights::kBytes, activations += activation_bytes) {
    __m512i pair[kPairs];
    Weights::Decode(weights, table, pair);
    MXBENCH_UNROLL(8)
    for (int m = 0; m < M; m++) {
      __m512 sum = _mm512_setzero_ps();
      MXBENCH_UNROLL(16)
      for (int p = 0; p < kPairs; p++) {
        const __m512i values = BroadcastInt(activations + 2 * kBlock * m + 4 * p);
        sum = _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(pair[p]),
                               reinterpret_cast<__m512bh>(values));
      }
      f[m] = Weights::Enter(weights, sum, f[m]);
    }
  }
  MXBENCH_UNROLL(8)
  for (int m = 0; m < M; m++) {
    StoreRows(args.out + (first + m) * args.out_stride + kRowTile * row_tile, f[m], args.add);
  }
}

template <typename Weights>
struct Bfloat16Kernel {
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

void Mxfp4Bfloat16(const MatrixArgs& args) { RunMatrix<Bfloat16Kernel<Mxfp4>>(args); }
void Bfloat16Bfloat16(const MatrixArgs& args) { RunMatrix<Bfloat16Kernel<Bfloat16>>(args); }

}  // namespace mxbench::avx512
