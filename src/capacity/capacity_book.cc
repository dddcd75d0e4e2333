#include "capacity/capacity_book.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace stint {
namespace {

/// Orders to make one under its name, before it is given up.
constexpr int32_t kMostTries = 3;
constexpr Duration kSweptKept = kHour;
constexpr std::string_view kUnneeded = "nothing needs it";

bool was_not_made(CapacityOutcome outcome) {
  return outcome != CapacityOutcome::kReady && outcome != CapacityOutcome::kMade && outcome != CapacityOutcome::kUnknown;
}

Duration doubled(Duration first, int32_t times, Duration most) {
  Duration wait = first;
  for (int32_t i = 1; i < times && wait < most; ++i)
    wait = wait + wait;
  return std::min(wait, std::max(first, most));
}

enum class Alike : uint8_t {
  kInStock,  ///< they are out of stock together: one type in one zone on one market, whatever the pool is called
  kInQuota,  ///< one quota holds for them: likewise, in all zones of the region
};
/// The other pools of machines that are made.
std::vector<const CapacityPool*> pools_like(const CapacityPool& pool, const std::vector<CapacityPool>& all, Alike alike) {
  std::vector<const CapacityPool*> others;
  const Machine& one = pool.machine;
  if (!pool.names.empty() || one.instance_type.empty()) return others;
  for (const CapacityPool& each : all) {
    const Machine& other = each.machine;
    if (&each != &pool && each.names.empty() && other.provider == one.provider && other.instance_type == one.instance_type &&
        other.market == one.market && other.region == one.region && (alike == Alike::kInQuota || other.zone == one.zone))
      others.push_back(&each);
  }
  return others;
}

std::string said(CapacityOutcome outcome, const std::string& detail) {
  return detail.empty() ? std::string(name_of(outcome)) : fmt::format("{}: {}", name_of(outcome), detail);
}

}  // namespace

std::string_view name_of(MadeState state) {
  switch (state) {
    case MadeState::kAsked: return "asked";
    case MadeState::kUnsure: return "unsure";
    case MadeState::kComing: return "coming";
    case MadeState::kReady: return "ready";
    case MadeState::kLeaving: return "leaving";
    case MadeState::kEnding: return "ending";
    case MadeState::kOff: return "off";
  }
  return "off";
}

void CapacityBook::adopt(const std::string& name, MadeMachine machine) {
  changed_.machines.insert(name);
  machines_.insert_or_assign(name, std::move(machine));
}

void CapacityBook::forget(const std::string& name) {
  if (machines_.erase(name) > 0) changed_.machines.insert(name);
  missing_since_.erase(name);
  end_ordered_.erase(name);
}

void CapacityBook::open(const std::string& key) {
  if (shut_.erase(key) > 0) changed_.shut.insert(key);
}

CapacityStep CapacityBook::step(Instant now, const CapacityAsk& ask, const CapacityHeard& heard) {
  CapacityStep out;
  now_ = std::max(now, now_);
  absent_.clear();
  for (const CapacityAnswer& answer : heard.answers)
    take_answer(answer, out);
  for (const CapacityOffer& offer : heard.offers)
    offers_.insert_or_assign(offer.pool, offer);
  for (const CapacityNotice& notice : heard.notices)
    take_notice(notice, out);
  for (const CapacityList& list : heard.lists)
    take_list(list, out);
  give_up_waiting(out);
  end_late_and_leaving(out);
  take_ask(ask, out);
  finish_gangs(out);
  match(ask.wishes, out);
  retry_unsure(out);
  order_ends(out);
  order_list(out);
  std::erase_if(swept_, [&](const auto& each) { return each.second + kSweptKept < now_; });
  std::erase_if(ended_, [&](const auto& each) { return each.second.at + kSweptKept < now_; });
  write_rows(out);
  find_wake(out);
  return out;
}

