#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "codec/testing_import.h"
#include "testing/places.h"

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TestingSink import(const std::string& text, Status* status = nullptr, ImportOptions options = {}) {
  options.source = "answer";
  return import_text(make_slurm_importer, options, text, status);
}

/// An answer as a real Slurm 22.05.8 gave it, with only the members that are read and some beside them.
std::string answer(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(STINT_SOURCE_DIR "/fuzz/seeds/slurm/" + name).rdbuf();
  return text.str();
}

std::vector<std::string> nodes_of(const stint::Run& run) {
  std::vector<std::string> out;
  for (const RunAllocation& a : run.allocations)
    out.push_back(a.node);
  return out;
}

TEST(SlurmAnswer, QueueOfSlurm2205) {
  const TestingSink sink = import(answer("squeue-22.05.json"));
  EXPECT_THAT(sink.rejected, IsEmpty());
  ASSERT_THAT(sink.runs, SizeIs(3));
  const stint::Run& ended = sink.runs[0];
  EXPECT_EQ(ended.id, "2");
  EXPECT_EQ(ended.state, RunState::kCompleted);
  EXPECT_EQ(ended.holder.account, "bolt");
  EXPECT_EQ(*ended.ended - *ended.started, Duration::minutes(10));
  EXPECT_EQ(ended.time_limit, Duration::minutes(10));
  EXPECT_EQ(ended.gpus_requested, 16);
  EXPECT_THAT(nodes_of(ended), ElementsAre("n2", "n3"));
  const stint::Run& running = sink.runs[2];
  EXPECT_EQ(running.id, "7");
  EXPECT_EQ(running.state, RunState::kRunning);
  EXPECT_EQ(running.ended, std::nullopt) << "the end squeue names is that of the limit";
  ASSERT_THAT(running.allocations, SizeIs(2));
  for (const RunAllocation& a : running.allocations) {
    EXPECT_EQ(a.gpu_count, 2);
    EXPECT_THAT(a.gpu_indexes, ElementsAre(0, 1));
  }
}

TEST(SlurmAnswer, WhatRunsIsKnownToHaveRunUntilSlurmWasAsked) {
  const TestingSink before = import(answer("squeue-22.05.json"));
  const Instant asked = *before.runs[2].started + Duration::minutes(7);
  const TestingSink sink = import(answer("squeue-22.05.json"), nullptr, {.at = asked});
  EXPECT_EQ(sink.runs[2].ended, asked);
  EXPECT_EQ(sink.runs[2].state, RunState::kRunning);
  EXPECT_EQ(sink.runs[0].ended, before.runs[0].ended) << "an end that is told stays";
  const TestingSink early = import(answer("squeue-22.05.json"), nullptr, {.at = asked - Duration::hours(1)});
  EXPECT_EQ(early.runs[2].ended, early.runs[2].started) << "clocks differ";
}

TEST(SlurmAnswer, AccountingOfSlurm2205) {
  const TestingSink sink = import(answer("sacct-22.05.json"));
  EXPECT_THAT(sink.rejected, IsEmpty());
  ASSERT_THAT(sink.runs, SizeIs(2));
  EXPECT_EQ(sink.runs[0].id, "2");
  EXPECT_EQ(sink.runs[0].gpus_requested, 16);
  EXPECT_EQ(sink.runs[0].cpus, 2);
  EXPECT_EQ(*sink.runs[0].ended - *sink.runs[0].started, Duration::seconds(600));
  EXPECT_EQ(sink.runs[1].id, "3_1");
  EXPECT_EQ(sink.runs[1].holder.job, "5");
  EXPECT_THAT(nodes_of(sink.runs[1]), ElementsAre("n1"));
}

