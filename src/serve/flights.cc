#include "serve/flights.h"

#include <algorithm>

namespace stint::serve {

using batching::Request;
using batching::RequestId;

bool Flights::join(const ContentKey& key, const Request& request) {
  const auto [found, leads] = flights_.try_emplace(key, Flight{request, {}});
  const Request& leader = found->second.leader;
  if (leads || request.deadline < leader.deadline || request.priority < leader.priority) return false;
  found->second.waiting.push_back(request);
  return true;
}

std::optional<Request> Flights::leave(const ContentKey& key, RequestId id) {
  const auto found = flights_.find(key);
  if (key.empty() || found == flights_.end()) return std::nullopt;
  std::vector<Request>& waiting = found->second.waiting;
  if (found->second.leader.id != id) {
    std::erase_if(waiting, [id](const Request& request) { return request.id == id; });
    return std::nullopt;
  }
  if (waiting.empty()) {
    flights_.erase(found);
    return std::nullopt;
  }
  // The one with the least time leads, as urgent as the most urgent of them.
  const auto next = std::ranges::min_element(waiting, {}, &Request::deadline);
  const int priority = std::ranges::min(waiting, {}, &Request::priority).priority;
  found->second.leader = *next;
  found->second.leader.priority = priority;
  waiting.erase(next);
  return found->second.leader;
}

std::vector<RequestId> Flights::land(const ContentKey& key, RequestId id) {
  const auto found = flights_.find(key);
  std::vector<RequestId> waited;
  if (key.empty() || found == flights_.end() || found->second.leader.id != id) return waited;
  for (const Request& request : found->second.waiting)
    waited.push_back(request.id);
  flights_.erase(found);
  return waited;
}

}  // namespace stint::serve
