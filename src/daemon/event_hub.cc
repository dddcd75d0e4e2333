#include "daemon/event_hub.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/view_json.h"

namespace stint {
namespace {

constexpr size_t kBatch = 1'000;

std::string wire_text(const EventView& event) {
  return EventStream::format(event.kind, std::to_string(event.number),
                             to_json(event).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

std::string_view client_of_queue(std::string_view queue) { return queue.substr(0, queue.find('/')); }

bool may_see(const Principal& who, const EventView& event) {
  if (!event.queue.empty()) return who.may(Permission::kSeeJobs, client_of_queue(event.queue));
  return event.job == 0 ? who.may_somewhere(Permission::kSeeNodes) : who.may_everywhere(Permission::kSeeJobs);
}

void EventHub::subscribe(EventStream stream, Principal who, int64_t after) {
  service_.ask(
      [self = shared_from_this(), stream = std::move(stream), who = std::move(who), after](const Engine& engine) mutable {
        if (self->listeners_.empty()) self->sent_ = engine.last_event();
        for (int64_t from = after < 0 ? self->sent_ : after; from < self->sent_;) {
          const auto events = engine.events_since(from, kBatch);
          std::string text;
          for (const EventView& event : events) {
            from = event.number;
            if (event.number <= self->sent_ && may_see(who, event)) text += wire_text(event);
          }
          if (events.empty() || (!text.empty() && !stream.send_text(std::move(text)))) break;
        }
        self->listeners_.push_back({std::move(stream), std::move(who)});
        self->hand_on(engine);
      });
}

void EventHub::announce(int64_t number) {
  if (number <= sent_ || listeners_.empty() || asked_) return;
  asked_ = true;
  service_.ask([self = shared_from_this()](const Engine& engine) { self->hand_on(engine); });
}

void EventHub::hand_on(const Engine& engine) {
  asked_ = false;
  const Instant at = clock_();
  std::erase_if(listeners_, [&](Listener& listener) {
    const auto still = governor_.still(listener.who, at);
    if (!still || !listener.stream.open()) return true;
    listener.who = *still;
    return false;
  });
  while (!listeners_.empty() && sent_ < engine.last_event()) {
    const auto events = engine.events_since(sent_, kBatch);
    if (events.empty()) break;
    std::vector<std::string> texts;
    texts.reserve(events.size());
    for (const EventView& event : events)
      texts.push_back(wire_text(event));
    for (Listener& listener : listeners_) {
      std::string text;
      for (size_t i = 0; i < events.size(); ++i)
        if (may_see(listener.who, events[i])) text += texts[i];
      if (!text.empty()) listener.stream.send_text(std::move(text));
    }
    sent_ = events.back().number;
  }
  sent_ = std::max(sent_, engine.last_event());
}

}  // namespace stint