void CapacityBook::take_answer(const CapacityAnswer& answer, CapacityStep& out) {
  const auto pending = pending_.find(answer.call);
  if (pending == pending_.end() || pending->second.names.erase(answer.name) == 0) return;
  const bool is_shown = pending->second.shown.contains(answer.name);
  const Pending::Kind kind = pending->second.kind;
  if (pending->second.names.empty()) pending_.erase(pending);
  const auto machine = machines_.find(answer.name);
  const std::string provider = machine == machines_.end() || pool_of(machine->second.pool) == nullptr
                                   ? ""
                                   : pool_of(machine->second.pool)->machine.provider;
  if (answer.outcome == CapacityOutcome::kThrottled)
    pause(provider, said(answer.outcome, answer.detail), rules_.throttled_for, rules_.throttled_most);
  else if (answer.outcome == CapacityOutcome::kCredentials)
    pause(provider, said(answer.outcome, answer.detail), rules_.again_after, rules_.again_after);
  else if (const auto paused = paused_.find(provider); paused != paused_.end() && paused->second.until <= now_)
    paused_.erase(paused);
  if (kind == Pending::Kind::kSweep) {
    if (answer.outcome != CapacityOutcome::kGone) swept_.clear();  // the next list says what is still there
    return;
  }
  if (machine == machines_.end()) return;
  MadeMachine& made = machine->second;
  if (kind == Pending::Kind::kDestroy) {
    if (made.state != MadeState::kEnding) return;
    if (answer.outcome == CapacityOutcome::kGone) {
      if (!made.unsure || !rules_.lists)
        remove(machine, out, CapacityEvent::kGone, made.detail);
      else
        tell_gone(machine, out);  // the list says when its name is free of it
      return;
    }
    if (answer.outcome == CapacityOutcome::kThrottled || answer.outcome == CapacityOutcome::kCredentials)
      end_ordered_.erase(answer.name);  // when the pause is over
    out.news.push_back(news_of(CapacityEvent::kFailed, answer.name, made));
    out.news.back().detail = "not ended: " + said(answer.outcome, answer.detail);
    return;
  }
  const bool is_there = answer.outcome == CapacityOutcome::kReady || answer.outcome == CapacityOutcome::kMade;
  if (is_there) {
    if (!is_shown) ++counts_.made;
    if (const auto shut = shut_.find(shut_key(made, answer.name)); shut != shut_.end() && shut->second.until <= now_) {
      changed_.shut.insert(shut->first);
      shut_.erase(shut);
    }
  }
  changed_.machines.insert(answer.name);
  if (made.state == MadeState::kEnding) {  // it was to end before this was heard
    if (was_not_made(answer.outcome) && made.tries <= 1)
      remove(machine, out, CapacityEvent::kGone, made.detail);
    else
      made.unsure = !is_there;
    return;
  }
  if (made.state == MadeState::kComing && is_shown) {
    made.answered |= answer.outcome == CapacityOutcome::kReady;
    if (was_not_made(answer.outcome) && made.tries <= 1) take_unmade(machine, answer, out);
    return;
  }
  if (made.state != MadeState::kAsked) return;
  if (is_there) {
    made.state = MadeState::kComing;
    made.answered = answer.outcome == CapacityOutcome::kReady;
  } else if (was_not_made(answer.outcome)) {
    take_unmade(machine, answer, out);
  } else {
    made.state = MadeState::kUnsure;
    out.news.push_back(news_of(CapacityEvent::kFailed, answer.name, made));
    out.news.back().detail = answer.detail.empty() ? "no word of whether it was made" : answer.detail;
  }
}

