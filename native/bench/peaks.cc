// The loops that find a CPU's peaks: many independent chains of one instruction, nothing else.
#include "bench/ceilings.h"

#if MXBENCH_X86
#include <immintrin.h>
#endif

namespace mxbench::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kSteps = 20000;
constexpr int kChains = 12;

// Keeps a value, and all that it was made of, from being optimised away.
template <typename T>
void Keep(T& value) {
  asm volatile("" : "+m"(value) : : "memory");
}

double Rate(double macs, Clock::time_point start) { return macs / SecondsSince(start); }

// Plain loops, as the compiler vectorises them.
Peaks PlainPeaks() {
  Peaks peaks;
  float sums[64] = {}, factors[64];
  for (float& factor : factors) factor = 0.5f;
  Clock::time_point start = Clock::now();
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < 64; i++) sums[i] += factors[i] * 0.25f;
  }
  Keep(sums);
  peaks.f32 = peaks.bf16 = Rate(64.0 * kSteps, start);
  int32_t totals[64] = {};
  int16_t values[64];
  for (int16_t& value : values) value = 3;
  Keep(values);
  start = Clock::now();
  for (int step = 0; step < kSteps; step++) {
    for (int i = 0; i < 64; i++) totals[i] += values[i] * static_cast<int16_t>(step);
  }
  Keep(totals);
  peaks.int8 = Rate(64.0 * kSteps, start);
  return peaks;
}

#if MXBENCH_X86

// The operands pass through an empty asm, so that no step can be hoisted out of the loop.
#define MXBENCH_PEAK(function, features, vector, zero, step_macs, instruction)    \
  __attribute__((target(features))) double function() {                           \
    vector chain[kChains], first, second;                                         \
    for (int i = 0; i < kChains; i++) chain[i] = zero;                            \
    first = second = zero;                                                        \
    const Clock::time_point start = Clock::now();                                 \
    for (int step = 0; step < kSteps; step++) {                                   \
      asm volatile("" : "+v"(first), "+v"(second));                               \
      _Pragma("GCC unroll 12") for (int i = 0; i < kChains; i++) { instruction; } \
    }                                                                             \
    for (int i = 0; i < kChains; i++) Keep(chain[i]);                             \
    return Rate(double{step_macs} * kChains * kSteps, start);                     \
  }

MXBENCH_PEAK(Avx2Int8, "avx2,fma", __m256i, _mm256_setzero_si256(), 32,
             asm volatile("vpmaddubsw %2, %1, %0"
                          : "=x"(chain[i])
                          : "x"(first), "x"(second)))
MXBENCH_PEAK(Avx2Float, "avx2,fma", __m256, _mm256_setzero_ps(), 8,
             chain[i] = _mm256_fmadd_ps(first, second, chain[i]))
#define MXBENCH_AVX512 "avx512f,avx512bw,avx512vl,avx512vnni,avx512bf16"
MXBENCH_PEAK(Avx512Int8, MXBENCH_AVX512, __m512i, _mm512_setzero_si512(), 64,
             chain[i] = _mm512_dpbusd_epi32(chain[i], first, second))
MXBENCH_PEAK(Avx512Bfloat16, MXBENCH_AVX512, __m512, _mm512_setzero_ps(), 32,
             chain[i] = _mm512_dpbf16_ps(chain[i], reinterpret_cast<__m512bh>(first),
                                         reinterpret_cast<__m512bh>(second)))
MXBENCH_PEAK(Avx512Float, MXBENCH_AVX512, __m512, _mm512_setzero_ps(), 16,
             chain[i] = _mm512_fmadd_ps(first, second, chain[i]))

__attribute__((target("avx2"))) uint64_t ReadAllAvx2(const uint8_t* bytes, size_t count) {
  __m256i sum[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                    _mm256_setzero_si256()};
  for (size_t at = 0; at + 128 <= count; at += 128) {
    _mm_prefetch(reinterpret_cast<const char*>(bytes + at + 2048), _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(bytes + at + 2112), _MM_HINT_T0);
    for (int i = 0; i < 4; i++) {
      const auto* from = reinterpret_cast<const __m256i*>(bytes + at + 32 * static_cast<size_t>(i));
      sum[i] = _mm256_add_epi64(sum[i], _mm256_loadu_si256(from));
    }
  }
  uint64_t parts[4];
  const __m256i total =
      _mm256_add_epi64(_mm256_add_epi64(sum[0], sum[1]), _mm256_add_epi64(sum[2], sum[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(parts), total);
  return parts[0] + parts[1] + parts[2] + parts[3];
}

#endif

}  // namespace

Peaks MeasurePeaks(Isa isa) {
#if MXBENCH_X86
  if (isa == Isa::kAvx512) return {Avx512Int8(), Avx512Bfloat16(), Avx512Float()};
  if (isa == Isa::kAvx2) {
    const double f32 = Avx2Float();
    return {Avx2Int8(), f32, f32};
  }
#endif
  (void)isa;
  return PlainPeaks();
}

uint64_t ReadAll(const uint8_t* bytes, size_t count) {
#if MXBENCH_X86
  if (IsaAvailable(Isa::kAvx2)) return ReadAllAvx2(bytes, count);
#endif
  uint64_t sum[8] = {};
  for (size_t at = 0; at + 64 <= count; at += 64) {
    for (size_t i = 0; i < 8; i++) {
      uint64_t word;
      __builtin_memcpy(&word, bytes + at + 8 * i, 8);
      sum[i] += word;
    }
  }
  return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

}  // namespace mxbench::bench
