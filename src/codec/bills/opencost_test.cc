#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/importer.h"
#include "codec/testing_import.h"

namespace stint {
namespace {

using testing::HasSubstr;

TestingSink import(std::string_view text, Status* status = nullptr) {
  return import_text(make_opencost_importer, {.source = "a.json"}, text, status);
}

std::string allocation(std::string_view more) {
  return std::string(R"({"start":"2026-10-01T00:00:00Z","end":"2026-10-02T00:00:00Z","minutes":1440,)") +
         R"("properties":{"cluster":"c","node":"n1","namespace":"acme","pod":"bert-serving-0","container":"m","controllerKind":"StatefulSet","labels":{"team":"nlp"}},)" +
         std::string(more) + "}";
}

TEST(Opencost, WholeGpusOfAPod) {
  const TestingSink sink =
      import(R"({"code":200,"data":[{"a":)" + allocation(R"("gpuHours":48,"cpuCores":7.5,"ramBytes":1073741824)") + "}]}");
  ASSERT_EQ(sink.runs.size(), 1U);
  const stint::Run& run = sink.runs[0];
  EXPECT_EQ(run.id, "a@2026-10-01T00:00:00Z");
  EXPECT_EQ(run.holder.ns, "acme");
  EXPECT_EQ(run.holder.pod, "bert-serving-0");
  EXPECT_EQ(run.tenant.team, "nlp");
  ASSERT_EQ(sink.run_owners.size(), 1U);
  EXPECT_EQ(sink.run_owners[0].run_id, run.id);
  EXPECT_EQ(sink.run_owners[0].kind, "StatefulSet");
  EXPECT_THAT(sink.run_owners[0].labels, testing::ElementsAre(Tag("team", "nlp")));
  EXPECT_EQ(run.kind, WorkloadKind::kRealtimeInference);
  EXPECT_EQ(run.gpus_requested, 2);
  EXPECT_FALSE(run.share.has_value());
  EXPECT_EQ(run.cpus, 8);
  EXPECT_EQ(run.memory, Bytes::gibi(int64_t{1}));
  ASSERT_EQ(run.allocations.size(), 1U);
  EXPECT_EQ(run.allocations[0].node, "n1");
  EXPECT_EQ(run.allocations[0].gpu_count, 2);
}

TEST(Opencost, FractionsBecomeShares) {
  // 6 GPU-hours in 24 h: a quarter of one GPU. 36 in 24 h: three quarters of each of two.
  const TestingSink quarter = import(R"({"data":[{"a":)" + allocation(R"("gpuHours":6)") + "}]}");
  EXPECT_EQ(quarter.runs.at(0).share, GpuShare::of(1, 4));
  EXPECT_EQ(quarter.runs.at(0).allocations.at(0).gpu_count, 1);
  const TestingSink more = import(R"({"data":[{"a":)" + allocation(R"("gpuHours":36)") + "}]}");
  EXPECT_EQ(more.runs.at(0).share, GpuShare::of(3, 4));
  EXPECT_EQ(more.runs.at(0).allocations.at(0).gpu_count, 2);
}

TEST(Opencost, NullNumbersAreAbsentAndStepsAreRunsOfTheirOwn) {
  const TestingSink sink =
      import(R"({"data":[{"a":)" + allocation(R"("gpuHours":null,"gpuCount":1,"cpuCores":null)") + R"(},null,{"a":)" +
             R"({"window":{"start":"2026-10-02T00:00:00Z","end":"2026-10-03T00:00:00Z"},"gpuHours":0}}]})");
  ASSERT_EQ(sink.runs.size(), 2U);
  EXPECT_EQ(sink.runs[0].gpus_requested, 1);
  EXPECT_EQ(sink.runs[1].id, "a@2026-10-02T00:00:00Z");
  EXPECT_EQ(sink.runs[1].gpus_requested, 0);
  EXPECT_TRUE(sink.runs[1].allocations.empty());
}

TEST(Opencost, IdleAndItsLikeBelongToNoTenant) {
  EXPECT_TRUE(
      import(R"({"data":[{"__idle__":{},"__unallocated__":{},"cluster-one/__idle__":{},"__unmounted__/x":{}}]})").runs.empty());
}

TEST(Opencost, BadAllocationsAreRejectedByName) {
  const TestingSink sink =
      import(R"({"data":[{"x":{"start":"2026-10-01T00:00:00Z"},"y":7,"z":)" + allocation(R"("gpuHours":-5)") + "},5]}");
  EXPECT_TRUE(sink.runs.empty());
  ASSERT_EQ(sink.rejected.size(), 4U);
  EXPECT_THAT(sink.rejected[0].second, HasSubstr("allocation 'x': end: no time"));
  EXPECT_THAT(sink.rejected[1].second, HasSubstr("allocation 'y': no object"));
  EXPECT_THAT(sink.rejected[2].second, HasSubstr("allocation 'z': gpuHours"));
  EXPECT_THAT(sink.rejected[3].second, HasSubstr("no map of allocations"));
}

TEST(Opencost, AnswersThatAreNoneAreRefused) {
  Status status;
  import(R"({"code":500,"message":"no data"})", &status);
  EXPECT_THAT(status.error().message, HasSubstr("code 500: no data"));
  import(R"({"code":200})", &status);
  EXPECT_THAT(status.error().message, HasSubstr("no `data` array"));
  import("{\"data\":[", &status);
  EXPECT_THAT(status.error().message, HasSubstr("not JSON"));
}

TEST(Opencost, RefusesDocumentsBeyondItsMemory) {
  TestingSink sink;
  const auto importer = make_opencost_importer({.source = "big.json"}, sink);
  const std::string piece(size_t{8} << 20, ' ');
  Status status;
  for (int i = 0; i < 9 && status.ok(); ++i)
    status = importer->feed(piece);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("larger than 64 MiB: ask for less at once"));
}

}  // namespace
}  // namespace stint