/// Not made, and what follows for its pool and its gang.
void CapacityBook::take_unmade(Made machine, const CapacityAnswer& answer, CapacityStep& out) {
  const std::string name = machine->first;
  const std::string why = said(answer.outcome, answer.detail);
  const std::string key = shut_key(machine->second, name);
  const int64_t gang = machine->second.gang;
  if (answer.outcome == CapacityOutcome::kStockout) {
    ++counts_.stockouts;
    shut_pool(key, rules_.stockout_for, why, out);
  } else if (answer.outcome == CapacityOutcome::kQuota || answer.outcome == CapacityOutcome::kRefused) {
    shut_pool(key, rules_.quota_for, why, out);
  }
  if (const CapacityPool* pool = pool_of(machine->second.pool)) {
    if (answer.outcome == CapacityOutcome::kStockout)
      for (const CapacityPool* other : pools_like(*pool, rules_.pools, Alike::kInStock))
        shut_pool(other->name, rules_.stockout_for, why, out);
    if (answer.outcome == CapacityOutcome::kQuota)
      for (const CapacityPool* other : pools_like(*pool, rules_.pools, Alike::kInQuota))
        shut_pool(other->name, rules_.quota_for, why, out);
  }
  if (machine->second.tries > 1 || machine->second.state == MadeState::kComing)  // it may be there by an earlier order, or is
    begin_end(machine, why);
  else
    remove(machine, out, CapacityEvent::kFailed, why);
  break_gang(gang, name, why);
}

/// One of them cannot be had: the others are not waited with.
void CapacityBook::break_gang(int64_t gang, const std::string& name, const std::string& why) {
  for (auto other = machines_.begin(); gang != 0 && other != machines_.end(); ++other)
    if (other->second.gang == gang && !other->second.was_ready)
      begin_end(other, fmt::format("together with {}, which cannot be had: {}", name, why));
}

void CapacityBook::take_notice(const CapacityNotice& notice, CapacityStep& out) {
  const auto found = machines_.find(notice.name);
  if (found == machines_.end()) return;
  MadeMachine& made = found->second;
  if (made.state == MadeState::kReady && !notice.until) {
    if (made.at_risk) return;
    made.at_risk = true;
    made.detail = notice.detail;
    changed_.machines.insert(notice.name);
  } else if (made.state == MadeState::kReady || made.state == MadeState::kLeaving) {
    if (!notice.until || (made.until && *made.until <= *notice.until)) return;
    made.state = MadeState::kLeaving;
    made.until = notice.until;
    made.detail = notice.detail;
    changed_.machines.insert(notice.name);
    out.news.push_back(news_of(CapacityEvent::kDraining, notice.name, made));
    out.news.back().maintenance = notice.maintenance;
  } else if (notice.until && made.state != MadeState::kEnding && made.state != MadeState::kOff) {
    begin_end(found, "taken back before it was ready");
  }
}

void CapacityBook::take_ask(const CapacityAsk& ask, CapacityStep& out) {
  for (const std::string& name : ask.drain) {
    const auto machine = machines_.find(name);
    if (machine == machines_.end() || machine->second.state != MadeState::kReady) continue;
    machine->second.state = MadeState::kLeaving;
    machine->second.detail = kUnneeded;
    changed_.machines.insert(name);
    out.news.push_back(news_of(CapacityEvent::kDraining, name, machine->second));
  }
  for (const std::string& name : ask.keep) {
    const auto machine = machines_.find(name);
    if (machine == machines_.end() || machine->second.state != MadeState::kLeaving || machine->second.until ||
        machine->second.at_risk)
      continue;
    machine->second.detail.clear();
    hand_over(machine, out);
  }
  for (const std::string& name : ask.released)
    if (const auto found = machines_.find(name); found != machines_.end())
      begin_end(found, found->second.detail.empty() ? std::string(kUnneeded) : found->second.detail);
}

