// Policies for many zones on SkyNomad's H100 traces: the published costs, and the bounds that our own keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "codec/csv_table.h"
#include "codec/traces/region_trace.h"
#include "host/file.h"
#include "sim/regions_protocol.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

using sim::RegionsChoice;

const std::string kSkyNomad = std::string(STINT_SHARED_DIR) + "/data/skynomad/";
constexpr std::array<int64_t, 6> kStarts = {0, 311, 622, 933, 1244, 1556};
const std::vector<std::string> kSixZones = {"us-central1-a",  "us-west1-a",        "europe-west1-c",
                                            "europe-west3-c", "asia-southeast1-b", "asia-south2-b"};
const std::vector<std::string> kByCost = {
    "asia-southeast1-c", "asia-south2-b", "us-west1-b",        "europe-west3-c", "us-west1-a", "us-east4-a", "europe-west1-c",
    "us-central1-c",     "us-central1-b", "asia-southeast1-b", "us-central1-a",  "us-east5-a", "us-east4-b"};
const std::map<RegionsChoice, std::string> kPublishedNames = {{RegionsChoice::kUp, "UP"},
                                                              {RegionsChoice::kUpS, "UP(S)"},
                                                              {RegionsChoice::kUpA, "UP(A)"},
                                                              {RegionsChoice::kUpAp, "UP(AP)"},
                                                              {RegionsChoice::kOptimal, "optimum"}};

struct Experiment {
  std::string name;  ///< as targets.csv has it
  size_t zones = 0;
  std::string ratio;
};

void PrintTo(const Experiment& e, std::ostream* out) { *out << e.name << " with " << e.zones << " zones, ratio " << e.ratio; }

std::vector<Experiment> experiments() {
  std::vector<Experiment> all;
  for (const char* ratio : {"1.05", "1.1", "1.15", "1.2", "1.3", "1.5", "2", "3"})
    all.push_back({"deadline", 6, ratio});
  for (size_t zones = 1; zones <= kByCost.size(); ++zones)
    all.push_back({"regions", zones, "1.2"});
  return all;
}

struct Means {
  double cost = 0;
  int64_t late = 0;
  std::vector<double> costs;        ///< by window
  std::vector<int64_t> migrations;  ///< likewise
};

class RegionsOnPublicTraces : public testing::TestWithParam<Experiment> {
 protected:
  void SetUp() override {
    STINT_NEEDS_SHARED(kSkyNomad);
    auto trace = read_zones_trace(read_all(kSkyNomad + "h100_zones.csv.gz").value(), "zones");
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    trace_ = std::move(trace).value();
    auto prices = read_zone_prices(read_all(kSkyNomad + "prices.csv").value(), "prices");
    ASSERT_TRUE(prices.ok()) << prices.error().message;
    prices_ = std::move(prices).value();
    auto transfers = read_transfer_prices(read_all(kSkyNomad + "egress.csv").value(), "egress");
    ASSERT_TRUE(transfers.ok()) << transfers.error().message;
    transfers_ = std::move(transfers).value();
    zones_ = kSixZones;
    if (GetParam().name == "regions")
      zones_.assign(kByCost.begin(), kByCost.begin() + static_cast<std::ptrdiff_t>(GetParam().zones));
  }

  [[nodiscard]] sched::RegionsTask task() const {
    return sim::make_regions_task({.zones = zones_, .ratio = *parse_number(GetParam().ratio)}, trace_.tick_s, prices_, transfers_)
        .value();
  }

  [[nodiscard]] Means means_of(RegionsChoice choice) const {
    const sched::RegionsTask all = task();
    Means means;
    double runs = 0;
    const auto add = [&](const sched::RegionsTask& one, const sim::ZoneCapacity& available) {
      const sim::RegionsRun run = sim::run_regions(choice, one, available).value();
      means.costs.push_back(sim::published_cost(run, choice, one).to_double());
      means.cost += means.costs.back();
      means.late += run.late ? 1 : 0;
      means.migrations.push_back(run.migrations);
      ++runs;
    };
    for (const int64_t start : kStarts) {
      const sim::ZoneCapacity available = sim::zone_capacity(trace_, zones_, start, all.deadline_ticks).value();
      if (choice != RegionsChoice::kUp)
        add(all, available);
      else
        for (size_t z = 0; z < zones_.size(); ++z)
          add(sim::only_zone(all, z), {available[z]});
    }
    means.cost /= runs;
    return means;
  }

  /// The mean that targets.csv gives.
  [[nodiscard]] double published(const std::string& policy) const {
    const std::string text = read_all(kSkyNomad + "targets.csv").value();
    const std::string source = "targets.csv";
    CsvTable table(text, source);
    CHECK(table.read_header({}).ok(), "targets.csv has no header");
    while (*table.next())
      if (table.text("experiment") == GetParam().name && table.text("zones") == fmt::format("{}", GetParam().zones) &&
          table.text("deadline_ratio") == GetParam().ratio && table.text("policy") == policy)
        return *parse_number(table.text("mean_cost_usd"));
    CHECK(false, "targets.csv has no such mean");
    return 0;
  }

  ZonesTrace trace_;
  std::vector<ZonePrice> prices_;
  TransferPrices transfers_;
  std::vector<std::string> zones_;
};

TEST_P(RegionsOnPublicTraces, TheComparedPoliciesCostWhatIsPublished) {
  for (const auto& [choice, name] : kPublishedNames) {
    const Means means = means_of(choice);
    EXPECT_NEAR(means.cost / published(name), 1, 1e-6) << name;
    EXPECT_EQ(means.late, 0) << name;
  }
}

TEST_P(RegionsOnPublicTraces, EveryWindowCostsAndMovesAsPublished) {
  if (GetParam().name != "deadline") return;  // of the others only means are published
  const std::string text = read_all(kSkyNomad + "targets_runs.csv").value();
  const std::string source = "targets_runs.csv";
  for (const auto& [choice, name] : kPublishedNames) {
    if (choice == RegionsChoice::kUp) continue;
    const Means means = means_of(choice);
    CsvTable table(text, source);
    ASSERT_TRUE(table.read_header({}).ok());
    size_t compared = 0;
    while (*table.next()) {
      if (table.text("deadline_ratio") != GetParam().ratio || table.text("policy") != name) continue;
      const auto window = static_cast<size_t>(*table.whole("window", 5));
      EXPECT_NEAR(means.costs[window], *parse_number(table.text("cost_usd")), 1e-4) << name << ", window " << window;
      EXPECT_EQ(means.migrations[window], *table.whole("migrations", 1'000)) << name << ", window " << window;
      ++compared;
    }
    EXPECT_EQ(compared, kStarts.size()) << name;
  }
}

TEST_P(RegionsOnPublicTraces, OursCostsLessThanSkyNomadAndMeetsEveryDeadline) {
  const Means ours = means_of(RegionsChoice::kStint);
  // With four zones ours is dearer; docs/benchmarks.md says by how much and why.
  const double bound = GetParam().name == "regions" && GetParam().zones == 4 ? 1.04 : 1;
  EXPECT_LE(ours.cost, bound * published("SkyNomad"));
  EXPECT_EQ(ours.late, 0);
}

INSTANTIATE_TEST_SUITE_P(All, RegionsOnPublicTraces, testing::ValuesIn(experiments()), [](const auto& each) {
  std::string ratio = each.param.ratio;
  std::replace(ratio.begin(), ratio.end(), '.', '_');
  return fmt::format("{}{}At{}", each.param.name, each.param.zones, ratio);
});

}  // namespace
}  // namespace stint
