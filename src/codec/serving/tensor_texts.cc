#include "codec/serving/tensor_texts.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/check.h"
#include "base/utf8.h"

namespace stint {
namespace {

std::optional<uint32_t> length_at(std::span<const std::byte> values) {
  uint32_t length = 0;
  if (values.size() < kTextHead) return std::nullopt;
  std::memcpy(&length, values.data(), kTextHead);
  return length;
}

}  // namespace

void append_text(std::vector<std::byte>& values, std::string_view text) {
  CHECK(text.size() <= UINT32_MAX, "a text of {} bytes", text.size());
  const auto length = static_cast<uint32_t>(text.size());
  const auto head = std::as_bytes(std::span(&length, 1)), bytes = std::as_bytes(std::span(text));
  values.insert(values.end(), head.begin(), head.end());
  values.insert(values.end(), bytes.begin(), bytes.end());
}

std::optional<std::string_view> take_text(std::span<const std::byte>& values) {
  const std::optional<uint32_t> length = length_at(values);
  if (!length || *length > values.size() - kTextHead) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(values.data()) + kTextHead, *length);
  values = values.subspan(kTextHead + *length);
  return text;
}

Status check_texts(std::span<const std::byte> values, size_t count) {
  for (size_t n = 0; n < count; ++n) {
    if (values.empty()) return invalid("{} values of BYTES; its shape says {}", n, count);
    const std::optional<uint32_t> length = length_at(values);
    if (!length) return invalid("value {} of {}: a length of 4 bytes is expected, {} are left", n + 1, count, values.size());
    if (!take_text(values))
      return invalid("value {} of {}: its length says {} bytes, {} are left", n + 1, count, *length, values.size() - kTextHead);
  }
  if (!values.empty()) return invalid("{} bytes behind its {} values", values.size(), count);
  return {};
}

size_t bytes_of_texts(std::span<const std::byte> values, size_t count) {
  std::span<const std::byte> rest = values;
  for (size_t n = 0; n < count; ++n)
    CHECK(take_text(rest), "text {} of {} is cut off", n + 1, count);
  return values.size() - rest.size();
}

bool all_utf8(std::span<const std::byte> values) {
  while (const std::optional<std::string_view> text = take_text(values))
    if (!is_utf8(*text)) return false;
  return true;
}

}  // namespace stint
