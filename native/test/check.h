// A test registry and checks for the native tests; main.cc runs them and prints how many checks
// each subject had, so that a test that silently did nothing is seen.
#pragma once

#include <cstdint>
#include <string>

namespace mxbench::test {

using TestFn = void (*)();

// Adds a test at start-up; use TEST.
struct Registration {
  Registration(const char* name, TestFn run);
};

// Names what the following checks are about, such as ("matrix mxfp4 int8", "avx512"); their number
// is printed under that name.
void SetSubject(const std::string& kernel, const std::string& isa);

// Counts one check; false also records a failure with its place. Returns `holds`.
bool Check(bool holds, const char* what, const char* file, int line,
           const std::string& detail = "");

// |actual - expected| <= tolerance; two NaNs agree.
bool CheckNear(double actual, double expected, double tolerance, const char* what, const char* file,
               int line, const std::string& detail = "");

// Bytes are equal; names the first that differs.
bool CheckSameBytes(const void* actual, const void* expected, size_t bytes, const char* what,
                    const char* file, int line, const std::string& detail = "");

#define TEST(name)                                                              \
  static void name();                                                           \
  static const ::mxbench::test::Registration registration_##name(#name, &name); \
  static void name()

// Each takes an optional std::string that says which case failed.
#define CHECK(condition, ...) \
  ::mxbench::test::Check((condition), #condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define CHECK_NEAR(actual, expected, tolerance, ...)                                      \
  ::mxbench::test::CheckNear((actual), (expected), (tolerance), #actual " vs " #expected, \
                             __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define CHECK_SAME_BYTES(actual, expected, bytes, ...)                                     \
  ::mxbench::test::CheckSameBytes((actual), (expected), (bytes), #actual " vs " #expected, \
                                  __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__)

}  // namespace mxbench::test
