#include "serve/onnx_writer.h"

#include <bit>

#include "base/check.h"

namespace stint::serve {
namespace {

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian");

constexpr int kFloatType = 1;
constexpr int kIntsAttribute = 7;

void varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}
void number(std::string& out, int field, int64_t value) {
  varint(out, static_cast<uint64_t>(field) << 3);
  varint(out, static_cast<uint64_t>(value));
}
void bytes(std::string& out, int field, std::string_view value) {
  varint(out, (static_cast<uint64_t>(field) << 3) | 2);
  varint(out, value.size());
  out += value;
}

/// ValueInfoProto of a float tensor with a free first dimension.
std::string value_info(std::string_view name, std::span<const int64_t> item_shape) {
  std::string shape, dimension;
  bytes(dimension, 2, "batch");  // dim_param
  bytes(shape, 1, dimension);
  for (const int64_t size : item_shape) {
    dimension.clear();
    number(dimension, 1, size);  // dim_value
    bytes(shape, 1, dimension);
  }
  std::string tensor, type, info;
  number(tensor, 1, kFloatType);
  bytes(tensor, 2, shape);
  bytes(type, 1, tensor);
  bytes(info, 1, name);
  bytes(info, 2, type);
  return info;
}

}  // namespace

OnnxWriter::OnnxWriter(std::string_view graph_name) : name_(graph_name) {}

void OnnxWriter::input(std::string_view name, std::span<const int64_t> item_shape) {
  bytes(inputs_, 11, value_info(name, item_shape));
}
void OnnxWriter::output(std::string_view name, std::span<const int64_t> item_shape) {
  bytes(outputs_, 12, value_info(name, item_shape));
}

void OnnxWriter::constant(std::string_view name, std::span<const int64_t> shape, std::span<const float> values) {
  int64_t size = 1;
  std::string tensor;
  for (const int64_t dimension : shape) {
    number(tensor, 1, dimension);
    size *= dimension;
  }
  CHECK(std::ssize(values) == size, "{} values for a constant of {}", values.size(), size);
  number(tensor, 2, kFloatType);
  bytes(tensor, 8, name);
  bytes(tensor, 9, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  bytes(constants_, 5, tensor);
}

void OnnxWriter::node(std::string_view op, std::span<const std::string> inputs, std::string_view output,
                      std::span<const Ints> attributes) {
  std::string node;
  for (const std::string& input : inputs)
    bytes(node, 1, input);
  bytes(node, 2, output);
  bytes(node, 4, op);
  for (const Ints& attribute : attributes) {
    std::string encoded;
    bytes(encoded, 1, attribute.name);
    for (const int64_t value : attribute.values)
      number(encoded, 8, value);
    number(encoded, 20, kIntsAttribute);
    bytes(node, 5, encoded);
  }
  bytes(nodes_, 1, node);
}

std::string OnnxWriter::finish() const {
  std::string graph = nodes_;
  bytes(graph, 2, name_);
  graph += constants_ + inputs_ + outputs_;
  std::string opset, model;
  bytes(opset, 1, "");
  number(opset, 2, 13);
  number(model, 1, 8);
  bytes(model, 2, "stint");
  bytes(model, 7, graph);
  bytes(model, 8, opset);
  return model;
}

}  // namespace stint::serve
