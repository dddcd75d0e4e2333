// A book, a simulated cloud and the rows that outlive both's caller: time passes, and the caller may be killed between any two acts.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "capacity/capacity_book.h"
#include "capacity/simulated_cloud.h"

namespace stint {

inline CapacityPool testing_pool(const std::string& name, int per_hour, Market market = Market::kOnDemand) {
  CapacityPool pool;
  pool.name = name;
  pool.machine.node.gpu_model = "H100";
  pool.machine.node.gpus = 8;
  pool.machine.provider = "sim";
  pool.machine.market = market;
  pool.machine.rate = Rate::per_hour(Money::units(per_hour));
  return pool;
}

inline CapacityRules testing_rules(std::vector<CapacityPool> pools) {
  CapacityRules rules;
  rules.owner = "stint-test";
  rules.pools = std::move(pools);
  return rules;
}

/// Spot machines that are not taken back, and nothing goes wrong.
inline SimulatedCloudOptions quiet_cloud() {
  SimulatedCloudOptions options;
  options.spot_life = Duration();
  return options;
}

struct CapacityWorld {
  CapacityWorld(CapacityRules r, SimulatedCloudOptions options)
      : rules(std::move(r)), cloud(std::move(options), rules.pools), book(rules) {}

  /// A step of the caller. @param acts  it is killed before its act of that number: the rows are the first, each order is one.
  /// @return whether it lived.
  bool step(int acts = 1'000'000) {
    CapacityHeard heard = cloud.hear(now);
    std::ranges::move(std::exchange(more.answers, {}), std::back_inserter(heard.answers));
    std::ranges::move(std::exchange(more.notices, {}), std::back_inserter(heard.notices));
    last = book.step(now, {.wishes = wishes, .released = std::exchange(released, {})}, heard);
    for (const CapacityNews& each : last.news)
      news.push_back(each);
    if (acts-- == 0) return kill();
    rows.insert(rows.end(), last.rows.begin(), last.rows.end());
    for (const CreateOrder& order : last.creates) {
      if (acts-- == 0) return kill();
      cloud.create(order, now);
    }
    for (const DestroyOrder& order : last.destroys) {
      if (acts-- == 0) return kill();
      cloud.destroy(order, now);
    }
    if (last.list) cloud.list(*last.list, now);
    if (last.offer) cloud.offer(now);
    check();
    return true;
  }

  bool kill() {
    cloud.forget_callers();
    auto again = CapacityBook::recover(rules, rows, now);
    CHECK(again.ok(), "{}", again.error().message);
    book = std::move(*again);
    check();
    return false;
  }

  void run_for(Duration time, Duration every = Duration::seconds(1)) {
    for (const Instant end = now + time; now < end; now = now + every)
      step();
  }

  /// As the cloud has it, whatever the book says.
  [[nodiscard]] std::multiset<std::string> there() const {
    std::multiset<std::string> names;
    for (const auto& [id, instance] : cloud.there())
      if (instance.owner == rules.owner) names.insert(instance.name);
    return names;
  }
  [[nodiscard]] int64_t in_state(MadeState state) const {
    return std::ranges::count(book.machines(), state, [](const auto& each) { return each.second.state; });
  }
  [[nodiscard]] int64_t heard_of(CapacityEvent event) const { return std::ranges::count(news, event, &CapacityNews::event); }
  [[nodiscard]] int64_t tried(const std::string& pool) const {
    return std::ranges::count(cloud.tried(), pool, &SimulatedCloud::Tried::pool);
  }
  /// What no fault may break: never more names than allowed, in all and of each pool.
  void check() const {
    const std::multiset<std::string> all = there();
    const std::set<std::string> names(all.begin(), all.end());
    CHECK(std::ssize(names) <= rules.most, "{} machines are there, {} may be", names.size(), rules.most);
    for (const CapacityPool& pool : rules.pools) {
      std::set<std::string> of_pool;
      for (const auto& [id, instance] : cloud.there())
        if (instance.pool == pool.name && instance.owner == rules.owner) of_pool.insert(instance.name);
      CHECK(std::ssize(of_pool) <= pool.most, "{} machines of {} are there, {} may be", of_pool.size(), pool.name, pool.most);
    }
  }

  CapacityRules rules;
  SimulatedCloud cloud;
  CapacityBook book;
  std::vector<std::string> rows;
  std::vector<CapacityWish> wishes;
  std::vector<std::string> released;
  CapacityHeard more;  ///< heard in the next step
  CapacityStep last;
  std::vector<CapacityNews> news;
  Instant now = Instant::from_seconds(1'800'000'000);
};

}  // namespace stint
