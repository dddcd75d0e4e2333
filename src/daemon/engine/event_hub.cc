#include "daemon/engine/event_hub.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "daemon/api/view_json.h"

namespace stint {
namespace {

constexpr size_t kEventsAtOnce = 1'000;
/// Of those who come back, how many get a portion in one round.
constexpr size_t kMostCatchingUp = 16;
constexpr auto kBetweenRounds = std::chrono::milliseconds(50);

std::string wire_text(const EventView& event) {
  return EventStream::format(event.kind, public_id(event),
                             to_json(event).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

bool may_hear(const Principal& who, std::string_view audience) {
  if (audience == kMachineAudience) return who.may_somewhere(Permission::kSeeNodes);
  return audience == kFleetAudience ? who.may_everywhere(Permission::kSeeJobs) : who.may(Permission::kSeeJobs, audience);
}

bool may_see(const Principal& who, const EventView& event) { return may_hear(who, audience_of(event)); }

Result<int64_t> EventHub::place_of(const Engine& engine, const Principal& who, const From& from) {
  if (!from.after.empty()) {
    // Where an event of others stands among one's own would tell how much happens to them.
    const auto found = may_hear(who, audience_of_event(from.after)) ? engine.find_event(from.after) : std::nullopt;
    if (!found) return invalid("there is no event {}: leave it out to begin with the oldest kept", excerpt(from.after));
    return *found;
  }
  if (from.last < 0) return engine.last_event();
  int64_t place = engine.last_event(), left = from.last;
  for (int64_t end = place; left > 0 && end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - static_cast<int64_t>(kEventsAtOnce));
    const auto events = engine.events_since(begin, static_cast<size_t>(end - begin));
    for (size_t i = events.size(); i-- > 0 && left > 0;) {
      if (events[i].number > end || !may_see(who, events[i])) continue;
      place = events[i].number - 1;
      --left;
    }
    if (events.empty() || events.front().number > end) break;
    end = begin;
  }
  return place;
}

EventHub::EventHub(Service& service, Governor& governor, std::function<Instant()> clock)
    : service_(service), governor_(governor), clock_(std::move(clock)), thread_([this] { run(); }) {}

EventHub::~EventHub() { stop(); }

void EventHub::stop() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void EventHub::subscribe(EventStream stream, Principal who, int64_t after) {
  {
    const std::lock_guard guard(mutex_);
    joining_.push_back({.stream = std::move(stream), .who = std::move(who), .seen = after});
  }
  wake_.notify_all();
}

void EventHub::announce(int64_t number) {
  {
    const std::lock_guard guard(mutex_);
    newest_ = std::max(newest_, number);
  }
  wake_.notify_all();
}

void EventHub::run() {
  bool behind = false;
  for (auto next = std::chrono::steady_clock::now();; next = std::chrono::steady_clock::now() + kBetweenRounds) {
    {
      std::unique_lock lock(mutex_);
      if (!behind) wake_.wait(lock, [this] { return stopping_ || is_news(); });
      if (wake_.wait_until(lock, next, [this] { return stopping_; })) return;
      for (Listener& listener : joining_)
        listeners_.push_back(std::move(listener));
      joining_.clear();
    }
    behind = round();
  }
}

bool EventHub::round() {
  const Instant at = clock_();
  std::erase_if(listeners_, [&](Listener& listener) {
    const auto still = governor_.still(listener.who, at);
    if (!still || !listener.stream.open()) return true;
    listener.who = *still;
    return false;
  });
  if (std::ranges::all_of(listeners_, &Listener::catching_up) && !listeners_.empty())
    sent_ = std::ranges::max(listeners_, {}, &Listener::seen).seen;
  std::vector<int64_t> from = {sent_};
  std::vector<Listener*> late;
  for (Listener& listener : listeners_) {
    if (!listener.catching_up || listener.stream.unread() > 0 || late.size() == kMostCatchingUp) continue;
    late.push_back(&listener);
    from.push_back(listener.seen);
  }
  if (listeners_.empty()) return false;
  const std::vector<Events> got = fetch(std::move(from));
  if (got.empty()) return false;
  hand_on(got[0]);
  for (size_t i = 0; i < late.size(); ++i) {
    Listener& listener = *late[i];
    std::string text;
    for (const EventView& event : got[i + 1]) {
      if (may_see(listener.who, event)) text += wire_text(event);
      listener.seen = event.number;
    }
    if (!text.empty()) listener.stream.send_text(std::move(text));
    listener.catching_up = listener.seen < sent_;
  }
  return std::ranges::any_of(listeners_, &Listener::catching_up);
}

std::vector<EventHub::Events> EventHub::fetch(std::vector<int64_t> from) {
  service_.ask([self = shared_from_this(), from = std::move(from)](const Engine& engine) {
    auto all = std::make_shared<std::vector<Events>>();
    for (const int64_t number : from)
      all->push_back(engine.events_since(number, kEventsAtOnce));
    {
      const std::lock_guard guard(self->mutex_);
      self->answer_ = std::move(all);
    }
    self->wake_.notify_all();
  });
  std::unique_lock lock(mutex_);
  wake_.wait(lock, [this] { return stopping_ || answer_; });
  const auto answer = std::exchange(answer_, nullptr);
  return answer ? *answer : std::vector<Events>();
}

/// To all who are not catching up; those who may see the same get the same text.
void EventHub::hand_on(const Events& events) {
  if (events.empty()) return;
  std::vector<std::string> texts;
  for (const EventView& event : events)
    texts.push_back(wire_text(event));
  std::map<std::vector<bool>, std::shared_ptr<const std::string>> made;
  for (Listener& listener : listeners_) {
    if (listener.catching_up) continue;
    std::vector<bool> shown;
    for (const EventView& event : events)
      shown.push_back(event.number > listener.seen && may_see(listener.who, event));
    std::shared_ptr<const std::string>& text = made[shown];
    if (!text) {
      std::string all;
      for (size_t i = 0; i < events.size(); ++i)
        if (shown[i]) all += texts[i];
      text = std::make_shared<const std::string>(std::move(all));
    }
    if (!text->empty()) listener.stream.send_text(text);
    listener.seen = std::max(listener.seen, events.back().number);
  }
  sent_ = events.back().number;
}

}  // namespace stint
