#include "serve/npy.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>

#include "base/text.h"

namespace stint::serve {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr uint64_t kMostValues = uint64_t{1} << 32;

/// What follows `'name':` in the header, a Python dictionary; up to the end.
std::optional<std::string_view> entry(std::string_view header, std::string_view name) {
  const size_t at = header.find(fmt::format("'{}':", name));
  if (at == std::string_view::npos) return std::nullopt;
  return trim(header.substr(at + name.size() + 3));
}

std::optional<std::vector<int64_t>> shape_in(std::string_view text) {
  const size_t end = text.find(')');
  if (!text.starts_with('(') || end == std::string_view::npos) return std::nullopt;
  std::vector<int64_t> shape;
  uint64_t count = 1;
  for (const std::string_view part : split(text.substr(1, end - 1), ',')) {
    if (trim(part).empty()) continue;
    const std::optional<int64_t> size = parse_int(trim(part));
    if (!size || *size < 0 || (*size > 0 && count > kMostValues / static_cast<uint64_t>(*size))) return std::nullopt;
    count *= static_cast<uint64_t>(*size);
    shape.push_back(*size);
  }
  return shape;
}

template <typename T>
std::vector<float> converted(std::string_view bytes, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    T value{};
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    values[i] = static_cast<float>(value);
  }
  return values;
}

}  // namespace

Result<NpyArray> read_npy(std::string_view bytes, const std::string& source) {
  const auto wrong = [&](std::string_view why) { return invalid("{}: {}: save it with numpy.save", source, why); };
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return wrong("no .npy file");
  const bool is_long = bytes[6] != 1;
  const size_t begin = is_long ? 12 : 10;
  uint32_t length = 0;
  std::memcpy(&length, bytes.data() + 8, is_long ? 4 : 2);
  if (length > bytes.size() - begin) return wrong("its header is cut off");
  const std::string_view header = bytes.substr(begin, length), data = bytes.substr(begin + length);
  const auto type = entry(header, "descr"), order = entry(header, "fortran_order"), dimensions = entry(header, "shape");
  if (!type || !order || !dimensions) return wrong("its header lacks a field");
  if (!order->starts_with("False")) return wrong("its values are in Fortran order");
  const std::optional<std::vector<int64_t>> shape = shape_in(*dimensions);
  if (!shape) return wrong("its shape cannot be read");
  NpyArray array{*shape, {}};
  size_t count = 1;
  for (const int64_t size : array.shape)
    count *= static_cast<size_t>(size);
  const std::string_view kind = type->substr(0, 5);
  const size_t width = kind == "'<f4'" || kind == "'<i4'" ? 4 : kind == "'<f8'" || kind == "'<i8'" ? 8 : 0;
  if (width == 0) return wrong("its values are neither float32, float64, int32 nor int64");
  if (data.size() != count * width)
    return wrong(fmt::format("{} bytes of values; its shape needs {}", data.size(), count * width));
  if (kind == "'<f4'") array.values = converted<float>(data, count);
  if (kind == "'<f8'") array.values = converted<double>(data, count);
  if (kind == "'<i4'") array.values = converted<int32_t>(data, count);
  if (kind == "'<i8'") array.values = converted<int64_t>(data, count);
  return array;
}

std::string write_npy(std::span<const int64_t> shape, std::span<const float> values) {
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", fmt::join(shape, ", "));
  constexpr size_t kPrefix = 10, kAlignment = 64;
  header.append(kAlignment - (kPrefix + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  std::string file(kMagic);
  file += std::string_view("\x01\x00", 2);
  const auto length = static_cast<uint16_t>(header.size());
  file.append(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  return file;
}

}  // namespace stint::serve
