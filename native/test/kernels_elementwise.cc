// Element-wise kernels of every instruction set against double-precision truth, and the tables.
#include <algorithm>

#include "test/kernel_data.h"

namespace mxbench::test {
namespace {

constexpr int kWidths[] = {1, 2, 15, 16, 17, 31, 33, 64, 65, 100, 128, 576, 1000};

}  // namespace

TEST(rms_norm_matches_truth_and_works_in_place) {
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject("rms_norm", kernels.name);
    for (const int width : kWidths) {
      Random random(static_cast<uint64_t>(width));
      const std::vector<float> x = random.Normals(static_cast<size_t>(width));
      const std::vector<float> weight = random.Normals(static_cast<size_t>(width));
      std::vector<float> y(x.size());
      kernels.rms_norm(x.data(), weight.data(), width, 1e-5f, y.data());
      double squares = 0;
      for (const float value : x) squares += double{value} * value;
      const double factor = 1 / std::sqrt(squares / width + 1e-5f);
      for (size_t i = 0; i < x.size(); i++) {
        const double exact = x[i] * factor * weight[i];
        CHECK_NEAR(y[i], exact, 1e-6 * std::fabs(exact) + 1e-12, "width " + std::to_string(width));
      }
      std::vector<float> in_place = x;
      kernels.rms_norm(in_place.data(), weight.data(), width, 1e-5f, in_place.data());
      CHECK_SAME_BYTES(in_place.data(), y.data(), 4 * y.size());
    }
    const std::vector<float> zeros(64, 0.0f), ones(64, 1.0f);
    std::vector<float> y(64, 7.0f);
    kernels.rms_norm(zeros.data(), ones.data(), 64, 1e-6f, y.data());
    CHECK(std::all_of(y.begin(), y.end(), [](float value) { return value == 0; }));
  }
}

TEST(rotate_turns_pairs_half_a_head_apart) {
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject("rotate", kernels.name);
    for (const int width : {16, 48, 64, 80, 128, 256}) {
      const auto half = static_cast<size_t>(width / 2);
      const std::vector<float> head = Random(static_cast<uint64_t>(width)).Normals(2 * half);
      std::vector<float> cosines, sines;
      for (size_t i = 0; i < half; i++) {
        cosines.push_back(static_cast<float>(std::cos(0.7 * static_cast<double>(i))));
        sines.push_back(static_cast<float>(std::sin(0.7 * static_cast<double>(i))));
      }
      std::vector<float> turned = head;
      kernels.rotate(turned.data(), cosines.data(), sines.data(), width);
      for (size_t i = 0; i < half; i++) {
        const double first = double{head[i]} * cosines[i] - double{head[i + half]} * sines[i];
        const double second = double{head[i + half]} * cosines[i] + double{head[i]} * sines[i];
        CHECK_NEAR(turned[i], first, 5e-7 * (1 + std::fabs(first)));
        CHECK_NEAR(turned[i + half], second, 5e-7 * (1 + std::fabs(second)));
      }
    }
  }
}

TEST(silu_multiply_matches_truth_over_the_whole_range) {
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject("silu_multiply", kernels.name);
    for (const int width : kWidths) {
      Random random(static_cast<uint64_t>(width));
      std::vector<float> gate, up;
      for (int i = 0; i < width; i++) {
        gate.push_back(i % 7 == 0 ? 200 * (random.Uniform() - 0.5f) : 4 * random.Normal());
        up.push_back(random.Normal());
      }
      std::vector<float> y = gate;
      kernels.silu_multiply(y.data(), up.data(), width, y.data());
      for (size_t i = 0; i < gate.size(); i++) {
        const double exact = gate[i] / (1 + std::exp(-double{gate[i]})) * up[i];
        CHECK_NEAR(y[i], exact, 1e-6 * std::fabs(exact) + 1e-36, "gate " + std::to_string(gate[i]));
      }
    }
    const float extremes[] = {-1e30f, -105, -88.8f, 0, 88.8f, 1e30f};
    const float ones[] = {1, 1, 1, 1, 1, 1};
    float y[6];
    kernels.silu_multiply(extremes, ones, 6, y);
    for (int i = 0; i < 3; i++) CHECK(std::fabs(y[i]) < 1e-34);
    CHECK(y[3] == 0 && y[4] == 88.8f && y[5] == 1e30f);
    const float nan = NAN;
    kernels.silu_multiply(&nan, ones, 1, y);
    CHECK(std::isnan(y[0]));
  }
}

