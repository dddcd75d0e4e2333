// What a list says of the book's machines, and of those that it does not know; and when one is asked for.
#include <algorithm>
#include <set>
#include <string_view>

#include "capacity/capacity_book.h"

namespace stint {

void CapacityBook::take_list(const CapacityList& list, CapacityStep& out) {
  const auto pending = pending_.find(list.call);
  if (pending == pending_.end() || pending->second.kind != Pending::Kind::kList) return;
  const Instant as_of = pending->second.given;
  pending_.erase(pending);
  std::set<std::string_view> seen;
  for (const ListedMachine& listed : list.machines) {
    if (listed.owner != rules_.owner || listed.name.empty()) continue;
    if (listed.state != ListedState::kGoing) seen.insert(listed.name);
    take_listed(listed, as_of, out);
  }
  const std::set<std::string> asked_for = ordered(Pending::Kind::kCreate);
  for (auto at = machines_.begin(); at != machines_.end();) {
    const auto machine = at++;  // which may go
    if (!seen.contains(machine->first) && !is_unread(machine->second, list))
      take_missing(machine, as_of, asked_for.contains(machine->first), out);
  }
}

/// Its provider could not be read, or is not known while one could not: that it is not listed says nothing.
bool CapacityBook::is_unread(const MadeMachine& made, const CapacityList& list) const {
  if (list.unread.empty()) return false;
  const CapacityPool* pool = pool_of(made.pool);
  return pool == nullptr || pool->machine.provider.empty() || std::ranges::any_of(list.unread, [&](const UnreadProvider& each) {
           return each.provider.empty() || each.provider == pool->machine.provider;
         });
}

void CapacityBook::take_listed(const ListedMachine& listed, Instant as_of, CapacityStep& out) {
  const auto found = machines_.find(listed.name);
  if (found == machines_.end()) {
    if (listed.state != ListedState::kGoing && !is_old_news(listed, as_of)) sweep(listed.name, listed.id, out);
    return;
  }
  MadeMachine& made = found->second;
  const bool is_it = listed.id.empty() || made.id.empty() || made.id == listed.id;
  if (listed.state == ListedState::kGoing) {
    if (is_it && made.was_ready && made.state != MadeState::kEnding)
      remove(found, out, made.until ? CapacityEvent::kGone : CapacityEvent::kLost, "its provider ended it");
    else if (is_it && !listed.id.empty() && made.state == MadeState::kComing && made.tries <= 1)
      take_stillborn(found, out);
    return;
  }
  if (!is_it) return sweep(listed.name, listed.id, out);  // twice there
  missing_since_.erase(listed.name);
  if (made.id.empty() && !listed.id.empty()) {
    made.id = listed.id;
    changed_.machines.insert(listed.name);
  }
  if (made.state == MadeState::kOff) {
    if (!is_old_news(listed, as_of)) sweep(listed.name, listed.id, out);
    return;
  }
  if (made.tries <= 1) take_shown(listed.name, made);
  if (made.state == MadeState::kUnsure) {
    ++counts_.made;
    made.state = MadeState::kComing;
    changed_.machines.insert(listed.name);
  }
  if (made.state == MadeState::kComing && listed.state == ListedState::kReady && !made.answered) {
    made.answered = true;
    changed_.machines.insert(listed.name);
  }
}

/// The list was asked for before the machine had ended, or so soon after that it may be behind. A later one tells whether it has.
bool CapacityBook::is_old_news(const ListedMachine& listed, Instant as_of) const {
  const auto ended = ended_.find(listed.name);
  if (ended == ended_.end()) return false;
  const auto& [id, at] = ended->second;
  return (id.empty() || listed.id.empty() || id == listed.id) && as_of < at + rules_.settle;
}

/// It was made, and ended before it could be used: by a broken image, or taken back. The next one may fare no better.
void CapacityBook::take_stillborn(Made machine, CapacityStep& out) {
  const std::string name = machine->first;
  const int64_t gang = machine->second.gang;
  const std::string why = "its provider ended it before it was ready";
  shut_pool(shut_key(machine->second, name), rules_.stockout_for, why, out);
  remove(machine, out, CapacityEvent::kFailed, why);
  break_gang(gang, name, why);
}

/// The only order to make it has been carried out: it need not be waited for.
void CapacityBook::take_shown(const std::string& name, MadeMachine& made) {
  for (auto& [call, pending] : pending_)
    if (pending.kind == Pending::Kind::kCreate && pending.names.contains(name)) pending.shown.insert(name);
  const bool was_unsure = made.state == MadeState::kAsked || made.unsure;
  if (!was_unsure) return;
  ++counts_.made;
  made.unsure = false;
  if (made.state == MadeState::kAsked) made.state = MadeState::kComing;
  changed_.machines.insert(name);
}

void CapacityBook::take_missing(Made machine, Instant as_of, bool is_asked_for, CapacityStep& out) {
  const MadeMachine& made = machine->second;
  switch (made.state) {
    case MadeState::kUnsure:
      if (as_of >= made.asked + rules_.settle) absent_.insert(machine->first);
      break;
    case MadeState::kEnding: {
      // An order to make it that was not answered may come true for as long as its answer would have been waited for.
      const Duration late = made.unsure ? rules_.answer_within + rules_.settle : rules_.settle;
      if (!is_asked_for && as_of >= made.asked + late)
        remove(machine, out, CapacityEvent::kGone, made.detail);
      else if (!is_asked_for && as_of >= made.asked + rules_.settle)
        tell_gone(machine, out);
      break;
    }
    case MadeState::kReady:
    case MadeState::kLeaving: {
      const Instant since = missing_since_.try_emplace(machine->first, as_of).first->second;
      if (as_of >= since + rules_.settle)
        remove(machine, out, made.until ? CapacityEvent::kGone : CapacityEvent::kLost, "it is not there any more");
      break;
    }
    case MadeState::kAsked:
    case MadeState::kComing:
    case MadeState::kOff: break;
  }
}

void CapacityBook::order_list(CapacityStep& out) {
  if (rules_.offer_every > Duration() && offer_at_ <= now_) {
    out.offer = true;
    offer_at_ = now_ + rules_.offer_every;
  }
  if (!rules_.lists) return;
  const bool is_open = !missing_since_.empty() || std::ranges::any_of(machines_, [](const auto& each) {
    const MadeState state = each.second.state;
    return state == MadeState::kAsked || state == MadeState::kUnsure || state == MadeState::kComing ||
           state == MadeState::kEnding;
  });
  if (is_open && listed_) list_at_ = std::min(list_at_, *listed_ + rules_.settle);
  const bool is_asked = std::ranges::any_of(pending_, [](const auto& each) { return each.second.kind == Pending::Kind::kList; });
  if (is_asked || list_at_ > now_) return;
  pending_[++call_] = {.kind = Pending::Kind::kList, .names = {}, .given = now_};
  out.list = call_;
  listed_ = now_;
  list_at_ = now_ + rules_.list_every;
}

void CapacityBook::sweep(const std::string& name, const std::string& id, CapacityStep& out) {
  const std::string key = id.empty() ? name : id;
  const auto last = swept_.find(key);
  if (last != swept_.end() && last->second + rules_.again_after > now_) return;
  if (last == swept_.end()) {
    ++counts_.swept;
    CapacityNews news{.event = CapacityEvent::kSwept, .machine = name, .detail = "it bears our mark and is not known"};
    if (machines_.contains(name)) news.detail = "there twice under its name";
    out.news.push_back(std::move(news));
  }
  swept_[key] = now_;
  pending_[++call_] = {.kind = Pending::Kind::kSweep, .names = {name}, .given = now_};
  out.destroys.push_back({.call = call_, .targets = {{.name = name, .id = id}}});
}

}  // namespace stint
