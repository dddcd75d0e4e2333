#include "advise/find/diagnosis.h"

#include <gmock/gmock.h>

#include "advise/testing_fleet.h"

namespace stint {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

NodeFacts low_node(WorkloadKind kind = WorkloadKind::kTraining) {
  NodeFacts node;
  node.kind = kind;
  node.mean_pct = 30;
  node.idle_pct = 20;
  return node;
}

ActiveMetrics measured() {
  ActiveMetrics m;
  m.utilization_pct = 40;
  m.utilization_max_pct = 90;
  m.host_cpu_pct = 30;
  m.pcie_gb_s = 1;
  m.bandwidth_pct = 20;
  m.tensor_pct = 20;
  m.sm_active_pct = 40;
  m.sm_occupancy_pct = 50;
  m.memory_pct = 70;
  return m;
}

NodeFacts busy_node() {
  NodeFacts busy = low_node();
  busy.mean_pct = 92;
  busy.idle_pct = 1;
  return busy;
}

TEST(Diagnosis, NothingToSayOfAWellUsedOrUnseenNode) {
  const NodeFacts busy = busy_node();
  EXPECT_THAT(diagnose(busy, measured(), nullptr), IsEmpty());
  EXPECT_THAT(diagnose(NodeFacts{}, {}, nullptr), IsEmpty());
}

TEST(Diagnosis, TellsTheBottlenecksApart) {
  ActiveMetrics cpu = measured();
  cpu.host_cpu_pct = 95;
  EXPECT_THAT(diagnose(low_node(), cpu, nullptr), Contains(HasSubstr("CPU starves the GPU")));
  ActiveMetrics pcie = measured();
  pcie.pcie_gb_s = 9;  // of about 12 on an old link
  EXPECT_THAT(diagnose(low_node(), pcie, nullptr), Contains(HasSubstr("PCIe bound")));
  ActiveMetrics bandwidth = measured();
  bandwidth.bandwidth_pct = 85;
  EXPECT_THAT(diagnose(low_node(), bandwidth, nullptr), Contains(HasSubstr("memory-bandwidth bound")));
  ActiveMetrics batch = measured();
  batch.memory_pct = 25;
  EXPECT_THAT(diagnose(low_node(), batch, nullptr), Contains(HasSubstr("batch too small")));
  ActiveMetrics precision = measured();
  precision.sm_active_pct = 80;
  precision.tensor_pct = 2;
  EXPECT_THAT(diagnose(low_node(), precision, nullptr), Contains(HasSubstr("BF16")));
  ActiveMetrics capped = measured();
  capped.utilization_max_pct = 45;
  EXPECT_THAT(diagnose(low_node(WorkloadKind::kRealtimeInference), capped, nullptr), Contains(HasSubstr("concurrency capped")));
}

// A GPU that reports 92 % may still wait for its memory, leave its tensor cores idle, or be slowed by heat.
TEST(Diagnosis, BusyHoursThatAreSlowAreNamedAtAnyUtilisation) {
  ActiveMetrics bandwidth = measured();
  bandwidth.utilization_pct = 92;
  bandwidth.bandwidth_pct = 88;
  EXPECT_THAT(diagnose(busy_node(), bandwidth, nullptr),
              ElementsAre(AllOf(HasSubstr("memory-bandwidth bound: DRAM 88 % busy"), HasSubstr("worth up to 2 ×"))));
  ActiveMetrics precision = measured();
  precision.utilization_pct = 92;
  precision.tensor_pct = 0;
  precision.sm_active_pct.reset();
  EXPECT_THAT(
      diagnose(busy_node(), precision, nullptr),
      ElementsAre(AllOf(HasSubstr("tensor cores idle (0 %) while the GPU is 92 % active"), HasSubstr("worth up to 2 ×"))));
  ActiveMetrics hot = measured();
  hot.utilization_pct = 92;
  hot.temperature_c = 91;
  EXPECT_THAT(diagnose(busy_node(), hot, nullptr),
              ElementsAre(AllOf(HasSubstr("throttled by heat: 91 °C"), HasSubstr("not known"))));
  hot.sm_clock_mhz = 900;
  hot.sm_clock_max_mhz = 1350;
  EXPECT_THAT(diagnose(busy_node(), hot, nullptr), ElementsAre(HasSubstr("worth up to 1.50 ×")));
  hot.temperature_c = 70;
  EXPECT_THAT(diagnose(busy_node(), hot, nullptr), IsEmpty()) << "clocks also fall to save power";
}

TEST(Diagnosis, AStarvedGpuIsNotToldToRaiseItsBatch) {
  ActiveMetrics m = measured();
  m.host_cpu_pct = 95;
  m.memory_pct = 25;
  EXPECT_THAT(diagnose(low_node(), m, nullptr), Not(Contains(HasSubstr("batch too small"))));
}

TEST(Diagnosis, NamesTheMetricsThatAreMissing) {
  ActiveMetrics m = measured();
  m.host_cpu_pct.reset();
  m.tensor_pct.reset();
  EXPECT_THAT(diagnose(low_node(), m, nullptr), Contains(HasSubstr("not measured, so not ruled out: host CPU, tensor activity")));
}

}  // namespace
}  // namespace stint
