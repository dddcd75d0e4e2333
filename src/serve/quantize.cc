#include "serve/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/text.h"

namespace stint::serve {
namespace {

/// A node whose weights are a constant with an axis of output channels.
struct Layer {
  size_t node = 0;
  size_t axis = 0;
};

std::optional<size_t> channel_axis(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.inputs.size() < 2 || node.outputs.size() != 1) return std::nullopt;
  const auto weight = graph.constants.find(node.inputs[1]);
  if (weight == graph.constants.end()) return std::nullopt;
  const size_t rank = weight->second.shape.size();
  if (node.op == "Conv" && rank >= 3) return 0;
  if (node.op == "MatMul" && rank == 2) return 1;
  if (node.op != "Gemm" || rank != 2) return std::nullopt;
  if (node.integer("transA").value_or(0) != 0 || node.real("alpha").value_or(1) != 1 || node.real("beta").value_or(1) != 1)
    return std::nullopt;
  return node.integer("transB").value_or(0) != 0 ? 0 : 1;
}

std::vector<Layer> layers_of(const OnnxGraph& graph, bool with_convolutions) {
  std::vector<Layer> layers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!with_convolutions && graph.nodes[n].op == "Conv") continue;
    if (const auto axis = channel_axis(graph, graph.nodes[n])) layers.push_back({n, *axis});
  }
  return layers;
}

/// Looks rows of a constant table up: embeddings.
bool looks_up_rows(const OnnxGraph& graph, const OnnxNode& node) {
  if (node.op != "Gather" || node.inputs.size() != 2 || node.outputs.size() != 1 || node.integer("axis").value_or(0) != 0)
    return false;
  const auto table = graph.constants.find(node.inputs[0]);
  return table != graph.constants.end() && table->second.shape.size() == 2;
}

Status check_graph(const OnnxGraph& graph, const std::vector<Layer>& layers) {
  if (graph.opset < 13) return invalid("opset {}: scales per channel need 13: export the model anew", graph.opset);
  if (layers.empty()) return invalid("no MatMul, Gemm or Conv with constant float32 weights: nothing can be quantised");
  TRY(graph.check_ends());
  std::vector<std::string> rounded;
  for (const Layer& layer : layers)
    rounded.push_back(graph.nodes[layer.node].inputs[1]);
  for (const OnnxNode& node : graph.nodes)
    if (looks_up_rows(graph, node)) rounded.push_back(node.inputs[0]);
  for (const std::string& weights : rounded) {
    if (!std::ranges::all_of(graph.constants.at(weights).floats(), [](float value) { return std::isfinite(value); }))
      return invalid("weights {} hold NaN or infinity: the model was not trained to an end", excerpt(weights));
  }
  return {};
}

std::vector<size_t> consumers(const OnnxGraph& graph, const std::string& tensor) {
  std::vector<size_t> found;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (std::ranges::find(graph.nodes[n].inputs, tensor) != graph.nodes[n].inputs.end()) found.push_back(n);
  return found;
}

/// Where a layer's result is rounded: behind a Relu that is all that follows it, since the two become one.
std::string rounded_output(const OnnxGraph& graph, const OnnxNode& node) {
  const std::vector<size_t> next = consumers(graph, node.outputs[0]);
  return next.size() == 1 && graph.nodes[next[0]].op == "Relu" ? graph.nodes[next[0]].outputs[0] : node.outputs[0];
}

bool is_output(const OnnxGraph& graph, const std::string& tensor) {
  return std::ranges::find(graph.outputs, tensor) != graph.outputs.end();
}

struct QuantizedWeight {
  std::vector<int8_t> values;
  std::vector<float> scales;  ///< per channel
};

