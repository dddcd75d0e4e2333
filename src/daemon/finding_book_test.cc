#include "daemon/finding_book.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr Instant kAt = Instant::from_seconds(1'800'000'000);
constexpr const char* kAudit = R"({"schema":"stint-audit/1","findings":[{"id":"F-00000001","title":"Stop it"}]})";

std::unique_ptr<FindingBook> book_in(const ScratchDir& dir) {
  auto book = FindingBook::open(dir / ".");
  CHECK(book.ok(), "{}", book.error().message);
  return std::move(*book);
}

TEST(FindingBook, ShowsTheAuditThatWasPutThereLast) {
  const ScratchDir dir;
  const auto book = book_in(dir);
  EXPECT_EQ(*book->audit(), nullptr);
  ASSERT_TRUE(book->put_audit(kAudit).ok());
  EXPECT_THAT((*book->audit())->titles, ElementsAre(Pair("F-00000001", "Stop it")));
  // By somebody else, while the daemon runs.
  put_file(dir / "audit.json", R"({"schema":"stint-audit/1","findings":[]})");
  EXPECT_TRUE((*book->audit())->titles.empty());
}

TEST(FindingBook, ReadsRecentUnusualDaysAndTheOldestPrice) {
  const ScratchDir dir;
  const auto book = book_in(dir);
  const auto day = [](const char* client, bool idle, double deviations, bool recent) {
    return fmt::format(R"({{"client":"{}","idle":{},"provider":"aws","service":"EC2","deviations":{},"recent":{}}})", client,
                       idle, deviations, recent);
  };
  ASSERT_TRUE(book->put_audit(fmt::format(R"({{"schema":"stint-audit/1","findings":[],"anomalies":{{"found":[{},{},{},{},{}]}},)"
                                          R"("prices":[{{"as_of":"2026-07-07"}},{{"as_of":"2025-01-01"}}]}})",
                                          day("red", false, 4, true), day("red", false, -9.5, true),
                                          day("blue", false, 20, false), day("", true, 5, true), day("", false, 6, true)))
                  .ok());
  const auto audit = *book->audit();
  EXPECT_THAT(audit->unusual,
              ElementsAre(UnusualSpend{"", "idle, of no client: aws EC2", 5}, UnusualSpend{"", "not attributed: aws EC2", 6},
                          UnusualSpend{"red", "red: aws EC2", -9.5}));
  EXPECT_EQ(audit->oldest_price, parse_instant("2025-01-01").value());
  // One of before says nothing of either.
  ASSERT_TRUE(book->put_audit(kAudit).ok());
  EXPECT_THAT((*book->audit())->unusual, ElementsAre());
  EXPECT_EQ((*book->audit())->oldest_price, std::nullopt);
}

TEST(FindingBook, TakesNothingThatIsNoAudit) {
  const ScratchDir dir;
  const auto book = book_in(dir);
  for (const char* bad : {"", "x", "[]", "{}", R"({"schema":"stint-audit/2","findings":[]})", R"({"schema":"stint-audit/1"})",
                          R"({"schema":"stint-audit/1","findings":[{"id":"F-1"}]})", R"({"schema":1,"findings":[]})"}) {
    const Status put = book->put_audit(bad);
    ASSERT_FALSE(put.ok()) << bad;
    put_file(dir / "audit.json", bad);
    EXPECT_FALSE(book->audit().ok()) << bad;
  }
}

TEST(FindingBook, DecisionsOutliveTheDaemonAndTheAudit) {
  const ScratchDir dir;
  {
    const auto book = book_in(dir);
    ASSERT_TRUE(book->decide("F-1", {Decision::kApproved, "ada", kAt, "from Monday on", "Stop it"}).ok());
    ASSERT_TRUE(book->decide("F-2", {Decision::kDismissed, "bob", kAt, "", "Share it"}).ok());
    ASSERT_TRUE(book->decide("F-3", {Decision::kApproved, "bob", kAt, "", "Move it"}).ok());
    ASSERT_TRUE(book->decide("F-3", {Decision::kOpen, "bob", kAt, "", ""}).ok());
  }
  const auto decisions = book_in(dir)->decisions();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions.at("F-1").decision, Decision::kApproved);
  EXPECT_EQ(decisions.at("F-1").by, "ada");
  EXPECT_EQ(decisions.at("F-1").at, kAt);
  EXPECT_EQ(decisions.at("F-1").note, "from Monday on");
  EXPECT_EQ(decisions.at("F-2").decision, Decision::kDismissed);
}

TEST(FindingBook, SaysWhatIsWrongWithItsFile) {
  const ScratchDir dir;
  for (const char* bad : {"x", "[]", R"({"F-1":7})", R"({"F-1":{"decision":"perhaps","at":"2026-10-01T00:00:00Z"}})",
                          R"({"F-1":{"decision":"approved","at":"soon"}})"}) {
    put_file(dir / "decisions.json", bad);
    const auto book = FindingBook::open(dir / ".");
    ASSERT_FALSE(book.ok()) << bad;
    EXPECT_THAT(book.error().message, HasSubstr("decisions.json"));
  }
}

}  // namespace
}  // namespace stint
