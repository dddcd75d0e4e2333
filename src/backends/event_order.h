// The order in which a backend of a cluster tells what it saw: machines, jobs and refusals first, since reports rest on them; then reports
// by time.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "backends/backend.h"

namespace stint {

/// Events that are no reports keep their order.
inline void put_in_order(std::vector<BackendEvent>& events) {
  std::ranges::stable_sort(events, {}, [](const BackendEvent& event) {
    const auto* report = std::get_if<Report>(&event);
    return report == nullptr ? std::tuple(0, Instant(), LaunchKey(), ReportKind::kStarted)
                             : std::tuple(1, report->at, report->key, report->kind);
  });
}

}  // namespace stint
