#include "serve/half_precision.h"

#include <algorithm>

#include "base/text.h"

namespace stint::serve {
namespace {

constexpr float kLargestHalf = 65504;

/// Operators all of whose floating tensors may be float16, and which have no subgraph and no floating tensor as an attribute.
constexpr std::string_view kOperators =
    " Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat Conv ConvTranspose Cos"
    " DepthToSpace Div Dropout Einsum Elu Equal Erf Exp Expand Flatten Floor GRU Gather GatherElements GatherND Gelu"
    " Gemm GlobalAveragePool GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish Identity"
    " InstanceNormalization LRN LSTM LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax MatMul Max MaxPool"
    " Mean Min Mul Neg Not Or PRelu Pad Pow RNN Reciprocal ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin"
    " ReduceProd ReduceSum Relu Reshape ScatterElements ScatterND Selu Shape Sigmoid Sign Sin Slice Softmax Softplus"
    " Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile TopK Transpose Unsqueeze Where ";

bool works_in_half(std::string_view op) { return kOperators.find(fmt::format(" {} ", op)) != std::string_view::npos; }

OnnxTensor halved(const OnnxTensor& constant) {
  std::vector<Half> values;
  for (const float value : constant.floats())
    values.push_back(to_half(std::isfinite(value) ? std::clamp(value, -kLargestHalf, kLargestHalf) : value));
  return OnnxTensor::of<Half>(constant.name, constant.shape, OnnxType::kHalf, values);
}

/// A Constant node's tensor, where it is a floating one.
std::optional<OnnxTensor> floats_of_node(const OnnxNode& node) {
  if (node.op != "Constant" || node.outputs.size() != 1) return std::nullopt;
  std::optional<OnnxTensor> tensor = node.tensor("value");
  if (const std::optional<float> value = node.real("value_float"))
    tensor = OnnxTensor::of<float>({}, {}, OnnxType::kFloat, std::array{*value});
  if (tensor) tensor->name = node.outputs[0];
  return tensor;
}

class Halver {
 public:
  explicit Halver(const OnnxGraph& graph) : old_(graph), made_(graph) {}

  Result<OnnxGraph> graph() {
    made_.nodes.clear();
    made_.forget_inner_types();
    for (auto& [name, constant] : made_.constants)
      constant = halved(constant);
    TRY(old_.check_ends());
    rename_ends();
    for (const std::string& input : old_.inputs)
      cast_end(input, {input, renamed_of(input)}, OnnxType::kHalf);
    for (const OnnxNode& node : old_.nodes)
      TRY(add(node));
    for (const std::string& output : old_.outputs)
      cast_end(output, {renamed_of(output), output}, OnnxType::kFloat);
    if (made_.constants.empty()) return invalid("no constant float32 weights: nothing would be smaller");
    return std::move(made_);
  }

 private:
  struct Way {
    std::string from, to;
  };

  void rename_ends() {
    for (const auto& [name, type] : old_.end_types)
      if (type == OnnxType::kFloat) renamed_[name] = own_name(name + ".half");
  }
  [[nodiscard]] std::string renamed_of(const std::string& tensor) const {
    const auto found = renamed_.find(tensor);
    return found == renamed_.end() ? tensor : found->second;
  }
  void cast_end(const std::string& end, const Way& way, OnnxType to) {
    if (!renamed_.contains(end)) return;
    made_.nodes.push_back({"Cast", {way.from}, {way.to}, {onnx_integer_attribute("to", static_cast<int64_t>(to))}, {}});
  }
  Status add(OnnxNode node) {
    for (std::string& name : node.inputs)
      name = renamed_of(name);
    for (std::string& name : node.outputs)
      name = renamed_of(name);
    if (const std::optional<OnnxTensor> constant = floats_of_node(node)) {
      made_.constants[constant->name] = halved(*constant);
      return {};
    }
    if (node.op != "Constant" && !works_in_half(node.op))
      return invalid("operator {} is not known to work in float16", excerpt(node.op));
    if (node.op == "Cast" && node.integer("to") == static_cast<int64_t>(OnnxType::kFloat))
      node.set_integer("to", static_cast<int64_t>(OnnxType::kHalf));
    made_.nodes.push_back(std::move(node));
    return {};
  }

  const OnnxGraph& old_;
  OnnxGraph made_;
  std::map<std::string, std::string> renamed_;  ///< floating inputs and outputs: what they are called inside
};

}  // namespace

Result<OnnxGraph> in_half_precision(const OnnxGraph& graph) { return Halver(graph).graph(); }

}  // namespace stint::serve
