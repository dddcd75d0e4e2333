#include "codec/serving/tensor_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "codec/serving/tensor_texts.h"

namespace stint {
namespace {

static_assert(std::endian::native == std::endian::little, "values in memory are little-endian");

constexpr std::array<std::string_view, kDataTypes> kDataTypeNames = {
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "BF16", "FP32", "FP64", "BYTES"};

/// A floating type of 16 bits.
struct Format {
  int fraction_bits = 0;
  int bias = 0;
  [[nodiscard]] int least_exponent() const { return 1 - bias; }
  [[nodiscard]] uint32_t infinity() const {
    return (2U * static_cast<uint32_t>(bias) + 1U) << static_cast<uint32_t>(fraction_bits);
  }
};
constexpr Format kHalf = {10, 15};
constexpr Format kBfloat = {7, 127};

uint16_t rounded(double value, const Format& format) {
  const uint32_t sign = std::signbit(value) ? 0x8000U : 0U, infinity = format.infinity();
  if (std::isnan(value)) return static_cast<uint16_t>(sign | infinity | ((infinity >> 1U) & ~infinity));
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  const int exponent = value == 0 ? format.least_exponent() : std::max(std::ilogb(value), format.least_exponent());
  if (exponent > format.bias) return static_cast<uint16_t>(sign | infinity);
  // In steps of the last bit there is; where they round up to a power of two, the carry goes into the exponent by itself.
  const double steps = std::nearbyint(std::ldexp(std::abs(value), format.fraction_bits - exponent));
  const uint32_t exponent_bits = static_cast<uint32_t>(exponent - format.least_exponent())
                                 << static_cast<uint32_t>(format.fraction_bits);
  return static_cast<uint16_t>(sign | (exponent_bits + static_cast<uint32_t>(steps)));
}

/// @param exponent  its bits: where all are set, the value is NaN or infinite.
template <typename Bits>
bool none_has_all(std::span<const std::byte> bytes, Bits exponent) {
  const size_t count = bytes.size() / sizeof(Bits);
  Bits wrong = 0;
  for (size_t i = 0; i < count; ++i) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof bits, sizeof bits);  // a body is not aligned
    wrong |= (bits & exponent) == exponent ? Bits{1} : Bits{0};
  }
  return wrong == 0;
}

}  // namespace

std::string_view name_of(DataType type) { return kDataTypeNames[static_cast<size_t>(type)]; }
std::string config_name_of(DataType type) { return fmt::format("TYPE_{}", type == DataType::kBytes ? "STRING" : name_of(type)); }

Result<DataType> read_data_type(std::string_view name) {
  const auto found = std::ranges::find(kDataTypeNames, name);
  if (found == kDataTypeNames.end()) return invalid("datatype {}: served are {}", excerpt(name), fmt::join(kDataTypeNames, ", "));
  return static_cast<DataType>(found - kDataTypeNames.begin());
}

size_t longest_text(DataType type) {
  return visit_type(type, []<typename T>(T) -> size_t {
    if constexpr (std::is_same_v<T, Bool>) return std::string_view("false").size();
    if constexpr (std::is_same_v<T, double>) return std::string_view("-2.2250738585072014e-308").size();
    if constexpr (std::is_integral_v<T>)
      return std::max(fmt::formatted_size("{}", std::numeric_limits<T>::lowest()),
                      fmt::formatted_size("{}", std::numeric_limits<T>::max()));
    return std::string_view("-1.17549435e-38").size();
  });
}

size_t size_of(DataType type) {
  if (type == DataType::kBytes) return kTextHead;
  return visit_type(type, []<typename T>(T) { return sizeof(T); });
}

float plain(Half value) {
  // The bits of a float whose exponent is too small by the difference of the biases.
  const float unscaled = std::bit_cast<float>(static_cast<uint32_t>(value.bits & 0x7fffU) << 13U);
  const bool finite = (value.bits & 0x7c00U) != 0x7c00U;
  const float scaled = finite ? unscaled * 0x1p112F : std::bit_cast<float>(std::bit_cast<uint32_t>(unscaled) | 0x7f800000U);
  return std::copysign(scaled, (value.bits & 0x8000U) != 0 ? -1.0F : 1.0F);
}

float plain(Bfloat value) { return std::bit_cast<float>(uint32_t{value.bits} << 16U); }

Half to_half(double value) { return {rounded(value, kHalf)}; }
Bfloat to_bfloat(double value) { return {rounded(value, kBfloat)}; }

bool all_finite(DataType type, std::span<const std::byte> bytes) {
  switch (type) {
    case DataType::kFp16: return none_has_all<uint16_t>(bytes, 0x7c00);
    case DataType::kBf16: return none_has_all<uint16_t>(bytes, 0x7f80);
    case DataType::kFp32: return none_has_all<uint32_t>(bytes, 0x7f800000);
    case DataType::kFp64: return none_has_all<uint64_t>(bytes, 0x7ff0000000000000);
    default: return true;
  }
}

Status check_values(DataType type, std::span<const std::byte> bytes) {
  if (type == DataType::kBool && std::ranges::any_of(bytes, [](std::byte b) { return b > std::byte{1}; }))
    return invalid("holds a BOOL that is neither 0 nor 1");
  return {};
}

Result<std::vector<std::byte>> values_from(DataType type, std::span<const float> numbers) {
  if (type == DataType::kBytes) return invalid("numbers are given; it takes texts (BYTES)");
  return visit_type(type, [&]<typename T>(T) -> Result<std::vector<std::byte>> {
    std::vector<std::byte> bytes(numbers.size() * sizeof(T));
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::optional<T> value = from_number<T>(numbers[i]);
      if (!value) return invalid("{} is no {}", numbers[i], name_of(type));
      std::memcpy(bytes.data() + i * sizeof(T), &*value, sizeof(T));
    }
    return bytes;
  });
}

std::vector<float> floats_of(DataType type, std::span<const std::byte> bytes) {
  std::vector<float> floats;
  floats.reserve(bytes.size() / size_of(type));
  visit_type(type,
             [&]<typename T>(T) { each_value<T>(bytes, [&](T value) { floats.push_back(static_cast<float>(plain(value))); }); });
  return floats;
}

}  // namespace stint