/// An order that nothing is heard of may have been done or not.
void CapacityBook::give_up_waiting(CapacityStep& out) {
  for (auto at = pending_.begin(); at != pending_.end();) {
    const Pending& pending = at->second;
    if (pending.given + rules_.answer_within > now_) {
      ++at;
      continue;
    }
    for (const std::string& name : pending.names) {
      const auto machine = machines_.find(name);
      if (pending.kind == Pending::Kind::kSweep) swept_.clear();
      if (machine == machines_.end() || pending.kind != Pending::Kind::kCreate) continue;
      changed_.machines.insert(name);
      if (machine->second.state == MadeState::kEnding && !pending.shown.contains(name)) machine->second.unsure = true;
      if (machine->second.state != MadeState::kAsked) continue;
      machine->second.state = MadeState::kUnsure;
      out.news.push_back(news_of(CapacityEvent::kFailed, name, machine->second));
      out.news.back().detail = "no answer to the order to make it";
    }
    at = pending_.erase(at);
  }
}

void CapacityBook::end_late_and_leaving(CapacityStep& out) {
  for (auto machine = machines_.begin(); machine != machines_.end(); ++machine) {
    MadeMachine& made = machine->second;
    const bool comes = made.state == MadeState::kComing || made.state == MadeState::kUnsure;
    if (comes && !made.answered && now_ >= made.begun + rules_.ready_within) {
      ++counts_.late;
      const std::string why = fmt::format("not ready within {} minutes", rules_.ready_within.whole_seconds() / 60);
      shut_pool(shut_key(made, machine->first), rules_.stockout_for, why, out);
      out.news.push_back(news_of(CapacityEvent::kFailed, machine->first, made));
      out.news.back().detail = why;
      begin_end(machine, why);
      break_gang(made.gang, machine->first, why);
    } else if (made.state == MadeState::kLeaving && made.until && *made.until <= now_) {
      begin_end(machine, made.detail.empty() ? "taken back" : made.detail);
    } else if (made.state == MadeState::kReady && rules_.lifetime && !made.at_risk &&
               now_ >= made.begun + Duration::nanoseconds(rules_.lifetime->count_ns() / 10 * 9)) {
      made.at_risk = true;
      made.detail = "its time is nearly over";
      changed_.machines.insert(machine->first);
    }
  }
}

/// Those that are ready are handed over: of a gang when all are.
void CapacityBook::finish_gangs(CapacityStep& out) {
  std::set<int64_t> incomplete;
  for (const auto& [name, made] : machines_)
    if (made.gang != 0 && !made.was_ready && !(made.state == MadeState::kComing && made.answered)) incomplete.insert(made.gang);
  for (auto machine = machines_.begin(); machine != machines_.end(); ++machine)
    if (machine->second.state == MadeState::kComing && machine->second.answered && !incomplete.contains(machine->second.gang))
      hand_over(machine, out);
}

void CapacityBook::retry_unsure(CapacityStep& out) {
  for (auto machine = machines_.begin(); machine != machines_.end(); ++machine) {
    MadeMachine& made = machine->second;
    if (made.state != MadeState::kUnsure) continue;
    const bool may_be_asked = rules_.lists ? absent_.contains(machine->first) : made.asked + rules_.again_after <= now_;
    const CapacityPool* pool = pool_of(made.pool);
    if (!may_be_asked || (pool != nullptr && !paused(*pool).empty())) continue;
    const auto shut = shut_.find(shut_key(made, machine->first));
    if (pool == nullptr || made.tries >= kMostTries || (shut != shut_.end() && shut->second.until > now_)) {
      if (made.tries >= kMostTries)
        shut_pool(shut_key(made, machine->first), rules_.stockout_for, "it does not say whether it makes machines", out);
      const std::string why = "no word of whether it was made";
      begin_end(machine, why);
      break_gang(made.gang, machine->first, why);
      continue;
    }
    ++made.tries;
    made.state = MadeState::kAsked;
    made.asked = now_;
    changed_.machines.insert(machine->first);
    pending_[++call_] = {.kind = Pending::Kind::kCreate, .names = {machine->first}, .given = now_};
    out.creates.push_back({.call = call_,
                           .names = {machine->first},
                           .pool = pool->name,
                           .machine = pool->machine,
                           .owner = rules_.owner,
                           .ends_after = rules_.lifetime});
  }
}

