#include "addon/engine_options.h"

#include "addon/border.h"

namespace mxbench {
namespace {

template <class Value>
struct Name {
  const char* text;
  Value value;
};

constexpr Name<ActivationFormat> kActivations[] = {{"f32", ActivationFormat::kFloat32},
                                                   {"bf16", ActivationFormat::kBfloat16},
                                                   {"int8", ActivationFormat::kInt8}};
constexpr Name<KvFormat> kKvFormats[] = {{"bf16", KvFormat::kBfloat16},
                                         {"f32", KvFormat::kFloat32}};
constexpr Name<Isa> kIsas[] = {
    {"portable", Isa::kPortable}, {"avx2", Isa::kAvx2}, {"avx512", Isa::kAvx512}};
constexpr Name<TensorType> kTensorTypes[] = {{"F32", TensorType::kF32},
                                             {"F16", TensorType::kF16},
                                             {"BF16", TensorType::kBf16},
                                             {"Q8_0", TensorType::kQ8},
                                             {"MXFP4", TensorType::kMxfp4}};

template <class Value, size_t N>
Value ValueOf(const Name<Value> (&names)[N], const std::string& text, const char* what) {
  for (const Name<Value>& name : names) {
    if (text == name.text) return name.value;
  }
  throw EngineError("BAD_ARGUMENT", std::string("Unknown ") + what + " '" + text + "'.");
}

template <class Value, size_t N>
const char* NameOf(const Name<Value> (&names)[N], Value value) {
  for (const Name<Value>& name : names) {
    if (name.value == value) return name.text;
  }
  return "?";
}

Isa IsaFrom(const std::string& name) {
  if (name == "auto") return BestIsa();
  const Isa isa = ValueOf(kIsas, name, "instruction set");
  if (!IsaAvailable(isa)) {
    throw EngineError("ISA_UNAVAILABLE",
                      "This CPU does not have the instruction set " + name + ".");
  }
  return isa;
}

ModelShape ShapeFrom(const Napi::Object& shape) {
  const Napi::Float64Array frequencies = shape.Get("ropeFrequencies").As<Napi::Float64Array>();
  ModelShape result{};
  result.layers = IntField(shape, "layers");
  result.width = IntField(shape, "width");
  result.heads = IntField(shape, "heads");
  result.kv_heads = IntField(shape, "kvHeads");
  result.head_width = IntField(shape, "headWidth");
  result.feed_forward_width = IntField(shape, "feedForwardWidth");
  result.vocabulary = IntField(shape, "vocabulary");
  result.norm_epsilon = static_cast<float>(NumberField(shape, "normEpsilon"));
  for (size_t i = 0; i < frequencies.ElementLength(); i++) {
    result.rope_frequencies.push_back(frequencies[i]);
  }
  result.rope_amplitude = NumberField(shape, "ropeAmplitude");
  result.rope_interleaved = shape.Get("ropeInterleaved").ToBoolean();
  result.query_key_norm = TextField(shape, "architecture") == "qwen3";
  return result;
}

TensorLocation TensorFrom(const Napi::Object& tensor) {
  const Napi::Array shape = tensor.Get("shape").As<Napi::Array>();
  const std::string name = TextField(tensor, "name");
  if (shape.Length() < 1 || shape.Length() > 2) {
    throw EngineError("BAD_MODEL", "Tensor " + name + " is not a vector or a matrix.");
  }
  const auto extent = [&](uint32_t i) {
    return static_cast<Napi::Value>(shape[i]).As<Napi::Number>().Int64Value();
  };
  return {name,
          ValueOf(kTensorTypes, TextField(tensor, "type"), "tensor type"),
          shape.Length() == 2 ? extent(0) : 1,
          extent(shape.Length() - 1),
          static_cast<uint64_t>(NumberField(tensor, "offsetBytes")),
          static_cast<uint64_t>(NumberField(tensor, "lengthBytes"))};
}

}  // namespace

EngineOptions EngineOptionsFrom(const Napi::Object& options) {
  EngineOptions result{};
  result.weights_path = TextField(options, "weightsPath");
  result.shape = ShapeFrom(options.Get("shape").As<Napi::Object>());
  const Napi::Array tensors = options.Get("tensors").As<Napi::Array>();
  for (uint32_t i = 0; i < tensors.Length(); i++) {
    result.tensors.push_back(TensorFrom(static_cast<Napi::Value>(tensors[i]).As<Napi::Object>()));
  }
  result.activations =
      ValueOf(kActivations, TextField(options, "activations"), "activation format");
  result.isa = IsaFrom(TextField(options, "isa"));
  result.threads = IntField(options, "threads");
  result.kv_format = ValueOf(kKvFormats, TextField(options, "kvFormat"), "KV format");
  result.kv_blocks = IntField(options, "kvBlocks");
  result.max_tokens_per_step = IntField(options, "maxTokensPerStep");
  result.max_sequences = IntField(options, "maxSequences");
  result.max_model_length = IntField(options, "maxModelLength");
  return result;
}

const char* ActivationName(ActivationFormat format) { return NameOf(kActivations, format); }
const char* KvFormatName(KvFormat format) { return NameOf(kKvFormats, format); }

}  // namespace mxbench
