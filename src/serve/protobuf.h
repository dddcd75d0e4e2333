// Protobuf's wire format, as far as ONNX files use it: written piece by piece, read field by field.
//
// Source: protobuf.dev, "Encoding": varints, length-delimited fields, fixed 32 and 64 bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint::serve::protobuf {

void put_varint(std::string& out, uint64_t value);
void put_number(std::string& out, int field, int64_t value);
void put_bytes(std::string& out, int field, std::string_view value);

struct Field {
  int number = 0;
  uint64_t value = 0;      ///< of a varint or fixed field
  bool delimited = false;  ///< its value lies in `bytes`
  std::string_view bytes;
  std::string_view whole;  ///< as it lies in the message, key included
};

/// The fields of a message in order; the bytes must outlive it.
class Reader {
 public:
  explicit Reader(std::string_view message) : rest_(message) {}
  /// @return none at the end; error when the message is cut off or holds what protobuf does not know.
  Result<std::optional<Field>> next();

 private:
  Result<uint64_t> varint();
  std::string_view rest_;
};

}  // namespace stint::serve::protobuf