void CapacityBook::order_ends(CapacityStep& out) {
  std::optional<std::set<std::string>> under_way;
  std::map<std::string, DestroyOrder> orders;  // by provider
  for (auto& [name, made] : machines_) {
    if (made.state != MadeState::kEnding) continue;
    if (!under_way) {
      under_way = ordered(Pending::Kind::kCreate);
      under_way->merge(ordered(Pending::Kind::kDestroy));
    }
    const auto last = end_ordered_.find(name);
    const CapacityPool* pool = pool_of(made.pool);
    if (under_way->contains(name) || (last != end_ordered_.end() && last->second + rules_.again_after > now_)) continue;
    if (pool != nullptr && !paused(*pool).empty()) continue;
    end_ordered_[name] = now_;
    orders[pool == nullptr ? "" : pool->machine.provider].targets.push_back({.name = name, .id = made.unsure ? "" : made.id});
  }
  for (auto& [provider, order] : orders) {
    order.call = ++call_;
    Pending& pending = pending_[call_] = {.kind = Pending::Kind::kDestroy, .names = {}, .given = now_};
    for (const DestroyOrder::Target& target : order.targets)
      pending.names.insert(target.name);
    out.destroys.push_back(std::move(order));
  }
}

void CapacityBook::begin_end(Made machine, std::string why) {
  MadeMachine& made = machine->second;
  if (made.state == MadeState::kEnding || made.state == MadeState::kOff) return;
  made.unsure = made.state == MadeState::kAsked || made.state == MadeState::kUnsure || made.tries > 1;
  made.state = MadeState::kEnding;
  made.detail = std::move(why);
  changed_.machines.insert(machine->first);
}

void CapacityBook::remove(Made machine, CapacityStep& out, CapacityEvent event, std::string detail) {
  out.news.push_back(news_of(event, machine->first, machine->second));
  out.news.back().detail = std::move(detail);
  changed_.machines.insert(machine->first);
  ended_[machine->first] = {.id = machine->second.id, .at = now_};
  missing_since_.erase(machine->first);
  end_ordered_.erase(machine->first);
  const CapacityPool* pool = pool_of(machine->second.pool);
  if (pool == nullptr || pool->names.empty()) {
    machines_.erase(machine);
    return;
  }
  const MadeMachine was = machine->second;
  machine->second = {.pool = was.pool, .wish = was.wish, .client = {}, .state = MadeState::kOff, .asked = now_};
}

/// The provider says that it is gone, but its name is kept: an order to make it may still be carried out.
void CapacityBook::tell_gone(Made machine, CapacityStep& out) {
  const CapacityPool* pool = pool_of(machine->second.pool);
  if (!machine->second.was_ready || (pool != nullptr && !pool->names.empty())) return;
  out.news.push_back(news_of(CapacityEvent::kGone, machine->first, machine->second));
  machine->second.was_ready = false;
  changed_.machines.insert(machine->first);
}

void CapacityBook::hand_over(Made machine, CapacityStep& out) {
  machine->second.state = MadeState::kReady;
  machine->second.was_ready = true;
  machine->second.answered = false;
  changed_.machines.insert(machine->first);
  out.news.push_back(news_of(CapacityEvent::kReady, machine->first, machine->second));
}

void CapacityBook::shut_pool(const std::string& key, Duration how_long, std::string why, CapacityStep& out) {
  Shut& shut = shut_[key];
  if (shut.until > now_) return;  // by another answer of the same moment
  shut.times = shut.times > 0 && shut.until + rules_.stockout_most > now_ ? shut.times + 1 : 1;
  const Duration most = how_long == rules_.stockout_for ? rules_.stockout_most : how_long;
  shut.until = now_ + doubled(how_long, shut.times, most);
  shut.why = why;
  changed_.shut.insert(key);
  out.news.push_back(
      {.event = CapacityEvent::kPoolShut, .machine = {}, .pool = key, .until = shut.until, .detail = std::move(why)});
}

