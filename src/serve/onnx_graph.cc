#include "serve/onnx_graph.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"
#include "serve/protobuf.h"

namespace stint::serve {
namespace {

using protobuf::Field;
using protobuf::put_bytes;
using protobuf::put_number;
using protobuf::Reader;

constexpr int kIntAttribute = 2;

/// Calls `visit(field)`, which returns a Status, for each field of the message.
template <typename Visit>
Status each_field(std::string_view message, Visit visit) {
  Reader reader(message);
  for (;;) {
    TRY_ASSIGN(const std::optional<Field> field, reader.next());
    if (!field) return {};
    TRY(visit(*field));
  }
}

/// Repeated integers, packed or one by one.
Status add_integers(const Field& field, std::vector<int64_t>& to) {
  if (!field.delimited) {
    to.push_back(static_cast<int64_t>(field.value));
    return {};
  }
  std::string_view rest = field.bytes;
  while (!rest.empty()) {
    uint64_t value = 0;
    int shift = 0;
    for (uint8_t byte = 0x80; byte >= 0x80; shift += 7) {
      if (rest.empty() || shift > 63) return invalid("a list of numbers is cut off");
      byte = static_cast<uint8_t>(rest.front());
      rest.remove_prefix(1);
      value |= uint64_t{byte & 0x7fU} << shift;
    }
    to.push_back(static_cast<int64_t>(value));
  }
  return {};
}

struct ParsedTensor {
  OnnxTensor tensor;
  bool whole_floats = false;
};

Result<ParsedTensor> parse_tensor(std::string_view bytes) {
  ParsedTensor parsed;
  OnnxTensor& tensor = parsed.tensor;
  bool elsewhere = false;
  std::string floats;
  TRY(each_field(bytes, [&](const Field& field) -> Status {
    switch (field.number) {
      case 1: return add_integers(field, tensor.shape);
      case 2: tensor.type = static_cast<OnnxType>(field.value); break;
      case 4:
        if (!field.delimited) return invalid("a list of values one by one");
        floats += field.bytes;
        break;
      case 8: tensor.name = field.bytes; break;
      case 9: tensor.raw = field.bytes; break;
      case 13:
      case 14: elsewhere = elsewhere || field.number == 13 || field.value != 0; break;
      default: break;
    }
    return {};
  }));
  if (tensor.raw.empty()) tensor.raw = std::move(floats);
  uint64_t count = 1;
  for (const int64_t size : tensor.shape) {
    if (size < 0 || (size > 0 && count > (uint64_t{1} << 40) / static_cast<uint64_t>(size)))
      return invalid("constant {}: a shape that cannot be", excerpt(tensor.name));
    count *= static_cast<uint64_t>(size);
  }
  parsed.whole_floats = tensor.type == OnnxType::kFloat && !elsewhere && tensor.raw.size() == count * sizeof(float);
  return parsed;
}

Result<OnnxNode> parse_node(std::string_view bytes) {
  OnnxNode node;
  TRY(each_field(bytes, [&](const Field& field) -> Status {
    switch (field.number) {
      case 1: node.inputs.emplace_back(field.bytes); break;
      case 2: node.outputs.emplace_back(field.bytes); break;
      case 4: node.op = field.bytes; break;
      case 5: node.attributes.emplace_back(field.bytes); break;
      default: node.rest += field.whole;
    }
    return {};
  }));
  if (node.outputs.empty()) return invalid("operator {} has no outputs", excerpt(node.op));
  return node;
}

/// The bytes of the message's field of that number; empty when it is not there.
Result<std::string_view> field_of(std::string_view message, int number) {
  std::string_view found;
  TRY(each_field(message, [&](const Field& field) -> Status {
    if (field.number == number) found = field.bytes;
    return {};
  }));
  return found;
}

/// ValueInfoProto of an input or output: its name goes to `names`, its element type to the graph's.
Status parse_end(std::string_view bytes, std::vector<std::string>& names, OnnxGraph& graph) {
  TRY_ASSIGN(const std::string_view name, field_of(bytes, 1));
  names.emplace_back(name);
  TRY_ASSIGN(const std::string_view type, field_of(bytes, 2));
  TRY_ASSIGN(const std::string_view tensor, field_of(type, 1));
  return each_field(tensor, [&](const Field& field) -> Status {
    if (field.number == 1) graph.end_types[names.back()] = static_cast<OnnxType>(field.value);
    return {};
  });
}

Status parse_graph(std::string_view bytes, OnnxGraph& graph) {
  return each_field(bytes, [&](const Field& field) -> Status {
    switch (field.number) {
      case 1: {
        TRY_ASSIGN(OnnxNode node, parse_node(field.bytes));
        graph.nodes.push_back(std::move(node));
        return {};
      }
      case 5: {
        TRY_ASSIGN(ParsedTensor parsed, parse_tensor(field.bytes));
        if (!parsed.whole_floats) break;
        const std::string name = parsed.tensor.name;
        graph.constants[name] = std::move(parsed.tensor);
        return {};
      }
      case 11: TRY(parse_end(field.bytes, graph.inputs, graph)); break;
      case 12: TRY(parse_end(field.bytes, graph.outputs, graph)); break;
      default: break;
    }
    graph.rest += field.whole;
    return {};
  });
}

std::string encode_tensor(const OnnxTensor& tensor) {
  std::string bytes;
  for (const int64_t size : tensor.shape)
    put_number(bytes, 1, size);
  put_number(bytes, 2, static_cast<int64_t>(tensor.type));
  put_bytes(bytes, 8, tensor.name);
  put_bytes(bytes, 9, tensor.raw);
  return bytes;
}

std::string encode_node(const OnnxNode& node) {
  std::string bytes;
  for (const std::string& input : node.inputs)
    put_bytes(bytes, 1, input);
  for (const std::string& output : node.outputs)
    put_bytes(bytes, 2, output);
  put_bytes(bytes, 4, node.op);
  for (const std::string& attribute : node.attributes)
    put_bytes(bytes, 5, attribute);
  return bytes + node.rest;
}

bool is_called(const std::string& attribute, std::string_view name) {
  const Result<std::string_view> found = field_of(attribute, 1);
  return found.ok() && *found == name;
}

/// The field of that number of the attribute of that name.
std::optional<Field> attribute_field(const OnnxNode& node, std::string_view name, int number) {
  const auto attribute = std::ranges::find_if(node.attributes, [&](const std::string& a) { return is_called(a, name); });
  if (attribute == node.attributes.end()) return std::nullopt;
  std::optional<Field> found;
  const Status read = each_field(*attribute, [&](const Field& field) -> Status {
    if (field.number == number) found = field;
    return {};
  });
  return read.ok() ? found : std::nullopt;
}

}  // namespace

std::vector<float> OnnxTensor::floats() const {
  std::vector<float> values(raw.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), raw.data(), values.size() * sizeof(float));
  return values;
}

