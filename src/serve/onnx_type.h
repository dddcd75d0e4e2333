// Element types as ONNX and ONNX Runtime number them.
//
// Source: onnx.proto3 of the ONNX project, TensorProto.DataType; ONNX Runtime's ONNXTensorElementDataType has the same numbers.
#pragma once

#include "codec/serving/tensor_values.h"

namespace stint::serve {

enum class OnnxType : int32_t {
  kFloat = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kHalf = 10,
  kDouble = 11,
  kUint32 = 12,
  kUint64 = 13,
  kBfloat = 16
};

OnnxType onnx_type_of(DataType type);
/// @return error that says so when such tensors are not served
Result<DataType> data_type_of(OnnxType type);

}  // namespace stint::serve