void CapacityBook::pause(std::string_view provider, std::string why, Duration first, Duration most) {
  Pause& pause = paused_[std::string(provider)];
  if (pause.until > now_) return;
  ++pause.times;
  pause.until = now_ + doubled(first, pause.times, most);
  pause.why = std::move(why);
}

void CapacityBook::not_given(const CapacityStep& step) {
  changed_.machines.merge(std::set<std::string>(written_.machines));
  changed_.shut.merge(std::set<std::string>(written_.shut));
  changed_.number |= written_.number;
  for (const CreateOrder& order : step.creates) {
    pending_.erase(order.call);
    for (const std::string& name : order.names) {
      const auto machine = machines_.find(name);
      if (machine == machines_.end()) continue;
      changed_.machines.insert(name);
      CapacityStep unused;
      if (machine->second.tries > 1)
        machine->second.state = MadeState::kUnsure;
      else
        remove(machine, unused, CapacityEvent::kFailed, "");
    }
  }
  for (const DestroyOrder& order : step.destroys) {
    pending_.erase(order.call);
    for (const DestroyOrder::Target& target : order.targets) {
      end_ordered_.erase(target.name);
      swept_.erase(target.id.empty() ? target.name : target.id);
    }
  }
  if (step.list) {
    pending_.erase(*step.list);
    list_at_ = Instant();
  }
}

CapacityNews CapacityBook::news_of(CapacityEvent event, const std::string& name, const MadeMachine& machine) const {
  return {.event = event,
          .machine = name,
          .pool = machine.pool,
          .rate = machine.rate,
          .was_ready = machine.was_ready,
          .until = machine.until,
          .detail = machine.detail};
}

const CapacityPool* CapacityBook::pool_of(std::string_view name) const {
  const auto found = std::ranges::find(rules_.pools, name, &CapacityPool::name);
  return found == rules_.pools.end() ? nullptr : &*found;
}

/// Machines that have names are there or not each for itself.
std::string CapacityBook::shut_key(const MadeMachine& machine, const std::string& name) const {
  const CapacityPool* pool = pool_of(machine.pool);
  return pool == nullptr || pool->names.empty() ? machine.pool : fmt::format("{}/{}", machine.pool, name);
}

std::set<std::string> CapacityBook::ordered(Pending::Kind kind) const {
  std::set<std::string> names;
  for (const auto& [call, pending] : pending_)
    if (pending.kind == kind) std::ranges::set_difference(pending.names, pending.shown, std::inserter(names, names.end()));
  return names;
}

void CapacityBook::find_wake(CapacityStep& out) const {
  const auto by = [&](Instant at) {
    if (!out.wake || at < *out.wake) out.wake = at;
  };
  for (const auto& [call, pending] : pending_)
    by(pending.given + rules_.answer_within);
  if (rules_.lists) by(list_at_);
  if (rules_.offer_every > Duration()) by(offer_at_);
  for (const auto& [provider, pause] : paused_)
    if (pause.until > now_) by(pause.until);
  if (!out.shortages.empty())
    for (const auto& [key, shut] : shut_)
      if (shut.until > now_) by(shut.until);
  for (const auto& [name, made] : machines_) {
    if (made.state == MadeState::kComing || made.state == MadeState::kUnsure) by(made.begun + rules_.ready_within);
    if (made.state == MadeState::kUnsure && !rules_.lists) by(made.asked + rules_.again_after);
    if (made.state == MadeState::kLeaving && made.until) by(*made.until);
    if (const auto last = end_ordered_.find(name); last != end_ordered_.end()) by(last->second + rules_.again_after);
  }
  if (out.wake) out.wake = std::max(*out.wake, now_);
}

}  // namespace stint
