#include "advise/plan/history_demand.h"

#include <gmock/gmock.h>

#include "ledger/testing_books.h"

namespace stint {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using testing::HandMade;
using testing::kStart;
using ::testing::Optional;

const DemandSeries* find(const std::vector<DemandSeries>& all, std::string_view name) {
  for (const DemandSeries& series : all)
    if (series.name == name) return &series;
  return nullptr;
}

TEST(HistoryDemand, CountsWhatIsHeldByWhomAndWhatItCosts) {
  HandMade books(4);
  const NodeId node = books.node("gpu-1", 1);
  const DeviceId gpu = books.device(node, 0);
  const TenantId red = books.tenant("red");
  books.hour(gpu, 0, {{red, WorkloadKind::kTraining, kWholeDevice, kWholeDevice / 4, true}});
  books.hour(gpu, 1, {{red, WorkloadKind::kTraining, kWholeDevice / 2, kWholeDevice / 2, true}});
  books.hour(gpu, 2).missing = kWholeDevice;
  books.hour(gpu, 3);
  books.compute("gpu-1", Money::units(8));
  const auto ledger = books.post();
  ASSERT_TRUE(ledger.ok()) << ledger.error().message;
  const std::vector<DemandSeries> all = demands_of(books.history, books.occupancy, *ledger);
  const DemandSeries* held = find(all, "GPUs held");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->begin, kStart);
  // The third hour is not known: missing, not zero.
  EXPECT_THAT(held->values, ElementsAre(Optional(1.0), Optional(0.5), std::nullopt, Optional(0.0)));
  EXPECT_THAT(find(all, "GPUs active")->values, ElementsAre(Optional(0.25), Optional(0.5), std::nullopt, Optional(0.0)));
  EXPECT_THAT(find(all, "GPUs held by red")->values, ElementsAre(Optional(1.0), Optional(0.5), std::nullopt, Optional(0.0)));
  const DemandSeries* cost = find(all, "cost");
  ASSERT_NE(cost, nullptr);
  EXPECT_EQ(cost->unit, "USD/h");
  EXPECT_THAT(cost->values, ::testing::Each(Optional(DoubleNear(2, 1e-9))));
  EXPECT_EQ(find(all, "runs begun, training"), nullptr);
}

TEST(HistoryDemand, CountsRunsBegunByKind) {
  HandMade books(5);
  books.node("gpu-1", 1);
  for (const int64_t hour : {1, 1, 3}) {
    stint::Run run;
    run.id = fmt::format("{}", books.history.runs.size());
    run.kind = WorkloadKind::kEvaluation;
    run.submitted = kStart + kHour * hour + Duration::minutes(10);
    books.history.runs.push_back(run);
  }
  const std::vector<DemandSeries> all = demands_of(books.history, books.occupancy, Ledger{});
  const DemandSeries* runs = find(all, "runs begun, evaluation");
  ASSERT_NE(runs, nullptr);
  EXPECT_EQ(runs->begin, kStart + kHour);
  EXPECT_THAT(runs->values, ElementsAre(Optional(2.0), Optional(0.0), Optional(1.0)));
}

// Slurm's records say what was given out, whether or not anything watched the GPUs.
TEST(HistoryDemand, WithoutTelemetryJobsTellWhatIsHeld) {
  HandMade books(5);
  const auto add_run = [&](int64_t from_min, int64_t to_min, int64_t gpus, const std::string& account) {
    stint::Run run;
    run.id = fmt::format("{}", books.history.runs.size());
    run.holder.account = account;
    run.started = kStart + Duration::minutes(from_min);
    run.ended = kStart + Duration::minutes(to_min);
    run.allocations.push_back({.node = "n", .gpu_indexes = {}, .gpu_count = gpus});
    books.history.runs.push_back(run);
  };
  add_run(60, 150, 8, "red");
  add_run(240, 300, 4, "blue");
  const std::vector<DemandSeries> all = demands_of(books.history, books.occupancy, Ledger{});
  const DemandSeries* held = find(all, "GPUs held");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->begin, kStart + kHour);
  EXPECT_THAT(held->values, ElementsAre(Optional(8.0), Optional(4.0), Optional(0.0), Optional(4.0)));
  EXPECT_THAT(find(all, "GPUs held by red")->values, ElementsAre(Optional(8.0), Optional(4.0), Optional(0.0), Optional(0.0)));
  EXPECT_EQ(find(all, "GPUs active"), nullptr) << "what they did is not known";
}

TEST(HistoryDemand, CapacityIsWhatIsThereThen) {
  HandMade books(10);
  books.node("gone", 8);
  books.history.nodes[0].present_until = kStart + kHour * 2;
  books.node("rented", 8);
  books.node("owned", 4);
  books.history.nodes[2].market = Market::kOwned;
  const FleetCapacity capacity = capacity_at(books.history, books.history.period.end);
  EXPECT_EQ(capacity.gpus, 12);
  EXPECT_EQ(capacity.committed_gpus, 4);
}

}  // namespace
}  // namespace stint
