// Requests for models of which only some fit, replayed on the memory budget, on least recently used, and on the best there could be: shared by
// the budget's test and bench/reload_table.
//
// Nothing else is simulated: a load is done at once, and a request waits only where the budget lets it gather company.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "batching/memory_budget.h"

namespace stint::batching {

constexpr uint32_t kTraceModels = 20;
constexpr int64_t kTraceRequests = 20'000;
constexpr Duration kTraceGap = Duration::milliseconds(50);

/// Models by rank of popularity, by Zipf's law; `drift` changes who has which rank, before each request.
struct ReloadTrace {
  std::string name;
  double exponent = 1;
  std::function<void(int64_t request, std::vector<uint32_t>& order, Prng& prng)> drift;
};

inline void shuffle(std::vector<uint32_t>& order, Prng& prng) {
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[prng.below(i)]);
}

/// Five that stay as they are, five that drift; 3,000 requests are 150 s.
inline std::vector<ReloadTrace> reload_traces() {
  std::vector<ReloadTrace> traces;
  for (const auto& [name, exponent] : std::initializer_list<std::pair<const char*, double>>{
           {"Zipf 0.6", 0.6}, {"Zipf 0.8", 0.8}, {"Zipf 1.0", 1.0}, {"Zipf 1.2", 1.2}, {"Zipf 1.4", 1.4}})
    traces.push_back({name, exponent, nullptr});
  const auto drifting = [&](std::string name, double exponent, int64_t every, auto change) {
    traces.push_back({std::move(name), exponent, [every, change](int64_t request, std::vector<uint32_t>& order, Prng& prng) {
                        if (request > 0 && request % every == 0) change(order, prng);
                      }});
  };
  drifting("the least asked for becomes the first, every 100 s", 1.0, 2000,
           [](auto& order, Prng&) { std::rotate(order.begin(), order.end() - 1, order.end()); });
  drifting("two change places, every 10 s", 1.0, 200,
           [](auto& order, Prng& prng) { std::swap(order[prng.below(order.size())], order[prng.below(order.size())]); });
  drifting("all change places, every 200 s", 1.0, 4000, [](auto& order, Prng& prng) { shuffle(order, prng); });
  drifting("halves take turns, every 250 s", 1.2, 5000,
           [](auto& order, Prng&) { std::rotate(order.begin(), order.begin() + std::ssize(order) / 2, order.end()); });
  drifting("all change places, every 50 s", 1.2, 1000, [](auto& order, Prng& prng) { shuffle(order, prng); });
  return traces;
}

/// Which model each request asks for.
inline std::vector<uint32_t> requests_of(const ReloadTrace& trace, uint64_t seed) {
  Prng prng(seed);
  std::vector<double> cumulative;
  double sum = 0;
  std::vector<uint32_t> order;
  for (uint32_t m = 0; m < kTraceModels; ++m) {
    cumulative.push_back(sum += std::pow(m + 1, -trace.exponent));
    order.push_back(m);
  }
  shuffle(order, prng);
  std::vector<uint32_t> asked;
  for (int64_t i = 0; i < kTraceRequests; ++i) {
    if (trace.drift) trace.drift(i, order, prng);
    const auto rank = std::lower_bound(cumulative.begin(), cumulative.end(), prng.uniform() * sum) - cumulative.begin();
    asked.push_back(order[static_cast<size_t>(rank)]);
  }
  return asked;
}

