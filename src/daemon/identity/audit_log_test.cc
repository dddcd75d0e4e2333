#include "daemon/identity/audit_log.h"

#include <gmock/gmock.h>

#include "host/secret.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

std::vector<AuditRow> rows(int count) {
  std::vector<AuditRow> made;
  AuditRow last;
  for (int i = 0; i < count; ++i) {
    last = chain(last, {.at = Instant::from_seconds(i),
                        .actor = "ann",
                        .peer = "127.0.0.1:1",
                        .method = "POST",
                        .target = "/v1/jobs\"\\",
                        .client = "agency",
                        .status = 201,
                        .detail = "job \xff" + std::to_string(i)});
    made.push_back(last);
  }
  return made;
}

std::string verdict(const std::vector<AuditRow>& chained) {
  AuditVerifier verifier;
  for (const AuditRow& row : chained)
    if (const Status checked = verifier.check(row); !checked.ok()) return checked.error().message;
  return "";
}

TEST(AuditLog, ChainsByWhatItsHeaderSays) {
  const auto made = rows(2);
  EXPECT_EQ(made[0].hash, sha256_hex("\n" + made[0].record));
  EXPECT_EQ(made[1].hash, sha256_hex(made[0].hash + "\n" + made[1].record));
  EXPECT_THAT(made[1].record, HasSubstr(R"({"sequence":2,"at":"1970-01-01T00:00:01Z","actor":"ann",)"));
}

TEST(AuditLog, AnUntouchedLogVerifies) {
  EXPECT_EQ(verdict({}), "");
  EXPECT_EQ(verdict(rows(5)), "");
}

TEST(AuditLog, EveryKindOfTamperingIsFound) {
  const auto good = rows(5);
  auto changed = good;
  changed[2].record[20] ^= 1;
  EXPECT_THAT(verdict(changed), HasSubstr("audit record 3"));
  auto hashed_again = good;  // the record and its hash changed together: the next one tells
  hashed_again[2].record = R"({"sequence":3})";
  hashed_again[2].hash = sha256_hex(good[1].hash + "\n" + hashed_again[2].record);
  EXPECT_THAT(verdict(hashed_again), HasSubstr("audit record 4"));
  auto removed = good;
  removed.erase(removed.begin() + 1);
  EXPECT_THAT(verdict(removed), HasSubstr("record 2 is missing"));
  auto swapped = good;
  std::swap(swapped[1], swapped[2]);
  EXPECT_NE(verdict(swapped), "");
  auto doubled = good;
  doubled.insert(doubled.begin() + 1, good[1]);
  EXPECT_NE(verdict(doubled), "");
}

TEST(AuditLog, ExportedLinesVerifyToo) {
  const auto good = rows(4);
  std::vector<std::string> lines;
  std::string previous;
  for (const AuditRow& row : good) {
    lines.push_back(export_line(row, previous));
    previous = row.hash;
  }
  AuditVerifier whole;
  for (const std::string& line : lines)
    ASSERT_TRUE(whole.check_line(line).ok());
  EXPECT_EQ(whole.rows(), 4);
  EXPECT_EQ(whole.head(), good[3].hash);
  AuditVerifier gap;
  ASSERT_TRUE(gap.check_line(lines[0]).ok());
  EXPECT_THAT(gap.check_line(lines[2]).error().message, HasSubstr("audit record 2"));
  for (const char* junk :
       {"", "{}", R"({"hash":")", R"({"hash":"a","previous":"","record":)", R"({"hash":"a","previous":"","record":}})"})
    EXPECT_FALSE(AuditVerifier().check_line(junk).ok()) << junk;
}

}  // namespace
}  // namespace stint
