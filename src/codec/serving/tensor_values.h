// Types of tensors as the Open Inference Protocol names them, and their values: as they lie in memory (little-endian), as numbers. Those of
// BYTES are texts: see tensor_texts.h.
//
// Source: Open Inference Protocol, version 2, "Tensor Data Types"; IEEE 754-2008 (binary16); bfloat16 is the upper half of a binary32.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"

namespace stint {

enum class DataType : uint8_t {
  kBool,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFp16,
  kBf16,
  kFp32,
  kFp64,
  kBytes  ///< texts of any length
};
inline constexpr size_t kDataTypes = 14;

/// `FP32`, as the protocol has it.
std::string_view name_of(DataType type);
/// `TYPE_FP32`, as Triton's configurations have it; BYTES are TYPE_STRING there.
std::string config_name_of(DataType type);
/// @return error, naming those there are, for any other name
Result<DataType> read_data_type(std::string_view name);
/// Bytes of a value; of BYTES those of an empty one, which all are at least.
size_t size_of(DataType type);
/// Characters of a value in JSON, at most. Not of BYTES.
size_t longest_text(DataType type);

// Values that C++ has no type for.
struct Bool {
  uint8_t value = 0;  ///< 0 or 1
};
struct Half {
  uint16_t bits = 0;
};
struct Bfloat {
  uint16_t bits = 0;
};

/// Calls `visit` with a value, of no meaning, of the type that is `type` in memory. Not for BYTES, which no type of fixed size is.
template <typename Visit>
auto visit_type(DataType type, Visit visit) {
  // NOLINTBEGIN(bugprone-branch-clone): each visits another type
  switch (type) {
    case DataType::kBool: return visit(Bool());
    case DataType::kUint8: return visit(uint8_t());
    case DataType::kUint16: return visit(uint16_t());
    case DataType::kUint32: return visit(uint32_t());
    case DataType::kUint64: return visit(uint64_t());
    case DataType::kInt8: return visit(int8_t());
    case DataType::kInt16: return visit(int16_t());
    case DataType::kInt32: return visit(int32_t());
    case DataType::kInt64: return visit(int64_t());
    case DataType::kFp16: return visit(Half());
    case DataType::kBf16: return visit(Bfloat());
    case DataType::kFp32: return visit(float());
    case DataType::kFp64: return visit(double());
    case DataType::kBytes: break;
  }
  // NOLINTEND(bugprone-branch-clone)
  CHECK(false, "data type {}", static_cast<int>(type));
}

/// What it is to people and to JSON: bool, an integer, float or double; exactly.
float plain(Half value);
float plain(Bfloat value);
inline bool plain(Bool value) { return value.value != 0; }
template <typename T>
  requires std::is_arithmetic_v<T>
T plain(T value) {
  return value;
}

// To the nearest, of two the even one; what is too large becomes infinite.
Half to_half(double value);
Bfloat to_bfloat(double value);

/// The number as a T, floating ones rounded. @return none when an integer or Bool cannot be it
template <typename T>
std::optional<T> from_number(double number) {
  if constexpr (std::is_same_v<T, Half>) {
    return to_half(number);
  } else if constexpr (std::is_same_v<T, Bfloat>) {
    return to_bfloat(number);
  } else if constexpr (std::is_same_v<T, Bool>) {
    return number == 0 || number == 1 ? std::optional(Bool{static_cast<uint8_t>(number)}) : std::nullopt;
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(number);
  } else {
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    const bool fits = number < end && number >= (std::is_signed_v<T> ? -end : 0) && number == std::trunc(number);
    return fits ? std::optional(static_cast<T>(number)) : std::nullopt;
  }
}

/// Calls `take(value)` for each. @param bytes  of whole values, not necessarily aligned
template <typename T, typename Take>
void each_value(std::span<const std::byte> bytes, Take take) {
  for (; bytes.size() >= sizeof(T); bytes = bytes.subspan(sizeof(T))) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    take(value);
  }
}

/// As they lie in memory.
template <typename T>
std::vector<std::byte> bytes_of(std::span<const T> values) {
  const auto bytes = std::as_bytes(values);
  return {bytes.begin(), bytes.end()};
}

/// @return error when a value is none of its type's: a Bool that is neither 0 nor 1
Status check_values(DataType type, std::span<const std::byte> bytes);
/// None is NaN or infinite.
bool all_finite(DataType type, std::span<const std::byte> bytes);

/// @return error when an integer or Bool type cannot be one of the numbers, and for BYTES
Result<std::vector<std::byte>> values_from(DataType type, std::span<const float> numbers);
/// The nearest float of each. Not of BYTES.
std::vector<float> floats_of(DataType type, std::span<const std::byte> bytes);

}  // namespace stint
