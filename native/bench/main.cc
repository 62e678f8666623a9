// Measures this machine's ceilings and every kernel as a share of the one that binds it; the best
// of several interleaved rounds. Options: --json, --quick (small sizes, one round: checks that it
// runs, says nothing about speed), --rounds N, --filter TEXT.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "bench/cases.h"

namespace mxbench::bench {
namespace {

struct Options {
  bool json = false;
  bool quick = false;
  int rounds = 25;
  const char* filter = "";
};

bool Parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i++) {
    const bool more = i + 1 < argc;
    if (std::strcmp(argv[i], "--json") == 0) {
      options.json = true;
    } else if (std::strcmp(argv[i], "--quick") == 0) {
      options.quick = true;
      options.rounds = 1;
    } else if (std::strcmp(argv[i], "--rounds") == 0 && more && std::atoi(argv[i + 1]) > 0) {
      options.rounds = std::atoi(argv[++i]);
    } else if (std::strcmp(argv[i], "--filter") == 0 && more) {
      options.filter = argv[++i];
    } else {
      std::fprintf(stderr,
                   "native_bench: '%s' is not understood; use --json, --quick, --rounds N (1 or "
                   "more) or --filter TEXT\n",
                   argv[i]);
      return false;
    }
  }
  return true;
}

void PrintTable(const std::vector<Case>& cases, const Ceilings& ceilings, const Options& options) {
  std::printf(
      "read bandwidth   %7.1f GB/s one thread, %.1f GB/s all threads, %.1f GB/s one thread "
      "scattered\n",
      ceilings.read_one_thread() * 1e-9, ceilings.read_all_threads() * 1e-9,
      ceilings.read_scattered() * 1e-9);
  for (const Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (!IsaAvailable(isa)) continue;
    const Peaks& peaks = ceilings.PeaksOf(isa);
    std::printf("%-8s peaks   %7.1f int8, %.1f bf16, %.1f f32 GMAC/s a thread\n",
                KernelsFor(isa).name, peaks.int8 * 1e-9, peaks.bf16 * 1e-9, peaks.f32 * 1e-9);
  }
  std::printf("\n%-42s %-9s %-18s %9s %9s %7s\n", "kernel", "isa", "bound by", "measured",
              "ceiling", "share");
  for (const Case& one : cases) {
    const double ceiling = CeilingOf(one, ceilings);
    std::printf("%-42s %-9s %-18s %9.2f %9.2f %6.1f%%\n", one.name.c_str(),
                KernelsFor(one.isa).name, NameOf(one.bound), one.best * 1e-9, ceiling * 1e-9,
                100 * one.best / ceiling);
  }
  std::printf("\nGB/s where reading binds, else GMAC/s; best of %d rounds%s\n", options.rounds,
              options.quick ? " (--quick: too small to say anything about speed)" : "");
}

void PrintJson(const std::vector<Case>& cases, const Ceilings& ceilings, const Options& options,
               int threads) {
  std::printf("{\"quick\":%s,\"rounds\":%d,\"threads\":%d,\"bestIsa\":\"%s\",",
              options.quick ? "true" : "false", options.rounds, threads,
              KernelsFor(BestIsa()).name);
  std::printf(
      "\"readOneThreadBytesPerSecond\":%.6g,\"readAllThreadsBytesPerSecond\":%.6g,"
      "\"readScatteredBytesPerSecond\":%.6g,\"peaks\":[",
      ceilings.read_one_thread(), ceilings.read_all_threads(), ceilings.read_scattered());
  const char* separator = "";
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (!IsaAvailable(isa) || (isa == Isa::kPortable && BestIsa() != Isa::kPortable)) continue;
    const Peaks& peaks = ceilings.PeaksOf(isa);
    std::printf(
        "%s{\"isa\":\"%s\",\"int8MacsPerSecond\":%.6g,\"bf16MacsPerSecond\":%.6g,"
        "\"f32MacsPerSecond\":%.6g}",
        separator, KernelsFor(isa).name, peaks.int8, peaks.bf16, peaks.f32);
    separator = ",";
  }
  std::printf("],\"kernels\":[");
  separator = "";
  for (const Case& one : cases) {
    const double ceiling = CeilingOf(one, ceilings);
    const char* unit = IsRead(one.bound) ? "BytesPerSecond" : "MacsPerSecond";
    std::printf(
        "%s{\"name\":\"%s\",\"isa\":\"%s\",\"boundBy\":\"%s\",\"measured%s\":%.6g,\"ceiling%s\":%."
        "6g,\"share\":%.6g}",
        separator, one.name.c_str(), KernelsFor(one.isa).name, NameOf(one.bound), unit, one.best,
        unit, ceiling, one.best / ceiling);
    separator = ",";
  }
  std::printf("]}\n");
}

int Main(const Options& options) {
  FlushDenormals();
  const unsigned hardware = std::thread::hardware_concurrency();
  const int threads = hardware == 0 ? 1 : static_cast<int>(hardware);
  ColdMemory memory(options.quick ? size_t{4} << 20 : size_t{320} << 20,
                    options.quick ? size_t{1} << 20 : size_t{32} << 20);
  Ceilings ceilings(memory, threads);
  std::vector<Case> cases;
  for (const Isa isa : {Isa::kPortable, Isa::kAvx2, Isa::kAvx512}) {
    if (!IsaAvailable(isa)) continue;
    for (Case& one : CasesOf(isa, memory, options.quick ? 1 : 12, threads)) {
      const std::string label = one.name + " " + KernelsFor(isa).name;
      if (label.find(options.filter) != std::string::npos) cases.push_back(std::move(one));
    }
  }
  for (int round = 0; round < options.rounds; round++) {
    ceilings.Measure();
    for (Case& one : cases) one.best = std::max(one.best, one.run());
  }
  if (options.json) {
    PrintJson(cases, ceilings, options, threads);
  } else {
    PrintTable(cases, ceilings, options);
  }
  return 0;
}

}  // namespace
}  // namespace mxbench::bench

int main(int argc, char** argv) {
  mxbench::bench::Options options;
  if (!mxbench::bench::Parse(argc, argv, options)) return 2;
  return mxbench::bench::Main(options);
}