/// Symmetric, from the largest magnitude of each channel.
QuantizedWeight quantize_weight(const OnnxTensor& weight, size_t axis) {
  const std::vector<float> values = weight.floats();
  const auto channels = static_cast<size_t>(weight.shape[axis]);
  size_t inner = 1;  // values between neighbours along the axis
  for (size_t d = axis + 1; d < weight.shape.size(); ++d)
    inner *= static_cast<size_t>(weight.shape[d]);
  QuantizedWeight quantized{std::vector<int8_t>(values.size()), std::vector<float>(channels)};
  for (size_t i = 0; i < values.size(); ++i)
    quantized.scales[i / inner % channels] = std::max(quantized.scales[i / inner % channels], std::abs(values[i]));
  // What is too small for a scale that is a normal number is zero.
  for (float& scale : quantized.scales)
    scale = scale / 127 >= std::numeric_limits<float>::min() ? scale / 127 : 1;
  for (size_t i = 0; i < values.size(); ++i)
    quantized.values[i] =
        static_cast<int8_t>(std::clamp(std::round(values[i] / quantized.scales[i / inner % channels]), -127.0F, 127.0F));
  return quantized;
}

/// Rows become columns.
OnnxTensor transposed(const OnnxTensor& matrix) {
  const std::vector<float> values = matrix.floats();
  const auto rows = static_cast<size_t>(matrix.shape[0]), columns = static_cast<size_t>(matrix.shape[1]);
  std::vector<float> turned(values.size());
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c)
      turned[c * rows + r] = values[r * columns + c];
  return OnnxTensor::of<float>(matrix.name, {matrix.shape[1], matrix.shape[0]}, OnnxType::kFloat, turned);
}

/// Builds the new list of nodes beside the old graph.
class Rewriter {
 public:
  explicit Rewriter(const OnnxGraph& graph) : old_(graph), made_(graph) { made_.nodes.clear(); }

  void node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
            std::vector<std::string> attributes = {}) {
    made_.nodes.push_back({std::move(op), std::move(inputs), std::move(outputs), std::move(attributes), {}});
  }
  template <typename T>
  std::string constant(const std::string& name, std::vector<int64_t> shape, OnnxType type, const std::vector<T>& values) {
    made_.constants[name] = OnnxTensor::of<T>(name, std::move(shape), type, values);
    return name;
  }
  void keep(OnnxNode node) { made_.nodes.push_back(std::move(node)); }
  /// The graph, without constants that are not used any more.
  OnnxGraph finish() {
    std::set<std::string> used(made_.outputs.begin(), made_.outputs.end());
    for (const OnnxNode& node : made_.nodes)
      used.insert(node.inputs.begin(), node.inputs.end());
    std::erase_if(made_.constants, [&](const auto& entry) { return !used.contains(entry.first); });
    return std::move(made_);
  }
  const OnnxGraph& old() const { return old_; }

 private:
  const OnnxGraph& old_;
  OnnxGraph made_;
};

/// uint8 from 0 to 255; 0 is among the values exactly, as padding and Relu need it.
struct ActivationScale {
  float scale = 1;
  uint8_t zero = 0;
};
ActivationScale scale_of(const ValueRange& range) {
  const float least = std::min(range.least, 0.0F), most = std::max(range.most, 0.0F);
  const float scale = (most - least) / 255;
  if (!std::isnormal(scale)) return {};
  return {scale, static_cast<uint8_t>(std::clamp(std::round(-least / scale), 0.0F, 255.0F))};
}

std::string rounded_name(const std::string& tensor) { return own_name(tensor + ".int8"); }

void round_tensor(Rewriter& rewriter, const std::string& tensor, const ActivationScale& by) {
  const std::string scale = rewriter.constant<float>(own_name(tensor + ".scale"), {}, OnnxType::kFloat, {by.scale});
  const std::string zero = rewriter.constant<uint8_t>(own_name(tensor + ".zero"), {}, OnnxType::kUint8, {by.zero});
  rewriter.node("QuantizeLinear", {tensor, scale, zero}, {own_name(tensor + ".rounded")});
  rewriter.node("DequantizeLinear", {own_name(tensor + ".rounded"), scale, zero}, {rounded_name(tensor)});
}

