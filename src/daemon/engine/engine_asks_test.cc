// Where a job's tasks stand: neighbours, racks, models, parts of GPUs; and stages whose result is there.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "daemon/api/job_groups.h"
#include "daemon/testing_daemon.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

/// Two racks of two zones with two machines each, "n0" … "n3"; the last is of another model.
FleetConfig racks() {
  nlohmann::json json = nlohmann::json::parse(to_json(testing_fleet(4)));
  for (size_t n = 0; n < 4; ++n) {
    json["nodes"][n]["labels"] = {{"rack", n < 2 ? "r0" : "r1"}};
    json["nodes"][n]["zone"] = n < 2 ? "a" : "b";
  }
  json["nodes"][3]["gpu_model"] = "H100-80GB";
  json["topology"] = {"zone", "rack"};
  auto fleet = parse_fleet_config(json.dump(), "racks");
  CHECK(fleet.ok(), "{}", fleet.error().message);
  return *fleet;
}

std::vector<std::string> nodes_of(const JobView& job) {
  std::vector<std::string> nodes;
  for (const TaskView& task : job.placed)
    nodes.push_back(task.node);
  return nodes;
}

JobRequest gang(int tasks, std::string required, std::string preferred = "") {
  JobRequest job = testing_job(8, Duration::hours(1));
  job.tasks = tasks;
  job.required_topology = std::move(required);
  job.preferred_topology = std::move(preferred);
  return job;
}

JobRequest pinned(std::string machine) {
  JobRequest job = testing_job(8, Duration::hours(1));
  job.machines = {std::move(machine)};
  return job;
}

TEST(EngineAsks, AGangThatRequiresARackWaitsForOne) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  daemon.submit(pinned("n0"));
  daemon.submit(pinned("n2"));
  const int64_t loose = daemon.submit(gang(2, "", "rack"));
  EXPECT_THAT(nodes_of(daemon.job(loose)), UnorderedElementsAre("n1", "n3")) << "a wish, as no rack is free";
  const int64_t strict = daemon.submit(gang(2, "rack"));
  EXPECT_EQ(daemon.job(strict).state, JobState::kWaiting);
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(strict).state, JobState::kSucceeded);
  EXPECT_THAT(std::set<std::string>({daemon.job(strict).ends[0].node, daemon.job(strict).ends[1].node}),
              testing::AnyOf(std::set<std::string>({"n0", "n1"}), std::set<std::string>({"n2", "n3"})));
}

TEST(EngineAsks, AGangOfOneModelIsNotMixed) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  daemon.submit(pinned("n0"));
  daemon.submit(pinned("n1"));
  const int64_t one_model = daemon.submit(gang(2, "gpu_model"));
  EXPECT_EQ(daemon.job(one_model).state, JobState::kWaiting) << "an A100 machine and an H100 machine are free";
  JobRequest any = gang(2, "");
  EXPECT_EQ(daemon.job(daemon.submit(any)).state, JobState::kRunning);
}

TEST(EngineAsks, ALabelThatNoMachineHasIsRefused) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  const auto refused = daemon.engine().stage_submit(gang(2, "rakc"), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message,
              HasSubstr("field 'required_topology': no machine has a label 'rakc'; did you mean 'rack'?"));
  JobRequest beside = testing_job(1, Duration::hours(1));
  beside.affinity = {"app=cache@rwo"};
  EXPECT_FALSE(daemon.engine().stage_submit(beside, {}).ok());
  beside.affinity = {"app=cache"};
  EXPECT_TRUE(daemon.engine().stage_submit(beside, {}).ok());
}

JobRequest labelled_job(std::string app, std::vector<std::string> near, std::vector<std::string> apart,
                        std::string queue = "acme/vision") {
  JobRequest job = testing_job(1, Duration::hours(1), std::move(queue));
  if (!app.empty()) job.labels = {{"app", std::move(app)}};
  job.affinity = std::move(near);
  job.anti_affinity = std::move(apart);
  return job;
}

TEST(EngineAsks, NeighboursAreWaitedForAndKeptOff) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  const int64_t follower = daemon.submit(labelled_job("", {"app=cache@rack"}, {}));
  EXPECT_EQ(daemon.job(follower).state, JobState::kWaiting);
  JobRequest cache = labelled_job("cache", {}, {"app=cache@rack"});
  cache.machines = {"n2"};
  daemon.submit(cache);
  ASSERT_EQ(daemon.job(follower).state, JobState::kRunning);
  EXPECT_THAT(nodes_of(daemon.job(follower)).at(0), testing::AnyOf("n2", "n3"));
  cache.machines = {"n3"};
  const int64_t second = daemon.submit(cache);
  EXPECT_EQ(daemon.job(second).state, JobState::kWaiting) << "one is in that rack already";
  cache.machines = {"n0"};
  EXPECT_EQ(daemon.job(daemon.submit(cache)).state, JobState::kRunning);
}

