// Placement policies against the published results of FGD's evaluation (openb traces), and our own against FGD's.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/text.h"
#include "codec/traces/openb.h"
#include "host/file.h"
#include "sim/packing_replay.h"
#include "tests/needs_shared.h"

namespace stint {
namespace {

const std::string kFolder = std::string(STINT_SHARED_DIR) + "/data/openb/";

/// Mean allocation at 130 % by policy as the results name it, "06-FGD".
std::map<std::string, double> published(const std::string& trace) {
  std::map<std::string, double> sums;
  const std::string text = read_all(kFolder + "published_allocation_ratio.csv").value();
  for (const std::string_view line : split(text, '\n')) {
    const auto fields = split(trim(line), ',');
    if (fields.size() == 6 && fields[0] == "openb_pod_list_" + trace)
      sums[std::string(fields[1])] += parse_number(fields[5]).value() / 10;
  }
  return sums;
}

class Packing : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    STINT_NEEDS_SHARED(kFolder);
    const std::string name = GetParam();
    const auto nodes = read_openb_nodes(read_all(kFolder + "openb_node_list_gpu_node.csv.gz").value(), "nodes");
    ASSERT_TRUE(nodes.ok()) << nodes.error().message;
    const auto pods = read_openb_pods(read_all(kFolder + "openb_pod_list_" + name + ".csv.gz").value(), "pods");
    ASSERT_TRUE(pods.ok()) << pods.error().message;
    auto orders =
        read_openb_arrivals(read_all(kFolder + "arrivals/arrivals_" + name + ".txt.gz").value(), pods->size(), "arrivals");
    ASSERT_TRUE(orders.ok()) << orders.error().message;
    orders_ = std::move(*orders);
    auto trace = sim::PackingTrace::create(*nodes, *pods);
    ASSERT_TRUE(trace.ok()) << trace.error().message;
    trace_ = std::move(*trace);
  }

  /// Mean over the first `orders` of them.
  [[nodiscard]] double mean(sched::Placement policy, size_t orders) const {
    double sum = 0;
    for (size_t i = 0; i < orders; ++i)
      sum += sim::replay_packing(trace_, orders_[i].pods, policy, orders_[i].seed).allocated_pct_130.value();
    return sum / static_cast<double>(orders);
  }

  sim::PackingTrace trace_;
  std::vector<PodArrivals> orders_;
};

TEST_P(Packing, BestFitAndFgdAreAsPublishedAndOursIsBetter) {
  const auto theirs = published(GetParam());
  EXPECT_NEAR(mean(sched::Placement::kBestFit, orders_.size()), theirs.at("05-BestFit"), 0.25);
  EXPECT_NEAR(mean(sched::Placement::kFgd, orders_.size()), theirs.at("06-FGD"), 0.25);
  EXPECT_GT(mean(sched::Placement::kStint, orders_.size()), theirs.at("06-FGD") + 0.2);
}

TEST_P(Packing, PoliciesRankAsPublished) {
  const auto theirs = published(GetParam());
  const std::map<std::string, sched::Placement> policies = {{"01-Random", sched::Placement::kRandom},
                                                            {"02-DotProd", sched::Placement::kDotProduct},
                                                            {"03-GpuClustering", sched::Placement::kClustering},
                                                            {"04-GpuPacking", sched::Placement::kPacking},
                                                            {"05-BestFit", sched::Placement::kBestFit},
                                                            {"06-FGD", sched::Placement::kFgd}};
  std::map<std::string, double> ours;
  for (const auto& [name, policy] : policies)
    ours[name] = mean(policy, orders_.size());
  for (const auto& [a, theirs_a] : theirs)
    for (const auto& [b, theirs_b] : theirs)
      if (theirs_a > theirs_b + 0.3) {
        EXPECT_GT(ours.at(a), ours.at(b)) << a << " above " << b;
      }
}

INSTANTIATE_TEST_SUITE_P(Openb, Packing, testing::Values("default", "cpu050", "gpushare40", "gpuspec10", "multigpu20"),
                         [](const auto& p) { return std::string(p.param); });

}  // namespace
}  // namespace stint
