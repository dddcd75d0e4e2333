#include "advise/apply/apply_text.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <set>

#include "advise/testing_fleet.h"
#include "base/quoting.h"
#include "model/testing_changes.h"

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

// Two changes of one machine: whichever comes first, no clock stops the machine that was given back.
TEST(ApplyText, TheClockGoesOnWithTheMachineThatTakesThePlace) {
  WeekHours off;
  for (size_t h = 0; h < 6; ++h)
    off.set(h);
  FleetPlan fleet;
  fleet.nodes.push_back({.name = "one",
                         .resource_id = "i-0abc",
                         .provider = "aws",
                         .region = "us-east-1",
                         .zone = "",
                         .instance_type = "p3.2xlarge",
                         .market = Market::kOnDemand,
                         .gpu_model = "",
                         .gpu_count = 1,
                         .off = {},
                         .sharing = {}});
  const Change to_spot = SwitchMarket{{"one"}, Market::kSpot};
  const Change by_clock = ScheduleOff{{"one"}, off};
  const auto lines_of = [](const Change& change, const FleetPlan& before) {
    std::vector<std::string> lines;
    const std::vector<Instruction> all = instructions(change, before).value();
    for (const Instruction& i : all)
      if (i.syntax == Syntax::kShell || i.syntax == Syntax::kCrontab) lines.insert(lines.end(), i.lines.begin(), i.lines.end());
    return lines;
  };
  constexpr std::string_view kStop =
      "FLEET, the id of that of one: aws ec2 modify-fleet --region us-east-1 --fleet-id FLEET --target-capacity-specification "
      "TotalTargetCapacity=0";
  FleetPlan spot_first = fleet;
  const FleetUndo undo_spot = carry_out(spot_first, to_spot).value();
  EXPECT_THAT(lines_of(by_clock, spot_first), Contains(HasSubstr(kStop)));
  for (const std::string& line : lines_of(by_clock, spot_first))
    EXPECT_EQ(line.find("i-0abc"), std::string::npos) << line;
  FleetPlan clock_first = fleet;
  ASSERT_TRUE(carry_out(clock_first, by_clock).ok());
  EXPECT_THAT(lines_of(to_spot, clock_first), Contains(HasSubstr(kStop)));
  ASSERT_TRUE(undo(spot_first, undo_spot).ok());
  EXPECT_EQ(spot_first, fleet);
}

TEST(ApplyText, CutsAGpuAtThePlacementsOfThePlan) {
  const TestFleet fleet = two_machines();
  ShareGpus share{SharingMode::kMig, {"one", "two"}, {"two"}, {}};
  share.placements = {{"rank", "one", 0, "two", 0, "4g.20gb", 0, 1}, {"tag", "two", 0, "two", 0, "3g.20gb", 4, 1}};
  const auto lines = apply_text(share, fleet);
  EXPECT_THAT(lines,
              Contains("ssh two 'nvidia-smi -i 0 -mig 1 && nvidia-smi mig -i 0 -cgi 4g.20gb:0,3g.20gb:4 -C'   # rank, tag"));
  EXPECT_THAT(lines, Contains(HasSubstr("migStrategy: mixed")));
  EXPECT_THAT(
      lines,
      Contains("# when the work runs on its new place: aws ec2 terminate-instances --region us-east-1 --instance-ids i-0abc"));
}

/// What a fragment must be whatever its names are: quotes closed, brackets in pairs, comments to the end of the line.
bool is_balanced(const std::vector<std::string>& lines) {
  std::string open;
  for (const std::string& line : lines) {
    bool text = false;
    for (size_t i = 0; i < line.size(); ++i) {
      const char c = line[i];
      if (text) {
        if (c == '\\') ++i;
        if (c == '"') text = false;
        if (c == '{' && i > 0 && (line[i - 1] == '$' || line[i - 1] == '%') && (i < 2 || line[i - 2] != line[i - 1]))
          return false;
        continue;
      }
      if (c == '#') break;
      if (c == '"') text = true;
      if (c == '{' || c == '[' || c == '(') open += c;
      if (c == '}' || c == ']' || c == ')') {
        if (open.empty() || std::abs(c - open.back()) > 2) return false;
        open.pop_back();
      }
    }
    if (text) return false;
  }
  return open.empty();
}

