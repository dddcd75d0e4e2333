#include "serve/model_judge.h"

#include <algorithm>
#include <set>

#include "base/counted.h"
#include "serve/measure.h"

namespace stint::serve {
namespace {

constexpr int64_t kBatch = 32;

void widen(ValueRange& range, const std::vector<float>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  range.least = std::min(range.least, least);
  range.most = std::max(range.most, most);
}

/// Of items `first` to `end` of the rows.
Result<Values> values_of(const TensorSpec& input, const NpyArray& rows, int64_t first, int64_t end) {
  const int64_t width = std::ssize(rows.values) / rows.shape[0];
  const auto part =
      std::span(rows.values).subspan(static_cast<size_t>(first * width), static_cast<size_t>((end - first) * width));
  Result<Values> values = values_from(input.type, part);
  if (!values.ok()) return invalid("data for input {}: {}", input.name, values.error().message);
  return values;
}

}  // namespace

LabelledData LabelledData::part(int64_t first, int64_t end) const {
  LabelledData cut;
  for (const NpyArray& all : rows) {
    const int64_t width = count() == 0 ? 0 : std::ssize(all.values) / count();
    NpyArray& some = cut.rows.emplace_back(NpyArray{all.shape, {}});
    some.shape[0] = end - first;
    some.values.assign(all.values.begin() + first * width, all.values.begin() + end * width);
  }
  if (!labels.empty()) cut.labels.assign(labels.begin() + first, labels.begin() + end);
  return cut;
}

Result<Sizes> sizes_of_rows(const Runtime& model, const std::vector<NpyArray>& rows) {
  TRY(check_numbers(model));
  if (rows.size() != model.inputs().size())
    return invalid("the model has {}; data of {} is given", counted(model.inputs().size(), "input"), rows.size());
  Sizes sizes;
  for (size_t i = 0; i < rows.size(); ++i) {
    const TensorSpec& input = model.inputs()[i];
    const std::vector<int64_t>& shape = rows[i].shape;
    const auto misfit = [&] {
      return invalid("data of the shape [{}]; the model's input {} is [N{}{}] (-1: free)", fmt::join(shape, ","), input.name,
                     input.item_shape.empty() ? "" : ",", fmt::join(input.item_shape, ","));
    };
    if (shape.size() != input.item_shape.size() + 1) return misfit();
    if (shape[0] != rows[0].shape[0])
      return invalid("{} rows for input {}, {} for {}", shape[0], input.name, rows[0].shape[0], model.inputs()[0].name);
    auto name = input.free.begin();
    for (size_t d = 0; d < input.item_shape.size(); ++d) {
      const int64_t size = shape[d + 1];
      if (input.item_shape[d] >= 0 ? size != input.item_shape[d] : size < 1) return misfit();
      if (input.item_shape[d] >= 0) continue;
      if (const auto [known, is_new] = sizes.emplace(*name, size); !is_new && known->second != size)
        return invalid("data for input {}: its dimension {} is {}, that of another input is {}", input.name, *name, size,
                       known->second);
      ++name;
    }
  }
  return sizes;
}

Status run_rows(Runtime& model, const std::vector<NpyArray>& rows, const TakeOutputs& take) {
  TRY_ASSIGN(const Sizes sizes, sizes_of_rows(model, rows));
  TRY_ASSIGN(const std::vector<Shape> shapes, input_shapes(model, sizes));
  const int64_t batch = std::min(kBatch, model.most_items().value_or(kBatch));
  for (int64_t at = 0; at < rows.front().shape[0]; at += batch) {
    const int64_t items = std::min(batch, rows.front().shape[0] - at);
    std::vector<Values> in;
    for (size_t i = 0; i < rows.size(); ++i) {
      TRY_ASSIGN(Values values, values_of(model.inputs()[i], rows[i], at, at + items));
      in.push_back(std::move(values));
    }
    TRY_ASSIGN(const std::vector<ShapedValues> out, model.run_shaped(items, in, shapes));
    std::vector<std::vector<float>> numbers;
    for (size_t o = 0; o < out.size(); ++o)
      numbers.push_back(floats_of(model.outputs()[o].type, out[o].values));
    take(items, numbers);
  }
  return {};
}

Result<std::vector<int64_t>> classes_of(Runtime& model, const std::vector<NpyArray>& rows) {
  std::vector<int64_t> classes;
  TRY(run_rows(model, rows, [&](int64_t items, const std::vector<std::vector<float>>& out) {
    const int64_t width = std::ssize(out.front()) / items;
    for (int64_t item = 0; item < items; ++item) {
      const auto row = std::span(out.front()).subspan(static_cast<size_t>(item * width), static_cast<size_t>(width));
      classes.push_back(std::ranges::max_element(row) - row.begin());
    }
  }));
  return classes;
}

double agreement(const std::vector<int64_t>& classes, const std::vector<int64_t>& labels) {
  CHECK(classes.size() == labels.size() && !classes.empty(), "{} classes, {} labels", classes.size(), labels.size());
  int64_t same = 0;
  for (size_t i = 0; i < classes.size(); ++i)
    same += classes[i] == labels[i] ? 1 : 0;
  return static_cast<double>(same) / static_cast<double>(classes.size());
}

Result<std::map<std::string, ValueRange>> ranges_of(const OnnxRuntime& onnx, OnnxGraph graph,
                                                    const std::vector<std::string>& tensors, const std::vector<NpyArray>& rows) {
  std::map<std::string, ValueRange> ranges;
  const std::set<std::string> inputs(graph.inputs.begin(), graph.inputs.end());
  const size_t own_outputs = graph.outputs.size();
  std::vector<std::string> exposed;
  for (const std::string& tensor : tensors) {
    if (inputs.contains(tensor) || std::ranges::find(graph.outputs, tensor) != graph.outputs.end()) continue;
    graph.expose(tensor);
    exposed.push_back(tensor);
  }
  TRY_ASSIGN(const std::unique_ptr<Runtime> model, onnx.open(graph.encode(), "calibration"));
  TRY(run_rows(*model, rows, [&](int64_t, const std::vector<std::vector<float>>& out) {
    for (size_t o = 0; o < out.size(); ++o)
      widen(ranges[o < own_outputs ? graph.outputs[o] : exposed[o - own_outputs]], out[o]);
  }));
  for (size_t i = 0; i < rows.size(); ++i)
    widen(ranges[model->inputs()[i].name], rows[i].values);
  return ranges;
}

}  // namespace stint::serve
