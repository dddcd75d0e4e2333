#include "sched/place/topology.h"

#include <gtest/gtest.h>

namespace stint::sched {
namespace {

TEST(Domains, AreNamedByAllLabelsDownToTheirLevel) {
  Domains racks({"zone", "rack"});
  racks.add_node(NodeId(0), std::vector<Label>{{"zone", "a"}, {"rack", "1"}});
  racks.add_node(NodeId(1), std::vector<Label>{{"rack", "1"}, {"zone", "b"}});
  racks.add_node(NodeId(2), std::vector<Label>{{"zone", "a"}, {"rack", "1"}, {"other", "x"}});
  ASSERT_EQ(racks.count(), 2U);
  EXPECT_EQ(racks.of(NodeId(0)), racks.of(NodeId(2)));
  EXPECT_NE(racks.of(NodeId(0)), racks.of(NodeId(1)));
  EXPECT_EQ(racks.members(0).size(), 2U);
  EXPECT_EQ(racks.members(0)[1], NodeId(2));
}

TEST(Domains, ANodeWithoutOneOfTheLabelsIsInNone) {
  Domains racks({"zone", "rack"});
  racks.add_node(NodeId(0), std::vector<Label>{{"rack", "1"}});
  EXPECT_EQ(racks.count(), 0U);
  EXPECT_EQ(racks.of(NodeId(0)), -1);
}

}  // namespace
}  // namespace stint::sched