/// 2 to 14 GiB, or 8 GiB each; a load takes a second for 4 GiB; a batch of one 1 MiB.
inline std::vector<ModelMemory> trace_models(uint64_t seed, bool equal) {
  Prng prng(seed);
  std::vector<ModelMemory> models;
  for (uint32_t m = 0; m < kTraceModels; ++m) {
    const int64_t mebi = equal ? 8192 : 2048 + static_cast<int64_t>(prng.below(12'288));
    ModelMemory& model = models.emplace_back();
    model.weights = Bytes::mebi(mebi);
    for (int64_t items = 1; items <= 8; ++items)
      model.activation.push_back(Bytes::mebi(items));
    model.reload = Duration::milliseconds(mebi * 1000 / 4096);
  }
  return models;
}

inline std::vector<int64_t> bytes_with_one(const std::vector<ModelMemory>& models) {
  std::vector<int64_t> bytes;
  for (const ModelMemory& model : models)
    bytes.push_back((model.weights + model.activation.front()).count());
  return bytes;
}
/// Room for a quarter of them.
inline Bytes trace_room(const std::vector<ModelMemory>& models) {
  int64_t all = 0;
  for (const int64_t bytes : bytes_with_one(models))
    all += bytes;
  return Bytes::of(all / 4);
}

struct Reloads {
  int64_t loads = 0;
  int64_t bytes = 0;
  double most_used = 0;   ///< of the room
  Duration longest_wait;  ///< from a request to the load that answers it
};

/// Least recently used, evicting in that order until the newcomer fits: what LocalAI, ModelMesh and the requests for Triton have.
inline Reloads replay_on_lru(const std::vector<uint32_t>& asked, const std::vector<ModelMemory>& models) {
  const std::vector<int64_t> bytes = bytes_with_one(models);
  const int64_t room = trace_room(models).count();
  Reloads told;
  std::vector<uint32_t> order;  // least recent first
  int64_t used = 0;
  for (const uint32_t m : asked) {
    if (const auto at = std::ranges::find(order, m); at != order.end()) {
      order.erase(at);
    } else {
      for (; used + bytes[m] > room; order.erase(order.begin()))
        used -= bytes[order.front()];
      used += bytes[m];
      ++told.loads;
      told.bytes += bytes[m];
    }
    order.push_back(m);
  }
  return told;
}

/// @param patience  none: as long as each one's load takes. Every answer is a batch as large as the memory allows.
inline Reloads replay_on_budget(const std::vector<uint32_t>& asked, const std::vector<ModelMemory>& models,
                                std::optional<Duration> patience) {
  const Bytes room = trace_room(models);
  MemoryBudget budget =
      std::move(MemoryBudget::create({.room = room, .half_life = Duration::minutes(10), .patience = patience}, models)).value();
  Reloads told;
  std::map<uint32_t, std::pair<Instant, Instant>> waiting;  // since when, and when to ask again
  Instant now = Instant::from_seconds(1'000'000);
  const auto serve = [&](uint32_t m) {
    const LoadPlan plan = budget.plan_load(ModelId(m), now);
    if (plan.kind == LoadPlan::Kind::kGather) {
      waiting.at(m).second = plan.until;
      return;
    }
    if (plan.kind == LoadPlan::Kind::kLoad) {
      budget.commit_load(ModelId(m), plan);
      ++told.loads;
    }
    const int64_t granted = budget.begin_batch(ModelId(m), 8);
    CHECK(granted > 0 && budget.used() <= room, "{} bytes used of {}", budget.used().count(), room.count());
    budget.end_batch(ModelId(m), granted);
    told.most_used = std::max(told.most_used, static_cast<double>(budget.used().count()) / static_cast<double>(room.count()));
    budget.trim(ModelId(m));
    told.longest_wait = std::max(told.longest_wait, now - waiting.at(m).first);
    waiting.erase(m);
  };
  for (const uint32_t m : asked) {
    now = now + kTraceGap;
    std::vector<uint32_t> due;
    for (const auto& [other, times] : waiting)
      if (times.second <= now) due.push_back(other);
    std::ranges::for_each(due, serve);
    budget.want(ModelId(m), now);
    waiting.try_emplace(m, now, now);
    serve(m);
  }
  told.bytes = budget.loaded().count();
  return told;
}

/// What no way of loading at once can go below, though it knew all requests. Of equal sizes it is exact: who is asked for last of all
/// leaves (Belady 1966). Of others each stay from one request to the next costs its bytes × its time, and no more of them than the room
/// holds can be had (Berger, Beckmann, Harchol-Balter 2018, PFOO-L); a bound that may be far below what can be reached.
inline int64_t fewest_loads(const std::vector<uint32_t>& asked, const std::vector<ModelMemory>& models, bool equal) {
  const std::vector<int64_t> bytes = bytes_with_one(models);
  const int64_t room = trace_room(models).count(), count = std::ssize(asked);
  std::vector<int64_t> next(asked.size(), count);
  std::map<uint32_t, int64_t> later;
  for (int64_t i = count - 1; i >= 0; --i) {
    const uint32_t m = asked[static_cast<size_t>(i)];
    if (const auto found = later.find(m); found != later.end()) next[static_cast<size_t>(i)] = found->second;
    later[m] = i;
  }
  if (!equal) {
    std::vector<double> stays;
    for (int64_t i = 0; i < count; ++i)
      if (const int64_t until = next[static_cast<size_t>(i)]; until < count)
        stays.push_back(static_cast<double>(until - i) * static_cast<double>(bytes[asked[static_cast<size_t>(i)]]));
    std::ranges::sort(stays);
    double left = static_cast<double>(room) * static_cast<double>(count);
    int64_t hits = 0;
    for (const double stay : stays) {
      if (left < stay) break;
      left -= stay;
      ++hits;
    }
    return count - hits;
  }
  int64_t loads = 0;
  std::map<uint32_t, int64_t> resident;  // when it is asked for next
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t m = asked[static_cast<size_t>(i)];
    if (!resident.contains(m)) {
      ++loads;
      if ((std::ssize(resident) + 1) * bytes[m] > room)
        resident.erase(std::ranges::max_element(resident, {}, &std::pair<const uint32_t, int64_t>::second));
    }
    resident[m] = next[static_cast<size_t>(i)];
  }
  return loads;
}

}  // namespace stint::batching
