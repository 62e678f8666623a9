// What all AVX-512 matrix kernels share: the choice of the kernel for a token count, the walk over
// row tiles, and the store of results.
#pragma once

#include "kernels/avx512/vector.h"

namespace mxbench::avx512 {

MXBENCH_INLINE void StoreRows(float* out, __m512 value, bool add) {
  if (add) value = _mm512_add_ps(_mm512_loadu_ps(out), value);
  _mm512_storeu_ps(out, value);
}

// Takes one row tile after another; Kernel::Run<M>(args, row tile) computes one. One at a time even
// for a single token: two at once are a little faster from a cache, but from memory, where weights
// of a decode step come from, a single ascending stream is what hardware prefetching follows best.
template <typename Kernel, int M>
void RunRowTiles(const MatrixArgs& args) {
  for (int t = 0; t < args.row_tiles; t++) Kernel::template Run<M>(args, t);
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
