// Packing of weights and of activations.
#include "test/kernel_data.h"

namespace mxbench::test {
namespace {

// The contract's quantisation of one block, written with the library's own rounding.
struct QuantizedBlock {
  int8_t values[kBlock];
  float scale;
  int32_t sum;

  explicit QuantizedBlock(const float* x) : sum(0) {
    float amax = 0;
    for (int k = 0; k < kBlock; k++) amax = std::fmax(amax, std::fabs(x[k]));
    scale = amax / 127.0f;
    for (int k = 0; k < kBlock; k++) {
      values[k] = static_cast<int8_t>(amax == 0 ? 0 : std::nearbyint(x[k] * (127.0f / amax)));
      sum += values[k];
    }
  }
};

void CheckInt8(const Kernels& kernels, const std::vector<float>& row, int m, int tokens,
               int offset) {
  const int blocks = static_cast<int>(row.size()) / kBlock;
  const size_t bytes = ActivationBlockBytes(ActivationFormat::kInt8, tokens);
  std::vector<uint8_t> tile(bytes * static_cast<size_t>(blocks), 0xee);
  kernels.pack[2](row.data(), blocks, m, tokens, offset, tile.data());
  for (int b = 0; b < blocks; b++) {
    const QuantizedBlock expected(row.data() + kBlock * b);
    std::vector<uint8_t> block(bytes, 0xee);
    const int32_t correction = -offset * expected.sum;
    std::memcpy(block.data() + kBlock * m, expected.values, kBlock);
    std::memcpy(block.data() + kBlock * tokens + 4 * m, &expected.scale, 4);
    std::memcpy(block.data() + (kBlock + 4) * tokens + 4 * m, &correction, 4);
    CHECK_SAME_BYTES(tile.data() + bytes * static_cast<size_t>(b), block.data(), bytes,
                     "tokens " + std::to_string(tokens) + " block " + std::to_string(b));
  }
}

}  // namespace

TEST(packed_weights_read_back_as_their_source_and_missing_rows_as_zero) {
  for (const WeightFormat format : kWeightFormats) {
    SetSubject(std::string("pack weights ") + NameOf(format), "all");
    for (const int blocks : {1, 2, 3, 7}) {
      for (const int rows : {1, 5, 15, 16}) {
        Random random(static_cast<uint64_t>(rows));
        const SourceRows source(format, kRowTile, blocks, random);
        const std::vector<const uint8_t*> pointers = source.Pointers(0, rows);
        std::vector<uint8_t> packed(PackedBlockBytes(format) * static_cast<size_t>(blocks), 0xee);
        using PackFn = void (*)(const uint8_t* const*, int, int, uint8_t*);
        const PackFn pack[] = {[](const uint8_t* const* from, int count, int k, uint8_t* to) {
                                 CHECK(PackMxfp4RowTile(from, count, k, to));
                               },
                               PackQ8RowTile, PackBfloat16RowTile, PackFloat32RowTile};
        pack[static_cast<int>(format)](pointers.data(), rows, blocks, packed.data());
        for (int r = 0; r < kRowTile; r++) {
          for (int k = 0; k < kBlock * blocks; k++) {
            const double expected =
                r < rows ? source.values[static_cast<size_t>(r)][static_cast<size_t>(k)] : 0;
            CHECK(PackedValue(format, packed.data(), r, k) == expected);
          }
        }
      }
    }
  }
}

TEST(every_fp16_widens_exactly) {
  SetSubject("pack weights f16", "all");
  for (int first = 0; first < 0x10000; first += kBlock) {
    if ((first >> 10 & 31) == 31) continue;
    std::vector<uint16_t> row;
    for (int k = 0; k < kBlock; k++) row.push_back(static_cast<uint16_t>(first + k));
    const auto* bytes = reinterpret_cast<const uint8_t*>(row.data());
    std::vector<uint8_t> packed(2048);
    PackFloat16RowTile(&bytes, 1, 1, packed.data());
    for (int k = 0; k < kBlock; k++) {
      CHECK(PackedValue(WeightFormat::kFloat32, packed.data(), 0, k) ==
            FromHalf(row[static_cast<size_t>(k)]));
    }
  }
}

TEST(mxfp4_exponents_at_the_edges_are_flushed_or_refused) {
  SetSubject("pack weights mxfp4", "all");
  for (int e = 0; e < 256; e++) {
    std::vector<uint8_t> row(34, 0x21);
    row[0] = 100;
    row[17] = static_cast<uint8_t>(e);
    const uint8_t* pointer = row.data();
    std::vector<uint8_t> packed(544);
    CHECK(PackMxfp4RowTile(&pointer, 1, 2, packed.data()) == (e != 255));
    CHECK(packed[0] == 99);
    CHECK(packed[272] == (e <= 1 || e == 255 ? 0 : e - 1));
  }
}

TEST(int8_activations_follow_the_contract_bit_for_bit) {
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject("pack activations int8", kernels.name);
    for (int tokens = 1; tokens <= kTokenTile; tokens++) {
      for (const int m : {0, tokens / 2, tokens - 1}) {
        for (const int blocks : {1, 2, 7, 18}) {
          Random random(static_cast<uint64_t>(tokens * 100 + blocks));
          std::vector<float> row = random.Normals(static_cast<size_t>(kBlock * blocks));
          for (int k = 0; blocks > 2 && k < kBlock; k++) row[static_cast<size_t>(kBlock + k)] = 0;
          for (const int offset : {12, 128}) CheckInt8(kernels, row, m, tokens, offset);
        }
      }
    }
    // With a largest value of 127 the factor is 1: halves are ties.
    std::vector<float> ties = {127,  -127,  0.5f, -0.5f,  1.5f,    -1.5f,
                               2.5f, -2.5f, 3.5f, 126.5f, -126.5f, 0};
    ties.resize(kBlock, -0.0f);
    CheckInt8(kernels, ties, 0, 1, 12);
    // Tiny and huge magnitudes keep their values.
    for (const float size : {1e-34f, 1e-20f, 1e20f, 3e38f}) {
      std::vector<float> row = Random(7).Normals(kBlock);
      for (float& value : row) value *= size / 3.5f;
      CheckInt8(kernels, row, 1, 3, 12);
    }
  }
}