/// A word in capitals that only the reader knows what to put for; none in what may be run as it is.
std::string to_be_filled_in(const std::string& line) {
  static const std::set<std::string_view> kWords = {"TEMPLATE", "ZONE",         "GROUP",       "IMAGE",  "OFFERING", "FLEET",
                                                    "JOB",      "START",        "VCPUS",       "GPUS",   "GPU_TYPE", "CPU_TYPE",
                                                    "ROLE_ARN", "SUBSCRIPTION", "AMOUNT",      "PRICES", "TOKEN",    "CPUS",
                                                    "MIB",      "INSTANCE",     "RESERVATION", "PLAN",   "PROFILE",  "ID"};
  if (line.find_first_not_of(' ') == line.find('#')) return "";
  std::string word;
  for (const char c : line + " ") {
    if ((c >= 'A' && c <= 'Z') || c == '_') {
      word += c;
      continue;
    }
    if (kWords.contains(word)) return word;
    word.clear();
  }
  return "";
}

/// A fleet of every provider, with names that try to be commands, templates and new lines.
FleetPlan hostile_fleet() {
  FleetPlan fleet;
  const std::vector<std::string> names = {"a'; reboot #",   "b\"}\n}",       "-oProxyCommand=x",
                                          "${file(\"x\")}", "e\nNodeName=z", "plain"};
  const std::vector<std::string> providers = {"aws", "gcp", "azure", "", "aws", "gcp"};
  for (size_t i = 0; i < names.size(); ++i)
    fleet.nodes.push_back({.name = names[i],
                           .resource_id = names[i],
                           .provider = providers[i],
                           .region = "us-east-1",
                           .zone = i == 1 ? "us-east-1-a" : "",
                           .instance_type = "p4d.24xlarge",
                           .market = i % 2 == 0 ? Market::kOnDemand : Market::kSpot,
                           .gpu_model = "A100-40GB",
                           .gpu_count = 8,
                           .off = {},
                           .sharing = {}});
  std::ranges::sort(fleet.nodes, {}, &PlannedNode::name);
  return fleet;
}

TEST(Instructions, StayWithinTheirSyntaxWhateverTheNames) {
  const FleetPlan fleet = hostile_fleet();
  std::vector<std::string> names;
  for (const PlannedNode& node : fleet.nodes)
    names.push_back(node.name);
  for (uint64_t seed = 1; seed <= 40; ++seed)
    for (size_t kind = 0; kind < testing::kChangeKinds; ++kind) {
      SCOPED_TRACE(fmt::format("seed {} kind {}", seed, kind));
      Prng prng(seed);
      const Change change = testing::random_change(prng, kind, names);
      FleetPlan after = fleet;
      const auto undo = carry_out(after, change);
      auto all = instructions(change, fleet);
      ASSERT_TRUE(all.ok()) << all.error().message;
      ASSERT_FALSE(all->empty());
      if (undo.ok())
        for (Instruction& i : undo_instructions(*undo))
          all->push_back(std::move(i));
      for (const Instruction& i : *all) {
        EXPECT_FALSE(i.lines.empty()) << i.tool;
        for (const std::string& line : i.lines) {
          EXPECT_EQ(line.find('\n'), std::string::npos) << line;
          EXPECT_EQ(to_be_filled_in(line), "") << line;
        }
        EXPECT_TRUE(i.syntax != Syntax::kTerraform || is_balanced(i.lines)) << fmt::format("{}", fmt::join(i.lines, "\n"));
      }
    }
}

// A file of commands that is run from top to bottom ends no machine before its work has gone elsewhere.
TEST(Instructions, NothingEndsAMachineThatItsWorkHasNotLeft) {
  const FleetPlan fleet = hostile_fleet();
  const std::vector<Change> moves = {SwitchMarket{{"plain"}, Market::kSpot}, MoveRegion{{"plain"}, "us-west1"},
                                     MoveOffGpu{{"plain"}, "n2-standard-8"}};
  for (const Change& change : moves) {
    const Instruction machines = instructions(change, fleet)->front();
    EXPECT_THAT(machines.lines, Contains(HasSubstr("there: ")));
    for (const std::string& line : machines.lines)
      EXPECT_TRUE(line.starts_with("#") || line.find("delete") == std::string::npos) << line;
  }
}

