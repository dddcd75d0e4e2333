#include "daemon/engine/event_trail.h"

#include <utility>

namespace stint {

void EventTrail::note_queue(std::string_view kind, std::string_view queue, std::string detail) {
  note({.kind = std::string(kind), .queue = std::string(queue), .detail = std::move(detail)});
}

void EventTrail::note(std::string_view kind, sched::JobId job, std::string_view node, std::string detail) {
  note({.kind = std::string(kind),
        .job = job.valid() ? s_.jobs[job.index()].id : 0,
        .job_number = job.valid() ? s_.jobs[job.index()].number : 0,
        .array_index = job.valid() ? s_.jobs[job.index()].place_in_array() : std::nullopt,
        .queue = job.valid() ? s_.fleet.queues[s_.jobs[job.index()].queue.index()].name : std::string(),
        .node = std::string(node),
        .detail = std::move(detail)});
}

void EventTrail::note(EventView event) {
  event.number = ++s_.last_event;
  event.at = s_.now;
  event.told = ++s_.event_counts[std::string(audience_of(event))];
  s_.event_views.push_back(std::move(event));
  if (s_.event_views.size() > s_.events_kept) s_.event_views.pop_front();
}

}  // namespace stint
