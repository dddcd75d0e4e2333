// A Slurm under the daemon: what its users give to sbatch --hold and what the daemon's users submit is started when and where the daemon
// says, and Slurm starts it.
//
// Slurm is the truth. A launch of the caller's own is a Slurm job by its name; before sbatch is run a file says so, so that after a crash
// it is known that it may have been. A job of others carries its attempt in its AdminComment. Each look compares Slurm's nodes and queue
// with what was told before; accounting says how what Slurm has forgotten has ended. Programs are waited for: wrap it in a BackendThread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/slurm/slurm_fleet.h"
#include "backends/slurm/slurm_launch.h"
#include "backends/slurm/slurm_others.h"
#include "host/slurm_programs.h"

namespace stint {

struct SlurmBackendRules {
  SlurmPrograms programs;
  std::string state_folder;  ///< made where it is missing; one SlurmBackend at a time uses it
  std::string log_folder;    ///< that all machines see: output of the caller's own launches that name no file
  SlurmOthersRules others;
  std::map<std::string, RunAs, std::less<>> users;       ///< to run as, by "CLIENT/USER"; "*" = all that are not named
  std::string partition;                                 ///< of the caller's own launches; empty = Slurm's default
  std::map<std::string, Machine, std::less<>> machines;  ///< prices and places, by name
  Duration every = Duration::seconds(2);                 ///< between two looks; after orders at once
  Duration patience = Duration::seconds(60);             ///< what was told to start begins within this, or counts as lost
};

class SlurmBackend final : public Backend {
 public:
  /// Looks for the first time. @return error when the folder cannot be used. A Slurm that does not answer is none: is_ready() says
  /// when it has.
  static Result<std::unique_ptr<SlurmBackend>> create(SlurmBackendRules rules, Instant now);

  [[nodiscard]] std::string_view name() const override { return "slurm"; }
  [[nodiscard]] std::vector<std::string> notes() const override;
  [[nodiscard]] bool is_ready() const override { return ready_; }
  [[nodiscard]] bool chooses_gpus() const override { return true; }
  void submit(std::vector<Order> orders) override;
  std::vector<BackendEvent> drain(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_event_at() const override;
  [[nodiscard]] std::vector<LaunchKey> running() const override;
  [[nodiscard]] std::vector<MachineReport> machines() const override { return fleet_.machines(); }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override;

 private:
  struct Known {
    std::string job;  ///< of Slurm; "" = not known yet
    bool own = true;
    std::optional<Report> last;     ///< told
    std::optional<Instant> leaves;  ///< own: told to leave, and ended by force then
    bool uncertain = false;         ///< own: an earlier daemon was about to run sbatch, and may have
    bool seen = false;              ///< in this look
    [[nodiscard]] bool has_ended() const { return last && last->kind != ReportKind::kStarted; }
  };
  struct Placing {  ///< a job of others whose launches come together
    std::string job;
    std::vector<const Launch*> launches;
    size_t size = 1;
  };

  explicit SlurmBackend(SlurmBackendRules rules) : rules_(std::move(rules)), fleet_(rules_.machines), others_(rules_.others) {}
  Status open_folder();
  [[nodiscard]] std::string intent_of(const LaunchKey& key) const;

  // Orders.
  [[nodiscard]] Result<RunAs> account_of(const std::string& owner) const;
  [[nodiscard]] Status make_logs(const Launch& launch, const RunAs& user) const;
  [[nodiscard]] std::string slurm_account_of(const std::string& queue) const;
  [[nodiscard]] const SlurmMachine* find_machine(std::string_view name) const;
  [[nodiscard]] SlurmParts parts_on(std::string_view machine) const;
  [[nodiscard]] std::string whole_gpus_of(std::string_view machine) const;
  void start_own(const Launch& launch, Instant at);
  void place(const Placing& placing, const AttemptKey& attempt, Instant at);
  void stop(const Order& order);
  void stop_others(Known& known, const Order& order);
  void forget(const Order& order);
  void dismiss(const Order& order);
  void refuse(const Order& order, RefusalKind kind, std::string why);
  void tell(Report report);
  void tell_again(const Report& report);
  Status change(const std::string& job, const SlurmNote& note, std::vector<std::string> more = {});
  Status run(const std::string& program, const std::vector<std::string>& arguments);

  // A look.
  [[nodiscard]] Result<SlurmView> read() const;
  /// @return false: Slurm does not answer; all is as it was.
  bool look(Instant now);
  void look_at_own(const SlurmEntry& entry, const LaunchKey& key, Instant now);
  void look_at_attempt(const SlurmEntry& entry, const std::string& job, const AttemptKey& attempt, Instant now);
  void look_for_unseen(Instant now);
  struct Account {
    bool answers = false;        ///< there is one
    std::optional<Report> last;  ///< the last end it has
    bool has_job = false;        ///< it knows of the job, which may not have ended
  };
  /// @param which  --jobs=17 or --name=…
  [[nodiscard]] Account by_accounting(const std::string& which, const LaunchKey& key, Instant now) const;
  void stop_unanswered(const Order& order);
  [[nodiscard]] std::vector<LaunchKey> keys_of(const AttemptKey& attempt) const;

  SlurmBackendRules rules_;
  std::string mark_;
  bool ready_ = false;
  bool dirty_ = true;  ///< orders were given since the last look
  Instant looked_at_;
  SlurmView view_;
  std::map<std::string, size_t, std::less<>> entries_;  ///< of the view, by the job's name
  std::map<LaunchKey, Known> launches_;
  SlurmFleet fleet_;
  SlurmOthers others_;
  bool others_told_ = false;          ///< which jobs of others there are
  bool answers_ = true;               ///< Slurm did, at the last look
  std::vector<BackendEvent> events_;  ///< to be told
};

}  // namespace stint
