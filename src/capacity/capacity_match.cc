// Which pools serve which wishes.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "capacity/capacity_book.h"

namespace stint {
namespace {

bool counts_for_wish(const MadeMachine& made) {
  return !made.at_risk && (made.state == MadeState::kAsked || made.state == MadeState::kUnsure ||
                           made.state == MadeState::kComing || made.state == MadeState::kReady);
}

bool is_on_its_way(const MadeMachine& made) {
  return made.state == MadeState::kAsked || made.state == MadeState::kUnsure || made.state == MadeState::kComing;
}

/// What is said of why nothing could be had: each reason once, with how many pools it is of.
class Reasons {
 public:
  void add(const std::string& why) { ++count_[why]; }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const auto& [why, count] : count_)
      all += fmt::format("{}{}{}", all.empty() ? "" : "; ", count > 1 ? fmt::format("{} pools: ", count) : "", why);
    return all.empty() ? "no pool may serve it" : all;
  }

 private:
  std::map<std::string, int> count_;
};

}  // namespace

Rate CapacityBook::rate_of(const CapacityPool& pool) const {
  const auto offer = offers_.find(pool.name);
  return offer != offers_.end() && offer->second.rate ? *offer->second.rate : pool.machine.rate;
}

void CapacityBook::Tally::add(const std::string& pool, const CapacityWish& wish, Rate rate, int32_t count) {
  const Money more = scale(rate.per_hour(), count, 1);
  machines += count;
  of_pool[pool] += count;
  of_wish[wish.id] += count;
  burn += more;
  of_client.try_emplace(wish.client, Money::nanos(0, more.currency())).first->second += more;
}

CapacityBook::Tally CapacityBook::tally() const {
  Tally all;
  if (!rules_.pools.empty()) all.burn = Money::nanos(0, rules_.pools.front().machine.rate.per_hour().currency());
  for (const auto& [name, made] : machines_)
    if (made.state != MadeState::kOff) all.add(made.pool, {.id = made.wish, .client = made.client}, made.rate, 1);
  return all;
}

Money CapacityBook::burn() const { return tally().burn; }

std::string CapacityBook::paused(const CapacityPool& pool) const {
  const auto found = paused_.find(pool.machine.provider);
  if (found == paused_.end() || found->second.until <= now_) return "";
  return fmt::format("{}{}{}", pool.machine.provider, pool.machine.provider.empty() ? "" : " ", found->second.why);
}

std::string CapacityBook::obstacle(const CapacityPool& pool, const CapacityWish& wish, int32_t count, const Tally& tally) const {
  const auto shut = shut_.find(pool.name);
  if (shut != shut_.end() && shut->second.until > now_)
    return fmt::format("{} (left alone until {})", shut->second.why, format_utc(shut->second.until));
  if (std::string why = paused(pool); !why.empty()) return why;
  const Rate rate = rate_of(pool);
  for (const std::optional<Rate>& limit : {pool.limit, wish.limit})
    if (limit && rate > *limit)
      return fmt::format("{} an hour is more than the {} that may be paid for one", rate.per_hour().to_text(),
                         limit->per_hour().to_text());
  const auto of_pool = tally.of_pool.find(pool.name);
  if ((of_pool == tally.of_pool.end() ? 0 : of_pool->second) + count > pool.most)
    return fmt::format("its pool has the {} it may have", pool.most);
  const auto of_wish = tally.of_wish.find(wish.id);
  if ((of_wish == tally.of_wish.end() ? 0 : of_wish->second) + count > wish.most)
    return fmt::format("there are the {} machines it may have, those that go included", wish.most);
  if (tally.machines + count > rules_.most) return fmt::format("there are the {} machines there may be", rules_.most);
  if (const auto offer = offers_.find(pool.name); offer != offers_.end() && offer->second.quota_left.value_or(count) < count)
    return *offer->second.quota_left == 0 ? std::string("none may be had: the quota is used up, or the type is not sold there")
                                          : fmt::format("quota: {} more may be had", *offer->second.quota_left);
  const Money more = scale(rate.per_hour(), count, 1);
  const auto too_dear = [&](Money now, const Rate& most, std::string_view whose) {
    return now + more > most.per_hour()
               ? fmt::format("{} an hour{} would be more than {}", (now + more).to_text(), whose, most.per_hour().to_text())
               : std::string();
  };
  if (rules_.most_burn)
    if (std::string why = too_dear(tally.burn, *rules_.most_burn, ""); !why.empty()) return why;
  if (const auto most = rules_.client_burn.find(wish.client); most != rules_.client_burn.end()) {
    const auto now = tally.of_client.find(wish.client);
    const Money zero = Money::nanos(0, more.currency());
    return too_dear(now == tally.of_client.end() ? zero : now->second, most->second, fmt::format(" of {}", wish.client));
  }
  return "";
}