TEST(EngineAsks, LabelsOfOtherClientsJobsAreNobodysNeighbours) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  daemon.submit(labelled_job("cache", {}, {"app=train@zone"}));
  // Neither kept off by acme's refusal, nor beside acme's cache.
  EXPECT_EQ(daemon.job(daemon.submit(labelled_job("train", {}, {"app=cache@zone"}, "zoo"))).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(daemon.submit(labelled_job("train", {}, {"app=cache@zone"}, "zoo"))).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(daemon.submit(labelled_job("", {"app=cache@zone"}, {}, "zoo"))).state, JobState::kWaiting);
}

TEST(EngineAsks, WhatIsMadeIsNotMadeAgain) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(), {.ended_kept = 0});
  JobRequest features = testing_job(1, Duration::hours(1));
  features.makes = "features-v1";
  const int64_t first = daemon.submit(features);
  const int64_t second = daemon.submit(features);
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(second).state, JobState::kWaiting);
  EXPECT_THAT(*daemon.engine().why(second, [](int64_t) { return true; }), HasSubstr("is making what it makes"));
  JobRequest train = testing_job(1, Duration::minutes(1));
  train.after = {second};
  const int64_t trained = daemon.submit(train);
  daemon.pass(Duration::hours(2));
  EXPECT_EQ(daemon.job(second).state, JobState::kSkipped);
  EXPECT_EQ(daemon.job(trained).state, JobState::kSucceeded);
  daemon.restart();
  // Long after, and of jobs that memory knows no more.
  for (int i = 0; i < 3; ++i)
    daemon.submit(testing_job(1, Duration::minutes(1)));
  daemon.pass(Duration::hours(200));
  const int64_t third = daemon.submit(features);
  EXPECT_EQ(daemon.job(third).state, JobState::kSkipped);
  train.after = {second};
  const auto after_skipped = daemon.engine().stage_submit(train, {});
  EXPECT_TRUE(after_skipped.ok()) << after_skipped.error().message;
  features.queue = "zoo";
  EXPECT_EQ(daemon.job(daemon.submit(features)).state, JobState::kRunning) << "another client's word means nothing";
}

TEST(EngineAsks, WhoFailsToMakeItLeavesItToTheNext) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db");
  JobRequest features = testing_job(1, Duration::hours(1));
  features.makes = "features";
  const int64_t first = daemon.submit(features);
  const int64_t second = daemon.submit(features);
  ASSERT_TRUE(daemon.engine().stage_cancel(first, {}).ok());
  ASSERT_TRUE(daemon.commit().ok());
  daemon.pass(Duration::minutes(1));
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
}

// One GPU: two halves of it, then all of it once both are gone.
TEST(EngineAsks, AnUnusedGpuIsCutIntoMigInstancesAsNeeded) {
  const auto fleet = parse_fleet_config(R"({"nodes":[{"name":"n0","gpu_model":"A100-80GB","gpus":1,"per_hour":"7",
      "repartition":true}],"queues":[{"name":"acme"}]})",
                                        "one GPU");
  ASSERT_TRUE(fleet.ok()) << fleet.error().message;
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", *fleet);
  JobRequest half = testing_job(0, Duration::hours(1), "acme");
  half.mig_profile = "3g.40gb";
  const int64_t first = daemon.submit(half);
  const int64_t second = daemon.submit(half);
  const int64_t third = daemon.submit(half);
  const int64_t whole = daemon.submit(testing_job(1, Duration::hours(1), "acme"));
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(third).state, JobState::kWaiting);
  EXPECT_EQ(daemon.job(whole).state, JobState::kWaiting);
  daemon.restart();
  daemon.pass(Duration::hours(3));
  EXPECT_EQ(daemon.job(third).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(whole).state, JobState::kSucceeded);
}

