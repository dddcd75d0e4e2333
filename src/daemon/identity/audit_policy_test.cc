#include "daemon/identity/audit_policy.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "daemon/identity/governor.h"
#include "host/clock.h"
#include "host/scratch_dir.h"
#include "store/sqlite.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kNoon = *parse_instant("2026-11-20T12:00:00Z");

AuditEntry entry_of(std::string actor, std::string method, Instant at, int status = 200) {
  return {.at = at, .actor = std::move(actor), .method = std::move(method), .target = "/v1/jobs", .status = status};
}

TEST(ReadSampler, ABurstAndThenOneEveryMinuteHasARecordTheOthersAreCounted) {
  ReadSampler sampler;
  sampler.set(1);
  int64_t own = 0;
  for (int i = 0; i < 12'000; ++i)  // within a second: a burst of five
    own += sampler.take(entry_of("mallory", "GET", kNoon + Duration::nanoseconds(i))) ? 1 : 0;
  EXPECT_EQ(own, 5);
  EXPECT_THAT(sampler.due(kNoon + Duration::seconds(59)), IsEmpty());
  const std::vector<AuditEntry> told = sampler.due(kNoon + Duration::seconds(61));
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].actor, "mallory");
  EXPECT_THAT(told[0].detail, HasSubstr("11995 requests that changed nothing since 2026-11-20T12:00:00"));
  EXPECT_FALSE(sampler.counts());
  EXPECT_TRUE(sampler.take(entry_of("mallory", "GET", kNoon + Duration::seconds(61))));
  EXPECT_FALSE(sampler.take(entry_of("mallory", "GET", kNoon + Duration::seconds(62))));
}

/// Neither another's reads, nor one's own that were answered, hide what was refused.
TEST(ReadSampler, UsersAndRefusalsCountApart) {
  ReadSampler sampler;
  sampler.set(1);
  for (int i = 0; i < 100; ++i)
    sampler.take(entry_of("mallory", "GET", kNoon));
  EXPECT_TRUE(sampler.take(entry_of("ann", "GET", kNoon)));
  EXPECT_TRUE(sampler.take(entry_of("mallory", "GET", kNoon, 403)));
}

TEST(ReadSampler, WithoutAPolicyEachHasItsRecord) {
  ReadSampler sampler;
  sampler.set(0);
  for (int i = 0; i < 1000; ++i)
    EXPECT_TRUE(sampler.take(entry_of("ann", "GET", kNoon)));
}

/// A governor whose log has, two days ago, four reads, a change, three reads and a change; then a read of now.
class Thinned : public ::testing::Test {
 protected:
  void SetUp() override {
    start();
    const Instant then = now() - kHour * 48;
    for (const char* method : {"GET", "GET", "GET", "GET", "PUT", "GET", "GET", "GET", "POST"})
      record(entry_of("ann", method, then));
    record(entry_of("ann", "GET", now()));
  }
  void start() {
    governor_.reset();
    auto opened = Governor::open(dir_ / "govern.db", AuditHeadsOptions{.file = dir_ / "heads", .key_file = dir_ / "key"});
    CHECK(opened.ok(), "{}", opened.error().message);
    governor_ = std::move(*opened);
  }
  void record(AuditEntry entry) {
    std::promise<void> done;
    governor_->record(std::move(entry), [&](const Status&) { done.set_value(); });
    done.get_future().get();
  }
  std::vector<AuditRow> rows() {
    std::promise<std::vector<AuditRow>> done;
    governor_->read_audit(0, 1000, "", [&](Result<std::vector<AuditRow>> read) { done.set_value(*read); });
    return done.get_future().get();
  }
  void thin() {
    governor_->set_policy({.reads_per_minute = 0, .keep_reads = kHour * 24});
    for (int i = 0; i < 5000 && rows().size() == 10; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  /// As `stint audit-log verify` does.
  Status verify() {
    AuditVerifier verifier;
    HeadCheck heads(governor_->audit_heads());
    for (const AuditRow& row : rows()) {
      TRY(verifier.check(row));
      TRY(heads.record(verifier.rows(), verifier.head()));
    }
    return heads.finish(verifier.rows(), verifier.gaps());
  }
  void edit(const std::string& sql) {
    governor_.reset();
    {
      auto database = Database::open(dir_ / "govern.db", DatabaseAccess::kReadWrite);
      ASSERT_TRUE(database.ok());
      ASSERT_TRUE(database->execute(sql).ok());
    }
    start();
  }

  const ScratchDir dir_;
  std::unique_ptr<Governor> governor_;
};

TEST_F(Thinned, ReadsPastTheirTimeGoChangesStayAndTheChainHolds) {
  thin();
  std::vector<int64_t> there, gone;
  for (const AuditRow& row : rows())
    (row.record.empty() ? gone : there).push_back(row.sequence);
  EXPECT_THAT(there, ElementsAre(5, 9, 10));
  EXPECT_THAT(gone, ElementsAre(4, 8));
  const Status sound = verify();
  EXPECT_TRUE(sound.ok()) << sound.error().message;
  record(entry_of("ann", "PUT", now()));
  start();
  EXPECT_TRUE(verify().ok());
  EXPECT_EQ(governor_->audit_problem(), "");
}

TEST_F(Thinned, AChangeTakenOutAsIfItWereAReadIsFound) {
  thin();
  edit("UPDATE audit SET record = '' WHERE sequence = 5; DELETE FROM audit WHERE sequence = 4");
  EXPECT_THAT(verify().error().message, HasSubstr("audit records 1 to 5 are not there, and no signed head says"));
}

TEST_F(Thinned, AGapThatNoHeadSpeaksOfIsFound) {
  edit("UPDATE audit SET record = '' WHERE sequence = 9");
  EXPECT_THAT(verify().error().message, HasSubstr("audit records 9 to 9 are not there"));
}

TEST_F(Thinned, AnExportIsVerifiedToo) {
  thin();
  std::string previous;
  AuditVerifier verifier;
  for (const AuditRow& row : rows()) {
    const Status checked = verifier.check_line(export_line(row, previous));
    ASSERT_TRUE(checked.ok()) << checked.error().message;
    previous = row.hash;
  }
  EXPECT_EQ(verifier.rows(), 10);
  EXPECT_THAT(verifier.gaps(), ElementsAre(AuditGap{1, 4}, AuditGap{6, 8}));
}

}  // namespace
}  // namespace stint