/// Of a pool whose machines have names, those that can be switched on now.
std::vector<std::string> CapacityBook::free_names(const CapacityPool& pool, const CapacityWish& wish) const {
  std::vector<std::string> names = pool.names, free;
  std::ranges::stable_partition(names,
                                [&](const std::string& name) { return std::ranges::find(wish.first, name) != wish.first.end(); });
  for (const std::string& name : names) {
    if (std::ranges::find(wish.without, name) != wish.without.end()) continue;
    const auto known = machines_.find(name);
    const auto shut = shut_.find(fmt::format("{}/{}", pool.name, name));
    if ((known == machines_.end() || known->second.state == MadeState::kOff) &&
        (shut == shut_.end() || shut->second.until <= now_))
      free.push_back(name);
  }
  return free;
}

void CapacityBook::match(const std::vector<CapacityWish>& wishes, CapacityStep& out) {
  std::map<std::string_view, int32_t> there;
  std::set<std::string_view> wished;
  for (const CapacityWish& wish : wishes)
    wished.insert(wish.id);
  for (auto at = machines_.begin(); at != machines_.end(); ++at) {
    if (counts_for_wish(at->second)) ++there[at->second.wish];
    if (!wished.contains(at->second.wish) && is_on_its_way(at->second)) begin_end(at, "nothing wants it any more");
  }
  for (const CapacityWish& wish : wishes) {
    if (!wish.names.empty()) {
      serve_names(wish, out);
      continue;
    }
    int32_t count = there[wish.id];
    for (auto at = machines_.rbegin(); count > wish.machines && at != machines_.rend(); ++at) {
      if (at->second.wish != wish.id || !is_on_its_way(at->second)) continue;
      begin_end(std::prev(at.base()), "nothing wants it any more");
      --count;
    }
    if (count < wish.machines) serve(wish, wish.machines - count, out);
    replace_at_risk(wish, out);
  }
}

void CapacityBook::serve(const CapacityWish& wish, int32_t missing, CapacityStep& out) {
  std::vector<const CapacityPool*> pools;
  for (const CapacityPool& pool : rules_.pools)
    if (wish.pools.empty() || std::ranges::find(wish.pools, pool.name) != wish.pools.end()) pools.push_back(&pool);
  // What is paid for anyway costs nothing more; equals in the order of the rules.
  std::ranges::stable_sort(pools, [&](const CapacityPool* a, const CapacityPool* b) {
    if (a->order != b->order) return a->order < b->order;
    const bool a_paid = is_paid_while_off(a->machine.market), b_paid = is_paid_while_off(b->machine.market);
    if (a_paid != b_paid) return a_paid;
    return !a_paid && rate_of(*a) < rate_of(*b);
  });
  Choice choice{.all = tally(), .of_pool = {}, .names = {}};
  for (const auto& [name, made] : machines_)
    if (made.wish == wish.id && counts_for_wish(made)) ++choice.of_pool[made.pool];
  const int32_t portion = wish.together ? missing : 1;
  Reasons reasons;
  for (const bool spread : {true, false}) {
    reasons = {};
    for (auto pool = pools.begin(); missing > 0 && pool != pools.end();) {
      const std::string why = choose(**pool, wish, portion, spread && !wish.together, choice);
      if (why.empty()) {
        missing -= portion;
        continue;
      }
      reasons.add(why);
      ++pool;
    }
  }
  for (const CapacityPool* pool : pools)
    if (const auto names = choice.names.find(pool); names != choice.names.end() && !names->second.empty()) {
      const int64_t gang = wish.together && names->second.size() > 1 ? ++number_ : 0;
      make(*pool, wish, std::move(names->second), gang, out);
    }
  if (missing > 0) out.shortages.push_back({.wish = wish.id, .missing = missing, .why = reasons.text(), .names = {}});
}

