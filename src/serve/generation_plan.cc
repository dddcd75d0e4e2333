#include "serve/generation_plan.h"

#include <algorithm>
#include <array>

#include "codec/serving/tensor_texts.h"
#include "serve/padding.h"

namespace stint::serve {
namespace {

Result<size_t> place_of(const std::vector<TensorSpec>& specs, std::string_view name, std::string_view kind) {
  const auto found = std::ranges::find(specs, name, &TensorSpec::name);
  if (found == specs.end()) return invalid("model.json: generate: the model has no {} {}", kind, name);
  return static_cast<size_t>(found - specs.begin());
}

/// As it lies in a tensor of that type.
Result<Values> value_of(const TensorSpec& spec, const ServedValue& value) {
  const auto wrong = [&](std::string_view why) { return invalid("model.json: generate: {}: {}", spec.name, why); };
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (spec.type != DataType::kBytes) return wrong("it holds numbers, not texts");
    Values values;
    append_text(values, *text);
    return values;
  }
  if (spec.type == DataType::kBytes) return wrong("it holds texts, not numbers");
  return visit_type(spec.type, [&]<typename T>(T) -> Result<Values> {
    const std::optional<T> number = from_number<T>(std::get<double>(value));
    if (!number) return wrong(fmt::format("no value of it is {}", std::get<double>(value)));
    return bytes_of(std::span<const T>(&*number, 1));
  });
}

Status check_fed(const TensorSpec& input, const TensorSpec& output) {
  const auto fits = [](int64_t in, int64_t out) { return in < 0 || out < 0 || in == out; };
  if (input.type == output.type && std::ranges::equal(input.item_shape, output.item_shape, fits)) return {};
  return invalid("model.json: generate: feed: input {} is {} of [{}], output {} is {} of [{}]", input.name, name_of(input.type),
                 fmt::join(input.item_shape, ","), output.name, name_of(output.type), fmt::join(output.item_shape, ","));
}

Status check_list(const TensorSpec& input) {
  if (input.item_shape == Shape{-1}) return {};
  return invalid("model.json: generate: append: input {} is no list of a free length (its items are [{}])", input.name,
                 fmt::join(input.item_shape, ","));
}

Status check_appended(const TensorSpec& input, const TensorSpec& output) {
  TRY(check_list(input));
  if (input.type == output.type && output.free.empty() && output.item_size() == 1) return {};
  return invalid("model.json: generate: append: input {} takes one {} at a time, output {} is {} of [{}]", input.name,
                 name_of(input.type), output.name, name_of(output.type), fmt::join(output.item_shape, ","));
}

}  // namespace

Result<GenerationPlan> GenerationPlan::create(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
                                              const Sizes& largest, const ServedGeneration& config) {
  GenerationPlan plan;
  plan.inputs_ = inputs;
  plan.largest_ = largest;
  plan.sources_.resize(inputs.size());
  plan.steps_ = config.steps;
  plan.longest_ = config.longest;
  plan.answers_ = config.answers;
  std::vector<bool> said(inputs.size());
  const auto source_of = [&](const std::string& name) -> Result<size_t> {
    TRY_ASSIGN(const size_t input, place_of(inputs, name, "input"));
    if (said[input]) return invalid("model.json: generate: input {} is named twice", name);
    said[input] = true;
    return input;
  };
  for (const auto& [name, from] : config.feed) {
    TRY_ASSIGN(const size_t input, source_of(name));
    TRY_ASSIGN(const size_t output, place_of(outputs, from, "output"));
    TRY(check_fed(inputs[input], outputs[output]));
    plan.sources_[input].output = output;
    plan.grows_ = plan.grows_ || !inputs[input].free.empty();
  }
  for (const auto& [name, from] : config.append) {
    TRY_ASSIGN(const size_t input, source_of(name));
    TRY_ASSIGN(const size_t output, place_of(outputs, from, "output"));
    TRY(check_appended(inputs[input], outputs[output]));
    plan.sources_[input] = {output, true, {}};
    plan.grows_ = true;
  }
  for (const auto& [name, number] : config.append_numbers) {
    TRY_ASSIGN(const size_t input, source_of(name));
    TRY(check_list(inputs[input]));
    TRY_ASSIGN(Values value, value_of(inputs[input], number));
    plan.sources_[input] = {std::nullopt, true, std::move(value)};
    plan.grows_ = true;
  }
  for (size_t grown = 0; grown < inputs.size(); ++grown)
    for (size_t other = 0; plan.sources_[grown].appended && other < inputs.size(); ++other)
      if (!said[other] && std::ranges::find(inputs[other].free, inputs[grown].free.front()) != inputs[other].free.end())
        return invalid("model.json: generate: input {} becomes longer, {} has to as well ({}): append to both",
                       inputs[grown].name, inputs[other].name, inputs[grown].free.front());
  for (const std::string& name : config.answers)
    TRY(place_of(outputs, name, "output"));
  if (config.stop) {
    TRY_ASSIGN(plan.stop_, place_of(outputs, config.stop->first, "output"));
    TRY_ASSIGN(plan.stop_value_, value_of(outputs[*plan.stop_], config.stop->second));
  }
  return plan;
}

bool GenerationPlan::stops(std::span<const OutputRows> outputs) const {
  return stop_ && outputs[*stop_].values.size() >= stop_value_.size() &&
         std::ranges::equal(outputs[*stop_].values.first(stop_value_.size()), stop_value_);
}

Result<bool> GenerationPlan::advance(GenerationState& state, std::span<const OutputRows> outputs) const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    Values& values = state.values[i];
    if (!source.output && !source.appended) continue;
    const std::span<const std::byte> more = source.output ? outputs[*source.output].values : std::span(source.number);
    if (!source.appended) {
      values.assign(more.begin(), more.end());
      const std::span<const int64_t> shape = outputs[*source.output].item_shape;
      state.shapes[i].assign(shape.begin(), shape.end());
      continue;
    }
    values.insert(values.end(), more.begin(), more.end());
    ++state.shapes[i].front();
  }
  Sizes sizes;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const auto is = [](int64_t has, int64_t wants) { return wants < 0 || has == wants; };
    if (!std::ranges::equal(state.shapes[i], inputs_[i].item_shape, is))
      return invalid("input {} would be [{}] in the next step; the model takes [{}]", inputs_[i].name,
                     fmt::join(state.shapes[i], ","), fmt::join(inputs_[i].item_shape, ","));
    for (const auto& [name, size] : sizes_in({inputs_[i]}, std::span(&state.shapes[i], 1))) {
      if (size > largest_.at(name)) return false;
      if (const auto [known, fresh] = sizes.try_emplace(name, size); !fresh && known->second != size)
        return invalid("input {}: {} would be {} in the next step, of another input {}", inputs_[i].name, name, size,
                       known->second);
    }
  }
  return true;
}

}  // namespace stint::serve
