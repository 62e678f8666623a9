#include "addon/engine_object.h"

#include "addon/border.h"
#include "addon/engine_options.h"

namespace mxbench {

Napi::Function EngineObject::Define(Napi::Env env) {
  return DefineClass(env, "NativeEngine",
                     {InstanceAccessor<&EngineObject::Info>("info"),
                      InstanceMethod<&EngineObject::Forward>("forward"),
                      InstanceMethod<&EngineObject::Logits>("logits"),
                      InstanceMethod<&EngineObject::Sample>("sample"),
                      InstanceMethod<&EngineObject::Close>("close")});
}

EngineObject::EngineObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<EngineObject>(info) {
  Guarded(info.Env(), [&] {
    engine_ = std::make_shared<Engine>(EngineOptionsFrom(info[0].As<Napi::Object>()));
  });
}

Engine& EngineObject::Open(Napi::Env env) const {
  if (engine_ == nullptr) ThrowWithCode(env, "BAD_ARGUMENT", "The engine is closed.");
  return *engine_;
}

Napi::Value EngineObject::Info(const Napi::CallbackInfo& info) {
  const Engine& engine = Open(info.Env());
  const EngineOptions& options = engine.options();
  Napi::Object result = Napi::Object::New(info.Env());
  result.Set("isa", KernelsFor(options.isa).name);
  result.Set("activations", ActivationName(options.activations));
  result.Set("threads", options.threads);
  result.Set("kvFormat", KvFormatName(options.kv_format));
  result.Set("weightBytes", static_cast<double>(engine.weight_bytes()));
  result.Set("kvBytes", static_cast<double>(engine.kv_block_bytes()) * options.kv_blocks);
  result.Set("kvBlockBytes", static_cast<double>(engine.kv_block_bytes()));
  return result;
}

void EngineObject::Forward(const Napi::CallbackInfo& info) {
  Guarded(info.Env(), [&] {
    Engine& engine = Open(info.Env());
    const Napi::Object input = info[0].As<Napi::Object>();
    StepInput step{};
    step.token_count = IntField(input, "tokenCount");
    step.sequence_count = IntField(input, "sequenceCount");
    step.block_table_stride = IntField(input, "blockTableStride");
    step.logit_row_count = IntField(input, "logitRowCount");
    if (step.token_count < 1 || step.sequence_count < 1 || step.block_table_stride < 1 ||
        step.logit_row_count < 0) {
      throw EngineError("BAD_ARGUMENT", "The step is empty or a count is negative.");
    }
    const auto sequences = static_cast<size_t>(step.sequence_count);
    step.tokens =
        ArrayField<Napi::Int32Array>(input, "tokens", static_cast<size_t>(step.token_count));
    step.query_start = ArrayField<Napi::Int32Array>(input, "queryStart", sequences + 1);
    step.first_position = ArrayField<Napi::Int32Array>(input, "firstPosition", sequences);
    step.block_tables = ArrayField<Napi::Int32Array>(
        input, "blockTables", sequences * static_cast<size_t>(step.block_table_stride));
    step.logit_rows =
        ArrayField<Napi::Int32Array>(input, "logitRows", static_cast<size_t>(step.logit_row_count));
    engine.Forward(step);
  });
}

Napi::Value EngineObject::Logits(const Napi::CallbackInfo& info) {
  return Guarded(info.Env(), [&]() -> Napi::Value {
    Engine& engine = Open(info.Env());
    const int row = info[0].As<Napi::Number>().Int32Value();
    if (row < 0 || row >= engine.logit_rows()) {
      throw EngineError("BAD_ARGUMENT", "There is no logit row " + std::to_string(row) + ".");
    }
    float* first = engine.Logits(0);
    if (logits_.IsEmpty()) {
      const size_t floats = static_cast<size_t>(engine.Logits(1) - first) *
                            static_cast<size_t>(engine.options().max_tokens_per_step);
      auto* keeper = new std::shared_ptr<Engine>(engine_);
      logits_ =
          Napi::Persistent(Napi::ArrayBuffer::New(info.Env(), first, floats * sizeof(float),
                                                  [keeper](Napi::Env, void*) { delete keeper; }));
    }
    const auto offset = static_cast<size_t>(engine.Logits(row) - first) * sizeof(float);
    return Napi::Float32Array::New(info.Env(),
                                   static_cast<size_t>(engine.options().shape.vocabulary),
                                   logits_.Value(), offset);
  });
}

void EngineObject::Sample(const Napi::CallbackInfo& info) {
  Guarded(info.Env(), [&] {
    Engine& engine = Open(info.Env());
    const Napi::Object object = info[0].As<Napi::Object>();
    SampleInput input{};
    input.row_count = IntField(object, "rowCount");
    const auto rows = static_cast<size_t>(std::max(0, input.row_count));
    input.temperature = ArrayField<Napi::Float32Array>(object, "temperature", rows);
    input.top_k = ArrayField<Napi::Int32Array>(object, "topK", rows);
    input.top_p = ArrayField<Napi::Float32Array>(object, "topP", rows);
    input.min_p = ArrayField<Napi::Float32Array>(object, "minP", rows);
    input.seed = ArrayField<Napi::Uint32Array>(object, "seed", 2 * rows);
    input.draw_index = ArrayField<Napi::Int32Array>(object, "drawIndex", rows);
    Napi::Int32Array tokens = info[1].As<Napi::Int32Array>();
    if (tokens.ElementLength() < rows) {
      throw EngineError("BAD_ARGUMENT", "The array for the sampled tokens is too short.");
    }
    engine.Sample(input, tokens.Data());
  });
}

void EngineObject::Close(const Napi::CallbackInfo&) {
  if (!logits_.IsEmpty()) {
    // Views that JavaScript still holds become empty instead of dangling.
    if (!logits_.Value().IsDetached()) logits_.Value().Detach();
    logits_.Reset();
  }
  engine_.reset();
}

}  // namespace mxbench
