// Measurement of the ceilings: the parts that are the same on every machine.
#include "bench/ceilings.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>

namespace mxbench::bench {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kReadAhead = 4096;  // prefetches may pass the end
constexpr int kReadsPerRound = 3;

struct ReadWork {
  const uint8_t* memory;
  size_t bytes_per_thread;
  std::atomic<uint64_t> sum{0};
};

void ReadPart(void* context, int thread) {
  auto* work = static_cast<ReadWork*>(context);
  const size_t first = static_cast<size_t>(thread) * work->bytes_per_thread;
  work->sum += ReadAll(work->memory + first, work->bytes_per_thread);
}

double ReadBandwidth(ColdMemory& memory, int threads) {
  const size_t bytes = memory.slice_bytes() / static_cast<size_t>(threads) / 4096 * 4096;
  ReadWork work{memory.Next(memory.slice_bytes()), bytes};
  const double seconds = TimeThreads(threads, ReadPart, &work);
  return static_cast<double>(bytes) * threads / seconds;
}

// Fetches each piece while it reads the one before, which is as fast as reading them gets.
double ScatteredBandwidth(ColdMemory& memory) {
  std::vector<const uint8_t*> pieces(memory.slice_bytes() / kPieceBytes);
  ScatterPieces(memory.Next(memory.slice_bytes()), pieces);
  const auto start = std::chrono::steady_clock::now();
  uint64_t sum = 0;
  for (size_t i = 0; i < pieces.size(); i++) {
    const uint8_t* next = pieces[(i + 1) % pieces.size()];
    for (size_t at = 0; at < kPieceBytes; at += 64) {
      __builtin_prefetch(next + at, 0, 2);
      for (size_t word = 0; word < 64; word += 8) {
        uint64_t value;
        __builtin_memcpy(&value, pieces[i] + at + word, 8);
        sum += value;
      }
    }
  }
  asm volatile("" : : "r"(sum));
  return static_cast<double>(pieces.size() * kPieceBytes) / SecondsSince(start);
}

}  // namespace

void ScatterPieces(const uint8_t* memory, std::vector<const uint8_t*>& pieces) {
  constexpr size_t kStride = 5741;  // a prime, so that every piece comes once
  for (size_t i = 0; i < pieces.size(); i++) {
    pieces[i] = memory + kPieceBytes * ((i * kStride + 7) % pieces.size());
  }
}

double TimeThreads(int threads, void (*work)(void* context, int thread), void* context) {
  using Clock = std::chrono::steady_clock;
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; thread++) {
    others.emplace_back([&, thread] {
      FlushDenormals();
      ready++;
      while (!go) std::this_thread::yield();
      work(context, thread);
    });
  }
  while (ready < threads - 1) std::this_thread::yield();
  const Clock::time_point start = Clock::now();
  go = true;
  work(context, 0);
  for (std::thread& other : others) other.join();
  return SecondsSince(start);
}

ColdMemory::ColdMemory(size_t bytes, size_t slice_bytes)
    : bytes_(bytes), slice_bytes_(slice_bytes) {
  const size_t padded = (bytes + kReadAhead + kHugePage - 1) / kHugePage * kHugePage;
  memory_ = static_cast<uint8_t*>(std::aligned_alloc(kHugePage, padded));
  if (memory_ == nullptr) {
    std::fprintf(stderr,
                 "native_bench: no memory for %zu bytes; close other programs or use --quick\n",
                 padded);
    std::exit(1);
  }
  madvise(memory_, padded, MADV_HUGEPAGE);
  // Bytes 0x38 to 0x3f are moderate numbers as E8M0, fp16, bf16 and float.
  uint32_t random = 1;
  for (size_t i = 0; i < padded; i++) {
    random = random * 1664525 + 1013904223;
    memory_[i] = static_cast<uint8_t>(0x38 | random >> 29);
  }
}

const uint8_t* ColdMemory::Next(size_t bytes) {
  if (at_ + bytes > bytes_) at_ = 0;
  const uint8_t* next = memory_ + at_;
  at_ += (bytes + 63) / 64 * 64;
  return next;
}

void Ceilings::Measure() {
  for (int i = 0; i < kReadsPerRound; i++) {
    read_one_thread_ = std::max(read_one_thread_, ReadBandwidth(memory_, 1));
    read_all_threads_ = std::max(read_all_threads_, ReadBandwidth(memory_, threads_));
    read_scattered_ = std::max(read_scattered_, ScatteredBandwidth(memory_));
  }
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!IsaAvailable(isa)) continue;
    Peaks& best = peaks_[static_cast<int>(isa)];
    const Peaks now = MeasurePeaks(isa);
    best = {std::max(best.int8, now.int8), std::max(best.bf16, now.bf16),
            std::max(best.f32, now.f32)};
  }
  if (BestIsa() == Isa::kPortable) {
    Peaks& best = peaks_[0];
    const Peaks now = MeasurePeaks(Isa::kPortable);
    best = {std::max(best.int8, now.int8), std::max(best.bf16, now.bf16),
            std::max(best.f32, now.f32)};
  }
}

const Peaks& Ceilings::PeaksOf(Isa isa) const {
  return peaks_[static_cast<int>(isa == Isa::kPortable ? BestIsa() : isa)];
}

}  // namespace mxbench::bench
