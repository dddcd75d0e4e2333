// Loads of models of which a quarter fit, by ten traces: the memory budget's beside those of least recently used, and what none could go
// below. Usage: build/release/bench/reload_table. Prints the table of docs/benchmarks.md; no clock is looked at, so it is the same everywhere.
#include <fmt/format.h>

#include <numeric>

#include "batching/testing_reloads.h"

using namespace stint;            // NOLINT
using namespace stint::batching;  // NOLINT

namespace {

constexpr uint64_t kSeeds = 3;

/// Mean of the seeds, of LRU's loads.
struct Shares {
  double lru = 0, at_once = 0, own_load = 0, two_seconds = 0, fewest = 0;
};

Shares shares_of(const ReloadTrace& trace, bool equal) {
  Shares mean;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<ModelMemory> models = trace_models(seed, equal);
    const std::vector<uint32_t> asked = requests_of(trace, seed);
    const auto lru = static_cast<double>(replay_on_lru(asked, models).loads);
    const auto add = [&](double& to, double loads) { to += loads / static_cast<double>(kSeeds); };
    add(mean.lru, lru);
    add(mean.at_once, static_cast<double>(replay_on_budget(asked, models, Duration()).loads) / lru);
    add(mean.own_load, static_cast<double>(replay_on_budget(asked, models, std::nullopt).loads) / lru);
    add(mean.two_seconds, static_cast<double>(replay_on_budget(asked, models, Duration::seconds(2)).loads) / lru);
    add(mean.fewest, static_cast<double>(fewest_loads(asked, models, equal)) / lru);
  }
  return mean;
}

}  // namespace

int main() {
  fmt::print("| trace | LRU: loads | none waits | as long as its load takes (default) | 2 s | none can go below, at once |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  for (const ReloadTrace& trace : reload_traces()) {
    const Shares mixed = shares_of(trace, false), equal = shares_of(trace, true);
    fmt::print("| {} | {:.0f}; {:.0f} | {:.2f}; {:.2f} | {:.2f}; {:.2f} | {:.2f}; {:.2f} | {:.2f}; {:.2f} |\n", trace.name,
               mixed.lru, equal.lru, mixed.at_once, equal.at_once, mixed.own_load, equal.own_load, mixed.two_seconds,
               equal.two_seconds, mixed.fewest, equal.fewest);
  }
}