// Three of seven slices cost 428 thousandths, one 142; the GPU 7 an hour.
TEST(EngineAsks, ATaskGetsSeveralMigDevicesOfOneMachine) {
  const auto fleet = parse_fleet_config(R"({"nodes":[{"name":"n0","gpu_model":"A100-80GB","gpus":2,"per_hour":"14",
      "mig":{"1g.10gb":"3","3g.40gb":"2"}}],"queues":[{"name":"acme"}]})",
                                        "cut GPUs");
  ASSERT_TRUE(fleet.ok()) << fleet.error().message;
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", *fleet);
  JobRequest job = testing_job(0, Duration::hours(1), "acme");
  job.mig_profile = "2x1g.10gb 3g.40gb";
  const int64_t first = daemon.submit(job);
  const int64_t second = daemon.submit(job);
  JobRequest one = job;
  one.mig_profile = "1g.10gb";
  const int64_t small = daemon.submit(one);
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(second).state, JobState::kWaiting) << "one small device is left";
  EXPECT_EQ(daemon.job(small).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(first).gpu_part, "MIG 2x1g.10gb 3g.40gb");
  daemon.restart();
  daemon.pass(Duration::minutes(61));
  EXPECT_EQ(daemon.job(first).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(first).cost, *Money::parse("4.984"));  // (2 * 142 + 428) / 1000 * 7
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
}

JobGroup group(std::string name, int tasks, int gpus, std::string rack = "", std::string within = "") {
  JobGroup group{.name = std::move(name), .within = std::move(within), .each = {}};
  group.each.tasks = tasks;
  group.each.gpus = gpus;
  group.each.required_topology = std::move(rack);
  return group;
}

JobRequest grouped(std::vector<JobGroup> groups) {
  JobRequest job = testing_job(0, Duration::hours(1));
  job.groups = std::move(groups);
  sum_up_groups(job);
  return job;
}

// The trainers are to be in one rack, of which either has two machines; the judge is on the other model.
TEST(EngineAsks, TasksOfAGangMayDiffer) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  JobGroup judge = group("judge", 1, 2);
  judge.each.gpu_models = {"H100-80GB"};
  const JobRequest asked = grouped({group("trainers", 2, 8, "rack"), judge, group("loader", 1, 0)});
  ASSERT_TRUE(check_request(asked).ok()) << check_request(asked).error().message;
  EXPECT_EQ(parse_job_request(to_json(asked)).value(), asked);
  const int64_t id = daemon.submit(asked);
  const JobView job = daemon.job(id);
  ASSERT_EQ(job.state, JobState::kRunning) << job.reason;
  EXPECT_EQ(job.tasks, 4);
  EXPECT_EQ(job.gpu_milli, 18'000);
  const std::vector<std::string> nodes = nodes_of(job);
  EXPECT_THAT(std::vector(nodes.begin(), nodes.begin() + 2), UnorderedElementsAre("n0", "n1"));
  EXPECT_EQ(nodes[2], "n3");
  EXPECT_THAT(job.placed[0].gpus, testing::SizeIs(8));
  EXPECT_THAT(job.placed[2].gpus, testing::SizeIs(2));
  EXPECT_THAT(job.placed[3].gpus, testing::IsEmpty());
  ASSERT_THAT(job.groups, testing::SizeIs(3));
  EXPECT_EQ(job.groups[1].name, "judge");
  EXPECT_EQ(job.groups[1].gpu_milli, 2'000);
  daemon.restart();
  daemon.pass(Duration::minutes(61));
  EXPECT_EQ(daemon.job(id).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(id).cost, Money::units(36)) << "18 GPUs at 2, and a loader that holds none";
}

TEST(EngineAsks, GroupsThatDoNotFitTogetherAllWait) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  daemon.submit(pinned("n0"));
  // One zone for all: a has one machine left.
  const JobRequest asked = grouped({group("all", 1, 0, "zone"), group("big", 1, 8, "", "all"), group("small", 2, 4, "", "all")});
  ASSERT_TRUE(check_request(asked).ok()) << check_request(asked).error().message;
  const int64_t fits = daemon.submit(asked);
  EXPECT_THAT(nodes_of(daemon.job(fits)), testing::Each(testing::AnyOf("n2", "n3")));
  const int64_t waits = daemon.submit(asked);
  EXPECT_EQ(daemon.job(waits).state, JobState::kWaiting);
  daemon.pass(Duration::minutes(61));
  EXPECT_EQ(daemon.job(waits).state, JobState::kRunning);
}

TEST(EngineAsks, AGroupMayRunWithFewerTasks) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", testing_fleet(1));
  JobGroup judges = group("judges", 6, 1);
  judges.each.min_tasks = 2;
  const int64_t id = daemon.submit(grouped({group("trainer", 1, 4), judges}));
  EXPECT_EQ(daemon.job(id).state, JobState::kRunning);
  EXPECT_THAT(daemon.job(id).placed, testing::SizeIs(5));
}