std::optional<int64_t> OnnxNode::integer(std::string_view name) const {
  const std::optional<Field> field = attribute_field(*this, name, 3);
  return field ? std::optional(static_cast<int64_t>(field->value)) : std::nullopt;
}

std::optional<float> OnnxNode::real(std::string_view name) const {
  const std::optional<Field> field = attribute_field(*this, name, 2);
  return field ? std::optional(std::bit_cast<float>(static_cast<uint32_t>(field->value))) : std::nullopt;
}

std::optional<OnnxTensor> OnnxNode::tensor(std::string_view name) const {
  const std::optional<Field> field = attribute_field(*this, name, 5);
  if (!field) return std::nullopt;
  const Result<ParsedTensor> parsed = parse_tensor(field->bytes);
  return parsed.ok() && parsed->whole_floats ? std::optional(parsed->tensor) : std::nullopt;
}

void OnnxNode::set_integer(std::string_view name, int64_t value) {
  std::erase_if(attributes, [&](const std::string& attribute) { return is_called(attribute, name); });
  attributes.push_back(onnx_integer_attribute(name, value));
}

Result<OnnxGraph> OnnxGraph::parse(std::string_view file, const std::string& name) {
  OnnxGraph graph;
  bool found = false;
  const Status parsed = each_field(file, [&](const Field& field) -> Status {
    if (field.number == 7) {
      found = true;
      return parse_graph(field.bytes, graph);
    }
    if (field.number == 8) {  // OperatorSetIdProto: of ONNX itself where it names no domain
      std::string domain;
      int64_t version = 0;
      TRY(each_field(field.bytes, [&](const Field& inner) -> Status {
        if (inner.number == 1) domain = inner.bytes;
        if (inner.number == 2) version = static_cast<int64_t>(inner.value);
        return {};
      }));
      if (domain.empty() || domain == "ai.onnx") graph.opset = version;
    }
    graph.model_rest += field.whole;
    return {};
  });
  if (!parsed.ok()) return invalid("{}: no ONNX file: {}", name, parsed.error().message);
  if (!found) return invalid("{}: no ONNX file: it has no graph", name);
  return graph;
}

std::string OnnxGraph::encode() const {
  std::string graph, model = model_rest;
  for (const OnnxNode& node : nodes)
    put_bytes(graph, 1, encode_node(node));
  for (const auto& [name, tensor] : constants)
    put_bytes(graph, 5, encode_tensor(tensor));
  put_bytes(model, 7, graph + rest);
  return model;
}

Status OnnxGraph::check_ends() const {
  for (const std::vector<std::string>* ends : {&inputs, &outputs})
    for (const std::string& end : *ends)
      if (constants.contains(end))
        return invalid("{} is an {} and a constant: export the model without initializers among its inputs and outputs",
                       excerpt(end), ends == &inputs ? "input" : "output");
  return {};
}

void OnnxGraph::expose(const std::string& tensor) {
  std::string type, elements, value;
  put_number(elements, 1, static_cast<int64_t>(OnnxType::kFloat));
  put_bytes(type, 1, elements);
  put_bytes(value, 1, tensor);
  put_bytes(value, 2, type);
  put_bytes(rest, 12, value);
  outputs.push_back(tensor);
  end_types[tensor] = OnnxType::kFloat;
}

void OnnxGraph::forget_inner_types() {
  constexpr int kValueInfo = 13;
  std::string kept;
  const Status read = each_field(rest, [&](const Field& field) -> Status {
    if (field.number != kValueInfo) kept += field.whole;
    return {};
  });
  CHECK(read.ok(), "what was read before: {}", read.error().message);
  rest = std::move(kept);
}

std::string onnx_integer_attribute(std::string_view name, int64_t value) {
  std::string bytes;
  put_bytes(bytes, 1, name);
  put_number(bytes, 3, value);
  put_number(bytes, 20, kIntAttribute);
  return bytes;
}

}  // namespace stint::serve