/// The layer's weights, and its bias where it has a constant one, as integers with their scales.
void round_constants(Rewriter& rewriter, OnnxNode& node, const Layer& layer, float input_scale) {
  const OnnxTensor& weight = rewriter.old().constants.at(node.inputs[1]);
  const QuantizedWeight quantized = quantize_weight(weight, layer.axis);
  const auto channels = static_cast<int64_t>(quantized.scales.size());
  const std::string base = own_name(node.outputs[0] + ".weight");  // a weight that two layers share has two names
  const std::string values = rewriter.constant<int8_t>(base + ".values", weight.shape, OnnxType::kInt8, quantized.values);
  const std::string scales = rewriter.constant<float>(base + ".scales", {channels}, OnnxType::kFloat, quantized.scales);
  const std::string zeros =
      rewriter.constant<int8_t>(base + ".zeros", {channels}, OnnxType::kInt8, std::vector<int8_t>(quantized.scales.size()));
  rewriter.node("DequantizeLinear", {values, scales, zeros}, {base},
                {onnx_integer_attribute("axis", static_cast<int64_t>(layer.axis))});
  node.inputs[1] = base;
  if (node.inputs.size() < 3) return;
  const auto bias = rewriter.old().constants.find(node.inputs[2]);
  if (bias == rewriter.old().constants.end() || bias->second.shape != std::vector<int64_t>{channels}) return;
  const std::vector<float> offsets = bias->second.floats();
  std::vector<int32_t> rounded;
  std::vector<float> bias_scales;
  for (size_t c = 0; c < offsets.size(); ++c) {
    bias_scales.push_back(input_scale * quantized.scales[c]);
    // Where integers cannot hold it the bias stays as it is.
    if (!std::isnormal(bias_scales[c]) || !std::isfinite(offsets[c])) return;
    rounded.push_back(
        static_cast<int32_t>(std::clamp(std::round(double{offsets[c]} / bias_scales[c]), -2147483647.0, 2147483647.0)));
  }
  const std::string name = own_name(node.outputs[0] + ".bias");
  rewriter.constant<int32_t>(name + ".values", {channels}, OnnxType::kInt32, rounded);
  rewriter.constant<float>(name + ".scales", {channels}, OnnxType::kFloat, bias_scales);
  rewriter.constant<int32_t>(name + ".zeros", {channels}, OnnxType::kInt32, std::vector<int32_t>(rounded.size()));
  rewriter.node("DequantizeLinear", {name + ".values", name + ".scales", name + ".zeros"}, {name},
                {onnx_integer_attribute("axis", 0)});
  node.inputs[2] = name;
}

/// Rows of integers, which become numbers once they have been looked up. A scale for each column: a few of an embedding's are much larger
/// than the others, in all rows.
void look_up_in_integers(Rewriter& rewriter, const OnnxNode& node) {
  const OnnxTensor& table = rewriter.old().constants.at(node.inputs[0]);
  const QuantizedWeight quantized = quantize_weight(table, 1);
  const std::vector<int64_t> columns = {table.shape[1]};
  const std::string base = own_name(node.inputs[0] + ".table"), found = own_name(node.outputs[0] + ".integers");
  const std::string values = rewriter.constant<int8_t>(base + ".values", table.shape, OnnxType::kInt8, quantized.values);
  const std::string scales = rewriter.constant<float>(base + ".scales", columns, OnnxType::kFloat, quantized.scales);
  const std::string zeros =
      rewriter.constant<int8_t>(base + ".zeros", columns, OnnxType::kInt8, std::vector<int8_t>(quantized.scales.size()));
  rewriter.node("Gather", {values, node.inputs[1]}, {found}, node.attributes);
  rewriter.node("DequantizeLinear", {found, scales, zeros}, node.outputs, {onnx_integer_attribute("axis", -1)});
}

