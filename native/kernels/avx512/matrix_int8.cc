// Int8 activations: unsigned weights (value + offset) times signed activations by vpdpbusd. A
// block's sum starts at the activation's own -offset * sum, so that no correction is left to do.
#include "kernels/avx512/avx512.h"
#include "kernels/avx512/matrix_driver.h"

namespace mxbench::avx512 {
namespace {

// vpermb reads six bits of an index: sixteen values four times make masking of nibbles unnecessary.
MXBENCH_INLINE __m512i NibbleTable() {
  const __m128i values = _mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
  return _mm512_broadcast_i32x4(values);
}

struct Mxfp4 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kMxfp4);

  MXBENCH_INLINE static __m512 Decode(const uint8_t* block, __m512i table, __m512i* weight) {
    MXBENCH_UNROLL(4)
    for (int j = 0; j < 4; j++) {
      const __m512i nibbles = _mm512_loadu_si512(block + 16 + 64 * j);
      weight[j] = _mm512_permutexvar_epi8(nibbles, table);
      weight[j + 4] = _mm512_permutexvar_epi8(_mm512_srli_epi16(nibbles, 4), table);
    }
    const __m512i exponents = _mm512_cvtepu8_epi32(Load<__m128i>(block));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponents, 23));
  }
};

struct Q8 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kQ8);

  MXBENCH_INLINE static __m512 Decode(const uint8_t* block, __m512i, __m512i* weight) {
    MXBENCH_UNROLL(8)
    for (int j = 0; j < 8; j++) weight[j] = _mm512_loadu_si512(block + 32 + 64 * j);
    return _mm512_cvtph_ps(Load<__m256i>(block));
  }
};

template <typename Weights>
struct Int8Kernel {
  template <int M>
  static void Run(const MatrixArgs& args, int row_tile) {
    const size_t row_bytes = static_cast<size_t>(args.blocks) * Weights::kBytes;
    const uint8_t* weights = args.weights + static_cast<size_t>(row_tile) * row_bytes;
    const uint8_t* activations = args.activations;
    const __m512i table = NibbleTable();
    __m512 f[M];
    MXBENCH_UNROLL(16)
    for (int m = 0; m < M; m++) f[m] = _mm512_setzero_ps();
    for (int b = 0; b < args.blocks; b++, weights += Weights::kBytes, activations += 40 * M) {
      __m512i weight[8];
      const __m512 scale = Weights::Decode(weights, table, weight);
      MXBENCH_UNROLL(16)
      for (int m = 0; m < M; m++) {
        const __m512 factor = _mm512_mul_ps(scale, BroadcastFloat(activations + 32 * M + 4 * m));
        __m512i sum = BroadcastInt(activations + 36 * M + 4 * m);
        MXBENCH_UNROLL(8)
        for (int j = 0; j < 8; j++) {
          sum = _mm512_dpbusd_epi32(sum, weight[j], BroadcastInt(activations + 32 * m + 4 * j));
        }
        f[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), factor, f[m]);
      }
    }
    MXBENCH_UNROLL(16)
    for (int m = 0; m < M; m++) {
      StoreRows(args.out + m * args.out_stride + kRowTile * row_tile, f[m], args.add);
    }
  }
};

}  // namespace

void Mxfp4Int8(const MatrixArgs& args) { RunMatrix<Int8Kernel<Mxfp4>>(args); }
void Q8Int8(const MatrixArgs& args) { RunMatrix<Int8Kernel<Q8>>(args); }

}  // namespace mxbench::avx512
