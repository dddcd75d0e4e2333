#include "codec/changes/change_json.h"

#include <gmock/gmock.h>

#include "codec/changes/change_file.h"
#include "model/testing_changes.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"n0", "n1", "weird \"name\" \\ é\n", "n3"};

TEST(ChangeJson, EveryKindReadsBackEqualAndWritesTheSameBytes) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Prng prng(seed);
    std::vector<Proposal> proposals;
    for (size_t kind = 0; kind < testing::kChangeKinds; ++kind) {
      Proposal& p = proposals.emplace_back();
      p.id = fmt::format("F-{}", kind);
      p.title = fmt::format("kind {} \x01 'x'", kind);
      p.changes = {testing::random_change(prng, kind, kNames), testing::random_change(prng, prng.below(9), kNames)};
      if (kind % 2 == 0) p.saving_per_month = Money::nanos(static_cast<int64_t>(prng.below(1'000'000'000'000'000)));
      if (kind % 4 == 0) {
        p.saving_low = Money::nanos(-5);
        p.saving_high = Money::nanos(7);
      }
    }
    const std::string bytes = write_proposals(proposals);
    const auto read = read_proposals(bytes, "changes.json");
    ASSERT_TRUE(read.ok()) << read.error().message << bytes;
    ASSERT_EQ(*read, proposals) << bytes;
    ASSERT_EQ(write_proposals(*read), bytes);
  }
}

TEST(ChangeJson, ANewerVersionIsRefused) {
  const auto read = read_proposals(R"({"schema": "stint-changes/2", "proposals": []})", "f.json");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("f.json:1: schema 'stint-changes/2' is not stint-changes/1"));
}

TEST(ChangeJson, AnAuditsFindingsCarryIdAndSaving) {
  const auto read = read_proposals(R"({"schema": "stint-audit/1", "currency": "EUR", "findings": [
    {"id": "F-1", "title": "Stop a", "saving_per_month": 12.5, "change": {"kind": "stop", "nodes": ["a"]}}]})",
                                   "audit.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->at(0).id, "F-1");
  EXPECT_EQ(read->at(0).title, "Stop a");
  EXPECT_EQ(read->at(0).saving_per_month, Money::nanos(12'500'000'000, *Currency::parse("EUR")));
}

TEST(ChangeJson, WhatUndoNeedsReadsBackEqual) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Prng prng(seed);
    FleetPlan fleet = testing::random_fleet(prng, 4);
    for (int i = 0; i < 4; ++i) {
      const auto undo = carry_out(fleet, testing::random_change(prng, prng.below(9), {"n0", "n1", "n2", "n3"}));
      if (!undo.ok()) continue;
      const std::string bytes = write_undo(*undo);
      const auto read = read_undo(bytes, "row 1");
      ASSERT_TRUE(read.ok()) << read.error().message;
      ASSERT_EQ(*read, *undo);
      ASSERT_EQ(write_undo(*read), bytes);
    }
  }
  EXPECT_FALSE(read_undo("{}", "row 1").ok());
  EXPECT_FALSE(
      read_undo(R"({"schema":"stint-undo/1","nodes":[{"name":"a","before":null,"after":null}],"limits_ms":[],"bought":[]})",
                "row 1")
          .ok());
}

TEST(ChangeJson, AFindingThatWasRunAgainHasTheIntervalOfItsProof) {
  const auto read = read_proposals(R"({"currency": "USD", "findings": [
      {"id": "F-1", "saving_per_month": 100, "change": {"kind": "stop", "nodes": ["a"]},
       "proof": {"verdict": "survives", "saving_p10": 80.5, "saving_p90": 120}},
      {"id": "F-2", "saving_per_month": 100, "change": {"kind": "stop", "nodes": ["b"]},
       "proof": {"verdict": "arithmetic", "saving_p10": null, "saving_p90": null}}]})",
                                   "audit.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 2U);
  EXPECT_EQ((*read)[0].saving_low, Money::nanos(80'500'000'000));
  EXPECT_EQ((*read)[0].saving_high, Money::units(120));
  EXPECT_FALSE((*read)[1].saving_low || (*read)[1].saving_high);
}

}  // namespace
}  // namespace stint
