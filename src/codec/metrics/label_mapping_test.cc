#include "codec/metrics/label_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using Labels = std::vector<SeriesLabel>;

MappedSeries mapped(std::string_view name, const Labels& labels) {
  const auto series = map_series(name, labels, {});
  EXPECT_TRUE(series.ok() && series->has_value()) << name;
  return series.ok() && series->has_value() ? **series : MappedSeries();
}

const Labels kDcgm = {{"gpu", "3"}, {"UUID", "GPU-1"}, {"modelName", "NVIDIA A100-SXM4-80GB"}, {"Hostname", "node-1"}};
Labels with(Labels more) {
  more.insert(more.begin(), kDcgm.begin(), kDcgm.end());
  return more;
}

TEST(LabelMapping, DcgmDevice) {
  const MappedSeries s = mapped("DCGM_FI_DEV_GPU_UTIL", kDcgm);
  EXPECT_EQ(s.key.device,
            (DeviceKey{.node = "node-1", .uuid = "GPU-1", .index = 3, .model = "NVIDIA A100-SXM4-80GB", .mig_profile = {}}));
  EXPECT_TRUE(s.key.holder.empty());
  EXPECT_EQ(s.key.metric, Metric::kUtilization);
  EXPECT_EQ(s.factor, 1);
}

TEST(LabelMapping, UnitsBecomeTheMetricsOwn) {
  EXPECT_EQ(mapped("DCGM_FI_PROF_SM_ACTIVE", kDcgm).factor, 100);
  EXPECT_EQ(mapped("DCGM_FI_DEV_FB_USED", kDcgm).factor, 1048576);
  EXPECT_EQ(mapped("nvidia_smi_clocks_current_sm_clock_hz", kDcgm).factor * 1.41e9, 1410);
  EXPECT_EQ(mapped("stint_request_rate", kDcgm).factor, 1);
  EXPECT_EQ(mapped("stint_gpu_utilization", kDcgm).key.metric, Metric::kUtilization);
  EXPECT_EQ(mapped("stint_gpu_memory_size", kDcgm).key.metric, Metric::kMemoryTotal);
}

TEST(LabelMapping, LegacyNamesAndLabels) {
  const Labels old = {{"gpu", "0"},      {"uuid", "GPU-1"},       {"hostname", "n"},
                      {"pod_name", "p"}, {"pod_namespace", "ns"}, {"container_name", "c"}};
  EXPECT_EQ(mapped("dcgm_gpu_utilization", old).key.metric, Metric::kUtilization);
  EXPECT_EQ(mapped("dcgm_fi_dev_fb_used", old).key.metric, Metric::kMemoryUsed);
  EXPECT_EQ(mapped("dcgm_fi_dev_gpu_util", old).key.holder.pod, "p");
  EXPECT_EQ(mapped("dcgm_gpu_temp", old).key.holder.ns, "ns");
  EXPECT_EQ(mapped("dcgm_gpu_temp", old).key.holder.container, "c");
}

