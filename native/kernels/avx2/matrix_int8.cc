// Int8 activations without VNNI, by vpmaddubsw (unsigned times signed bytes, pairs summed in 16
// bits with saturation). MXFP4: weights of 0..24 leave room for five such sums; four are added
// before they are widened. Q8: |weight| times (activation with the weight's sign) is at most 2 *
// 128 * 127, which just fits.
#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes.h"

namespace mxbench::avx2 {
namespace {

MXBENCH_INLINE __m256i BroadcastInt(const void* bytes) {
  return _mm256_set1_epi32(Load<int32_t>(bytes));
}

// Eight rows (half a row tile) of one block; `half` is 0 or 1.
struct Mxfp4 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kMxfp4);
  __m256i weight[8];

  MXBENCH_INLINE __m256 Decode(const uint8_t* block, int half) {
    const __m256i table =
        _mm256_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0, 12, 13, 14, 15,
                         16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0);
    const __m256i nibble = _mm256_set1_epi8(15);
    MXBENCH_UNROLL(4)
    for (int j = 0; j < 4; j++) {
      const __m256i bytes = Load<__m256i>(block + 16 + 64 * j + 32 * half);
      weight[j] = _mm256_shuffle_epi8(table, _mm256_and_si256(bytes, nibble));
      weight[j + 4] =
          _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), nibble));
    }
    const __m128i exponents = _mm_cvtsi64_si128(Load<int64_t>(block + 8 * half));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu8_epi32(exponents), 23));
  }

  // The block's sum of token m.
  MXBENCH_INLINE __m256i Dot(const uint8_t* values, const uint8_t* correction) const {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum = BroadcastInt(correction);
    MXBENCH_UNROLL(2)
    for (int group = 0; group < 8; group += 4) {
      __m256i narrow = _mm256_maddubs_epi16(weight[group], BroadcastInt(values + 4 * group));
      MXBENCH_UNROLL(3)
      for (int j = group + 1; j < group + 4; j++) {
        const __m256i product = _mm256_maddubs_epi16(weight[j], BroadcastInt(values + 4 * j));
        narrow = _mm256_add_epi16(narrow, product);
      }
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(narrow, ones));
    }
    return sum;
  }
};

struct Q8 {
  static constexpr size_t kBytes = PackedBlockBytes(WeightFormat::kQ8);
  __m256i weight[8];
  __m256i magnitude[8];

  MXBENCH_INLINE __m256 Decode(const uint8_t* block, int half) {
    MXBENCH_UNROLL(8)
    for (int j = 0; j < 8; j++) {
      const __m256i bytes = Load<__m256i>(block + 32 + 64 * j + 32 * half);
      weight[j] = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
      magnitude[j] = _mm256_abs_epi8(weight[j]);
    }
    return _mm256_cvtph_ps(Load<__m128i>(block + 16 * half));
  }

  // Signed weights have no offset to correct.
  MXBENCH_INLINE __m256i Dot(const uint8_t* values, const uint8_t*) const {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i sum = _mm256_setzero_si256();
    MXBENCH_UNROLL(8)
    for (int j = 0; j < 8; j++) {
      const __m256i signed_values = _mm256_sign_epi8(BroadcastInt(values + 4 * j), weight[j]);
      const __m256i narrow = _mm256_maddubs_epi16(magnitude[j], signed_values);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(narrow, ones));
    }
    return sum;
  }
};

template <typename Weights>
void Matrix(const MatrixArgs& args) {
  const int tokens = args.tokens;
  const uint8_t* weights = args.weights;
  for (int t = 0; t < args.row_tiles; t++) {
    __m256 f[kTokenTile][2];
    for (int m = 0; m < tokens; m++) f[m][0] = f[m][1] = _mm256_setzero_ps();
    const uint8_t* activations = args.activations;
    for (int b = 0; b < args.blocks; b++, weights += Weights::kBytes, activations += 40 * tokens) {
      MXBENCH_UNROLL(2)
      for (int half = 0; half < 2; half++) {
        Weights decoded;
        const __m256 scale = decoded.Decode(weights, half);
        for (int m = 0; m < tokens; m++) {
          const float token_scale = Load<float>(activations + 32 * tokens + 4 * m);
          const __m256i sum = decoded.Dot(activations + 32 * m, activations + 36 * tokens + 4 * m);
          const __m256 factor = _mm256_mul_ps(scale, _mm256_set1_ps(token_scale));
          f[m][half] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), factor, f[m][half]);
        }
      }
    }
    for (int m = 0; m < tokens; m++) {
      float* out = args.out + m * args.out_stride + kRowTile * t;
      const Floats16 value = {f[m][0], f[m][1]};
      Lanes::Store(out, args.add ? Lanes::Add(Lanes::Load(out), value) : value);
    }
  }
}

}  // namespace

void Mxfp4Int8(const MatrixArgs& args) { Matrix<Mxfp4>(args); }
void Q8Int8(const MatrixArgs& args) { Matrix<Q8>(args); }

}  // namespace mxbench::avx2