/// @return why the pool cannot give `count` more; empty = they are chosen.
std::string CapacityBook::choose(const CapacityPool& pool, const CapacityWish& wish, int32_t count, bool spread, Choice& choice) {
  std::vector<std::string>& names = choice.names[&pool];
  std::vector<std::string> free;
  if (!pool.names.empty()) {
    free = free_names(pool, wish);
    free.erase(free.begin(), free.begin() + std::min(std::ssize(names), std::ssize(free)));
    if (std::ssize(free) < count) return "none of its machines is off and can be had";
  }
  const auto most_spread = std::max<int32_t>(1, static_cast<int32_t>(std::ceil(rules_.spread * wish.machines)));
  if (spread && pool.machine.market == Market::kSpot && choice.of_pool[pool.name] + count > most_spread)
    return "enough of them are of this pool";
  if (std::string why = obstacle(pool, wish, count, choice.all); !why.empty()) return why;
  for (int32_t i = 0; i < count; ++i)
    names.push_back(pool.names.empty() ? fmt::format("{}-{}", wish.id, ++number_) : free[static_cast<size_t>(i)]);
  choice.of_pool[pool.name] += count;
  choice.all.add(pool.name, wish, rate_of(pool), count);
  if (const auto offer = offers_.find(pool.name); offer != offers_.end() && offer->second.quota_left)
    *offer->second.quota_left -= count;
  return "";
}

/// Machines by their names: cheaper pools go first.
void CapacityBook::serve_names(const CapacityWish& wish, CapacityStep& out) {
  std::vector<const CapacityPool*> pools;
  for (const CapacityPool& pool : rules_.pools)
    pools.push_back(&pool);
  std::ranges::stable_sort(pools, {}, [&](const CapacityPool* pool) { return rate_of(*pool); });
  const std::set<std::string_view> wanted(wish.names.begin(), wish.names.end());
  Tally all = tally();
  CapacityShortage shortage{.wish = wish.id, .missing = 0, .why = {}, .names = {}};
  std::set<std::string_view> known;
  for (const CapacityPool* pool : pools) {
    const std::set<std::string_view> members(pool->names.begin(), pool->names.end());
    std::vector<std::string> names;
    for (const std::string& name : wish.names) {
      if (!members.contains(name)) continue;
      known.insert(name);
      const auto there = machines_.find(name);
      if (there != machines_.end() && there->second.state != MadeState::kOff) {
        if (!counts_for_wish(there->second)) shortage.names[name] = "it is ending";
        continue;
      }
      const auto shut = shut_.find(fmt::format("{}/{}", pool->name, name));
      std::string why = shut != shut_.end() && shut->second.until > now_ ? shut->second.why : obstacle(*pool, wish, 1, all);
      if (!why.empty()) {
        shortage.names[name] = std::move(why);
        continue;
      }
      names.push_back(name);
      all.add(pool->name, wish, rate_of(*pool), 1);
    }
    if (!names.empty()) make(*pool, wish, std::move(names), 0, out);
  }
  for (const std::string& name : wish.names)
    if (!known.contains(name)) shortage.names[name] = "it is in no pool";
  shortage.missing = static_cast<int32_t>(shortage.names.size());
  if (shortage.missing > 0) out.shortages.push_back(std::move(shortage));
}

/// Its replacement is ready: what was at risk takes no more work.
void CapacityBook::replace_at_risk(const CapacityWish& wish, CapacityStep& out) {
  int32_t ready = 0;
  for (const auto& [name, made] : machines_)
    if (made.wish == wish.id && made.state == MadeState::kReady) ++ready;
  for (auto& [name, made] : machines_) {
    if (ready <= wish.machines) break;
    if (made.wish != wish.id || made.state != MadeState::kReady || !made.at_risk) continue;
    made.state = MadeState::kLeaving;
    changed_.machines.insert(name);
    out.news.push_back(news_of(CapacityEvent::kDraining, name, made));
    --ready;
  }
}

void CapacityBook::make(const CapacityPool& pool, const CapacityWish& wish, std::vector<std::string> names, int64_t gang,
                        CapacityStep& out) {
  changed_.number = true;
  pending_[++call_] = {.kind = Pending::Kind::kCreate, .names = {names.begin(), names.end()}, .given = now_};
  for (const std::string& name : names) {
    MadeMachine made{.pool = pool.name, .wish = wish.id, .client = wish.client, .asked = now_, .begun = now_};
    made.rate = rate_of(pool);
    made.gang = gang;
    made.tries = 1;
    machines_.insert_or_assign(name, made);
    changed_.machines.insert(name);
    out.news.push_back(news_of(CapacityEvent::kAsked, name, made));
  }
  Machine machine = pool.machine;
  machine.rate = rate_of(pool);
  out.creates.push_back({.call = call_,
                         .names = std::move(names),
                         .pool = pool.name,
                         .machine = std::move(machine),
                         .owner = rules_.owner,
                         .together = wish.together,
                         .ends_after = rules_.lifetime});
}

}  // namespace stint
