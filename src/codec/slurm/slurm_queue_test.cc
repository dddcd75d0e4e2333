#include "codec/slurm/slurm_queue.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(SlurmMachines, WordsOfTheStateSayWhetherTheyTakeWork) {
  const auto machines = read_slurm_machines(
      "NodeName=n1 Gres=gpu:h200:8(S:0-1),shard:64 GresDrain=N/A GresUsed=gpu:h200:3(IDX:0-1,7),shard:h200:0(0/8,0/8) CPUTot=64 "
      "RealMemory=512000 State=IDLE Partitions=main,night "
      "ActiveFeatures=nvlink,a\n"
      "NodeName=n2 Gres=(null) GresUsed=gpu:h200:0(IDX:N/A) CPUTot=4 State=MIXED+DRAIN Partitions=main\n"
      "NodeName=n3 CPUTot=4 State=IDLE+CLOUD+POWERED_DOWN\n"
      "NodeName=n4 CPUTot=4 State=DOWN*\n");
  ASSERT_TRUE(machines.ok()) << machines.error().message;
  ASSERT_EQ(machines->size(), 4);
  const SlurmMachine& first = machines->front();
  ASSERT_EQ(first.gres.size(), 2);
  EXPECT_EQ(first.gres[0].type, "h200");
  EXPECT_EQ(first.gres[1].count, 64);
  EXPECT_EQ(first.gpus_used, 3);
  EXPECT_EQ((*machines)[1].gpus_used, 0);
  EXPECT_EQ(first.memory, Bytes::mebi(512'000));
  EXPECT_EQ(first.partitions, (std::vector<std::string>{"main", "night"}));
  EXPECT_EQ(first.features, (std::vector<std::string>{"nvlink", "a"}));
  std::vector<bool> take;
  for (const SlurmMachine& machine : *machines)
    take.push_back(machine.takes_work);
  EXPECT_EQ(take, (std::vector<bool>{true, false, true, false})) << "a machine that sleeps is woken by its job";
}

TEST(SlurmQueueReader, NumbersOfEveryVersion) {
  const auto queue = read_slurm_queue(R"json({"jobs":[
    {"job_id":1,"array_job_id":0,"array_task_id":null,"array_task_string":"","job_state":"PENDING","state_reason":"JobHeldUser",
     "priority":0,"account":"acme","partition":"main","node_count":2,"cpus":4,"tasks":2,"memory_per_node":1000,
     "tres_per_node":"gres:gpu:h200:8","requeue":true,"shared":"none","restart_cnt":1,"eligible_time":1795297689,"start_time":1795299999,"time_limit":10,
     "admin_comment":"stint/placed=7","dependency":"afterok:1(unfulfilled)"},
    {"job_id":{"set":true,"infinite":false,"number":9},"array_job_id":{"set":true,"infinite":false,"number":0},
     "array_task_id":{"set":false,"infinite":false,"number":0},"job_state":["RUNNING"],
     "priority":{"set":true,"infinite":false,"number":5},"nice":-20,"node_count":{"set":true,"infinite":false,"number":1},
     "nodes":"n3","shared":["none"],"start_time":{"set":true,"infinite":false,"number":1795297000}}]})json");
  ASSERT_TRUE(queue.ok()) << queue.error().message;
  ASSERT_EQ(queue->entries.size(), 2);
  const SlurmEntry& held = queue->entries[0];
  EXPECT_TRUE(held.held);
  EXPECT_TRUE(held.requeue);
  EXPECT_TRUE(held.exclusive);
  EXPECT_EQ(held.nodes, 2);
  EXPECT_EQ(held.memory_per_node, Bytes::mebi(1000));
  EXPECT_EQ(held.begins, Instant::from_seconds(1'795'297'689));
  EXPECT_EQ(held.started, std::nullopt);
  EXPECT_EQ(held.time_limit, Duration::minutes(10));
  const SlurmEntry& runs = queue->entries[1];
  EXPECT_EQ(runs.id, "9");
  EXPECT_FALSE(runs.held);
  EXPECT_EQ(runs.priority, 5);
  EXPECT_EQ(runs.nice, -20);
  EXPECT_TRUE(runs.exclusive);
  EXPECT_EQ(runs.on_nodes, "n3");
  EXPECT_EQ(runs.started, Instant::from_seconds(1'795'297'000));
}

TEST(SlurmQueueReader, ArraysAreTheirRestAndTasksOfTheirOwn) {
  const auto queue = read_slurm_queue(R"json({"jobs":[
    {"job_id":2,"array_job_id":2,"array_task_id":null,"array_task_string":"0,2-5%2","array_max_tasks":2,"job_state":"PENDING","priority":0},
    {"job_id":4,"array_job_id":2,"array_task_id":1,"array_task_string":"","array_max_tasks":2,"job_state":"RUNNING","priority":7}]})json");
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->entries[0].array_tasks, "0,2-5%2");
  EXPECT_EQ(queue->entries[0].array_limit, 2);
  EXPECT_EQ(queue->entries[1].id, "2_1");
}

TEST(SlurmQueueReader, OneBadJobIsNamedAndTheOthersAreRead) {
  const auto queue = read_slurm_queue(R"({"jobs":[{"job_id":1,"job_state":"NOVEL"},{"job_id":2,"job_state":"PENDING"}]})");
  ASSERT_TRUE(queue.ok());
  EXPECT_EQ(queue->entries.size(), 1);
  ASSERT_EQ(queue->rejected.size(), 1);
  EXPECT_EQ(queue->rejected[0].substr(0, 6), "job 1:");
  EXPECT_FALSE(read_slurm_queue("slurm_load_jobs error: Unable to contact slurm controller").ok());
  EXPECT_FALSE(read_slurm_queue(R"({"errors":[{"error":"no"}]})").ok());
}

TEST(SlurmTasks, RangesStepsAndTheLimitBehindThem) {
  EXPECT_EQ(*parse_slurm_tasks("0-2,7%2", 100), (std::vector<int64_t>{0, 1, 2, 7}));
  EXPECT_EQ(*parse_slurm_tasks("0-20:10", 100), (std::vector<int64_t>{0, 10, 20}));
  EXPECT_EQ(*parse_slurm_tasks("0-4000000", 3), (std::vector<int64_t>{0, 1, 2}));
  for (const char* wrong : {"", "a", "5-2", "1-", "0-3:0", "0-99999999999", "0,..."})
    EXPECT_FALSE(parse_slurm_tasks(wrong, 100).ok()) << wrong;
}

}  // namespace
}  // namespace stint