TEST(add_adds) {
  for (const Isa isa : AvailableIsas()) {
    SetSubject("add", KernelsFor(isa).name);
    for (const int width : kWidths) {
      Random random(static_cast<uint64_t>(width));
      const std::vector<float> x = random.Normals(static_cast<size_t>(width));
      const std::vector<float> y = random.Normals(static_cast<size_t>(width));
      std::vector<float> sum = x;
      KernelsFor(isa).add(sum.data(), y.data(), width);
      for (size_t i = 0; i < x.size(); i++) CHECK(sum[i] == x[i] + y[i]);
    }
  }
}

TEST(argmax_takes_the_first_largest_and_never_a_nan) {
  for (const Isa isa : AvailableIsas()) {
    const ArgmaxFn argmax = KernelsFor(isa).argmax;
    SetSubject("argmax", KernelsFor(isa).name);
    for (const int width : kWidths) {
      Random random(static_cast<uint64_t>(width));
      for (int round = 0; round < 40; round++) {
        std::vector<float> x(static_cast<size_t>(width));
        // Few distinct values, so that ties are common; some NaN, some infinities.
        for (float& value : x) {
          const int kind = random.Below(20);
          value = kind == 0 ? NAN : kind == 1 ? -INFINITY : static_cast<float>(random.Below(4) - 5);
        }
        int expected = 0;
        for (int i = 1; i < width; i++) {
          const float best = x[static_cast<size_t>(expected)], value = x[static_cast<size_t>(i)];
          if (value > best || (std::isnan(best) && !std::isnan(value))) expected = i;
        }
        CHECK(argmax(x.data(), width) == expected, "width " + std::to_string(width));
      }
      const std::vector<float> nans(static_cast<size_t>(width), NAN);
      CHECK(argmax(nans.data(), width) == 0);
      const std::vector<float> lowest(static_cast<size_t>(width), -INFINITY);
      CHECK(argmax(lowest.data(), width) == 0);
      std::vector<float> last = nans;
      last.back() = -INFINITY;
      CHECK(argmax(last.data(), width) == width - 1);
    }
  }
}

TEST(every_table_is_complete_and_holds_just_the_pairs_that_are_asked_for) {
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject("table", kernels.name);
    CHECK(kernels.isa == isa);
    const char* names[] = {"portable", "avx2", "avx512"};
    CHECK(std::strcmp(kernels.name, names[static_cast<int>(isa)]) == 0);
    for (const WeightFormat weights : kWeightFormats) {
      for (const ActivationFormat activations : kActivationFormats) {
        const bool wanted = ActivationFor(weights, activations) == activations;
        CHECK((kernels.matrix[static_cast<int>(weights)][static_cast<int>(activations)] !=
               nullptr) == wanted);
      }
    }
  }
  CHECK(IsaAvailable(Isa::kPortable));
  CHECK(IsaAvailable(BestIsa()));
}

TEST(denormals_are_flushed_where_the_cpu_can) {
#if defined(__x86_64__) || defined(__aarch64__)
  volatile float small = 1e-30f;
  CHECK(small * small * 1e10f == 0.0f);
  volatile float denormal = 1e-39f;
  CHECK(denormal * 1e10f == 0.0f);
#else
  CHECK(true);
#endif
}

}  // namespace mxbench::test
