// Every matrix kernel of every instruction set against double-precision truth, and bit for bit
// against itself with other numbers of tokens and row tiles.
#include "test/kernel_data.h"

namespace mxbench::test {
namespace {

constexpr int kBlockCounts[] = {1, 2, 3, 7, 18};
constexpr int kRowTileCounts[] = {1, 2, 3, 5};
constexpr int kRows = 5 * kRowTile;
constexpr int kMaxBlocks = 18;

std::string Subject(WeightFormat weights, ActivationFormat activations) {
  return std::string("matrix ") + NameOf(weights) + " x " + NameOf(activations);
}

// One format pair's data: weights, activations, and the answers of single-token, single-tile calls.
struct MatrixCase {
  WeightFormat weight_format;
  ActivationFormat activation_format;
  int blocks;
  std::vector<uint8_t> weights;
  std::vector<float> rows;    // 16 tokens x K
  std::vector<float> single;  // 16 tokens x kRows, of one instruction set

  size_t Inputs() const { return static_cast<size_t>(kBlock * blocks); }

  std::vector<uint8_t> Tile(const Kernels& kernels, int first, int tokens) const {
    const size_t bytes = ActivationBlockBytes(activation_format, tokens);
    std::vector<uint8_t> tile(bytes * static_cast<size_t>(blocks));
    for (int m = 0; m < tokens; m++) {
      kernels.pack[static_cast<int>(activation_format)](
          rows.data() + static_cast<size_t>(first + m) * Inputs(), blocks, m, tokens,
          OffsetOf(weight_format), tile.data());
    }
    return tile;
  }

  void Run(const Kernels& kernels, const std::vector<uint8_t>& tile, int tokens, int first_tile,
           int row_tiles, float* out, ptrdiff_t stride, bool add) const {
    const size_t tile_bytes = PackedBlockBytes(weight_format) * static_cast<size_t>(blocks);
    // A copy of exactly the bytes that the kernel may read.
    const uint8_t* first = weights.data() + tile_bytes * static_cast<size_t>(first_tile);
    const std::vector<uint8_t> exact(first, first + tile_bytes * static_cast<size_t>(row_tiles));
    kernels.matrix[static_cast<int>(weight_format)][static_cast<int>(activation_format)](
        {exact.data(), blocks, row_tiles, tile.data(), tokens, out, stride, add});
  }
};

// Single-token, single-tile results, checked against truth.
void CheckTruth(const Kernels& kernels, const SourceRows& source, MatrixCase& matrix) {
  matrix.single.assign(static_cast<size_t>(kTokenTile * kRows), 0);
  for (int m = 0; m < kTokenTile; m++) {
    const std::vector<uint8_t> tile = matrix.Tile(kernels, m, 1);
    for (int t = 0; t < kRows / kRowTile; t++) {
      matrix.Run(kernels, tile, 1, t, 1, matrix.single.data() + m * kRows + kRowTile * t, kRows,
                 false);
    }
    std::vector<double> inputs;
    for (int k = 0; k < kBlock * matrix.blocks; k++) {
      inputs.push_back(ActivationValue(matrix.activation_format, tile.data(), 1, 0, k));
    }
    for (int row = 0; row < kRows; row++) {
      double sum = 0, magnitude = 0;
      for (size_t k = 0; k < inputs.size(); k++) {
        const double term = source.values[static_cast<size_t>(row)][k] * inputs[k];
        sum += term;
        magnitude += std::fabs(term);
      }
      CHECK_NEAR(matrix.single[static_cast<size_t>(m * kRows + row)], sum, 1e-6 * magnitude,
                 "blocks " + std::to_string(matrix.blocks));
    }
  }
}

// Any number of tokens and row tiles gives the same bits, adds when asked to, and writes nothing
// else.
void CheckShapes(const Kernels& kernels, const MatrixCase& matrix, int tokens, int row_tiles) {
  const int first = (tokens * 3) % (kTokenTile - tokens + 1);
  const std::vector<uint8_t> tile = matrix.Tile(kernels, first, tokens);
  const ptrdiff_t stride = kRowTile * row_tiles + 3;
  for (const bool add : {false, true}) {
    std::vector<float> out(static_cast<size_t>(stride * tokens), 0.75f);
    std::vector<float> expected = out;
    matrix.Run(kernels, tile, tokens, 0, row_tiles, out.data(), stride, add);
    for (int m = 0; m < tokens; m++) {
      for (int row = 0; row < kRowTile * row_tiles; row++) {
        const float single = matrix.single[static_cast<size_t>((first + m) * kRows + row)];
        expected[static_cast<size_t>(m * stride + row)] = add ? 0.75f + single : single;
      }
    }
    CHECK_SAME_BYTES(out.data(), expected.data(), 4 * out.size(),
                     "tokens " + std::to_string(tokens) + " row tiles " +
                         std::to_string(row_tiles) + " blocks " + std::to_string(matrix.blocks));
  }
}

void CheckPair(WeightFormat weight_format, ActivationFormat activation_format, int blocks) {
  Random random(static_cast<uint64_t>(blocks) * 16 + static_cast<uint64_t>(weight_format));
  const SourceRows source(weight_format, kRows, blocks, random);
  MatrixCase matrix{weight_format, activation_format, blocks, {}, {}, {}};
  matrix.weights = PackRows(weight_format, source, kRows / kRowTile, blocks);
  matrix.rows = random.Normals(static_cast<size_t>(kTokenTile) * matrix.Inputs());
  std::vector<float> portable;
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject(Subject(weight_format, activation_format), kernels.name);
    CheckTruth(kernels, source, matrix);
    if (isa == Isa::kPortable) portable = matrix.single;
    if (activation_format == ActivationFormat::kInt8) {
      CHECK_SAME_BYTES(matrix.single.data(), portable.data(), 4 * portable.size(),
                       "integer formats agree bit for bit among instruction sets");
    }
    for (int tokens = 1; tokens <= kTokenTile; tokens++) {
      for (const int row_tiles : kRowTileCounts) CheckShapes(kernels, matrix, tokens, row_tiles);
    }
  }
}

}  // namespace

