// What the backend is told, and what it tells. A launch is ordered again after a restart, and when no answer comes: the backend starts
// it once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/engine/launches.h"
#include "daemon/engine/machine_reports.h"
#include "daemon/engine/order_desk.h"
#include "daemon/engine/others_jobs.h"

namespace stint {

class Dispatch {
 public:
  struct View {
    Backend* const& backend;
    const bool& carries_out;  ///< false: nothing is ordered
    const std::optional<std::string>& read_only;
    const std::vector<JobBook>& jobs;
    const std::vector<NodeBook>& nodes;
    const Launches& launches;
    OrderDesk& desk;
    MachineReports& machine_reports;
    OthersJobs& others;
    std::vector<std::string>& dismissed;  ///< jobs of others that have ended here and wait there
    StagedStep& staged;
    Recovery& recovery;
  };
  explicit Dispatch(const View& view) : s_(view) {}

  /// What happened is staged, and orders that are due are given.
  void poll(Instant at);
  /// Orders that are due, stops first: what they free is what starts need.
  void carry_out(Instant at);
  /// After recovery: every launch that should be there is ordered again, whatever else runs is stopped. Where the backend has to look
  /// first, this is done when it has.
  void reconcile(Instant at);
  void stage_report(const Report& report);
  /// A line for each task that was to begin and has not.
  [[nodiscard]] std::string text_of_hindrances(sched::JobId id) const;

 private:
  [[nodiscard]] bool concerns_us(const Report& report) const;
  void hear(Instant at);
  void hear_of_launch(const LaunchNote& launch);
  void take_refusal(const Refusal& refusal, Instant at);
  void take_stock(Instant at);
  void compare(Instant at);

  View s_;
  std::map<LaunchKey, std::string> hindered_;  ///< what keeps launches that were ordered from beginning
  bool reconciled_ = false;                    ///< what ran at the start is known: jobs may be started
  Instant compared_at_;                        ///< what runs with what should
  std::vector<LaunchKey> strangers_;  ///< run, are in no record, and were told to stop: nothing starts before they are gone
};

}  // namespace stint
