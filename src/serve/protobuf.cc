#include "serve/protobuf.h"

#include <cstring>

namespace stint::serve::protobuf {
namespace {

enum Wire : uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

}  // namespace

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

void put_number(std::string& out, int field, int64_t value) {
  put_varint(out, static_cast<uint64_t>(field) << 3);
  put_varint(out, static_cast<uint64_t>(value));
}

void put_bytes(std::string& out, int field, std::string_view value) {
  put_varint(out, (static_cast<uint64_t>(field) << 3) | kLength);
  put_varint(out, value.size());
  out += value;
}

Result<uint64_t> Reader::varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  return invalid("a number is cut off");
}

Result<std::optional<Field>> Reader::next() {
  if (rest_.empty()) return std::optional<Field>();
  const std::string_view from = rest_;
  TRY_ASSIGN(const uint64_t key, varint());
  Field field;
  field.number = static_cast<int>(key >> 3 & 0x1fffffff);
  size_t length = 0;
  switch (key & 7) {
    case kVarint: {
      TRY_ASSIGN(field.value, varint());
      break;
    }
    case kFixed64: length = 8; break;
    case kFixed32: length = 4; break;
    case kLength: {
      TRY_ASSIGN(length, varint());
      field.delimited = true;
      break;
    }
    default: return invalid("field {} is of no known kind", field.number);
  }
  if (length > rest_.size()) return invalid("field {} is cut off", field.number);
  field.bytes = rest_.substr(0, length);
  if ((key & 7) == kFixed64 || (key & 7) == kFixed32) std::memcpy(&field.value, field.bytes.data(), length);
  rest_.remove_prefix(length);
  field.whole = from.substr(0, from.size() - rest_.size());
  return std::optional(field);
}

}  // namespace stint::serve::protobuf