TEST(matrix_kernels_match_truth_and_do_not_depend_on_the_shape_of_the_call) {
  for (const WeightFormat weights : kWeightFormats) {
    for (const ActivationFormat activations : kActivationFormats) {
      if (ActivationFor(weights, activations) != activations) continue;
      for (const int blocks : kBlockCounts) CheckPair(weights, activations, blocks);
    }
  }
}

TEST(every_mxfp4_scale_byte_and_code_gives_its_table_value) {
  // Row r holds code r at input `hot` of every block b, whose exponent is b; the activation is
  // one-hot.
  constexpr int kExponents = 255;  // 255 itself is refused by packing
  for (const int hot : {0, 7, 16, 31}) {
    std::vector<std::vector<uint8_t>> rows(kRowTile, std::vector<uint8_t>(17 * kExponents));
    std::vector<const uint8_t*> pointers;
    for (int r = 0; r < kRowTile; r++) {
      for (int e = 0; e < kExponents; e++) {
        uint8_t* block = rows[static_cast<size_t>(r)].data() + 17 * e;
        block[0] = static_cast<uint8_t>(e);
        block[1 + hot % 16] = static_cast<uint8_t>(hot < 16 ? r : r << 4);
      }
      pointers.push_back(rows[static_cast<size_t>(r)].data());
    }
    std::vector<uint8_t> packed(272 * kExponents);
    CHECK(PackMxfp4RowTile(pointers.data(), kRowTile, kExponents, packed.data()));
    for (const Isa isa : AvailableIsas()) {
      for (const ActivationFormat format : kActivationFormats) {
        SetSubject(Subject(WeightFormat::kMxfp4, format), KernelsFor(isa).name);
        float row[kBlock] = {};
        row[hot] = 127;  // exact in int8: the scale is 1
        std::vector<uint8_t> tile(ActivationBlockBytes(format, 1));
        KernelsFor(isa).pack[static_cast<int>(format)](row, 1, 0, 1, 12, tile.data());
        for (int e = 0; e < kExponents; e++) {
          float out[kRowTile];
          KernelsFor(isa).matrix[0][static_cast<int>(format)](
              {packed.data() + 272 * e, 1, 1, tile.data(), 1, out, kRowTile, false});
          for (int r = 0; r < kRowTile; r++) {
            const double exact = e <= 1 ? 0 : 127 * std::ldexp(E2m1(r), e - 127);
            CHECK(out[r] == static_cast<float>(exact),
                  "exponent " + std::to_string(e) + " code " + std::to_string(r));
          }
        }
      }
    }
  }
}