TEST(EngineAsks, GroupsThatContradictAreRefused) {
  const auto error = [](JobRequest job) {
    const Status checked = check_request(job);
    return checked.ok() ? std::string() : checked.error().message;
  };
  JobRequest both = grouped({group("a", 1, 1)});
  both.gpus = 1;
  EXPECT_THAT(error(both), HasSubstr("field 'gpus': a job with 'groups' says it for each"));
  EXPECT_THAT(error(grouped({group("a", 1, 1), group("a", 1, 1)})), HasSubstr("'a' stands twice"));
  EXPECT_THAT(error(grouped({group("a", 1, 1, "", "b"), group("b", 1, 0)})), HasSubstr("which must stand before it"));
  EXPECT_THAT(error(grouped({group("b", 1, 2), group("a", 1, 1, "", "b")})), HasSubstr("'b' holds other groups"));
  EXPECT_THAT(error(grouped({group("", 1, 1)})), HasSubstr("'name'"));
  EXPECT_THAT(error(grouped({group("a", 1, 65)})), HasSubstr("group 'a': field 'gpus'"));
  EXPECT_THAT(error(grouped({group("a", 4'000, 1), group("b", 4'000, 1)})), HasSubstr("field 'tasks'"));
  JobRequest more = grouped({group("a", 2, 1)});
  more.tasks = 3;
  EXPECT_THAT(error(more), HasSubstr("sums of the groups'"));
  EXPECT_THAT(parse_job_request(R"({"queue":"q","command":["c"],"tasks":2,"groups":[{"name":"a","tasks":2}]})").error().message,
              HasSubstr("leave them out"));
  EXPECT_THAT(parse_job_request(R"({"queue":"q","command":["c"],"groups":[{"name":"a","command":["c"]}]})").error().message,
              HasSubstr("'command'"));
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", racks());
  EXPECT_THAT(daemon.engine().stage_submit(grouped({group("a", 1, 8, "rakc")}), {}).error().message, HasSubstr("'rakc'"));
  EXPECT_THAT(daemon.engine().stage_submit(grouped({group("a", 1, 1), group("b", 1, 9)}), {}).error().message,
              HasSubstr("group 'b': no machine has 9 GPUs"));
}

JobRequest part(std::string kind, int32_t most = -1, std::string word = "") {
  JobRequest job = testing_job(0, Duration::hours(1));
  job.gpu_milli = 200;
  job.work_kind = std::move(kind);
  job.max_slowdown_percent = most;
  job.shares_with = std::move(word);
  return job;
}

FleetConfig one_machine(std::vector<MeasuredPair> interference) {
  FleetConfig fleet = testing_fleet(1);
  fleet.interference = std::move(interference);
  return fleet;
}

TEST(EngineAsks, APartOfAGpuIsNotPutBesideWhatSlowsItByMoreThanItAllows) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", one_machine({{"bert", "lm", 10}, {"bert", "resnet", 80}, {"resnet", "bert", 5}}));
  daemon.submit(testing_job(7, Duration::hours(3)));
  const int64_t bert = daemon.submit(part("bert", 25));
  const int64_t resnet = daemon.submit(part("resnet"));
  const int64_t lm = daemon.submit(part("lm"));
  EXPECT_EQ(daemon.job(bert).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(bert).max_slowdown_percent, 25);
  EXPECT_EQ(daemon.job(resnet).state, JobState::kWaiting);
  EXPECT_EQ(daemon.job(lm).state, JobState::kRunning) << "10 percent is little enough";
  EXPECT_THAT(*daemon.engine().why(resnet, [](int64_t) { return true; }),
              HasSubstr("beside the jobs on them it would be slowed by more than it allows, or would slow one of them by more"));
  daemon.restart();
  EXPECT_EQ(daemon.job(resnet).state, JobState::kWaiting);
  daemon.pass(Duration::minutes(61));
  EXPECT_EQ(daemon.job(bert).state, JobState::kSucceeded);
  EXPECT_EQ(daemon.job(resnet).state, JobState::kRunning);
}

TEST(EngineAsks, PartsOfAGpuKeepToThoseOfTheirWord) {
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", one_machine({}));
  daemon.submit(testing_job(7, Duration::hours(3)));
  const int64_t first = daemon.submit(part("", -1, "night"));
  const int64_t second = daemon.submit(part("", -1, "night"));
  const int64_t other = daemon.submit(part("", -1, "day"));
  const int64_t none = daemon.submit(part(""));
  JobRequest theirs = part("", -1, "night");
  theirs.queue = "zoo";
  const int64_t of_others = daemon.submit(theirs);
  EXPECT_EQ(daemon.job(first).state, JobState::kRunning);
  EXPECT_EQ(daemon.job(second).state, JobState::kRunning);
  for (const int64_t apart : {other, none, of_others})
    EXPECT_EQ(daemon.engine().explain(apart)->obstacle, sched::Obstacle::kOthersShares) << apart;
}

