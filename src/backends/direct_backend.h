// A backend whose orders are carried out as they come: each is one short call.
#pragma once

#include <map>

#include "backends/backend.h"

namespace stint {

class DirectBackend : public Backend {
 public:
  void submit(std::vector<Order> orders) final;
  std::vector<BackendEvent> drain(Instant now) final;
  [[nodiscard]] std::optional<Instant> next_event_at() const final;

  /// @return error when it cannot be started and nothing of it is left behind. kUnavailable: not now; anything else: not like this.
  virtual Status start(const Launch& launch, Instant now) = 0;
  /// @return kNotFound: no such launch.
  virtual Status signal(const LaunchKey& key, int signal) = 0;
  /// @return kNotFound: no such launch.
  virtual Status stop(const LaunchKey& key, Duration grace, Instant now) = 0;
  /// @return kConflict while it has not ended, kNotFound: no such launch.
  virtual Status forget(const LaunchKey& key) = 0;
  /// What happened to tasks up to `now` and was not told by this object before, ordered by time, then key, then kind.
  virtual std::vector<Report> poll(Instant now) = 0;
  /// What became of machines up to `now` and was not told by this object before, in the order in which it happened.
  virtual std::vector<MachineReport> poll_machines(Instant /*now*/) { return {}; }
  /// When poll() or poll_machines() will have something to tell, where that is known.
  [[nodiscard]] virtual std::optional<Instant> next_report_at() const = 0;

 private:
  void carry_out(const Order& order);
  void stop_what_may_be(const Order& order);
  void refuse(const Order& order, RefusalKind kind, std::string detail);

  std::map<LaunchKey, Report>
      told_;  ///< the last of each launch that is not forgotten; one stopped before it was known among them
  std::vector<BackendEvent> answers_;  ///< to be told
};

}  // namespace stint