TEST(Instructions, EveryToolOfASwitchToSpot) {
  const FleetPlan plan = [] {
    FleetPlan out;
    out.nodes.push_back({.name = "one",
                         .resource_id = "i-0abc",
                         .provider = "aws",
                         .region = "us-east-1",
                         .zone = "",
                         .instance_type = "p3.2xlarge",
                         .market = Market::kOnDemand,
                         .gpu_model = "V100-16GB",
                         .gpu_count = 1,
                         .off = {},
                         .sharing = {}});
    return out;
  }();
  const auto all = instructions(SwitchMarket{{"one"}, Market::kSpot}, plan).value();
  const auto lines_of = [&](std::string_view tool) {
    std::vector<std::string> lines;
    for (const Instruction& i : all)
      if (i.tool.starts_with(tool)) lines.insert(lines.end(), i.lines.begin(), i.lines.end());
    return lines;
  };
  EXPECT_THAT(lines_of("AWS"), Contains(HasSubstr("DefaultTargetCapacityType=spot")));
  EXPECT_THAT(lines_of("Kubernetes"), Contains("  eks.amazonaws.com/capacityType: \"SPOT\""));
  EXPECT_THAT(lines_of("Slurm"), Contains("scontrol update NodeName=one AvailableFeatures=spot ActiveFeatures=spot"));
  EXPECT_THAT(lines_of("Terraform"), Contains("    market_type = \"spot\""));
  EXPECT_FALSE(instructions(StopNodes{{"two"}}, plan).ok()) << "not in the fleet";
}

// A 2-GPU machine of Google's: 24 vCPUs and 170 GiB in the catalogue, three of them.
TEST(Instructions, ACommitmentNamesAllThatIsCommittedTo) {
  const Commit commit{.provider = "gcp", .region = "us-central1", .instance_type = "a2-highgpu-2g", .count = 3, .nodes = {}};
  const auto all = instructions(commit, hostile_fleet()).value();
  const auto has = [&all](std::string_view text) {
    return std::ranges::any_of(all, [text](const Instruction& i) {
      return fmt::format("{}", fmt::join(i.lines, "\n")).find(text) != std::string::npos;
    });
  };
  EXPECT_TRUE(has("--resources vcpu=72,memory=510GB --resources-accelerator count=6,type=nvidia-tesla-a100"));
  EXPECT_TRUE(has("    amount = \"522240\"  # MB"));
}

// Names alone: nothing that a cloud would take.
TEST(Instructions, AMachineWithoutItsIdIsAComment) {
  const FleetPlan fleet = hostile_fleet();
  EXPECT_EQ(instructions(StopNodes{{"-oProxyCommand=x"}}, fleet)->front().lines.front(),
            "# fill in GROUP, its resource group: az vm delete --yes --resource-group GROUP --name -oProxyCommand=x");
  EXPECT_THAT(instructions(StopNodes{{"a'; reboot #"}}, fleet)->front().lines.front(),
              HasSubstr("# fill in INSTANCE, the id of "));
}

TEST(Instructions, TheWayBackStartsWhatWasGivenBack) {
  FleetPlan fleet = hostile_fleet();
  const auto undo = carry_out(fleet, Change(StopNodes{{"plain"}})).value();
  const auto back = undo_instructions(undo);
  EXPECT_THAT(back.at(0).lines.at(0), HasSubstr("gcloud compute instances create plain"));
  ShareGpus share{SharingMode::kMig, {"plain"}, {"plain"}, {{"w", "plain", 0, "plain", 2, "3g.20gb", 0, 1}}};
  fleet = hostile_fleet();
  const auto uncut = undo_instructions(carry_out(fleet, Change(share)).value());
  EXPECT_EQ(uncut.at(0).lines.at(0),
            "ssh plain 'nvidia-smi mig -i 2 -dci && nvidia-smi mig -i 2 -dgi && nvidia-smi -i 2 -mig 0'");
}

TEST(ApplyText, NamesFromOutsideCannotRunAsCommands) {
  EXPECT_EQ(shell_quoted("plain-1.2"), "plain-1.2");
  EXPECT_EQ(shell_quoted("a; rm -rf /"), "'a; rm -rf /'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted("two\nlines"), "'two lines'");
  EXPECT_EQ(shell_quoted(""), "''");
}

}  // namespace
}  // namespace stint
