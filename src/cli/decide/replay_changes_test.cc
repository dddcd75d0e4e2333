#include "cli/decide/replay_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/changes/change_file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "report/change_json.h"

namespace stint {
namespace {

using testing::HasSubstr;

/// One of every kind, nothing left at its default.
std::vector<Change> every_kind() {
  WeekHours nights;
  nights.set(3).set(150);
  return {StopNodes{{"a", "b"}},
          ScheduleOff{{"a"}, nights},
          ResizeNodes{{"a"}, "p4d.24xlarge", "us-east-1", 3},
          ShareGpus{SharingMode::kMig, {"a", "b"}, {"a"}, {{"search", "b", 1, "a", 2, "2g.10gb", 4, kWholeDevice / 4}}},
          SwitchMarket{{"a"}, Market::kSpot},
          Commit{"aws", "us-east-1", "p4d.24xlarge", 2, CommitmentTerm::kThreeYears, PaymentOption::kAllUpfront, {"a", "b"}},
          LimitReservation{"nightly", {"a"}, Duration::hours(12), Duration::hours(8)},
          MoveOffGpu{{"a"}, "c5.xlarge"},
          MoveRegion{{"a"}, "us-east-2"},
          SavingsPlan{"aws",
                      Money::parse("12.345").value(),
                      CommitmentTerm::kThreeYears,
                      PaymentOption::kAllUpfront,
                      {{"us-east-1", "p4d.24xlarge", Money::units(14)}, {"", "g5.xlarge", Money::parse("0.7").value()}},
                      {"a"}}};
}

TEST(ReplayChanges, WhatAnAuditWritesIsReadBackWhole) {
  const std::vector<Change> changes = every_kind();
  ASSERT_EQ(changes.size(), std::variant_size_v<Change>);
  nlohmann::ordered_json report = {{"findings", nlohmann::ordered_json::array()}};
  for (const Change& change : changes)
    report["findings"].push_back({{"title", kind_of(change)}, {"change", to_json(change)}});
  const auto lists = read_changes(report.dump(2), "audit.json");
  ASSERT_TRUE(lists.ok()) << lists.error().message;
  ASSERT_EQ(lists->size(), changes.size());
  for (size_t i = 0; i < changes.size(); ++i) {
    EXPECT_EQ((*lists)[i].name, kind_of(changes[i]));
    EXPECT_EQ((*lists)[i].changes.at(0), changes[i]);
  }
}

class ReplayChangeFiles : public testing::Test {
 protected:
  ReplayChangeFiles() { put_file(path_, "stop:a\nstop:b\nstop:c; stop:d\n"); }

  ScratchDir scratch_;
  std::string path_ = scratch_ / "changes.txt";
};

TEST_F(ReplayChangeFiles, AFileIsOneColumnAChangeOrOneOfThemOrAllTogether) {
  const auto lists = read_change_options({"stop:x", path_, path_ + "#2", path_ + "#all"});
  ASSERT_TRUE(lists.ok()) << lists.error().message;
  ASSERT_EQ(lists->size(), 6U);
  EXPECT_EQ((*lists)[0].name, "stop:x");
  EXPECT_EQ((*lists)[3].changes.size(), 2U);
  EXPECT_EQ((*lists)[4].name, "stop:b");
  EXPECT_EQ((*lists)[5].changes.size(), 4U);
}

TEST_F(ReplayChangeFiles, WhatIsNeitherAChangeNorAFileIsSaid) {
  EXPECT_THAT(read_change_options({"halt:a"}).error().message, HasSubstr("neither a change"));
  EXPECT_THAT(read_change_options({path_ + "#4"}).error().message, HasSubstr("it holds 3"));
  EXPECT_THAT(read_change_options({path_ + "#x"}).error().message, HasSubstr("#all"));
}

}  // namespace
}  // namespace stint
