#include "advise/share/interference.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/needs_shared.h"

namespace stint {
namespace {

constexpr const char* kGavel = STINT_SHARED_DIR "/data/gavel/simulation_throughputs.json.gz";

std::string unpacked(const char* path) {
  const gzFile file = gzopen(path, "rb");
  std::string out;
  char buffer[1 << 16];
  for (int n = 0; file != nullptr && (n = gzread(file, buffer, sizeof buffer)) > 0;)
    out.append(buffer, static_cast<size_t>(n));
  gzclose(file);
  return out;
}

/// Of two jobs that ran beside each other on one GPU: how many times as long each took, and how much of the GPU each keeps busy alone, as
/// far as a job beside itself tells (turns of two that each need u take 2u as long).
struct MeasuredPair {
  double slowed = 1, other_slowed = 1;
  double busy = 1, other_busy = 1;
};

/// By GPU, for each job and neighbour. Pairs that did not fit into the memory say nothing.
std::map<std::string, std::vector<MeasuredPair>> measured_pairs() {
  std::map<std::string, std::vector<MeasuredPair>> out;
  const auto root = nlohmann::json::parse(unpacked(kGavel));
  for (const std::string gpu : {"k80", "p100", "v100"}) {
    const auto& jobs = root.at(gpu);
    const auto on_one_gpu = [](const std::string& job) { return job.ends_with(", 1)"); };
    const auto alone = [&](const std::string& job) { return jobs.at(job).at("null").get<double>(); };
    const auto busy = [&](const std::string& job) {
      const auto beside = jobs.at(job).at(job).at(0).get<double>();
      return beside > 0 ? std::clamp(alone(job) / beside / 2, 0.5, 1.0) : 1.0;
    };
    for (const auto& [job, neighbours] : jobs.items())
      for (const auto& [neighbour, rates] : neighbours.items()) {
        if (neighbour == "null" || !on_one_gpu(job) || !on_one_gpu(neighbour)) continue;
        const auto own = rates.at(0).get<double>(), other = rates.at(1).get<double>();
        if (own > 0 && other > 0) out[gpu].push_back({alone(job) / own, alone(neighbour) / other, busy(job), busy(neighbour)});
      }
  }
  return out;
}

double share_of(const std::vector<MeasuredPair>& pairs, const auto& is) {
  return static_cast<double>(std::ranges::count_if(pairs, is)) / static_cast<double>(pairs.size());
}

TEST(Interference, OneMeasuredJobInAHundredIsSlowedMore) {
  STINT_NEEDS_SHARED(kGavel);
  const auto measured = measured_pairs();
  for (const auto& [gpu, pairs] : measured) {
    ASSERT_GT(pairs.size(), 550U) << gpu;
    EXPECT_LE(share_of(pairs, [](const MeasuredPair& p) { return p.slowed > kMostSlowedByNeighbour; }), 0.01) << gpu;
  }
  EXPECT_GT(share_of(measured.at("v100"), [](const MeasuredPair& p) { return p.slowed > 0.95 * kMostSlowedByNeighbour; }), 0.01)
      << "a lower bound would not hold";
}

TEST(Interference, FairTurnsAreNoBound) {
  STINT_NEEDS_SHARED(kGavel);
  for (const auto& [gpu, pairs] : measured_pairs())
    EXPECT_GT(share_of(pairs, [](const MeasuredPair& p) { return p.slowed > 2; }), 0.25) << gpu;
}

// By it a pair whose sum is below 1.25 would be slowed at most 1.25 times.
TEST(Interference, TheSumOfWhatIsBusyDoesNotTellWhichPairsDoNoHarm) {
  STINT_NEEDS_SHARED(kGavel);
  std::vector<MeasuredPair> advised;
  for (const auto& [gpu, pairs] : measured_pairs())
    std::ranges::copy_if(pairs, std::back_inserter(advised), [](const MeasuredPair& p) { return p.busy + p.other_busy <= 1.25; });
  ASSERT_GT(advised.size(), 50U);
  EXPECT_GT(share_of(advised, [](const MeasuredPair& p) { return std::max(p.slowed, p.other_slowed) > 1.25; }), 0.5);
}

TEST(Interference, EachNeighbourAddsAsMuch) {
  EXPECT_EQ(most_slowed(0), 1);
  EXPECT_EQ(most_slowed(1), kMostSlowedByNeighbour);
  EXPECT_DOUBLE_EQ(most_slowed(2) - most_slowed(1), kMostSlowedByNeighbour - 1);
}

}  // namespace
}  // namespace stint
