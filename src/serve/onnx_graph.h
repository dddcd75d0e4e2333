// An ONNX file taken apart as far as a change to its layers needs it, and put together again; what is not looked at stays as it was.
//
// Source: onnx.proto3 of the ONNX project (field numbers).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "serve/onnx_type.h"

namespace stint::serve {

struct OnnxTensor {
  std::string name;
  std::vector<int64_t> shape;
  OnnxType type = OnnxType::kFloat;
  std::string raw;  ///< little-endian values

  /// @param values  as many as the shape has.
  template <typename T>
  static OnnxTensor of(std::string name, std::vector<int64_t> shape, OnnxType type, std::span<const T> values) {
    return {std::move(name), std::move(shape), type,
            std::string(reinterpret_cast<const char*>(values.data()), values.size_bytes())};
  }
  [[nodiscard]] std::vector<float> floats() const;
};

struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::vector<std::string> attributes;  ///< encoded AttributeProto
  std::string rest;                     ///< other fields, encoded

  /// An integer attribute; none when it is not there.
  [[nodiscard]] std::optional<int64_t> integer(std::string_view name) const;
  /// A float attribute; none when it is not there.
  [[nodiscard]] std::optional<float> real(std::string_view name) const;
  /// A tensor attribute of float32 values; none when it is not there or of another type.
  [[nodiscard]] std::optional<OnnxTensor> tensor(std::string_view name) const;
  void set_integer(std::string_view name, int64_t value);
};

struct OnnxGraph {
  std::vector<OnnxNode> nodes;                  ///< in the order in which they run
  std::map<std::string, OnnxTensor> constants;  ///< by name; float32 and whole: others are in `rest`
  std::vector<std::string> inputs, outputs;     ///< names
  std::map<std::string, OnnxType> end_types;    ///< of the inputs and outputs that are tensors
  std::string rest;                             ///< other fields of the graph, inputs and outputs among them, encoded
  std::string model_rest;                       ///< other fields of the model
  int64_t opset = 0;

  /// @param name  for messages.
  static Result<OnnxGraph> parse(std::string_view file, const std::string& name);
  [[nodiscard]] std::string encode() const;
  /// Error when a constant is an input (which may be given) or output too: what is made of the constant could not be.
  [[nodiscard]] Status check_ends() const;
  /// Makes a float tensor inside the graph one of its outputs.
  void expose(const std::string& tensor);
  /// Drops what the file says of the types and shapes of the tensors inside, which may be missing.
  void forget_inner_types();
};

/// A name for something that is added, so that it clashes with none of the model's own.
inline std::string own_name(const std::string& name) { return "stint/" + name; }

/// Attributes as OnnxNode keeps them.
std::string onnx_integer_attribute(std::string_view name, int64_t value);

}  // namespace stint::serve
