#include "backends/supervise/copy_record.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using ::testing::HasSubstr;

CopyRecord example() {
  CopyRecord r;
  r.number = 12;
  r.kind = CopyRecord::Kind::kCheckpoint;
  r.writer = "0123456789ab";
  r.run = "00ff";
  r.host = "node-1";
  r.at = Instant::from_ns(1'700'000'000'123'456'789);
  r.name = "step-7";
  r.data = "data/0123456789ab-aa/";
  r.is_folder = true;
  const std::string sha(64, 'a');
  r.files.push_back({.file = {.name = "step-7/model.bin", .size = Bytes::of(5), .modified = r.at}, .sha256 = sha, .mode = 0640});
  r.digest = digest_of_hashes({{"step-7/model.bin", sha}});
  r.state = "{}";
  return r;
}

/// The example with one thing changed.
Result<CopyRecord> with(const std::string& pointer, const nlohmann::json& value) {
  auto json = nlohmann::json::parse(to_json(example()));
  json[nlohmann::json::json_pointer(pointer)] = value;
  return parse_copy_record(json.dump(), "here");
}

TEST(CopyRecord, IsReadBackAsItWasWritten) {
  const auto again = parse_copy_record(to_json(example()), "here");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(*again, example());
  EXPECT_EQ(again->checkpoint().size.count(), 5);
}

TEST(CopyRecord, KeysAreNumbersInOrder) {
  EXPECT_EQ(key_of_record(12), "log/0000000012.json");
  EXPECT_EQ(number_of_record("log/0000000012.json"), 12);
  for (const char* other :
       {"log/12.json", "log/000000001x.json", "log/0000000012.txt", "data/0000000012.json", "log/", "log/-000000012.json"})
    EXPECT_EQ(number_of_record(other), 0) << other;
}

TEST(CopyRecord, NamesThatLeadOutOfTheFolderAreRefused) {
  for (const char* name : {"../step-7", "a/b", ".hidden", "", "..", "x.tmp"})
    EXPECT_FALSE(with("/checkpoint/name", name).ok()) << name;
  for (const char* name : {"step-7/../../etc/passwd", "/etc/passwd", "step-8/model.bin", "step-7//x", "step-7/", "step-7/./x"})
    EXPECT_FALSE(with("/checkpoint/files/0/name", name).ok()) << name;
  for (const char* data : {"data/../x/", "log/", "data/x", "/data/x/", "data//"})
    EXPECT_FALSE(with("/checkpoint/data", data).ok()) << data;
}

TEST(CopyRecord, WhatMakesNoSenseIsNamed) {
  EXPECT_THAT(with("/checkpoint/files/0/size", -1).error().message, HasSubstr("here: size or sha256 of 'step-7/model.bin'"));
  EXPECT_THAT(with("/checkpoint/files/0/sha256", std::string(64, 'b')).error().message, HasSubstr("not that of its files"));
  EXPECT_THAT(with("/version", 2).error().message, HasSubstr("another release"));
  EXPECT_THAT(with("/kind", "x").error().message, HasSubstr("kind 'x'"));
  EXPECT_FALSE(with("/number", 0).ok());
  EXPECT_FALSE(parse_copy_record("{", "here").ok());
}

}  // namespace
}  // namespace stint
