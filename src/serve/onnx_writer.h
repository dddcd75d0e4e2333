// Writes ONNX files without a protobuf library: the few messages a feed-forward network needs.
//
// Source: onnx.proto3 of the ONNX project (field numbers); protobuf encoding (varints, length-delimited fields).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "serve/onnx_type.h"

namespace stint::serve {

/// A graph in the making; nodes in the order in which they run. Constants are float32.
class OnnxWriter {
 public:
  explicit OnnxWriter(std::string_view graph_name);
  static constexpr const char* kFree = "length";  ///< name of the dimensions given as -1
  /// The batch comes before `item_shape` and is free.
  void input(std::string_view name, std::span<const int64_t> item_shape, OnnxType type = OnnxType::kFloat);
  void output(std::string_view name, std::span<const int64_t> item_shape, OnnxType type = OnnxType::kFloat);
  /// A constant: weights. @param values  as many as the shape has.
  void constant(std::string_view name, std::span<const int64_t> shape, std::span<const float> values);
  struct Ints {
    std::string_view name;
    std::vector<int64_t> values;
  };
  void node(std::string_view op, std::span<const std::string> inputs, std::string_view output,
            std::span<const Ints> attributes = {});
  /// The file. Opset 13, IR version 8.
  [[nodiscard]] std::string finish() const;

 private:
  std::string name_;
  std::string nodes_, constants_, inputs_, outputs_;  // encoded fields of GraphProto
};

}  // namespace stint::serve