// Seven devices of one GPU are one GPU, as they are on the bill.
TEST(EngineAsks, AQueuesLimitCountsAMigDeviceAsThePartOfItsGpuThatItIs) {
  const auto fleet = parse_daemon_config(R"({"nodes":[{"name":"n0","gpu_model":"A100-80GB","gpus":2,"per_hour":"14",
      "mig":{"1g.10gb":"14"}}],"queues":[{"name":"acme","limit_gpus":1}]})",
                                         "cut GPUs");
  ASSERT_TRUE(fleet.ok()) << fleet.error().message;
  const ScratchDir dir;
  TestingDaemon daemon(dir / "log.db", fleet->fleet);
  JobRequest job = testing_job(0, Duration::hours(1), "acme");
  job.mig_profile = "1g.10gb";
  for (int i = 0; i < 8; ++i)
    daemon.submit(job);
  for (int64_t id = 1; id <= 7; ++id)
    EXPECT_EQ(daemon.job(id).state, JobState::kRunning) << id;
  EXPECT_EQ(daemon.engine().explain(8)->obstacle, sched::Obstacle::kQueueLimit);
  EXPECT_EQ(daemon.engine().queues()[0].held_gpu_milli, 7 * 142);
  daemon.restart();
  EXPECT_EQ(daemon.engine().explain(8)->obstacle, sched::Obstacle::kQueueLimit);
}

TEST(EngineAsks, ALogFromBeforeGoesOnToCountMigDevicesBySlices) {
  EXPECT_EQ(parse_fleet_config(R"({"policy":"stint","nodes":[],"queues":[{"name":"acme"}]})", "log")->mig,
            sched::MigCount::kSlices);
  EXPECT_EQ(parse_fleet_config(to_json(FleetConfig{.queues = {{.name = "acme"}}}), "log")->mig, sched::MigCount::kPart);
}

TEST(EngineAsks, WishesThatCannotBeReadAreRefused) {
  const auto error = [](auto change) {
    JobRequest job = testing_job(1, Duration::hours(1));
    change(job);
    const Status checked = check_request(job);
    return checked.ok() ? std::string() : checked.error().message;
  };
  EXPECT_THAT(error([](JobRequest& r) { r.affinity = {"cache@rack"}; }), HasSubstr("field 'affinity': 'cache@rack'"));
  EXPECT_THAT(error([](JobRequest& r) { r.anti_affinity = {"app=a@"}; }), HasSubstr("behind @"));
  EXPECT_THAT(error([](JobRequest& r) { r.affinity = {"stint.client=zoo"}; }), HasSubstr("field 'affinity'"));
  EXPECT_THAT(error([](JobRequest& r) { r.labels = {{"stint.client", "zoo"}}; }), HasSubstr("field 'labels'"));
  EXPECT_THAT(error([](JobRequest& r) {
                r.gpus = 0;
                r.mig_profile = "half";
              }),
              HasSubstr("field 'mig_profile': 'half' is not MIG profiles such as 2x1g.10gb"));
  EXPECT_THAT(error([](JobRequest& r) { r.work_kind = "bert"; }), HasSubstr("field 'work_kind' is of a part of a GPU"));
  EXPECT_THAT(error([](JobRequest& r) { r.max_slowdown_percent = 5; }), HasSubstr("field 'max_slowdown_percent' is of a part"));
  EXPECT_THAT(error([](JobRequest& r) { r.max_slowdown_percent = 100'001; }), HasSubstr("from 0 to 100000"));
  EXPECT_THAT(error([](JobRequest& r) { r.shares_with = "a\nb"; }), HasSubstr("field 'shares_with'"));
  EXPECT_EQ(error([](JobRequest& r) { r = part("bert", 0, "night"); }), "");
  EXPECT_THAT(error([](JobRequest& r) { r.makes = "a\nb"; }), HasSubstr("field 'makes'"));
  EXPECT_THAT(error([](JobRequest& r) {
                r.makes = "a";
                r.array = 2;
              }),
              HasSubstr("of one job"));
  EXPECT_THAT(error([](JobRequest& r) {
                r.deferrable = true;
                r.deadline = kDaemonStart;
              }),
              HasSubstr("'time_limit'"));
  EXPECT_EQ(error([](JobRequest& r) {
              r.labels = {{"app", "a"}};
              r.affinity = {"app=cache,tier=hot@rack", "app=a"};
            }),
            "");
}

}  // namespace
}  // namespace stint
