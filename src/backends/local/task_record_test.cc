#include "backends/local/task_record.h"

#include <gmock/gmock.h>

#include <csignal>

namespace stint {
namespace {

using ::testing::HasSubstr;

TaskPlan full_plan() {
  TaskPlan plan;
  Launch& l = plan.launch;
  l.key = {.job = 5'000'000'000, .attempt = 1, .task = 2};
  l.node = "n\"1";
  l.gpus = {{.index = 3, .uuid = "GPU-x", .mig_uuid = "MIG-y"}};
  l.tenancy = Tenancy::kShared;
  l.cpu_milli = 1500;
  l.memory = Bytes::gibi(int64_t{64});
  l.command = {"sh", "-c", "a\nb"};
  l.script = "#!/bin/sh\n";
  l.environment = {{"A", "x=y"}, {"B", ""}};
  l.folder = "/f";
  l.output_path = "/o";
  l.error_path = "/e";
  l.run_as = RunAs{1000, 100};
  l.gang =
      GangPlace{.rank = 1, .world_size = 2, .local_rank = 0, .local_world_size = 1, .master_address = "h", .master_port = 29500};
  l.time_limit = Duration::hours(3);
  l.grace = Duration::seconds(7);
  plan.cgroup = "/sys/fs/cgroup/stint/task";
  plan.log_base = "/l/5";
  plan.room = {.home = "/h/5",
               .temporary = "/h/.tmp/5",
               .hides_processes = true,
               .own_devices = true,
               .gpu_files = {"nvidia0"},
               .more_devices = {"kvm"},
               .filters_devices = true,
               .device_group = "/cg/5"};
  return plan;
}

TEST(TaskRecord, APlanIsReadBackAsItWas) {
  const TaskPlan plan = full_plan();
  const auto again = parse_task_plan(to_json(plan), "launch.json");
  ASSERT_TRUE(again.ok()) << again.error().message;
  const Launch& l = again->launch;
  EXPECT_EQ(l.key, plan.launch.key);
  EXPECT_EQ(l.node, "n\"1");
  ASSERT_EQ(l.gpus.size(), 1U);
  EXPECT_EQ(l.gpus[0].index, 3);
  EXPECT_EQ(l.gpus[0].mig_uuid, "MIG-y");
  EXPECT_EQ(l.tenancy, Tenancy::kShared);
  EXPECT_EQ(l.cpu_milli, 1500);
  EXPECT_EQ(l.memory, Bytes::gibi(int64_t{64}));
  EXPECT_EQ(l.command, plan.launch.command);
  EXPECT_EQ(l.script, plan.launch.script);
  EXPECT_EQ(l.environment, plan.launch.environment);
  ASSERT_TRUE(l.run_as && l.gang);
  EXPECT_EQ(l.run_as->uid, 1000U);
  EXPECT_EQ(l.gang->master_port, 29500);
  EXPECT_EQ(l.time_limit, Duration::hours(3));
  EXPECT_EQ(l.grace, Duration::seconds(7));
  EXPECT_EQ(again->cgroup, plan.cgroup);
  EXPECT_EQ(again->room.home, "/h/5");
  EXPECT_EQ(again->room.temporary, "/h/.tmp/5");
  EXPECT_TRUE(again->room.hides_processes);
  EXPECT_TRUE(again->room.own_devices);
  EXPECT_EQ(again->room.gpu_files, std::vector<std::string>{"nvidia0"});
  EXPECT_EQ(again->room.more_devices, std::vector<std::string>{"kvm"});
  EXPECT_TRUE(again->room.filters_devices);
  EXPECT_EQ(again->room.device_group, "/cg/5");
  EXPECT_EQ(*again, plan);
}

TEST(TaskRecord, APlanOfAnOlderReleaseHasNothingForItself) {
  std::string text = to_json(full_plan());
  const size_t at = text.rfind(",\n \"room\"");
  ASSERT_NE(at, std::string::npos);
  const auto older = parse_task_plan(text.substr(0, at) + "}", "launch.json");
  ASSERT_TRUE(older.ok()) << older.error().message;
  EXPECT_EQ(older->room.home, "");
  EXPECT_FALSE(older->room.hides_processes);
}

TEST(TaskRecord, AnEndIsReadBackAndFitsItsRoom) {
  const TaskEnded ended{
      .when = {.at = Instant::from_ns(1'800'000'000'123'456'789), .since_boot = Duration::seconds(9), .boot_id = "b-1"},
      .status = {.code = 0, .signal = SIGKILL},
      .cause = EndCause::kOutOfMemory,
      .detail = std::string(100'000, '"'),
      .usage = {.cpu_time = Duration::nanoseconds(5), .peak_memory = Bytes::of(7)}};
  const std::string text = to_json(ended);
  EXPECT_LE(text.size(), kMostEndedBytes);
  const auto again = parse_task_ended(text, "ended.json");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->when.at, ended.when.at);
  EXPECT_EQ(again->when.since_boot, Duration::seconds(9));
  EXPECT_EQ(again->when.boot_id, "b-1");
  EXPECT_EQ(again->status.signal, SIGKILL);
  EXPECT_EQ(again->cause, EndCause::kOutOfMemory);
  EXPECT_EQ(again->usage.peak_memory, Bytes::of(7));
}

TEST(TaskRecord, AnEndThatAnOlderReleaseWroteHasItsTimeByTheWallClock) {
  const auto ended = parse_task_ended(
      R"({"version":1,"at_ns":5,"code":0,"signal":0,"cause":"itself","detail":"","cpu_ns":1,"peak_memory_bytes":1})",
      "ended.json");
  ASSERT_TRUE(ended.ok()) << ended.error().message;
  EXPECT_EQ(on_clock(ended->when, Instant::from_seconds(100)), Instant::from_ns(5));
}

TEST(TaskMoment, IsAsLongAgoOnAnyClockOfThisBoot) {
  const Instant clock = Instant::from_seconds(1'800'000'000);
  TaskMoment moment = this_moment();
  moment.at = moment.at + Duration::hours(2);  // somebody has set the wall clock
  *moment.since_boot = *moment.since_boot - Duration::seconds(30);
  EXPECT_LE(on_clock(moment, clock), clock - Duration::seconds(30));
  EXPECT_GT(on_clock(moment, clock), clock - Duration::seconds(60));
  moment.boot_id = "another";
  EXPECT_EQ(on_clock(moment, clock), moment.at);
}

TEST(TaskRecord, WhatIsCutOffOrForeignIsRefusedByName) {
  const std::string whole = to_json(full_plan());
  for (size_t cut = 0; cut + 1 < whole.size(); cut += 7)
    EXPECT_FALSE(parse_task_plan(whole.substr(0, cut), "x").ok()) << cut;
  EXPECT_THAT(parse_task_plan("{\"version\":2}", "launch.json").error().message, HasSubstr("launch.json: version 2"));
  EXPECT_FALSE(parse_task_started("{\"version\":1,\"at_ns\":\"soon\"}", "x").ok());
  EXPECT_FALSE(parse_task_ended("[]", "x").ok());
}

TEST(CheckLaunch, RefusesWhatCannotBeRunAnywhere) {
  const Launch good = full_plan().launch;
  ASSERT_TRUE(check_launch(good).ok());
  const auto refused = [&](auto change) {
    Launch l = good;
    change(l);
    return !check_launch(l).ok();
  };
  EXPECT_TRUE(refused([](Launch& l) { l.key.task = -1; }));
  EXPECT_TRUE(refused([](Launch& l) { l.command = {""}; }));
  EXPECT_TRUE(refused([](Launch& l) { l.command.emplace_back("a\0b", 3); }));
  EXPECT_TRUE(refused([](Launch& l) { l.environment = {{"A=B", "x"}}; }));
  EXPECT_TRUE(refused([](Launch& l) { l.folder = "relative"; }));
  EXPECT_TRUE(refused([](Launch& l) { l.cpu_milli = -1; }));
  EXPECT_TRUE(refused([](Launch& l) { l.time_limit = Duration::seconds(-1); }));
}

}  // namespace
}  // namespace stint
