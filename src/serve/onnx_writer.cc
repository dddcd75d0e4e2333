#include "serve/onnx_writer.h"

#include <bit>

#include "base/check.h"
#include "serve/protobuf.h"

namespace stint::serve {
namespace {

using protobuf::put_bytes;
using protobuf::put_number;

static_assert(std::endian::native == std::endian::little, "raw tensor data is little-endian");

constexpr int kIntsAttribute = 7;

/// ValueInfoProto of a tensor with a free first dimension.
std::string value_info(std::string_view name, std::span<const int64_t> item_shape, OnnxType element) {
  std::string shape, dimension;
  put_bytes(dimension, 2, "batch");  // dim_param
  put_bytes(shape, 1, dimension);
  for (const int64_t size : item_shape) {
    dimension.clear();
    if (size < 0)
      put_bytes(dimension, 2, OnnxWriter::kFree);  // dim_param
    else
      put_number(dimension, 1, size);  // dim_value
    put_bytes(shape, 1, dimension);
  }
  std::string tensor, type, info;
  put_number(tensor, 1, static_cast<int64_t>(element));
  put_bytes(tensor, 2, shape);
  put_bytes(type, 1, tensor);
  put_bytes(info, 1, name);
  put_bytes(info, 2, type);
  return info;
}

}  // namespace

OnnxWriter::OnnxWriter(std::string_view graph_name) : name_(graph_name) {}

void OnnxWriter::input(std::string_view name, std::span<const int64_t> item_shape, OnnxType type) {
  put_bytes(inputs_, 11, value_info(name, item_shape, type));
}
void OnnxWriter::output(std::string_view name, std::span<const int64_t> item_shape, OnnxType type) {
  put_bytes(outputs_, 12, value_info(name, item_shape, type));
}

void OnnxWriter::constant(std::string_view name, std::span<const int64_t> shape, std::span<const float> values) {
  int64_t size = 1;
  std::string tensor;
  for (const int64_t dimension : shape) {
    put_number(tensor, 1, dimension);
    size *= dimension;
  }
  CHECK(std::ssize(values) == size, "{} values for a constant of {}", values.size(), size);
  put_number(tensor, 2, static_cast<int64_t>(OnnxType::kFloat));
  put_bytes(tensor, 8, name);
  put_bytes(tensor, 9, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  put_bytes(constants_, 5, tensor);
}

void OnnxWriter::node(std::string_view op, std::span<const std::string> inputs, std::string_view output,
                      std::span<const Ints> attributes) {
  std::string node;
  for (const std::string& input : inputs)
    put_bytes(node, 1, input);
  put_bytes(node, 2, output);
  put_bytes(node, 4, op);
  for (const Ints& attribute : attributes) {
    std::string encoded;
    put_bytes(encoded, 1, attribute.name);
    for (const int64_t value : attribute.values)
      put_number(encoded, 8, value);
    put_number(encoded, 20, kIntsAttribute);
    put_bytes(node, 5, encoded);
  }
  put_bytes(nodes_, 1, node);
}

std::string OnnxWriter::finish() const {
  std::string graph = nodes_;
  put_bytes(graph, 2, name_);
  graph += constants_ + inputs_ + outputs_;
  std::string opset, model;
  put_bytes(opset, 1, "");
  put_number(opset, 2, 13);
  put_number(model, 1, 8);
  put_bytes(model, 2, "stint");
  put_bytes(model, 7, graph);
  put_bytes(model, 8, opset);
  return model;
}

}  // namespace stint::serve
