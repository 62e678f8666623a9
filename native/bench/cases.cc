// The kernel runs that are measured.
#include "bench/cases.h"

#include <algorithm>
#include <cmath>
#include <memory>

namespace mxbench::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kHeadWidth = 128;

std::vector<float> Wave(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i++) values[i] = std::sin(static_cast<float>(i) * 0.37f);
  return values;
}

// One matrix product over a part of the memory.
struct MatrixRun {
  const Kernels& kernels;
  WeightFormat weights;
  ActivationFormat activations;
  int blocks;
  int row_tiles;
  int tokens;
  std::vector<uint8_t> tile;
  std::vector<float> out;

  MatrixRun(Isa isa, WeightFormat w, ActivationFormat a, int k, size_t bytes, int m)
      : kernels(KernelsFor(isa)), weights(w), activations(a), blocks(k / kBlock), tokens(m) {
    row_tiles = static_cast<int>(std::max<size_t>(2, bytes / RowTileBytes()));
    tile.resize(ActivationBlockBytes(a, m) * static_cast<size_t>(blocks));
    const std::vector<float> row = Wave(static_cast<size_t>(k));
    for (int token = 0; token < m; token++) {
      kernels.pack[static_cast<int>(a)](row.data(), blocks, token, m, OffsetOf(w), tile.data());
    }
    out.resize(static_cast<size_t>(kRowTile * row_tiles * m));
  }
  size_t RowTileBytes() const { return PackedBlockBytes(weights) * static_cast<size_t>(blocks); }
  size_t Bytes() const { return RowTileBytes() * static_cast<size_t>(row_tiles); }
  double Macs() const { return double{1} * kBlock * blocks * kRowTile * row_tiles * tokens; }
  // Row tiles [first, end) of the matrix at `at`.
  void Run(const uint8_t* at, int first, int end) {
    kernels.matrix[static_cast<int>(weights)][static_cast<int>(activations)](
        {at + RowTileBytes() * static_cast<size_t>(first), blocks, end - first, tile.data(), tokens,
         out.data() + kRowTile * first, kRowTile * row_tiles, false});
  }
};

// What all cases of one instruction set share.
struct Setting {
  Isa isa;
  ColdMemory& memory;
  size_t slice_bytes;
  int inner_repetitions;
};

Case FromDram(const std::string& name, const Setting& setting, WeightFormat weights,
              ActivationFormat activations, int threads) {
  constexpr int kInputs = 2048;
  auto run = std::make_shared<MatrixRun>(setting.isa, weights, activations, kInputs,
                                         setting.slice_bytes, 1);
  const Bound bound = threads == 1 ? Bound::kReadOneThread : Bound::kReadAllThreads;
  return {name, setting.isa, bound, [=, &memory = setting.memory] {
            struct Work {
              MatrixRun* run;
              const uint8_t* at;
              int threads;
            } work{run.get(), memory.Next(run->Bytes()), threads};
            const double seconds = TimeThreads(
                threads,
                [](void* context, int thread) {
                  const auto* w = static_cast<Work*>(context);
                  const int tiles = w->run->row_tiles;
                  w->run->Run(w->at, tiles * thread / w->threads,
                              tiles * (thread + 1) / w->threads);
                },
                &work);
            return static_cast<double>(run->Bytes()) / seconds;
          }};
}

// The best of some repetitions of `run`, whose amount of work is `macs`.
double BestOf(int repetitions, double macs, const std::function<void()>& run) {
  double best = 0;
  for (int i = 0; i < repetitions; i++) {
    const Clock::time_point start = Clock::now();
    run();
    best = std::max(best, macs / SecondsSince(start));
  }
  return best;
}

Case FromCache(const std::string& name, const Setting& setting, WeightFormat weights,
               ActivationFormat activations, int tokens, Bound bound) {
  constexpr int kInputs = 2048;
  constexpr size_t kBytes = 560 << 10;  // stays in a second-level cache
  auto run =
      std::make_shared<MatrixRun>(setting.isa, weights, activations, kInputs, kBytes, tokens);
  return {name, setting.isa, bound, [=] {
            return BestOf(setting.inner_repetitions, run->Macs(),
                          [&] { run->Run(setting.memory.data(), 0, run->row_tiles); });
          }};
}

// One attention call over one span.
struct AttendRun {
  const Kernels& kernels;
  int rows;
  std::vector<float> queries, maximum, sum, out, scratch;
  std::vector<int32_t> begin, end;

  AttendRun(Isa isa, int row_count) : kernels(KernelsFor(isa)), rows(row_count) {
    const auto count = static_cast<size_t>(rows);
    queries = Wave(count * kHeadWidth);
    maximum.resize(count);
    sum.resize(count);
    out.resize(count * kHeadWidth);
    scratch.resize(AttendScratchFloats());
    begin.assign(count, 0);
    end.assign(count, kSpan);
  }
  void Run(const uint8_t* const* blocks) {
    kernels.attend[0]({queries.data(), rows, kHeadWidth, blocks, begin.data(), end.data(),
                       maximum.data(), sum.data(), out.data(), scratch.data()});
  }
};

