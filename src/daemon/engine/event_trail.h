// Events for people, numbered and dated by the step that they belong to.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/engine_books.h"

namespace stint {

class EventTrail {
 public:
  struct View {
    const FleetConfig& fleet;
    const std::vector<JobBook>& jobs;
    const Instant& now;
    const size_t& events_kept;
    std::deque<EventView>& event_views;
    std::map<std::string, int64_t, std::less<>>& event_counts;
    int64_t& last_event;
  };
  explicit EventTrail(const View& view) : s_(view) {}

  /// @param event  without numbers and time.
  void note(EventView event);
  /// @param job  not valid = about none.
  void note(std::string_view kind, sched::JobId job, std::string_view node, std::string detail);
  void note_queue(std::string_view kind, std::string_view queue, std::string detail);

 private:
  View s_;
};

}  // namespace stint
