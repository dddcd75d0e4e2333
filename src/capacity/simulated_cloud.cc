#include "capacity/simulated_cloud.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"
#include "base/prng.h"
#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kTriedKept = 100'000;

Duration exponential(Duration mean, double chance) {
  return Duration::from_seconds(mean.to_seconds() * -std::log(1 - std::min(chance, 0.999999)));
}

}  // namespace

SimulatedCloud::SimulatedCloud(SimulatedCloudOptions options, std::vector<CapacityPool> pools)
    : options_(std::move(options)), pools_(std::move(pools)) {}

/// In [0, 1): the same for the same question.
double SimulatedCloud::chance(std::string_view what, std::string_view whom, Instant at) const {
  Fnv1a hash;
  hash.update(fmt::format("{}\t{}\t{}\t{}", options_.seed, what, whom, at.ns()));
  return Prng(hash.digest()).uniform();
}

const CapacityPool* SimulatedCloud::pool_of(std::string_view name) const {
  const auto found = std::ranges::find(pools_, name, &CapacityPool::name);
  return found == pools_.end() ? nullptr : &*found;
}

bool SimulatedCloud::has_stock(const std::string& pool, Instant at) const {
  const auto most = options_.stock.find(pool);
  const auto there = of_pool_.find(pool);
  if (most != options_.stock.end() && (there == of_pool_.end() ? 0 : there->second) >= most->second) return false;
  const int64_t length = std::max<int64_t>(options_.stock_for.count_ns(), 1);
  return options_.stockout <= 0 || chance("stock", pool, Instant::from_ns(at.ns() / length * length)) >= options_.stockout;
}

