#include "codec/serving/tensor_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr uint32_t kPatterns = 1U << 16U;

/// What the fields of a 16-bit float say, by the standard's own formula (IEEE 754-2008, 3.4).
double by_formula(uint32_t bits, uint32_t fraction_bits, int bias) {
  const auto exponent = static_cast<int>((bits & 0x7fffU) >> fraction_bits);
  const double fraction = static_cast<double>(bits & ((1U << fraction_bits) - 1U)) / static_cast<double>(1U << fraction_bits);
  const double sign = (bits >> 15U) != 0 ? -1 : 1;
  if (exponent == 2 * bias + 1) return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : NAN;
  return sign * (exponent == 0 ? fraction * std::pow(2.0, 1 - bias) : (1 + fraction) * std::pow(2.0, exponent - bias));
}

template <typename T>
void every_pattern_means_what_the_formula_says(uint32_t fraction_bits, int bias) {
  for (uint32_t bits = 0; bits < kPatterns; ++bits) {
    const double expected = by_formula(bits, fraction_bits, bias);
    const double value = plain(T{static_cast<uint16_t>(bits)});
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      ASSERT_TRUE(std::isnan(plain(*from_number<T>(value)))) << bits;
      continue;
    }
    ASSERT_EQ(value, expected) << bits;
    ASSERT_EQ(std::signbit(value), bits >> 15U != 0) << bits;
    ASSERT_EQ(from_number<T>(value)->bits, bits);
  }
}

/// Between two neighbours: below the middle goes down, above it up, the middle to the one whose last bit is 0.
template <typename T>
void every_gap_is_rounded_to_the_nearest(uint32_t fraction_bits, int bias) {
  const auto infinity = static_cast<uint32_t>(2 * bias + 1) << fraction_bits;
  for (uint32_t bits = 0; bits < infinity; ++bits) {
    const double low = by_formula(bits, fraction_bits, bias);
    // Beyond the largest the next step is where infinity begins.
    const double high = bits + 1 == infinity ? std::pow(2.0, bias + 1) : by_formula(bits + 1, fraction_bits, bias);
    const double middle = (low + high) / 2;
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    for (const double sign : {1.0, -1.0}) {
      const uint32_t sign_bit = sign < 0 ? 0x8000U : 0U;
      ASSERT_EQ(from_number<T>(sign * middle)->bits, sign_bit | even) << bits;
      ASSERT_EQ(from_number<T>(sign * std::nextafter(middle, low))->bits, sign_bit | bits) << bits;
      ASSERT_EQ(from_number<T>(sign * std::nextafter(middle, high))->bits, sign_bit | (bits + 1)) << bits;
    }
  }
}

TEST(TensorValues, HalvesMeanWhatTheStandardSays) {
  every_pattern_means_what_the_formula_says<Half>(10, 15);
  every_pattern_means_what_the_formula_says<Bfloat>(7, 127);
}

TEST(TensorValues, HalvesAreRoundedToTheNearest) {
  every_gap_is_rounded_to_the_nearest<Half>(10, 15);
  every_gap_is_rounded_to_the_nearest<Bfloat>(7, 127);
  EXPECT_EQ(to_half(1e300).bits, 0x7c00);
  EXPECT_EQ(to_half(-INFINITY).bits, 0xfc00);
  EXPECT_EQ(to_half(5e-324).bits, 0);
}

TEST(TensorValues, TypesAreKnownByTheProtocolsNames) {
  for (size_t t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    EXPECT_EQ(*read_data_type(name_of(type)), type);
    const std::string_view name = name_of(type);
    if (type == DataType::kBytes) continue;
    const bool has_bits = name.ends_with('8') || name.ends_with('6') || name.ends_with('2') || name.ends_with('4');
    EXPECT_EQ(size_of(type), !has_bits || name.ends_with('8') ? 1U : name.ends_with("16") ? 2U : name.ends_with("32") ? 4U : 8U);
  }
  EXPECT_THAT(read_data_type("STRING").error().message, HasSubstr("STRING: served are BOOL, UINT8"));
  EXPECT_EQ(config_name_of(DataType::kFp32), "TYPE_FP32");
  EXPECT_EQ(config_name_of(DataType::kBytes), "TYPE_STRING");
  EXPECT_FALSE(read_data_type("fp32").ok());
}

