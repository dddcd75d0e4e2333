#include "serve/model_judge.h"

#include <algorithm>

namespace stint::serve {
namespace {

constexpr int64_t kBatch = 32;

void widen(ValueRange& range, const std::vector<float>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  range.least = std::min(range.least, least);
  range.most = std::max(range.most, most);
}

}  // namespace

LabelledData LabelledData::part(int64_t first, int64_t end) const {
  const int64_t width = count() == 0 ? 0 : std::ssize(rows.values) / count();
  LabelledData cut;
  cut.rows.shape = rows.shape;
  cut.rows.shape[0] = end - first;
  cut.rows.values.assign(rows.values.begin() + first * width, rows.values.begin() + end * width);
  if (!labels.empty()) cut.labels.assign(labels.begin() + first, labels.begin() + end);
  return cut;
}

Status run_rows(Runtime& model, const NpyArray& rows, const TakeOutputs& take) {
  TRY(check_fixed(model));
  TRY(check_numbers(model));
  if (model.inputs().size() != 1) return invalid("the model has {} inputs; data of one is given", model.inputs().size());
  const TensorSpec& input = model.inputs().front();
  if (rows.shape.empty() || !std::ranges::equal(std::span(rows.shape).subspan(1), input.item_shape))
    return invalid("data of the shape [{}]; the model's input {} is [N,{}]", fmt::join(rows.shape, ","), input.name,
                   fmt::join(input.item_shape, ","));
  for (int64_t at = 0; at < rows.shape[0]; at += kBatch) {
    const int64_t items = std::min(kBatch, rows.shape[0] - at);
    const auto first = static_cast<size_t>(at * input.item_size()), count = static_cast<size_t>(items * input.item_size());
    const Result<Values> values = values_from(input.type, std::span(rows.values).subspan(first, count));
    if (!values.ok()) return invalid("data for input {}: {}", input.name, values.error().message);
    TRY_ASSIGN(const std::vector<Values> out, model.run(items, std::span(&*values, 1)));
    std::vector<std::vector<float>> numbers;
    for (size_t o = 0; o < out.size(); ++o)
      numbers.push_back(floats_of(model.outputs()[o].type, out[o]));
    take(items, numbers);
  }
  return {};
}

Result<std::vector<int64_t>> classes_of(Runtime& model, const NpyArray& rows) {
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
                                                    const std::vector<std::string>& tensors, const NpyArray& rows) {
  std::map<std::string, ValueRange> ranges;
  const size_t own_outputs = graph.outputs.size();
  std::vector<std::string> exposed;
  for (const std::string& tensor : tensors) {
    if (std::ranges::find(graph.inputs, tensor) != graph.inputs.end()) {
      widen(ranges[tensor], rows.values);
    } else if (const auto output = std::ranges::find(graph.outputs, tensor); output == graph.outputs.end()) {
      graph.expose(tensor);
      exposed.push_back(tensor);
    }
  }
  TRY_ASSIGN(const std::unique_ptr<Runtime> model, onnx.open(graph.encode(), "calibration"));
  TRY(run_rows(*model, rows, [&](int64_t, const std::vector<std::vector<float>>& out) {
    for (size_t o = 0; o < out.size(); ++o)
      widen(ranges[o < own_outputs ? graph.outputs[o] : exposed[o - own_outputs]], out[o]);
  }));
  return ranges;
}

}  // namespace stint::serve
