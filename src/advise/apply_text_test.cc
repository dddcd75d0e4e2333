#include "advise/apply_text.h"

#include <gmock/gmock.h>

#include "advise/cloud_command.h"
#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> apply_text(const Change& change, const TestFleet& fleet) {
  const PriceLookup prices(fleet.catalog, fleet.facts.currency);
  return apply_text(change, Books(fleet.facts, prices));
}

TestFleet two_machines() {
  TestFleet fleet;
  fleet.add("one", "aws", "p3.2xlarge", WorkloadKind::kTraining, {TestFleet::Use{}}).resource_id = "i-0abc";
  NodeFacts& two = fleet.add("two", "gcp", "a2-highgpu-1g", WorkloadKind::kTraining, {TestFleet::Use{}});
  two.resource_id = "//compute.googleapis.com/projects/p/zones/us-central1-a/instances/two";
  two.zone = "us-central1-a";
  return fleet;
}

TEST(ApplyText, StopsWithTheProvidersOwnCommand) {
  const TestFleet fleet = two_machines();
  EXPECT_THAT(apply_text(StopNodes{{"one", "two"}}, fleet),
              ElementsAre("aws ec2 terminate-instances --region us-east-1 --instance-ids i-0abc",
                          "gcloud compute instances delete two --zone us-central1-a"));
}

TEST(ApplyText, SchedulesOverTheEndOfTheWeek) {
  const TestFleet fleet = two_machines();
  WeekHours off;  // Sunday 22:00 – Monday 04:00 UTC
  for (const size_t h : {166U, 167U, 0U, 1U, 2U, 3U})
    off.set(h);
  EXPECT_THAT(apply_text(ScheduleOff{{"one"}, off}, fleet),
              ElementsAre(HasSubstr("crontab"), "CRON_TZ=UTC",
                          "0 22 * * 0 aws ec2 stop-instances --region us-east-1 --instance-ids i-0abc",
                          "0 4 * * 1 aws ec2 start-instances --region us-east-1 --instance-ids i-0abc"));
}

TEST(ApplyText, CutsAGpuAtThePlacementsOfThePlan) {
  const TestFleet fleet = two_machines();
  ShareGpus share{SharingMode::kMig, {"one", "two"}, {"two"}, {}};
  share.placements = {{"rank", "one", 0, "two", 0, "4g.20gb", 0, 1}, {"tag", "two", 0, "two", 0, "3g.20gb", 4, 1}};
  const auto lines = apply_text(share, fleet);
  EXPECT_THAT(lines,
              Contains("ssh two 'nvidia-smi -i 0 -mig 1 && nvidia-smi mig -i 0 -cgi 4g.20gb:0,3g.20gb:4 -C'   # rank, tag"));
  EXPECT_THAT(lines, Contains(HasSubstr("migStrategy=mixed")));
  EXPECT_THAT(lines, Contains("aws ec2 terminate-instances --region us-east-1 --instance-ids i-0abc"));
}

TEST(ApplyText, NamesFromOutsideCannotRunAsCommands) {
  EXPECT_EQ(quoted("plain-1.2"), "plain-1.2");
  EXPECT_EQ(quoted("a; rm -rf /"), "'a; rm -rf /'");
  EXPECT_EQ(quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted("two\nlines"), "'two lines'");
  EXPECT_EQ(quoted(""), "''");
}

}  // namespace
}  // namespace stint