TEST(SlurmAnswer, NodesOfSlurm2205) {
  const TestingSink sink = import(answer("sinfo-22.05.json"));
  EXPECT_THAT(sink.rejected, IsEmpty());
  ASSERT_THAT(sink.nodes, SizeIs(3));
  EXPECT_EQ(sink.nodes[0].name, "n1");
  EXPECT_EQ(sink.nodes[0].gpu_model, "h200");
  EXPECT_EQ(sink.nodes[0].gpu_count, 8);
  EXPECT_EQ(sink.nodes[0].vcpus, 64);
  EXPECT_EQ(sink.nodes[0].memory, Bytes::mebi(512'000));
}

TEST(SlurmAnswer, TextOfScontrolSaysTheSameAsTheQueue) {
  const stint::Run text = import(answer("scontrol-job.txt")).runs.at(0);
  const stint::Run json = import(answer("squeue-22.05.json")).runs.at(2);
  EXPECT_EQ(text.id, json.id);
  EXPECT_EQ(text.holder.account, json.holder.account);
  EXPECT_EQ(text.holder.user, "ann");
  EXPECT_EQ(text.started, json.started);
  EXPECT_EQ(text.ended, json.ended);
  EXPECT_EQ(text.time_limit, json.time_limit);
  EXPECT_EQ(text.gpus_requested, json.gpus_requested);
  ASSERT_THAT(text.allocations, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(text.allocations[i].node, json.allocations[i].node);
    EXPECT_EQ(text.allocations[i].gpu_indexes, json.allocations[i].gpu_indexes);
  }
}

// Since 23.11 numbers are wrapped and states are lists; since 24.05 the nodes lie with the job's resources.
TEST(SlurmAnswer, WrappedNumbersAndListsOfStatesAreReadAlike) {
  const TestingSink sink = import(R"j({"meta":{"slurm":{"version":{"major":"24","minor":"05","micro":"4"}}},"errors":[],"jobs":[
    {"job_id":41,"array_job_id":{"set":true,"infinite":false,"number":40},"array_task_id":{"set":true,"infinite":false,"number":2},
     "name":"serve llama","account":"acme","user_name":"ann","partition":"gpu","qos":"normal","job_state":["RUNNING"],
     "submit_time":{"set":true,"infinite":false,"number":1795285000},"start_time":{"set":true,"infinite":false,"number":1795285671},
     "end_time":{"set":true,"infinite":false,"number":1826821671},"time_limit":{"set":true,"infinite":true,"number":0},
     "restart_cnt":2,"tres_req_str":"cpu=8,gres/gpu=3","tres_alloc_str":"cpu=8,gres/gpu=3","nodes":"",
     "job_resources":{"nodes":{"count":2,"list":"a[1-2]"}},"gres_detail":["gpu:h100:1(IDX:7)","gpu:h100:2(IDX:0,3)"]},
    {"job_id":50,"array_job_id":{"set":true,"infinite":false,"number":50},"array_task_id":{"set":false,"infinite":false,"number":0},
     "job_state":["PENDING"],"array_task_string":"3-9"},
    {"job_id":60,"array_job_id":{"set":true,"infinite":false,"number":0},"array_task_id":{"set":false,"infinite":false,"number":0},
     "job_state":["PENDING"],"start_time":{"set":true,"infinite":false,"number":1895285671},"nodes":"","tres_req_str":"gres/gpu=8"}]})j");
  EXPECT_THAT(sink.rejected, IsEmpty());
  ASSERT_THAT(sink.runs, SizeIs(2)) << "the rest of an array is no run yet";
  const stint::Run& run = sink.runs[0];
  EXPECT_EQ(run.id, "40_2");
  EXPECT_EQ(run.restart, 2);
  EXPECT_EQ(run.time_limit, std::nullopt);
  EXPECT_EQ(run.ended, std::nullopt);
  ASSERT_THAT(run.allocations, SizeIs(2));
  EXPECT_EQ(run.allocations[0].gpu_count, 1);
  EXPECT_THAT(run.allocations[0].gpu_indexes, ElementsAre(7));
  EXPECT_EQ(run.allocations[1].node, "a2");
  EXPECT_THAT(run.allocations[1].gpu_indexes, ElementsAre(0, 3));
  EXPECT_EQ(sink.runs[1].id, "60");
  EXPECT_EQ(sink.runs[1].started, std::nullopt) << "when it may start is not when it did";
}

TEST(SlurmAnswer, NodesWithMigInstancesAndSharesOfTheDriver) {
  const TestingSink sink = import(R"j({"meta":{"slurm":{"version":{"major":"25"}}},"nodes":[
    {"name":"a1","gres":"gpu:nvidia_a100-sxm4-80gb:8(S:0-1),shard:nvidia_a100-sxm4-80gb:64(S:0-1)","state":["IDLE","DRAIN"],
     "cpus":128,"real_memory":1000000},
    {"name":"m1","gres":"gpu:1g.10gb:7","cpus":16,"real_memory":64000},
    {"name":"c1","gres":"","cpus":96,"real_memory":64000},
    {"name":"x1","gres":"gpu:h100:99999","cpus":96,"real_memory":64000}]})j");
  ASSERT_THAT(sink.nodes, SizeIs(3));
  EXPECT_EQ(sink.nodes[0].gpu_model, "nvidia-a100-sxm4-80gb");
  EXPECT_EQ(sink.nodes[0].gpu_count, 8);
  EXPECT_EQ(sink.nodes[1].gpu_count, 0) << "how many devices seven instances make is not told";
  EXPECT_EQ(sink.nodes[2].gpu_model, "");
  ASSERT_THAT(sink.rejected, SizeIs(1));
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("'x1'"));
}