TEST(LabelMapping, OtherMetricsAreNotKept) {
  for (const char* name : {"go_goroutines", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", "stint_nonsense", ""}) {
    const auto series = map_series(name, kDcgm, {});
    ASSERT_TRUE(series.ok());
    EXPECT_FALSE(series->has_value()) << name;
  }
}

TEST(LabelMapping, MigInstancesAreDevicesOfTheirOwn) {
  const MappedSeries s = mapped("DCGM_FI_PROF_GR_ENGINE_ACTIVE", with({{"GPU_I_PROFILE", "1g.10gb"}, {"GPU_I_ID", "7"}}));
  EXPECT_EQ(s.key.metric, Metric::kEngineActive);
  EXPECT_EQ(s.key.device.mig_profile, "1g.10gb");
  EXPECT_EQ(s.key.device.mig_instance, 7);
  EXPECT_EQ(s.key.device.uuid, "GPU-1");
  const MappedSeries dra =
      mapped("DCGM_FI_DEV_FB_USED", with({{"dra_mig_profile", "2g.20gb"}, {"dra_mig_device_uuid", "MIG-9"}}));
  EXPECT_EQ(dra.key.device.mig_profile, "2g.20gb");
  EXPECT_EQ(dra.key.device.uuid, "MIG-9");
}

// dcgm-exporter#340: behind Prometheus `pod` is the exporter and the workload moves to exported_*.
TEST(LabelMapping, ExportedLabelsWin) {
  const MappedSeries s = mapped("DCGM_FI_DEV_GPU_UTIL", with({{"pod", "nvidia-dcgm-exporter-x"},
                                                              {"namespace", "gpu-operator"},
                                                              {"container", "nvidia-dcgm-exporter"},
                                                              {"exported_pod", "train-0"},
                                                              {"exported_namespace", "acme"},
                                                              {"exported_container", "main"}}));
  EXPECT_EQ(s.key.holder.pod, "train-0");
  EXPECT_EQ(s.key.holder.ns, "acme");
  EXPECT_EQ(s.key.holder.container, "main");
}

TEST(LabelMapping, TheExporterHoldsNothing) {
  EXPECT_TRUE(mapped("DCGM_FI_DEV_GPU_UTIL", with({{"pod", "nvidia-dcgm-exporter-x"}, {"namespace", "gpu-operator"}}))
                  .key.holder.empty());
  EXPECT_TRUE(mapped("DCGM_FI_DEV_GPU_UTIL", with({{"pod", "whatever"}, {"exported_namespace", ""}})).key.holder.empty());
  EXPECT_TRUE(mapped("DCGM_FI_DEV_GPU_UTIL", with({{"namespace", "monitoring"}, {"job", "dcgm"}})).key.holder.empty());
}

TEST(LabelMapping, SlurmJobs) { EXPECT_EQ(mapped("DCGM_FI_DEV_GPU_UTIL", with({{"hpc_job", "4711"}})).key.holder.job, "4711"); }

TEST(LabelMapping, InstanceLosesItsPort) {
  const auto node = [](std::string_view instance) {
    return mapped("DCGM_FI_DEV_GPU_UTIL", {{"gpu", "0"}, {"instance", instance}}).key.device.node;
  };
  EXPECT_EQ(node("10.0.0.5:9400"), "10.0.0.5");
  EXPECT_EQ(node("gpu-node-1"), "gpu-node-1");
  EXPECT_EQ(node("[2001:db8::1]:9400"), "[2001:db8::1]");
  EXPECT_EQ(node("2001:db8::1"), "2001:db8::1");
}

TEST(LabelMapping, NodeCpuBelongsToTheMachine) {
  const MappedSeries s =
      mapped("instance:node_cpu_utilisation:rate5m", {{"instance", "node-1:9100"}, {"pod", "x"}, {"gpu", "1"}});
  EXPECT_EQ(s.key.device, (DeviceKey{.node = "node-1", .uuid = {}, .index = -1, .model = {}, .mig_profile = {}}));
  EXPECT_TRUE(s.key.holder.empty());
  EXPECT_EQ(s.key.metric, Metric::kHostCpu);
  EXPECT_EQ(s.factor, 100);
}

TEST(LabelMapping, NvidiaGpuExporterGetsTheUsualUuid) {
  const MappedSeries s =
      mapped("nvidia_smi_utilization_gpu_ratio", {{"uuid", "df6e7a7c-7314-46f8-abc4-b88b36dcf3aa"}, {"instance", "box:9835"}});
  EXPECT_EQ(s.key.device.uuid, "GPU-df6e7a7c-7314-46f8-abc4-b88b36dcf3aa");
  EXPECT_EQ(s.factor, 100);
}

TEST(LabelMapping, WhatCannotBePlacedIsAnError) {
  EXPECT_THAT(map_series("DCGM_FI_DEV_GPU_UTIL", Labels{{"Hostname", "n"}}, {}).error().message,
              testing::HasSubstr("names no GPU"));
  EXPECT_THAT(map_series("DCGM_FI_DEV_GPU_UTIL", Labels{{"gpu", "0"}}, {}).error().message, testing::HasSubstr("--node"));
  EXPECT_EQ((*map_series("DCGM_FI_DEV_GPU_UTIL", Labels{{"gpu", "0"}}, {.source = {}, .node = "here"}))->key.device.node, "here");
}

TEST(LabelMapping, DcgmBlanks) {
  for (const double v :
       {9223372036854775792.0, 9223372036854775795.0, 2147483632.0, 2147483635.0, 140737488355328.0, 140737488355331.0})
    EXPECT_TRUE(is_dcgm_blank(v)) << v;
  for (const double v : {0.0, 100.0, 81559.0, 2147483631.0, 2147483636.0, 1e12, 140737488355332.0})
    EXPECT_FALSE(is_dcgm_blank(v)) << v;
}

}  // namespace
}  // namespace stint
