#include "telemetry/gpu_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kHours = 24;

/// A day of machines, each GPU seen from one hour to another.
struct SeenDay {
  History history;
  Usage usage;

  SeenDay() { history.period = usage.period = {Instant::from_hour_index(500'000), Instant::from_hour_index(500'000 + kHours)}; }

  Node& node(const std::string& name) {
    Node& node = history.nodes.emplace_back();
    node.name = name;
    return node;
  }
  /// On the last machine.
  void gpu(const std::string& uuid, size_t from, size_t to, float mean = 50) {
    Device device;
    device.node = NodeId(static_cast<uint32_t>(history.nodes.size() - 1));
    device.uuid = uuid;
    device.index = static_cast<int>(std::ranges::count(history.devices, device.node, &Device::node));
    history.devices.push_back(device);
    HourlySeries& series = usage.devices.emplace_back().metrics[Metric::kUtilization];
    series.hours.resize(kHours);
    for (size_t h = from; h < to; ++h)
      series.hours[h] = {mean, mean, 3600, 0};
    series.count = to - from;
  }
};

TEST(GpuIdentity, TheSameGpusUnderTwoNamesAreOneMachine) {
  SeenDay day;
  day.node("10.0.0.7");
  day.gpu("GPU-a", 0, 24, 50);
  day.gpu("GPU-b", 0, 24, 50);
  day.node("trainer").instance_type = "p3.2xlarge";
  day.gpu("GPU-a", 6, 12, 60);
  day.gpu("GPU-b", 6, 12, 60);
  stint::Run& run = day.history.runs.emplace_back();
  run.allocations = {{"10.0.0.7", {}, 1}};
  day.history.bill.emplace_back().resource_id = "10.0.0.7";
  const auto notes = join_names_of_one_machine(day.history, day.usage);
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_THAT(notes[0], HasSubstr("10.0.0.7 and trainer are one machine"));
  ASSERT_THAT(day.history.nodes, SizeIs(1));
  EXPECT_EQ(day.history.nodes[0].name, "trainer");
  ASSERT_THAT(day.history.devices, SizeIs(2));
  ASSERT_THAT(day.usage.devices, SizeIs(2));
  for (const DeviceUsage& device : day.usage.devices) {
    const auto& hours = device.metrics.at(Metric::kUtilization).hours;
    EXPECT_EQ(hours[0].covered_s, 3600);
    EXPECT_EQ(hours[7].mean, 50) << "the series that covers more";
  }
  EXPECT_EQ(day.history.runs[0].allocations[0].node, "trainer");
  EXPECT_EQ(day.history.bill[0].resource_id, "trainer");
}

TEST(GpuIdentity, ACardThatMovedIsOnTwoMachinesOneAfterTheOther) {
  SeenDay day;
  day.node("new");
  day.gpu("GPU-a", 12, 24);
  day.node("old");
  day.gpu("GPU-a", 0, 12);
  EXPECT_THAT(join_names_of_one_machine(day.history, day.usage), IsEmpty());
  EXPECT_THAT(day.history.nodes, SizeIs(2));
  EXPECT_THAT(day.history.devices, SizeIs(2));
}

TEST(GpuIdentity, MachinesWithoutUuidsStandAsTheyAre) {
  SeenDay day;
  day.node("a");
  day.gpu("", 0, 24);
  day.node("b");
  day.gpu("", 0, 24);
  EXPECT_THAT(join_names_of_one_machine(day.history, day.usage), IsEmpty());
  EXPECT_THAT(day.history.nodes, SizeIs(2));
}

}  // namespace
}  // namespace stint
