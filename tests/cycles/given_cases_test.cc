// The given conformance cases by the cycle scheduler and the rules of quotas alone: the cases are read as their sources meant them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "cycles/case_engine.h"
#include "documents/sched_case.h"
#include "sim/case_cluster.h"
#include "sim/case_quota.h"
#include "testing/places.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using namespace sched;

/// Strict differences that are meant; docs/conformance.md gives the reasons.
const std::set<std::string> kMeant = {"kai-step-allocate-fractional-gpu-015", "kai-step-allocate-gpu-memory-002"};

struct Tally {
  int strict = 0;
  int ties = 0;
  int other_ties = 0;
};

std::string strict_difference(const SchedCase& c, Tally& tally) {
  if (const auto* share = std::get_if<FairShareCase>(&c.what)) return run_fair_share_case(*share);
  if (const auto* selection = std::get_if<VictimCase>(&c.what)) return difference_of(*selection, quota_victims(*selection));
  const auto& cluster = std::get<ClusterCase>(c.what);
  const CaseVerdict verdict = run_cluster_case(
      cluster, [&](const CaseSeats& seats) { return cycle_engine(cluster, seats, VictimOrder::kPriorityYoungest); }, {});
  if (verdict.has_tie_break) ++(verdict.tie_break.empty() ? tally.ties : tally.other_ties);
  return verdict.strict;
}

TEST(GivenCases, HoldByCyclesInWhatMustHoldButForThoseMeantOtherwise) {
  Tally tally;
  for (const auto& entry : fs::recursive_directory_iterator(STINT_SOURCE_DIR "/tests/cases")) {
    if (entry.path().extension() != ".json") continue;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const auto cases = read_sched_cases(text.str());
    ASSERT_TRUE(cases.ok()) << entry.path() << ": " << (cases.ok() ? "" : cases.error().message);
    for (const SchedCase& c : *cases) {
      const std::string difference = strict_difference(c, tally);
      EXPECT_EQ(difference.empty(), !kMeant.contains(c.id)) << c.id << ": " << difference;
      tally.strict += difference.empty() ? 1 : 0;
    }
  }
  EXPECT_EQ(tally.strict, 312);
  EXPECT_EQ(tally.ties, 195);
  EXPECT_EQ(tally.other_ties, 7);
}

}  // namespace
}  // namespace stint
