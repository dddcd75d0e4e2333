// Keeps what changes that were carried out ask for: weekly schedules at their edges, and what a crash cut short (carried_steps.h).
#pragma once

#include <functional>
#include <memory>

#include "daemon/carried_steps.h"
#include "daemon/service.h"
#include "host/recurring.h"

namespace stint {

class ClusterRest;
class NodePower;

class ChangeKeeper {
 public:
  /// @param service, power  outlive it. @param clock  the service's.
  /// @param cluster  outlives it; null = there is none that places work itself.
  ChangeKeeper(Service& service, std::shared_ptr<FindingBook> book, NodePower& power, ClusterRest* cluster,
               std::function<Instant()> clock);
  ChangeKeeper(const ChangeKeeper&) = delete;
  ChangeKeeper& operator=(const ChangeKeeper&) = delete;
  ~ChangeKeeper();

 private:
  /// @return until when to wait.
  Duration look();
  void take(const CarriedStep& step);
  Status put_up(const std::vector<std::string>& machines);

  Service& service_;
  std::shared_ptr<FindingBook> book_;
  NodePower& power_;
  ClusterRest* cluster_;
  std::function<Instant()> clock_;
  std::unique_ptr<Recurring> thread_;
};

}  // namespace stint
