// What this machine can do at most, measured in the same process and rounds as the kernels: read
// bandwidth and multiply-accumulate peaks. Figures are the best of all rounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernels/kernels.h"

namespace mxbench::bench {

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Multiply-accumulates a second of one thread, by the best instructions of one set.
struct Peaks {
  double int8 = 0;
  double bf16 = 0;
  double f32 = 0;
};

// Memory larger than the caches. Everything that is to be read from DRAM takes its next part from
// here, so that no run finds what the run before it left in a cache. In huge pages where the system
// has them, as the engine's own memory.
class ColdMemory {
 public:
  // `bytes` is all of it, `slice_bytes` the most that one run takes. Filled so that it is valid,
  // finite data in every packed weight format and KV format.
  ColdMemory(size_t bytes, size_t slice_bytes);

  ~ColdMemory() { std::free(memory_); }
  ColdMemory(const ColdMemory&) = delete;
  ColdMemory& operator=(const ColdMemory&) = delete;

  const uint8_t* data() const { return memory_; }
  size_t slice_bytes() const { return slice_bytes_; }
  // The next `bytes` (at most slice_bytes), wrapping around at the end.
  const uint8_t* Next(size_t bytes);

 private:
  uint8_t* memory_;
  size_t bytes_;
  size_t slice_bytes_;
  size_t at_ = 0;
};

class Ceilings {
 public:
  Ceilings(ColdMemory& memory, int threads) : memory_(memory), threads_(threads) {}

  // Measures everything once more and keeps what was better.
  void Measure();

  double read_one_thread() const { return read_one_thread_; }    // bytes a second
  double read_all_threads() const { return read_all_threads_; }  // bytes a second
  // One thread, pieces of kPieceBytes anywhere in memory, as the blocks of a paged KV cache.
  double read_scattered() const { return read_scattered_; }  // bytes a second
  // The plain kernels are held against the best instructions of the machine.
  const Peaks& PeaksOf(Isa isa) const;

 private:
  ColdMemory& memory_;
  int threads_;
  double read_one_thread_ = 0;
  double read_all_threads_ = 0;
  double read_scattered_ = 0;
  Peaks peaks_[3];
};

// Addresses of the pieces of a part of memory in scattered order.
constexpr size_t kPieceBytes = 8192;
void ScatterPieces(const uint8_t* memory, std::vector<const uint8_t*>& pieces);

// Runs `work(thread)` on `threads` threads, the caller's among them, and gives the seconds from a
// common start to the last end.
double TimeThreads(int threads, void (*work)(void* context, int thread), void* context);

// One instruction set's peaks from one short measurement.
Peaks MeasurePeaks(Isa isa);
// Reads the bytes once, by the widest loads there are; the result keeps the reads alive.
uint64_t ReadAll(const uint8_t* bytes, size_t count);

}  // namespace mxbench::bench
