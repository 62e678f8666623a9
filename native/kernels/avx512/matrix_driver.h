// What all AVX-512 matrix kernels share: the choice of the kernel for a token count, the walk over
// row tiles, prefetching of weights that come from memory, and the store of results.
#pragma once

#include "kernels/avx512/vector.h"

namespace mxbench::avx512 {

// Row tiles that a kernel for M tokens takes at once: with few tokens the second tile hides the
// latency of the first one's sums.
template <int M>
constexpr int kRowTilesAtOnce = M <= 2 ? 2 : 1;

// Fetches weights ahead of a kernel that is bound by memory. `Step` is called once a block; the
// place fetched runs ahead by kDistance blocks and, near a row tile's end, continues in the row
// tile that the kernel takes next.
template <int M, size_t kBlockBytes>
class Prefetcher {
 public:
  Prefetcher(const uint8_t* weights, int blocks)
      : ahead_(weights + kDistance * kBlockBytes),
        jump_at_(blocks - kDistance),
        jump_(static_cast<size_t>(blocks) * kBlockBytes * (kRowTilesAtOnce<M> - 1)),
        row_bytes_(static_cast<size_t>(blocks) * kBlockBytes) {}

  template <int R>
  MXBENCH_INLINE void Step(int block) {
    if constexpr (M <= kMostTokens) {
      if (block == jump_at_) ahead_ += jump_;
      MXBENCH_UNROLL(2)
      for (int r = 0; r < R; r++) {
        MXBENCH_UNROLL(32)
        for (size_t i = 0; i < (kBlockBytes + 63) / 64; i++) {
          _mm_prefetch(
              reinterpret_cast<const char*>(ahead_ + static_cast<size_t>(r) * row_bytes_ + 64 * i),
              _MM_HINT_T0);
        }
      }
      ahead_ += kBlockBytes;
    }
  }

 private:
  static constexpr int kMostTokens = 2;
  static constexpr int kDistance = kBlockBytes > 512 ? 4 : 8;
  const uint8_t* ahead_;
  int jump_at_;
  size_t jump_;
  size_t row_bytes_;
};

MXBENCH_INLINE void StoreRows(float* out, __m512 value, bool add) {
  if (add) value = _mm512_add_ps(_mm512_loadu_ps(out), value);
  _mm512_storeu_ps(out, value);
}

// Walks over the row tiles of a call; Kernel::Run<M, R>(args, first row tile) computes R of them.
template <typename Kernel, int M>
void RunRowTiles(const MatrixArgs& args) {
  constexpr int kAtOnce = kRowTilesAtOnce<M>;
  int t = 0;
  for (; t + kAtOnce <= args.row_tiles; t += kAtOnce) Kernel::template Run<M, kAtOnce>(args, t);
  for (; t < args.row_tiles; t++) Kernel::template Run<M, 1>(args, t);
}

// Runs the kernel made for this number of tokens.
template <typename Kernel>
void RunMatrix(const MatrixArgs& args) {
  static constexpr MatrixFn kByTokens[kTokenTile] = {
      RunRowTiles<Kernel, 1>,  RunRowTiles<Kernel, 2>,  RunRowTiles<Kernel, 3>,
      RunRowTiles<Kernel, 4>,  RunRowTiles<Kernel, 5>,  RunRowTiles<Kernel, 6>,
      RunRowTiles<Kernel, 7>,  RunRowTiles<Kernel, 8>,  RunRowTiles<Kernel, 9>,
      RunRowTiles<Kernel, 10>, RunRowTiles<Kernel, 11>, RunRowTiles<Kernel, 12>,
      RunRowTiles<Kernel, 13>, RunRowTiles<Kernel, 14>, RunRowTiles<Kernel, 15>,
      RunRowTiles<Kernel, 16>};
  kByTokens[args.tokens - 1](args);
}

}  // namespace mxbench::avx512
