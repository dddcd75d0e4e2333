#include "daemon/power/off_machines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Instant at(int64_t minutes) { return Instant::from_seconds(minutes * 60); }

TEST(OffMachines, TellWhenTheyWereOff) {
  OffMachines off;
  off.put({"a", "b"}, at(10));
  off.put({"a"}, at(20));
  off.put({"a", "b"}, at(30));
  EXPECT_THAT(off.absences("a", at(40)), ElementsAre(Interval{at(10), at(40)}));
  EXPECT_THAT(off.absences("b", at(40)), ElementsAre(Interval{at(10), at(20)}, Interval{at(30), at(40)}));
  EXPECT_THAT(off.absences("c", at(40)), IsEmpty());
  off.put({"b"}, at(20 + 24 * 60 + 1));
  EXPECT_THAT(off.absences("b", at(24 * 60 + 30)), ElementsAre(Interval{at(30), at(24 * 60 + 30)})) << "a day later";
}

TEST(OffMachines, OnlyWhatIsDrainedIsShownAsOff) {
  OffMachines off;
  off.put({"a", "b"}, at(10));
  std::vector<NodeView> nodes(3);
  nodes[0] = {.name = "a", .state = NodeState::kDrained};
  nodes[1] = {.name = "b", .state = NodeState::kUp};
  nodes[2] = {.name = "c", .state = NodeState::kDrained};
  off.mark(nodes);
  EXPECT_EQ(nodes[0].state, NodeState::kOff);
  EXPECT_EQ(nodes[1].state, NodeState::kUp) << "somebody wants it: it is on its way";
  EXPECT_EQ(nodes[2].state, NodeState::kDrained);
}

}  // namespace
}  // namespace stint