/// y = x · w + b with the product in integers; x is scaled by its own range as it runs.
void multiply_in_integers(Rewriter& rewriter, const OnnxNode& node, const Layer& layer, std::set<std::string>& rounded) {
  const std::string& x = node.inputs[0];
  const std::string& y = node.outputs[0];
  if (rounded.insert(x).second)
    rewriter.node("DynamicQuantizeLinear", {x}, {own_name(x + ".rounded"), own_name(x + ".scale"), own_name(x + ".zero")});
  const OnnxTensor& given = rewriter.old().constants.at(node.inputs[1]);
  const OnnxTensor weight = layer.axis == 0 ? transposed(given) : given;
  const QuantizedWeight quantized = quantize_weight(weight, 1);
  const auto channels = static_cast<int64_t>(quantized.scales.size());
  const std::string values =
      rewriter.constant<int8_t>(own_name(y + ".weight.values"), weight.shape, OnnxType::kInt8, quantized.values);
  const std::string zeros = rewriter.constant<int8_t>(own_name(y + ".weight.zeros"), {channels}, OnnxType::kInt8,
                                                      std::vector<int8_t>(quantized.scales.size()));
  const std::string scales =
      rewriter.constant<float>(own_name(y + ".weight.scales"), {channels}, OnnxType::kFloat, quantized.scales);
  const bool has_bias = node.inputs.size() > 2;
  const std::string product = has_bias ? own_name(y + ".product") : y;
  rewriter.node("MatMulInteger", {own_name(x + ".rounded"), values, own_name(x + ".zero"), zeros}, {own_name(y + ".integers")});
  rewriter.node("Cast", {own_name(y + ".integers")}, {own_name(y + ".cast")},
                {onnx_integer_attribute("to", static_cast<int64_t>(OnnxType::kFloat))});
  rewriter.node("Mul", {own_name(x + ".scale"), scales}, {own_name(y + ".scales")});
  rewriter.node("Mul", {own_name(y + ".cast"), own_name(y + ".scales")}, {product});
  if (has_bias) rewriter.node("Add", {product, node.inputs[2]}, {y});
}

}  // namespace

std::vector<std::string> tensors_to_calibrate(const OnnxGraph& graph) {
  std::set<std::string> tensors;
  for (const Layer& layer : layers_of(graph, true)) {
    const OnnxNode& node = graph.nodes[layer.node];
    if (!graph.constants.contains(node.inputs[0])) tensors.insert(node.inputs[0]);
    const std::string output = rounded_output(graph, node);
    if (node.op == "Conv" && !is_output(graph, output)) tensors.insert(output);
  }
  return {tensors.begin(), tensors.end()};
}

Result<OnnxGraph> quantize_dynamic(const OnnxGraph& graph) {
  const std::vector<Layer> layers = layers_of(graph, false);
  TRY(check_graph(graph, layers));
  Rewriter rewriter(graph);
  std::set<std::string> rounded;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto layer = std::ranges::find(layers, n, &Layer::node);
    if (looks_up_rows(graph, graph.nodes[n]))
      look_up_in_integers(rewriter, graph.nodes[n]);
    else if (layer == layers.end())
      rewriter.keep(graph.nodes[n]);
    else
      multiply_in_integers(rewriter, graph.nodes[n], *layer, rounded);
  }
  return rewriter.finish();
}

Result<OnnxGraph> quantize_static(const OnnxGraph& graph, const std::map<std::string, ValueRange>& ranges) {
  const std::vector<Layer> layers = layers_of(graph, true);
  TRY(check_graph(graph, layers));
  std::map<std::string, ActivationScale> scales;
  for (const std::string& tensor : tensors_to_calibrate(graph)) {
    const auto range = ranges.find(tensor);
    if (range == ranges.end() || !std::isfinite(range->second.least) || !std::isfinite(range->second.most))
      return invalid("{}: calibration showed no range of its values", tensor);
    scales[tensor] = scale_of(range->second);
  }
  Rewriter rewriter(graph);
  for (const std::string& input : graph.inputs)
    if (scales.contains(input)) round_tensor(rewriter, input, scales[input]);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    OnnxNode node = graph.nodes[n];
    const auto layer = std::ranges::find(layers, n, &Layer::node);
    if (layer != layers.end() && scales.contains(node.inputs[0]))
      round_constants(rewriter, node, *layer, scales[node.inputs[0]].scale);
    for (std::string& input : node.inputs)
      if (scales.contains(input)) input = rounded_name(input);
    const std::vector<std::string> outputs = node.outputs;
    if (looks_up_rows(graph, node))
      look_up_in_integers(rewriter, node);
    else
      rewriter.keep(std::move(node));
    for (const std::string& output : outputs)
      if (scales.contains(output)) round_tensor(rewriter, output, scales[output]);
  }
  return rewriter.finish();
}

}  // namespace stint::serve
