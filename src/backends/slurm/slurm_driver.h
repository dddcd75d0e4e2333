// Drives a Slurm: reads nodes and queue, lets the mirror decide, gives its orders. Keeps nothing on disk: cut off anywhere, the
// next pass finds in Slurm what has been done (slurm_mirror.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/slurm/slurm_advice.h"
#include "backends/slurm/slurm_mirror.h"
#include "backends/slurm/slurm_orders.h"
#include "host/event_clock.h"
#include "host/slurm_programs.h"

namespace stint {

struct SlurmDrive {
  DriveRules rules;
  SlurmPrograms programs;
  Duration history = Duration::hours(28 * 24);  ///< of accounting that counts in fair shares and budgets
  bool carry_out = true;                        ///< false: the orders are only named
  std::optional<SlurmMeans> line;               ///< how jobs that Slurm places itself are put in order; none = not at all
};

struct SlurmPass {
  std::vector<SlurmOrder> orders;
  std::vector<SlurmCommand> commands;  ///< of all of them, in order
  std::vector<std::string> notes;      ///< what was passed over and why, a sentence each
  std::vector<SlurmMachine> machines;  ///< as Slurm told
  size_t waiting = 0, running = 0;
  std::map<std::string, sched::BudgetStanding> budgets;  ///< by account, of those that have one
  bool began = false;                                    ///< the books were started again, from accounting
  Duration reading, deciding, telling;
};

class SlurmDriver {
 public:
  explicit SlurmDriver(SlurmDrive drive) : drive_(std::move(drive)), mirror_(drive_.rules), clock_(Instant()) {}
  /// @return error when Slurm cannot be asked. What it does not do of what it is told, the next pass sees.
  Result<SlurmPass> pass();
  /// When the last pass decided.
  [[nodiscard]] Instant told_at() const { return told_at_; }

 private:
  Result<SlurmView> read(SlurmPass& pass) const;
  void begin(Instant now, const SlurmView& view, SlurmPass& pass);
  void advise(Instant now, const SlurmView& view, SlurmPass& pass) const;
  void tell(SlurmPass& pass) const;

  SlurmDrive drive_;
  SlurmMirror mirror_;
  EventClock clock_;
  Instant told_at_;
  Instant begun_at_;
};

}  // namespace stint
