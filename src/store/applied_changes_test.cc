#include <gmock/gmock.h>

#include "host/scratch_dir.h"
#include "store/history_file.h"
#include "store/schema.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Instant at(const char* text) { return parse_instant(text).value(); }

AppliedChange stop_two() {
  FleetPlan fleet;
  for (const char* name : {"a", "b"}) {
    PlannedNode& node = fleet.nodes.emplace_back();
    node.name = node.resource_id = name;
    node.market = Market::kOnDemand;
  }
  AppliedChange change;
  change.proposal = {.id = "F-1",
                     .title = "Stop 'a'",
                     .changes = {StopNodes{{"a"}}},
                     .saving_per_month = Money::nanos(1'000'000'001),
                     .saving_low = Money::units(0),
                     .saving_high = Money::units(2)};
  change.source = "audit.json";
  change.applied_at = at("2026-10-15");
  change.undo = carry_out(fleet, change.proposal.changes).value();
  change.cost = Money::units(50);
  return change;
}

void execute(const std::string& path, const std::string& sql) {
  Database database = Database::open(path, DatabaseAccess::kReadWrite).value();
  ASSERT_TRUE(database.execute(sql).ok());
}

TEST(AppliedChanges, AreKeptAsTheyWereAndEndOnce) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  AppliedChange change = stop_two();
  {
    HistoryFile file = HistoryFile::open(path, OpenMode::kCreate).value();
    EXPECT_THAT(file.applied_changes().value(), IsEmpty());
    EXPECT_EQ(file.record_change(change).value(), 1);
    EXPECT_EQ(file.record_change(change).value(), 2);
    EXPECT_FALSE(file.record_undo(2, at("2026-10-14")).ok()) << "before it was applied";
    EXPECT_TRUE(file.record_undo(2, at("2026-10-20")).ok());
    EXPECT_FALSE(file.record_undo(2, at("2026-10-21")).ok()) << "undone already";
    EXPECT_THAT(file.record_undo(9, at("2026-10-21")).error().message, HasSubstr("none of that number"));
  }
  HistoryFile file = HistoryFile::open(path, OpenMode::kReadOnly).value();
  const auto kept = file.applied_changes().value();
  ASSERT_THAT(kept, SizeIs(2));
  change.number = 1;
  EXPECT_EQ(kept[0], change);
  change.number = 2;
  change.undone_at = at("2026-10-20");
  EXPECT_EQ(kept[1], change);
  EXPECT_FALSE(file.record_change(change).ok()) << "opened for reading only";
  EXPECT_THAT(file.check().value(), IsEmpty());
}

TEST(AppliedChanges, AHistoryOfTheFirstVersionIsReadAndBroughtUpToDate) {
  const ScratchDir dir;
  const std::string path = dir / "old.db";
  (void)HistoryFile::open(path, OpenMode::kCreate).value();
  execute(
      path,
      "DROP TABLE applied_change; DROP TABLE queue_record; DROP TABLE partition_node; DROP TABLE node_absence; DROP TABLE "
      "bill_delivery; DROP INDEX bill_line_delivery; DROP TABLE exchange_rate; DROP TABLE bill_extent; DROP TABLE bill_source; "
      "DROP TABLE run_owner; DROP TABLE node_rate; DROP TABLE machine_act; "
      "UPDATE meta SET value = '1' WHERE key = 'schema_version'");
  {
    HistoryFile old = HistoryFile::open(path, OpenMode::kReadOnly).value();
    EXPECT_EQ(old.info().value().schema_version, 1);
    EXPECT_THAT(old.applied_changes().value(), IsEmpty());
    EXPECT_THAT(old.check().value(), IsEmpty());
  }
  HistoryFile file = HistoryFile::open(path, OpenMode::kReadWrite).value();
  EXPECT_EQ(file.info().value().schema_version, kSchemaVersion);
  EXPECT_EQ(file.record_change(stop_two()).value(), 1);
  EXPECT_THAT(HistoryFile::open(path, OpenMode::kReadWrite).value().applied_changes().value(), SizeIs(1));
}

TEST(AppliedChanges, ADamagedOneIsNamed) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  (void)HistoryFile::open(path, OpenMode::kCreate).value().record_change(stop_two()).value();
  execute(path, "UPDATE applied_change SET undo = '{}'");
  HistoryFile file = HistoryFile::open(path, OpenMode::kReadOnly).value();
  EXPECT_THAT(file.applied_changes().error().message, HasSubstr("applied_change 1: undo:1: 'schema' is missing"));
  EXPECT_THAT(file.check().value(), SizeIs(1));
}

}  // namespace
}  // namespace stint
