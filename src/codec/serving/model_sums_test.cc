#include "codec/serving/model_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string kOne(64, '1'), kTwo(64, 'a');

TEST(ModelSums, AreReadAsSha256sumWritesThem) {
  const auto sums =
      read_model_sums(kOne + "  mlp/1/model.onnx\r\n" + kTwo + " *./mlp/model.json\n\n" + kOne + "  SHA256SUMS\n", "s");
  ASSERT_TRUE(sums.ok()) << sums.error().message;
  EXPECT_THAT(*sums, ElementsAre(Pair("mlp/1/model.onnx", kOne), Pair("mlp/model.json", kTwo)));
  EXPECT_EQ(read_model_sums(write_model_sums(*sums), "s").value(), *sums);
}

TEST(ModelSums, PathsThatLeadElsewhereAreRefusedWithTheirLine) {
  for (const char* path : {"../x/model.json", "/etc/passwd", "mlp/../../x", "mlp", "mlp//model.onnx", "mlp/.hidden",
                           "a b/model.json", "mlp/1/", "m\xc3\xbc/model.json"})
    EXPECT_THAT(read_model_sums(kOne + "  ok/model.json\n" + kOne + "  " + path + "\n", "sums").error().message,
                HasSubstr("sums:2: "))
        << path;
}

TEST(ModelSums, WhatIsNoHashIsRefused) {
  for (const std::string& line : {kOne.substr(1) + "  mlp/model.json", std::string(64, 'G') + "  mlp/model.json",
                                  kOne + " mlp/model.json", kOne + "\tmlp/model.json", std::string("<html>"), std::string("x")})
    EXPECT_THAT(read_model_sums(line, "sums").error().message, HasSubstr("sums:1: expected a SHA-256 and a path")) << line;
  EXPECT_THAT(read_model_sums("\n", "sums").error().message, HasSubstr("names no files"));
  EXPECT_THAT(read_model_sums(kOne + "  m/model.json\n" + kTwo + "  m/model.json\n", "sums").error().message,
              HasSubstr("sums:2: m/model.json is there twice"));
}

}  // namespace
}  // namespace stint
