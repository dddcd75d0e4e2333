#include "serve/padding.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "codec/serving/tensor_texts.h"
#include "serve/measure.h"

namespace stint::serve {
namespace {

constexpr int64_t kSmallestSize = 16;

std::set<std::string> free_in(const std::vector<TensorSpec>& specs) {
  std::set<std::string> names;
  for (const TensorSpec& spec : specs)
    names.insert(spec.free.begin(), spec.free.end());
  return names;
}

/// Where all outputs' free dimensions are such of inputs, each answer's shape follows from its request's.
bool outputs_follow(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs) {
  return std::ranges::includes(free_in(inputs), free_in(outputs));
}

std::vector<int64_t> sizes_up_to(int64_t largest, const std::vector<int64_t>& wanted) {
  std::vector<int64_t> sizes;
  for (const int64_t size : wanted)
    if (size < largest) sizes.push_back(size);
  for (int64_t size = kSmallestSize; wanted.empty() && size < largest; size *= 2)
    sizes.push_back(size);
  sizes.push_back(largest);
  return sizes;
}

/// The same numbers, but for what another order of summing makes of them.
bool alike(DataType type, std::span<const std::byte> a, std::span<const std::byte> b) {
  constexpr float kRounding = 1e-3F;
  if (a.size() != b.size()) return false;
  if (type == DataType::kBytes) return std::ranges::equal(a, b);
  const std::vector<float> left = floats_of(type, a), right = floats_of(type, b);
  return std::ranges::equal(left, right, [](float x, float y) { return std::abs(x - y) <= kRounding * (1 + std::abs(x)); });
}

using Texts = std::span<const std::string_view>;

/// @param from  of `from_shape`, or none: all is filled in
void append_texts(Texts from, std::span<const int64_t> from_shape, std::span<const int64_t> to_shape, std::string_view fill,
                  Values& to) {
  if (to_shape.empty()) return append_text(to, from.empty() ? fill : from.front());
  const size_t rows = from.empty() ? 0 : static_cast<size_t>(from_shape.front());
  const size_t size = rows == 0 ? 0 : from.size() / rows;
  for (size_t row = 0; std::cmp_less(row, to_shape.front()); ++row)
    append_texts(row < rows ? from.subspan(row * size, size) : Texts(), from_shape.subspan(1), to_shape.subspan(1), fill, to);
}

/// The configuration's value for what is filled in must be such as the input holds.
Status check_pad(const std::vector<TensorSpec>& inputs, const std::string& name, const std::string& input, bool is_text) {
  const auto spec = std::ranges::find(inputs, input, &TensorSpec::name);
  if (spec == inputs.end()) return invalid("model.json: dimension {}: pad: the model has no input {}", name, input);
  if ((spec->type == DataType::kBytes) == is_text) return {};
  return invalid("model.json: dimension {}: pad: input {} holds {}", name, input, is_text ? "numbers" : "texts: give a text");
}

}  // namespace

Result<Padding> Padding::create(const std::vector<TensorSpec>& inputs, const std::vector<TensorSpec>& outputs,
                                const Sizes& largest, const std::vector<std::string>& masked, const ServedModelConfig& config) {
  Padding padding;
  std::map<std::string, double> values;
  std::map<std::string, std::string> texts;
  for (const auto& [name, dimension] : config.dimensions) {
    if (!largest.contains(name))
      return invalid("model.json: dimension {}: the model's inputs have no such free dimension (they have: {})", name,
                     fmt::join(free_in(inputs), ", "));
    if (!dimension.pad) continue;
    if (!outputs_follow(inputs, outputs))
      return invalid(
          "model.json: dimension {}: pad: an output has a free dimension that no input has: its answers cannot be cut back",
          name);
    for (const auto& [input, value] : *dimension.pad) {
      TRY(check_pad(inputs, name, input, false));
      values[input] = value;
    }
    for (const auto& [input, text] : dimension.pad_texts) {
      TRY(check_pad(inputs, name, input, true));
      texts[input] = text;
    }
  }
  for (const auto& [name, size] : largest) {
    const auto found = config.dimensions.find(name);
    const ServedDimension said = found == config.dimensions.end() ? ServedDimension() : found->second;
    if (!said.pad && (said.never_padded || std::ranges::find(masked, name) == masked.end())) continue;
    padding.sizes_[name] = sizes_up_to(size, said.sizes);
  }
  for (const TensorSpec& input : inputs) {
    const float number = values.contains(input.name) ? static_cast<float>(values[input.name]) : 0;
    if (input.type == DataType::kBytes) {
      const auto bytes = std::as_bytes(std::span(texts[input.name]));
      padding.values_.emplace_back(bytes.begin(), bytes.end());
      continue;
    }
    Result<Values> value = values_from(input.type, std::span(&number, 1));
    if (!value.ok()) return invalid("model.json: pad: input {}: {}", input.name, value.error().message);
    padding.values_.push_back(std::move(*value));
  }
  return padding;
}

Sizes Padding::filled_up(Sizes own) const {
  for (auto& [name, size] : own)
    if (const auto found = sizes_.find(name); found != sizes_.end()) {
      const auto next = std::ranges::lower_bound(found->second, size);
      if (next != found->second.end()) size = *next;
    }
  return own;
}

Sizes sizes_in(const std::vector<TensorSpec>& specs, std::span<const Shape> shapes) {
  Sizes sizes;
  for (size_t s = 0; s < shapes.size(); ++s) {
    auto name = specs[s].free.begin();
    for (size_t d = 0; d < shapes[s].size(); ++d)
      if (specs[s].item_shape[d] < 0) sizes[*name++] = shapes[s][d];
  }
  return sizes;
}

void copy_corner(std::span<const std::byte> from, std::span<const int64_t> from_shape, std::span<std::byte> to,
                 std::span<const int64_t> to_shape) {
  if (from_shape.empty() || std::ranges::equal(from_shape.subspan(1), to_shape.subspan(1))) {
    std::memcpy(to.data(), from.data(), std::min(from.size(), to.size()));
    return;
  }
  const auto from_rows = static_cast<size_t>(from_shape.front()), to_rows = static_cast<size_t>(to_shape.front());
  const size_t from_size = from.size() / from_rows, to_size = to.size() / to_rows;
  for (size_t row = 0; row < std::min(from_rows, to_rows); ++row)
    copy_corner(from.subspan(row * from_size, from_size), from_shape.subspan(1), to.subspan(row * to_size, to_size),
                to_shape.subspan(1));
}

void fill_with(std::span<std::byte> to, std::span<const std::byte> element) {
  if (std::ranges::all_of(element, [](std::byte b) { return b == std::byte{0}; })) {
    std::ranges::fill(to, std::byte{0});
    return;
  }
  for (size_t at = 0; at + element.size() <= to.size(); at += element.size())
    std::memcpy(to.data() + at, element.data(), element.size());
}

void append_corner(TextItems from, const Shape& from_shape, const Shape& to_shape, std::string_view fill, Values& to) {
  std::vector<std::string_view> texts;
  while (const std::optional<std::string_view> text = take_text(from.texts))
    texts.push_back(*text);
  CHECK(std::cmp_equal(texts.size(), from.items * count_of(from_shape)), "{} texts of {} items", texts.size(), from.items);
  for (const size_t size = texts.size() / static_cast<size_t>(from.items); from.items > 0; --from.items)
    append_texts(Texts(texts).last(static_cast<size_t>(from.items) * size).first(size), from_shape, to_shape, fill, to);
}

Result<std::vector<std::string>> try_mask(Runtime& runtime, const Sizes& largest) {
  const auto& inputs = runtime.inputs();
  const auto mask = std::ranges::find(inputs, kMaskInput, &TensorSpec::name);
  std::vector<std::string> none;
  if (mask == inputs.end() || mask->item_shape != Shape{-1} || mask->type == DataType::kBytes) return none;
  if (!outputs_follow(inputs, runtime.outputs())) return none;
  const std::string& name = mask->free.front();
  if (largest.at(name) < 2) return none;
  Sizes half = largest;
  half[name] = largest.at(name) / 2;
  TRY_ASSIGN(const std::vector<Shape> own, input_shapes(runtime, half));
  TRY_ASSIGN(const std::vector<Shape> filled, input_shapes(runtime, largest));
  std::vector<Values> alone = random_inputs(runtime, 1, own), together;
  const std::vector<float> ones(static_cast<size_t>(half[name]), 1);
  TRY_ASSIGN(alone[static_cast<size_t>(mask - inputs.begin())], values_from(mask->type, ones));
  for (size_t i = 0; i < inputs.size(); ++i) {
    Values& values = together.emplace_back();
    if (inputs[i].type == DataType::kBytes) {
      append_corner({alone[i], 1}, own[i], filled[i], "", values);
      continue;
    }
    values.resize(static_cast<size_t>(count_of(filled[i])) * size_of(inputs[i].type));
    copy_corner(alone[i], own[i], values, filled[i]);
  }
  TRY_ASSIGN(const std::vector<ShapedValues> apart, runtime.run_shaped(1, alone, own));
  TRY_ASSIGN(const std::vector<ShapedValues> whole, runtime.run_shaped(1, together, filled));
  for (size_t o = 0; o < apart.size(); ++o) {
    const DataType type = runtime.outputs()[o].type;
    Values cut;
    if (type == DataType::kBytes) {
      append_corner({whole[o].values, 1}, whole[o].item_shape, apart[o].item_shape, "", cut);
    } else {
      cut.resize(apart[o].values.size());
      copy_corner(whole[o].values, whole[o].item_shape, cut, apart[o].item_shape);
    }
    if (!alike(type, apart[o].values, cut)) return none;
  }
  return std::vector<std::string>{name};
}

}  // namespace stint::serve