TEST(TensorValues, AnIntegerTakesWhatItCanHold) {
  EXPECT_EQ(from_number<int8_t>(-128), int8_t{-128});
  EXPECT_FALSE(from_number<int8_t>(-129));
  EXPECT_FALSE(from_number<int8_t>(128));
  EXPECT_FALSE(from_number<uint8_t>(-1));
  EXPECT_FALSE(from_number<uint8_t>(1.5));
  EXPECT_FALSE(from_number<int32_t>(NAN));
  EXPECT_EQ(from_number<uint64_t>(0x1p63), uint64_t{1} << 63U);
  EXPECT_FALSE(from_number<uint64_t>(0x1p64));
  EXPECT_FALSE(from_number<int64_t>(0x1p63));
  EXPECT_EQ(from_number<int64_t>(-0x1p63), INT64_MIN);
  EXPECT_EQ(from_number<Bool>(1)->value, 1);
  EXPECT_FALSE(from_number<Bool>(2));
}

TEST(TensorValues, NumbersGoThereAndBack) {
  const std::vector<float> whole = {0, 1, 1};
  for (size_t t = 0; t < kDataTypes; ++t) {
    const auto type = static_cast<DataType>(t);
    if (type == DataType::kBytes) continue;
    const auto bytes = values_from(type, whole);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    EXPECT_EQ(bytes->size(), 3 * size_of(type));
    EXPECT_EQ(floats_of(type, *bytes), whole);
  }
  EXPECT_THAT(values_from(DataType::kBytes, whole).error().message, HasSubstr("texts"));
  EXPECT_THAT(values_from(DataType::kInt64, std::array{0.5F}).error().message, HasSubstr("0.5 is no INT64"));
}

template <typename T>
bool is_finite(DataType type, T value) {
  const std::array<T, 3> values = {T(), value, T()};
  return all_finite(type, std::as_bytes(std::span(values)));
}

TEST(TensorValues, WhatSpoilsABatchIsFound) {
  for (const uint32_t bits : {0x7c00U, 0xfc00U, 0x7e00U, 0xfc01U})
    EXPECT_FALSE(is_finite(DataType::kFp16, Half{static_cast<uint16_t>(bits)}));
  for (const uint32_t bits : {0x7f80U, 0xff80U, 0x7fc0U, 0xff81U})
    EXPECT_FALSE(is_finite(DataType::kBf16, Bfloat{static_cast<uint16_t>(bits)}));
  for (const double value : {double{INFINITY}, -double{INFINITY}, double{NAN}}) {
    EXPECT_FALSE(is_finite(DataType::kFp32, static_cast<float>(value)));
    EXPECT_FALSE(is_finite(DataType::kFp64, value));
  }
  EXPECT_TRUE(is_finite(DataType::kFp16, Half{0x7bff}));
  EXPECT_TRUE(is_finite(DataType::kBf16, Bfloat{0x7f7f}));
  EXPECT_TRUE(is_finite(DataType::kFp64, std::numeric_limits<double>::max()));
  EXPECT_TRUE(is_finite(DataType::kInt64, int64_t{-1}));
}

TEST(TensorValues, ABoolIsZeroOrOne) {
  const std::array good = {Bool{0}, Bool{1}}, bad = {Bool{1}, Bool{2}};
  EXPECT_TRUE(check_values(DataType::kBool, std::as_bytes(std::span(good))).ok());
  EXPECT_THAT(check_values(DataType::kBool, std::as_bytes(std::span(bad))).error().message, HasSubstr("neither 0 nor 1"));
}

}  // namespace
}  // namespace stint
