#include "serve/onnx_type.h"

#include <algorithm>

namespace stint::serve {
namespace {

/// By DataType.
constexpr std::array<OnnxType, kDataTypes> kTypes = {OnnxType::kBool,   OnnxType::kUint8, OnnxType::kUint16, OnnxType::kUint32,
                                                     OnnxType::kUint64, OnnxType::kInt8,  OnnxType::kInt16,  OnnxType::kInt32,
                                                     OnnxType::kInt64,  OnnxType::kHalf,  OnnxType::kBfloat, OnnxType::kFloat,
                                                     OnnxType::kDouble, OnnxType::kString};

}  // namespace

OnnxType onnx_type_of(DataType type) { return kTypes[static_cast<size_t>(type)]; }

Result<DataType> data_type_of(OnnxType type) {
  const auto found = std::ranges::find(kTypes, type);
  if (found == kTypes.end()) return invalid("tensors of ONNX's type {} are not served", static_cast<int>(type));
  return static_cast<DataType>(found - kTypes.begin());
}

}  // namespace stint::serve
