#include "advise/presence.h"

#include <gtest/gtest.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

/// A node with telemetry in hours 10–13 of June and bill lines as given.
struct Billed {
  TestFleet fleet;
  History history;
  Ledger ledger;

  Billed() {
    NodeFacts& node = fleet.add("node", "aws", "p3.2xlarge", WorkloadKind::kTraining, {TestFleet::Use{}});
    for (size_t h = 0; h < kJuneHours; ++h) {
      node.timeline[h] = {};
      if (h >= 10 && h < 14) node.timeline[h].seen_s = 3600;
    }
    history.nodes.emplace_back().name = "node";
    history.period = kJune;
    ledger.period = kJune;
  }
  void line(int64_t begin_hour, int64_t end_hour, const std::string& quantity, const std::string& unit) {
    BillLine l;
    l.spend = SpendKind::kCompute;
    l.charge_period = {kJune.begin + kHour * begin_hour, kJune.begin + kHour * end_hour};
    l.quantity = quantity;
    l.pricing_unit = unit;
    ledger.lines.push_back(l);
    ledger.synthesised.push_back(false);
    ledger.line_amounts.push_back(usd("1"));
    ledger.line_nodes.push_back(NodeId(0));
  }
  const NodeFacts& node() {
    add_presence(fleet.facts, NodeHours::build(history, Occupancy{}, TenantId()), ledger);
    return fleet.facts.nodes[0];
  }
};

TEST(Presence, IsWhereTheBillCharges) {
  Billed billed;
  billed.line(10, 11, "1", "Hours");
  billed.line(11, 12, "1", "Hours");
  EXPECT_DOUBLE_EQ(billed.node().hours, 2);
  EXPECT_EQ(billed.node().timeline[10].on_s, 3600);
  EXPECT_EQ(billed.node().timeline[12].on_s, 0);
}

TEST(Presence, ADaysLineOfFewerHoursFallsOnThoseWithTelemetry) {
  Billed billed;
  billed.line(0, 24, "3", "Hrs");
  const NodeFacts& node = billed.node();
  EXPECT_DOUBLE_EQ(node.hours, 3);
  EXPECT_EQ(node.timeline[10].on_s, 2700);  // three hours over the four seen
  EXPECT_EQ(node.timeline[9].on_s, 0);
}

TEST(Presence, ChargedHoursBeyondTelemetryAreSpreadOverTheRest) {
  Billed billed;
  billed.line(0, 24, "14", "Hours");
  const NodeFacts& node = billed.node();
  EXPECT_DOUBLE_EQ(node.hours, 14);
  EXPECT_EQ(node.timeline[10].on_s, 3600);
  EXPECT_EQ(node.timeline[0].on_s, 1800);  // ten hours over twenty
}

TEST(Presence, ALineInAnotherUnitCoversItsPeriod) {
  Billed billed;
  billed.line(0, 24, "86400", "Seconds");
  EXPECT_DOUBLE_EQ(billed.node().hours, 24);
}

}  // namespace
}  // namespace stint
