#include "clouds/gcs_answers.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(GcsAnswers, AListing) {
  const auto listing = parse_gcs_listing(R"({"kind":"storage#objects","nextPageToken":"more","items":[
    {"name":"a/b c","size":"12","generation":"1690000000000001","updated":"2026-11-01T10:00:00.123Z","md5Hash":"XrY7u+Ae7tCTyyK7j1rNww==",
     "metadata":{"stint-sha256":"abc"}},
    {"name":"joined","size":"5","generation":"2","updated":"2026-11-01T10:00:00Z"}]})");
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), 2U);
  EXPECT_EQ(listing->objects[0].info.key, "a/b c");
  EXPECT_EQ(listing->objects[0].info.size, 12);
  EXPECT_EQ(listing->objects[0].info.sha256, "abc");
  EXPECT_EQ(listing->objects[0].info.tag, "1690000000000001");
  EXPECT_EQ(listing->objects[0].md5, "XrY7u+Ae7tCTyyK7j1rNww==");
  EXPECT_EQ(listing->objects[1].md5, "") << "composed";
  EXPECT_EQ(listing->next, "more");
  EXPECT_TRUE(parse_gcs_listing("{}")->objects.empty());
}

TEST(GcsAnswers, WhatIsNone) {
  for (const char* text :
       {"", "[]", R"({"items":[7]})", R"({"items":[{"name":"a"}]})", R"({"items":[{"name":"a","size":"-1"}]})"})
    EXPECT_FALSE(parse_gcs_listing(text).ok()) << text;
  EXPECT_FALSE(parse_gcs_object("<html>").ok());
}

TEST(GcsAnswers, Errors) {
  const CloudFault fault = parse_gcs_error(
      412,
      R"({"error":{"code":412,"message":"At least one condition did not hold.","errors":[{"domain":"global","reason":"conditionNotMet"}]}})");
  EXPECT_EQ(fault.failure, CloudFailure::kConflict);
  EXPECT_EQ(fault.code, "conditionNotMet");
  EXPECT_EQ(parse_gcs_error(503, "<html>").failure, CloudFailure::kServer);
  EXPECT_EQ(parse_gcs_error(401, R"({"error":"text"})").failure, CloudFailure::kCredential);
  EXPECT_EQ(parse_gcs_error(404, R"({"error":{"errors":[]}})").message, "HTTP 404");
}

}  // namespace
}  // namespace stint