TEST(SlurmAnswer, GroupsOfAlikeNodes) {
  const TestingSink sink = import(R"j({"meta":{"slurm":{"version":{"major":"24"}}},"sinfo":[
    {"nodes":{"total":2,"nodes":["g1","g2"]},"gres":{"total":"gpu:h100:8(S:0-1)","used":"gpu:h100:0"},
     "cpus":{"minimum":192,"maximum":192},"memory":{"minimum":2000000,"maximum":2000000}},
    {"nodes":{"total":0}}]})j");
  ASSERT_THAT(sink.nodes, SizeIs(2));
  EXPECT_EQ(sink.nodes[1].name, "g2");
  EXPECT_EQ(sink.nodes[1].gpu_count, 8);
  EXPECT_EQ(sink.nodes[1].vcpus, 192);
  EXPECT_THAT(sink.rejected, SizeIs(1));
}

TEST(SlurmAnswer, WhatIsNoAnswerIsRefusedWithARemedy) {
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"", "neither a job nor a node"},
           {"{\"a\":", "not JSON"},
           {"{}", "neither `jobs` nor `nodes`"},
           {"JobID|State\n1|RUNNING\n", "answer:1: 'JobID|State'"},
           {R"j({"errors":[{"description":"slurmctld is down"}],"jobs":[]})j", "slurmctld is down"}}) {
    Status status;
    import(text, &status);
    ASSERT_FALSE(status.ok()) << text;
    EXPECT_THAT(status.error().message, HasSubstr(says));
  }
}

TEST(SlurmAnswer, ABadJobIsRefusedByName) {
  const TestingSink sink = import(R"j({"jobs":[
    {"job_id":1,"job_state":"DANCING"},{"job_id":2,"job_state":"RUNNING","start_time":5,"nodes":"n[","tres_alloc_str":"cpu=1"},
    {"job_id":3,"job_state":"RUNNING","start_time":5,"nodes":"n1","tres_alloc_str":"cpu=1","gres_detail":["gpu:1(IDX:9-2)"]},
    {"job_id":4,"job_state":"RUNNING","start_time":5,"nodes":"n1","tres_alloc_str":"gres/gpu=1","gres_detail":["gpu:1(IDX:0)"]}, 7]})j");
  ASSERT_THAT(sink.runs, SizeIs(1));
  EXPECT_EQ(sink.runs[0].id, "4");
  ASSERT_THAT(sink.rejected, SizeIs(4));
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("job 1: State: 'DANCING'"));
  EXPECT_THAT(sink.rejected[1].second, HasSubstr("job 2: NodeList"));
  EXPECT_THAT(sink.rejected[2].second, HasSubstr("job 3: '9-2'"));
}

TEST(SlurmAnswer, TextWithSpacesInValuesAndSeveralRecords) {
  const TestingSink sink = import(
      "JobId=9 ArrayJobId=8 ArrayTaskId=1 JobName=train my model\n   UserId=ann(1001) Account=acme QOS=normal\n"
      "   JobState=COMPLETED Reason=None\n   TimeLimit=1-00:00:00\n"
      "   StartTime=2026-10-01T08:00:00 EndTime=2026-10-01T09:30:00\n   NodeList=n[1-2]\n"
      "   TRES=cpu=2,node=2,gres/gpu=3\n   JOB_GRES=gpu:3\n     Nodes=n1 CPU_IDs=0 Mem=0 GRES=gpu:1(IDX:4)\n"
      "     Nodes=n2 CPU_IDs=0 Mem=0 GRES=gpu:2(IDX:0-1)\n   Command=/bin/sh -c a b\n\n"
      "JobId=10 ArrayJobId=8 ArrayTaskId=2-5 JobName=x JobState=PENDING\n\n"
      "NodeName=n1 Arch=x86_64\n   CPUTot=64\n   Gres=gpu:h200:8\n   RealMemory=512000\n",
      nullptr, {.zoneless = {Duration::hours(2)}});
  EXPECT_THAT(sink.rejected, IsEmpty());
  ASSERT_THAT(sink.runs, SizeIs(1));
  const stint::Run& run = sink.runs[0];
  EXPECT_EQ(run.id, "8_1");
  EXPECT_EQ(run.name, "train my model");
  EXPECT_EQ(format_utc(*run.started), "2026-10-01T06:00:00Z");
  EXPECT_EQ(*run.ended - *run.started, Duration::minutes(90));
  EXPECT_THAT(run.allocations[0].gpu_indexes, ElementsAre(4));
  EXPECT_THAT(run.allocations[1].gpu_indexes, ElementsAre(0, 1));
  ASSERT_THAT(sink.nodes, SizeIs(1));
  EXPECT_EQ(sink.nodes[0].gpu_count, 8);
}

}  // namespace
}  // namespace stint
