#include "advise/promises.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TestFleet serving() {
  TestFleet fleet;
  for (const char* name : {"search-1", "search-2", "rank-1"})
    fleet.add(name, "aws", "g6.xlarge", WorkloadKind::kRealtimeInference, {TestFleet::Use{}}).gpus[0].workload =
        std::string_view(name).starts_with("search") ? "search" : "rank";
  fleet.add("train", "aws", "p3.2xlarge", WorkloadKind::kTraining, {TestFleet::Use{}});
  return fleet;
}

TEST(Promises, ReadATimeWithItsUnit) {
  EXPECT_DOUBLE_EQ(parse_promise("80ms").value(), 80);
  EXPECT_DOUBLE_EQ(parse_promise("12.5 ms").value(), 12.5);
  EXPECT_DOUBLE_EQ(parse_promise("0.2s").value(), 200);
  for (const char* text : {"", "80", "ms", "-1ms", "0ms", "fast", "nans", "1e30s", "80%"})
    EXPECT_FALSE(parse_promise(text)) << text;
}

TEST(Promises, GoalsAreOfAllServicesOrOfOne) {
  TestFleet fleet = serving();
  add_promises(fleet.facts, parse_goals("p99:search<=80ms\np99:search<=60ms\np99<=120%\np99<=100%\ncost<=5").value());
  EXPECT_THAT(fleet.facts.promises_ms, ElementsAre(Pair("search", 60))) << "the strictest";
  EXPECT_EQ(fleet.facts.promised_pct, 100);
}

// A machine's tags speak for the services on it, whichever line of its bill bears them.
TEST(Promises, ATagOfTheBillIsOfTheServicesOnItsMachine) {
  TestFleet fleet = serving();
  Ledger ledger;
  const auto line = [&](uint32_t node, std::vector<Tag> tags) {
    BillLine bill;
    bill.tags = std::move(tags);
    ledger.lines.push_back(bill);
    ledger.line_nodes.push_back(NodeId(node));
  };
  line(0, {{"user:P99", "90ms"}, {"team", "web"}});
  line(1, {{"p99", "70ms"}});
  line(2, {{"p99", "quick"}});
  line(2, {{"p99", "quick"}});
  line(3, {{"p99", "1ms"}});
  add_promises(fleet.facts, ledger);
  EXPECT_THAT(fleet.facts.promises_ms, ElementsAre(Pair("search", 70)));
  EXPECT_THAT(fleet.facts.promise_notes, ElementsAre(HasSubstr("rank-1: p99=quick is no time such as 80ms")));
}

TEST(Promises, ALabelIsOfTheServiceThatThePodBelongsTo) {
  TestFleet fleet = serving();
  stint::Run pod;
  pod.id = "uid-1";
  pod.name = "search";
  fleet.history.runs.push_back(pod);
  pod.id = "uid-2";
  pod.name = "other";
  fleet.history.runs.push_back(pod);
  RunOwners owners;
  owners[{"uid-1", 0}] = {.run_id = "uid-1", .restart = 0, .kind = "Deployment", .labels = {{"stint/p99", "80ms"}}};
  add_promises(fleet.facts, fleet.history, owners);
  EXPECT_THAT(fleet.facts.promises_ms, ElementsAre(Pair("search", 80)));
  EXPECT_THAT(fleet.facts.promise_notes, IsEmpty());
}

}  // namespace
}  // namespace stint
