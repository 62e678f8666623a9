// Full unrolling of short loops over arrays of vectors, without which they would live in memory.
#pragma once

#ifdef __clang__
#define MXBENCH_UNROLL(count) _Pragma("clang loop unroll(full)")
#else
// The count bounds the loop's trips from above.
#define MXBENCH_UNROLL(count) _Pragma(MXBENCH_TEXT(GCC unroll count))
#define MXBENCH_TEXT(text) #text
#endif

#define MXBENCH_INLINE [[gnu::always_inline]] inline