TEST(integer_kernels_do_not_overflow_at_the_largest_weights_and_activations) {
  struct Extreme {
    WeightFormat format;
    uint8_t byte;  // of every weight
    double weight;
  };
  const Extreme extremes[] = {{WeightFormat::kMxfp4, 0x77, 6},
                              {WeightFormat::kMxfp4, 0xff, -6},
                              {WeightFormat::kQ8, 0x7f, 127},
                              {WeightFormat::kQ8, 0x80, -128}};
  for (const Extreme& extreme : extremes) {
    std::vector<uint8_t> row(SourceBlockBytes(extreme.format), extreme.byte);
    row[0] = extreme.format == WeightFormat::kMxfp4 ? 127 : 0;  // scale 1
    if (extreme.format == WeightFormat::kQ8) row[1] = 0x3c;
    Random random(1);
    SourceRows rows(extreme.format, 0, 1, random);
    rows.bytes.assign(kRowTile, row);
    const std::vector<uint8_t> packed = PackRows(extreme.format, rows, 1, 1);
    for (const Isa isa : AvailableIsas()) {
      const Kernels& kernels = KernelsFor(isa);
      SetSubject(Subject(extreme.format, ActivationFormat::kInt8), kernels.name);
      for (const float sign : {1.0f, -1.0f}) {
        const std::vector<float> inputs(kBlock, 127 * sign);
        std::vector<uint8_t> tile(40);
        kernels.pack[2](inputs.data(), 1, 0, 1, OffsetOf(extreme.format), tile.data());
        float out[kRowTile];
        kernels.matrix[static_cast<int>(extreme.format)][2](
            {packed.data(), 1, 1, tile.data(), 1, out, kRowTile, false});
        for (const float value : out) CHECK(value == sign * 127 * kBlock * extreme.weight);
      }
    }
  }
}

TEST(products_of_scales_below_the_smallest_normal_float_count_as_zero) {
  std::vector<uint8_t> row(17, 0x77);  // all 6.0
  row[0] = 4;
  const std::vector<const uint8_t*> pointers(kRowTile, row.data());
  std::vector<uint8_t> packed(272);
  CHECK(PackMxfp4RowTile(pointers.data(), kRowTile, 1, packed.data()));
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject(Subject(WeightFormat::kMxfp4, ActivationFormat::kInt8), kernels.name);
    float inputs[kBlock];
    for (float& input : inputs) input = 0.5f;
    std::vector<uint8_t> tile(40);
    kernels.pack[2](inputs, 1, 0, 1, 12, tile.data());
    float out[kRowTile];
    kernels.matrix[0][2]({packed.data(), 1, 1, tile.data(), 1, out, kRowTile, false});
    for (const float value : out) CHECK(value == 0.0f);
  }
}

TEST(a_token_with_nan_or_infinity_damages_itself_alone) {
  Random random(5);
  const SourceRows source(WeightFormat::kMxfp4, kRowTile, 2, random);
  const std::vector<uint8_t> packed = PackRows(WeightFormat::kMxfp4, source, 1, 2);
  for (const Isa isa : AvailableIsas()) {
    const Kernels& kernels = KernelsFor(isa);
    SetSubject(Subject(WeightFormat::kMxfp4, ActivationFormat::kInt8), kernels.name);
    for (const float bad : {NAN, INFINITY, -INFINITY}) {
      std::vector<float> rows = random.Normals(128);
      rows[64 + 40] = bad;
      std::vector<uint8_t> tile(2 * 80);
      for (int m = 0; m < 2; m++) kernels.pack[2](rows.data() + 64 * m, 2, m, 2, 12, tile.data());
      float out[2 * kRowTile];
      kernels.matrix[0][2]({packed.data(), 2, 1, tile.data(), 2, out, kRowTile, false});
      for (int r = 0; r < kRowTile; r++) {
        CHECK(std::isfinite(out[r]));
        CHECK(std::isnan(out[kRowTile + r]));
      }
    }
  }
}

}  // namespace mxbench::test