TEST(int8_blocks_too_small_to_scale_are_zero_and_blocks_with_nan_have_a_nan_scale) {
  for (const Isa isa : AvailableIsas()) {
    SetSubject("pack activations int8", KernelsFor(isa).name);
    for (const float special : {1e-37f, 1e-40f, NAN, INFINITY}) {
      std::vector<float> row(kBlock, 0.0f);
      row[17] = special;
      uint8_t tile[40];
      KernelsFor(isa).pack[2](row.data(), 1, 0, 1, 12, tile);
      for (int k = 0; k < kBlock; k++) CHECK(tile[k] == 0);
      const float scale = ReadAs<float>(tile + 32);
      CHECK(special < 1 ? scale == 0 : std::isnan(scale));
      CHECK(ReadAs<int32_t>(tile + 36) == 0);
    }
  }
}

TEST(bf16_and_f32_activations_land_in_their_places_and_touch_no_other_token) {
  for (const Isa isa : AvailableIsas()) {
    for (const ActivationFormat format :
         {ActivationFormat::kBfloat16, ActivationFormat::kFloat32}) {
      const Kernels& kernels = KernelsFor(isa);
      SetSubject(std::string("pack activations ") + NameOf(format), kernels.name);
      for (int tokens = 1; tokens <= kTokenTile; tokens += 5) {
        const int m = tokens / 2;
        std::vector<float> row = Random(static_cast<uint64_t>(tokens)).Normals(96);
        const uint32_t ties[] = {0x3f808000, 0x3f818000, 0x3f808001,
                                 0xbf808000, 0x7f800000, 0x7fc00000};
        std::memcpy(row.data() + 5, ties, sizeof(ties));
        std::vector<uint8_t> tile(3 * ActivationBlockBytes(format, tokens), 0xee);
        kernels.pack[static_cast<int>(format)](row.data(), 3, m, tokens, 0, tile.data());
        size_t touched = 0;
        for (const uint8_t byte : tile) touched += byte != 0xee;
        CHECK(touched <= tile.size() / static_cast<size_t>(tokens));
        for (int k = 0; k < 96; k++) {
          float expected = row[static_cast<size_t>(k)];
          if (format == ActivationFormat::kBfloat16 && !std::isnan(expected)) {
            uint32_t bits = ReadAs<uint32_t>(&expected);
            bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
            expected = ReadAs<float>(&bits);
          }
          CHECK_NEAR(ActivationValue(format, tile.data(), tokens, m, k), expected, 0.0);
        }
      }
    }
  }
}

}  // namespace mxbench::test
