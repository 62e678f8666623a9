// Runs every registered test (or those whose name contains the first argument) and prints one line
// per subject with its number of checks. Exit status 1 when any check failed.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "kernels/kernels.h"
#include "test/check.h"

namespace mxbench::test {
namespace {

struct Registered {
  const char* name;
  TestFn run;
};

struct State {
  std::vector<Registered> tests;
  std::map<std::string, int64_t> checks;
  int64_t* current = nullptr;
  int64_t failures = 0;
};

State& TheState() {
  static State state;
  return state;
}

}  // namespace

Registration::Registration(const char* name, TestFn run) {
  TheState().tests.push_back({name, run});
}

void SetSubject(const std::string& kernel, const std::string& isa) {
  TheState().current = &TheState().checks[kernel + " | " + isa];
}

bool Check(bool holds, const char* what, const char* file, int line, const std::string& detail) {
  constexpr int64_t kShown = 50;
  State& state = TheState();
  ++*state.current;
  if (holds) return true;
  if (++state.failures <= kShown) {
    std::printf("FAILED %s:%d: %s%s%s\n", file, line, what, detail.empty() ? "" : "; ",
                detail.c_str());
  }
  return false;
}

bool CheckNear(double actual, double expected, double tolerance, const char* what, const char* file,
               int line, const std::string& detail) {
  const bool holds = (std::isnan(actual) && std::isnan(expected)) || actual == expected ||
                     std::fabs(actual - expected) <= tolerance;
  if (holds) return Check(true, what, file, line);
  char numbers[128];
  std::snprintf(numbers, sizeof(numbers), "%.9g, expected %.9g within %.3g; ", actual, expected,
                tolerance);
  return Check(false, what, file, line, numbers + detail);
}

bool CheckSameBytes(const void* actual, const void* expected, size_t bytes, const char* what,
                    const char* file, int line, const std::string& detail) {
  if (std::memcmp(actual, expected, bytes) == 0) return Check(true, what, file, line);
  size_t first = 0;
  while (static_cast<const char*>(actual)[first] == static_cast<const char*>(expected)[first]) {
    first++;
  }
  return Check(false, what, file, line,
               "byte " + std::to_string(first) + " of " + std::to_string(bytes) + "; " + detail);
}

int Main(const char* filter) {
  FlushDenormals();
  State& state = TheState();
  int ran = 0;
  for (const Registered& test : state.tests) {
    if (std::strstr(test.name, filter) == nullptr) continue;
    SetSubject(test.name, "all");
    const int64_t failures_before = state.failures;
    test.run();
    ran++;
    std::printf("%s %s\n", state.failures == failures_before ? "ok" : "FAILED", test.name);
    std::fflush(stdout);
  }
  for (const auto& [subject, count] : state.checks) {
    if (count > 0) {
      std::printf("checks | %s | %lld\n", subject.c_str(), static_cast<long long>(count));
    }
  }
  std::printf("%d tests, %lld failures\n", ran, static_cast<long long>(state.failures));
  return state.failures == 0 && ran > 0 ? 0 : 1;
}

}  // namespace mxbench::test

int main(int argc, char** argv) { return mxbench::test::Main(argc > 1 ? argv[1] : ""); }