Rate SimulatedCloud::price(const CapacityPool& pool, Instant at) const {
  if (pool.machine.market != Market::kSpot || options_.price_swing <= 0) return pool.machine.rate;
  const double factor = 1 + options_.price_swing * (2 * chance("price", pool.name, at.hour_start()) - 1);
  return Rate::per_hour(scale(pool.machine.rate.per_hour(), static_cast<int64_t>(factor * 10'000), 10'000));
}

void SimulatedCloud::offer(Instant now) {
  CapacityHeard heard;
  for (const CapacityPool& pool : pools_) {
    CapacityOffer offer{.pool = pool.name, .rate = price(pool, now), .quota_left = {}};
    if (options_.quota) offer.quota_left = std::max<int32_t>(0, *options_.quota - static_cast<int32_t>(there_.size()));
    heard.offers.push_back(std::move(offer));
  }
  answers_.emplace(now + options_.answer_after, std::move(heard));
}

void SimulatedCloud::create(const CreateOrder& order, Instant now) {
  pass_time(now);
  const std::string number = fmt::format("{}", ++orders_);
  CapacityHeard heard;
  const auto answer = [&](const std::string& name, CapacityOutcome outcome, std::string detail) {
    heard.answers.push_back({.call = order.call, .name = name, .outcome = outcome, .detail = std::move(detail)});
    if (tried_.size() < kTriedKept) tried_.push_back({order.pool, now, outcome});
  };
  if (chance("lost order", number, now) < options_.lost_orders) return;
  if (chance("late", number, now) < options_.late_orders) {
    late_.emplace(now + options_.late_by, order);
    return;
  }
  if (chance("throttled", number, now) < options_.throttled) {
    for (const std::string& name : order.names)
      answer(name, CapacityOutcome::kThrottled, "too many requests");
  } else {
    std::vector<std::string> new_ones;
    bool all = true;
    for (const std::string& name : order.names) {
      std::string detail;
      if (!names_.contains(name)) new_ones.push_back(name);
      const CapacityOutcome outcome = make(order, name, now, detail);
      answer(name, outcome, detail);
      all &= outcome == CapacityOutcome::kMade;
    }
    if (order.together && !all) {  // none of them then
      for (const std::string& name : new_ones)
        end(name, "");
      for (CapacityAnswer& each : heard.answers)
        if (each.outcome == CapacityOutcome::kMade)
          each = {.call = each.call,
                  .name = each.name,
                  .outcome = CapacityOutcome::kStockout,
                  .detail = fmt::format("not {} of them", order.names.size())};
    }
  }
  if (chance("lost answer", number, now) >= options_.lost_answers)
    answers_.emplace(now + options_.answer_after, std::move(heard));
}

CapacityOutcome SimulatedCloud::make(const CreateOrder& order, const std::string& name, Instant now, std::string& detail) {
  if (pool_of(order.pool) == nullptr) {
    detail = fmt::format("no pool '{}'", order.pool);
    return CapacityOutcome::kRefused;
  }
  if (names_.contains(name)) return CapacityOutcome::kMade;
  if (options_.quota && std::ssize(there_) >= *options_.quota) {
    detail = fmt::format("the account may have {} machines", *options_.quota);
    return CapacityOutcome::kQuota;
  }
  if (!has_stock(order.pool, now)) {
    detail = "insufficient capacity";
    return CapacityOutcome::kStockout;
  }
  add(order, name, now);
  if (chance("twice", name, now) < options_.twice) add(order, name, now);
  return CapacityOutcome::kMade;
}

void SimulatedCloud::add(const CreateOrder& order, const std::string& name, Instant now) {
  Instance instance;
  instance.id = fmt::format("i-{:08}", ++made_);
  instance.name = name;
  instance.owner = order.owner;
  instance.pool = order.pool;
  instance.made = now;
  if (chance("never ready", instance.id, now) >= options_.never_ready) {
    const Duration least = Duration::nanoseconds(options_.start_mean.count_ns() / 2);
    instance.ready = now + least + exponential(least, chance("start", instance.id, now));
  }
  if (order.machine.market == Market::kSpot && options_.spot_life > Duration())
    instance.taken = now + exponential(options_.spot_life, chance("life", instance.id, now));
  if (order.ends_after) instance.ends = now + *order.ends_after;
  put(std::move(instance));
}

void SimulatedCloud::put(Instance instance) {
  ++of_pool_[instance.pool];
  names_.insert(instance.name);
  std::string id = instance.id;
  there_.emplace(std::move(id), std::move(instance));
}

void SimulatedCloud::end(const std::string& name, const std::string& id) {
  if (!names_.contains(name)) return;
  for (auto at = there_.begin(); at != there_.end();)
    at = at->second.name == name && (id.empty() || id == at->first) ? remove(at) : std::next(at);
}

void SimulatedCloud::restore(const std::string& name, const std::string& pool, const std::string& owner, const std::string& id,
                             Instant made) {
  CreateOrder order;
  order.pool = pool;
  order.owner = owner;
  if (const CapacityPool* known = pool_of(pool); known != nullptr) order.machine = known->machine;
  add(order, name, made);
  const auto added = there_.find(fmt::format("i-{:08}", made_));
  Instance instance = added->second;
  remove(added);
  instance.ready = made;
  if (id.starts_with("i-")) {
    instance.id = id;
    if (const auto number = parse_int(std::string_view(id).substr(2))) made_ = std::max(made_, *number);  // no other gets it
  }
  put(std::move(instance));
}

void SimulatedCloud::destroy(const DestroyOrder& order, Instant now) {
  pass_time(now);
  const std::string number = fmt::format("{}", ++orders_);
  if (chance("lost order", number, now) < options_.lost_orders) return;
  const bool is_throttled = chance("throttled", number, now) < options_.throttled;
  CapacityHeard heard;
  for (const DestroyOrder::Target& target : order.targets) {
    if (!is_throttled) end(target.name, target.id);
    heard.answers.push_back({.call = order.call,
                             .name = target.name,
                             .outcome = is_throttled ? CapacityOutcome::kThrottled : CapacityOutcome::kGone,
                             .detail = {}});
  }
  if (chance("lost answer", number, now) < options_.lost_answers) return;
  answers_.emplace(now + options_.answer_after, std::move(heard));
}

void SimulatedCloud::list(int64_t call, Instant now) {
  pass_time(now);
  CapacityList list{.call = call, .unread = {}, .machines = {}};
  for (const auto& [id, instance] : there_) {
    if (instance.made + options_.list_lag > now) continue;
    const bool is_ready = instance.ready && *instance.ready <= now;
    list.machines.push_back({.id = id,
                             .name = instance.name,
                             .owner = instance.owner,
                             .state = is_ready ? ListedState::kReady : ListedState::kComing});
  }
  CapacityHeard heard;
  heard.lists.push_back(std::move(list));
  answers_.emplace(now + options_.answer_after, std::move(heard));
}

void SimulatedCloud::pass_time(Instant now) {
  while (!late_.empty() && late_.begin()->first <= now) {
    const auto [at, order] = std::move(*late_.begin());
    late_.erase(late_.begin());
    std::string detail;
    for (const std::string& name : order.names)
      make(order, name, at, detail);
  }
  for (auto at = there_.begin(); at != there_.end();) {
    Instance& instance = at->second;
    if (instance.taken && !instance.noticed && options_.spot_notice > Duration() &&
        *instance.taken - options_.spot_notice <= now) {
      instance.noticed = true;
      notices_.push_back({.name = instance.name, .until = instance.taken, .maintenance = false, .detail = "taken back"});
    }
    const bool is_over = (instance.taken && *instance.taken <= now) || (instance.ends && *instance.ends <= now);
    at = is_over ? remove(at) : std::next(at);
  }
}

SimulatedCloud::There::iterator SimulatedCloud::remove(There::iterator instance) {
  --of_pool_[instance->second.pool];
  names_.erase(names_.find(instance->second.name));
  return there_.erase(instance);
}

CapacityHeard SimulatedCloud::hear(Instant now) {
  pass_time(now);
  CapacityHeard all;
  all.notices = std::exchange(notices_, {});
  while (!answers_.empty() && answers_.begin()->first <= now) {
    CapacityHeard heard = std::move(answers_.extract(answers_.begin()).mapped());
    std::ranges::move(heard.answers, std::back_inserter(all.answers));
    std::ranges::move(heard.lists, std::back_inserter(all.lists));
    std::ranges::move(heard.offers, std::back_inserter(all.offers));
  }
  return all;
}

std::optional<Instant> SimulatedCloud::next_at() const {
  std::optional<Instant> next;
  const auto by = [&](Instant at) {
    if (!next || at < *next) next = at;
  };
  if (!answers_.empty()) by(answers_.begin()->first);
  if (!late_.empty()) by(late_.begin()->first);
  for (const auto& [id, instance] : there_) {
    if (!instance.taken) continue;
    by(instance.noticed || options_.spot_notice <= Duration() ? *instance.taken : *instance.taken - options_.spot_notice);
  }
  return next;
}

}  // namespace stint