Case AttendDecode(const Setting& setting) {
  constexpr size_t kSpanBlocks = kSpan / kSlots;
  constexpr size_t kHeadBytes = KvHeadBytes(KvFormat::kBfloat16, kHeadWidth);
  static_assert(kHeadBytes == kPieceBytes);
  const size_t count =
      std::max<size_t>(1, setting.slice_bytes / kHeadBytes / kSpanBlocks) * kSpanBlocks;
  auto run = std::make_shared<AttendRun>(setting.isa, 2);
  auto blocks = std::make_shared<std::vector<const uint8_t*>>(count);
  return {"attention decode, 2 rows, bf16 KV, DRAM", setting.isa, Bound::kReadScattered,
          [=, &memory = setting.memory] {
            // Blocks of a sequence lie anywhere, as in a paged cache.
            const uint8_t* slice = memory.Next(count * kHeadBytes);
            ScatterPieces(slice, *blocks);
            const Clock::time_point start = Clock::now();
            for (size_t i = 0; i < count; i += kSpanBlocks) run->Run(blocks->data() + i);
            return static_cast<double>(count * kHeadBytes) / SecondsSince(start);
          }};
}

Case AttendPrefill(const Setting& setting) {
  auto run = std::make_shared<AttendRun>(setting.isa, kMaxQueryRows);
  auto blocks = std::make_shared<std::vector<const uint8_t*>>(kSpan / kSlots);
  for (size_t i = 0; i < blocks->size(); i++) {
    (*blocks)[i] = setting.memory.data() + KvHeadBytes(KvFormat::kBfloat16, kHeadWidth) * i;
  }
  const Bound bound = setting.isa == Isa::kAvx2 ? Bound::kFloat32 : Bound::kBfloat16AndFloat32;
  return {"attention prefill, 16 rows, bf16 KV, L2", setting.isa, bound, [=] {
            return BestOf(setting.inner_repetitions, 2.0 * kMaxQueryRows * kSpan * kHeadWidth,
                          [&] { run->Run(blocks->data()); });
          }};
}

}  // namespace

std::vector<Case> CasesOf(Isa isa, ColdMemory& memory, int inner_repetitions, int threads) {
  using W = WeightFormat;
  using A = ActivationFormat;
  const bool plain = isa == Isa::kPortable;  // slow: shorter runs
  const Setting setting{isa, memory, plain ? memory.slice_bytes() / 32 : memory.slice_bytes(),
                        plain ? 1 : inner_repetitions};
  std::vector<Case> cases;
  const auto cached = [&](const char* name, W weights, A activations, int tokens, Bound bound) {
    cases.push_back(FromCache(name, setting, weights, activations, tokens, bound));
  };
  const auto dram = [&](const char* name, W weights, A activations, int threads_used) {
    cases.push_back(FromDram(name, setting, weights, activations, threads_used));
  };
  dram("mxfp4 x int8, M=1, DRAM", W::kMxfp4, A::kInt8, 1);
  dram("mxfp4 x int8, M=1, DRAM, all threads", W::kMxfp4, A::kInt8, threads);
  cached("mxfp4 x int8, M=1, L2", W::kMxfp4, A::kInt8, 1, Bound::kInt8);
  cached("mxfp4 x int8, M=2, L2", W::kMxfp4, A::kInt8, 2, Bound::kInt8);
  cached("mxfp4 x int8, M=4, L2", W::kMxfp4, A::kInt8, 4, Bound::kInt8);
  cached("mxfp4 x int8, M=8, L2", W::kMxfp4, A::kInt8, 8, Bound::kInt8);
  cached("mxfp4 x int8, prefill tile M=16, L2", W::kMxfp4, A::kInt8, 16, Bound::kInt8);
  dram("q8 x int8, M=1, DRAM", W::kQ8, A::kInt8, 1);
  cached("q8 x int8, M=8, L2", W::kQ8, A::kInt8, 8, Bound::kInt8);
  dram("bf16 x bf16 (head), M=1, DRAM", W::kBfloat16, A::kBfloat16, 1);
  cached("bf16 x bf16 (head), M=8, L2", W::kBfloat16, A::kBfloat16, 8, Bound::kBfloat16);
  cached("mxfp4 x bf16, M=8, L2", W::kMxfp4, A::kBfloat16, 8, Bound::kBfloat16);
  cached("mxfp4 x bf16, prefill tile M=16, L2", W::kMxfp4, A::kBfloat16, 16, Bound::kBfloat16);
  cached("mxfp4 x f32, M=8, L2", W::kMxfp4, A::kFloat32, 8, Bound::kFloat32);
  cached("q8 x f32, M=8, L2", W::kQ8, A::kFloat32, 8, Bound::kFloat32);
  cases.push_back(AttendDecode(setting));
  cases.push_back(AttendPrefill(setting));
  return cases;
}

double CeilingOf(const Case& one, const Ceilings& ceilings) {
  const Peaks& peaks = ceilings.PeaksOf(one.isa);
  switch (one.bound) {
    case Bound::kReadOneThread:
      return ceilings.read_one_thread();
    case Bound::kReadAllThreads:
      return ceilings.read_all_threads();
    case Bound::kReadScattered:
      return ceilings.read_scattered();
    case Bound::kInt8:
      return peaks.int8;
    case Bound::kBfloat16:
      return peaks.bf16;
    case Bound::kFloat32:
      return peaks.f32;
    case Bound::kBfloat16AndFloat32:  // half of the work at each rate
      return 2 / (1 / peaks.bf16 + 1 / peaks.f32);
  }
  return 0;
}

const char* NameOf(Bound bound) {
  const char* names[] = {
      "read, 1 thread", "read, all threads", "read, scattered", "int8", "bf16", "f32",
      "bf16 + f32"};
  return names[static_cast<int>(bound)];
}

bool IsRead(Bound bound) { return bound <= Bound::kReadScattered; }

}  // namespace mxbench::bench
