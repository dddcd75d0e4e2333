// Tasks that only pretend: each ends when its launch says it would. For trying a daemon out, and for testing one, where
// there are no GPUs. Nothing is kept: after a restart the caller's repeated launches bring it to where it was.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "backends/direct_backend.h"

namespace stint {

class SimulatedBackend final : public DirectBackend {
 public:
  [[nodiscard]] std::string_view name() const override { return "simulated"; }
  [[nodiscard]] std::vector<std::string> notes() const override;

  [[nodiscard]] Status takes(const Launch&) const override { return {}; }
  /// @return kInvalidInput for a launch without `simulated`, without a command or with a negative time.
  Status start(const Launch& launch, Instant now) override;
  /// SIGKILL ends the task as of the latest poll(); others are taken silently.
  Status signal(const LaunchKey& key, int signal) override;
  Status stop(const LaunchKey& key, Duration grace, Instant now) override;
  std::vector<Report> poll(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_report_at() const override;
  [[nodiscard]] std::vector<LaunchKey> running() const override;
  Status forget(const LaunchKey& key) override;
  /// @return kNotFound: nothing is printed.
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override;

  /// Something that will become of a machine.
  struct PlannedNews {
    Instant at;
    MachineReport report;
  };
  /// Beside what was planned before.
  void plan(std::vector<PlannedNews> news);
  /// Says what will become of machines within a time; asked for one `ahead` after the other.
  using Planner = std::function<std::vector<PlannedNews>(Interval when)>;
  void plan_by(Planner planner, Instant from, Duration ahead);
  [[nodiscard]] std::vector<MachineReport> machines() const override;
  std::vector<MachineReport> poll_machines(Instant now) override;

 private:
  enum class Told : uint8_t { kNothing, kStart, kEnd };
  struct Task {
    Instant started;
    Instant ends;  ///< as things stand
    SimulatedRun plan;
    ExitStatus status;
    EndCause cause = EndCause::kItself;
    Told told = Told::kNothing;
  };
  using Tasks = std::map<LaunchKey, Task>;
  [[nodiscard]] static Instant next_of(const Task& task) { return task.told == Told::kNothing ? task.started : task.ends; }
  void end_earlier(Tasks::iterator task, Instant at, ExitStatus status, EndCause cause);

  Tasks tasks_;
  std::set<std::pair<Instant, LaunchKey>> due_;  ///< the next report of every task that has one
  std::multimap<Instant, MachineReport> planned_;
  Planner planner_;  ///< may be none
  Instant planned_until_;
  Duration plan_ahead_;
  std::map<std::string, MachineReport> told_of_;  ///< by machine: the last, but for those that are gone
  Instant looked_at_;                             ///< of the latest poll(): a signal carries no time
};

}  // namespace stint
