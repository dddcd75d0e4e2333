// Requests that ask for the same at the same time: one of them leads and is computed, the others wait for its answer.
//
// Who joins loses nothing: its deadline is not before the leader's, and it is not more urgent. Who leads may be refused or go away; then
// one of those that wait leads in its place.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "batching/request.h"
#include "serve/response_cache.h"

namespace stint::serve {

/// Under its owner's lock. Keys may be empty: such requests neither lead nor join.
class Flights {
 public:
  /// @return false: it is to be computed, as the leader if there is none yet
  bool join(const ContentKey& key, const batching::Request& request);
  /// It waits no more: it was cancelled, or refused. @return who leads in its place, to be computed; none: there is no such
  std::optional<batching::Request> leave(const ContentKey& key, batching::RequestId id);
  /// The request has been answered. @return who waited for that, in the order in which they came; none where it does not lead
  std::vector<batching::RequestId> land(const ContentKey& key, batching::RequestId id);

 private:
  struct Flight {
    batching::Request leader;
    std::vector<batching::Request> waiting;
  };
  std::unordered_map<ContentKey, Flight> flights_;
};

}  // namespace stint::serve
