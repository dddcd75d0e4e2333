#include "daemon/identity/audit_heads.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "host/file.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Instant kNoon = *parse_instant("2026-11-20T12:00:00Z");
AuditHead head(int64_t records, char digit) { return {kNoon + kHour * records, records, std::string(64, digit)}; }

AuditHeadsOptions in(const ScratchDir& dir) { return {.file = dir / "heads.jsonl", .key_file = dir / "audit.key"}; }

TEST(AuditHeads, AreAddedAndReadAgain) {
  const ScratchDir dir;
  {
    AuditHeadsFile file = AuditHeadsFile::open(in(dir)).value();
    EXPECT_THAT(file.heads(), IsEmpty());
    ASSERT_TRUE(file.add(head(1, 'a')).ok());
    ASSERT_TRUE(file.add(head(7, 'b')).ok());
  }
  EXPECT_THAT(AuditHeadsFile::open(in(dir))->heads(), ElementsAre(head(1, 'a'), head(7, 'b')));
  struct stat facts{};
  ASSERT_EQ(::stat((dir / "audit.key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0600U);
}

TEST(AuditHeads, AChangedLineOrAnotherKeyIsRefused) {
  const std::string key(32, 'k');
  const std::string good = signed_line(head(5, 'a'), key);
  EXPECT_THAT(*read_signed_heads(good, key, "heads"), ElementsAre(head(5, 'a')));
  for (const auto& [from, to] :
       {std::pair("\"records\":5", "\"records\":4"), {"2026-11-20T17", "2026-11-20T16"}, {"aaaa", "aaab"}}) {
    std::string changed = good;
    changed.replace(changed.find(from), std::string_view(from).size(), to);
    const auto read = read_signed_heads(good + changed, key, "heads");
    ASSERT_FALSE(read.ok()) << changed;
    EXPECT_THAT(read.error().message, HasSubstr("heads:2: "));
  }
  EXPECT_THAT(read_signed_heads(good, std::string(32, 'x'), "heads").error().message, HasSubstr("not signed with this key"));
  for (const std::string text : {"\n", "[]\n", "{\"records\":1}\n", "{\"at\":7,\"records\":1,\"head\":\"\"}\n", "\xff\n"})
    EXPECT_FALSE(read_signed_heads(text, key, "heads").ok()) << text;
  EXPECT_THAT(*read_signed_heads(good + "{\"at\":\"20", key, "heads"), ElementsAre(head(5, 'a'))) << "a crash in the last line";
}

TEST(AuditHeads, WhatACrashLeftIsTakenOff) {
  const ScratchDir dir;
  ASSERT_TRUE(AuditHeadsFile::open(in(dir))->add(head(1, 'a')).ok());
  std::ofstream(dir / "heads.jsonl", std::ios::app) << "{\"at\":\"2026";
  AuditHeadsFile file = AuditHeadsFile::open(in(dir)).value();
  ASSERT_TRUE(file.add(head(2, 'b')).ok());
  EXPECT_THAT(AuditHeadsFile::open(in(dir))->heads(), ElementsAre(head(1, 'a'), head(2, 'b')));
}

TEST(AuditHeads, WithoutTheirKeyTheyAreNoUse) {
  const ScratchDir dir;
  ASSERT_TRUE(AuditHeadsFile::open(in(dir))->add(head(1, 'a')).ok());
  std::filesystem::remove(dir / "audit.key");
  const auto opened = AuditHeadsFile::open(in(dir));
  ASSERT_FALSE(opened.ok());
  EXPECT_THAT(opened.error().message, HasSubstr("bring it back"));
  std::ofstream(dir / "audit.key") << "short\n";
  ::chmod((dir / "audit.key").c_str(), 0600);
  EXPECT_THAT(AuditHeadsFile::open(in(dir)).error().message, HasSubstr("64 hexadecimal digits"));
}

TEST(AuditHeads, AChainIsHeldToThem) {
  const auto check = [](std::vector<AuditHead> heads, const std::vector<std::string>& chain) -> Status {
    HeadCheck held(std::move(heads));
    for (size_t i = 0; i < chain.size(); ++i)
      TRY(held.record(static_cast<int64_t>(i) + 1, chain[i]));
    return held.finish(static_cast<int64_t>(chain.size()), {});
  };
  const std::string a(64, 'a'), b(64, 'b'), c(64, 'c');
  EXPECT_TRUE(check({}, {a}).ok());
  EXPECT_TRUE(check({head(1, 'a'), head(3, 'c')}, {a, b, c}).ok());
  EXPECT_TRUE(check({head(1, 'a'), head(1, 'a')}, {a, b}).ok());
  EXPECT_THAT(check({head(2, 'b')}, {a, c, b}).error().message, HasSubstr("audit record 2 is not the one"));
  EXPECT_THAT(check({head(1, 'a'), head(3, 'c')}, {a, b}).error().message,
              HasSubstr("2 records are there, and on 2026-11-20T15:00"));
}

}  // namespace
}  // namespace stint
