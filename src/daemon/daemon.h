// The daemon put together: state folder, log, backend, engine and its door. What listens on the network is put on top.
//
// A state folder holds `lock` (one daemon at a time), `events.db` (the event log), `work` (of the local backend),
// `history.db` (what was seen: a History), `audit.json` and `decisions.json` (the last audit of it, and what was decided).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "clouds/object_url.h"
#include "daemon/alerts/alert_desk.h"
#include "daemon/allocation_desk.h"
#include "daemon/audit_runner.h"
#include "daemon/bill_book.h"
#include "daemon/change_keeper.h"
#include "daemon/cluster_rest.h"
#include "daemon/finding_book.h"
#include "daemon/fleet_config.h"
#include "daemon/live/live_collector.h"
#include "daemon/power/cloud_notices.h"
#include "daemon/power/node_power.h"
#include "daemon/power/off_machines.h"
#include "daemon/replicas/replica_keeper.h"
#include "daemon/service.h"
#include "daemon/statement_runner.h"
#include "host/lock_file.h"
#include "store/event_log.h"

namespace stint {

struct JobAccounts;
class MachineTasks;
class SealKey;

struct DaemonOptions {
  std::string config_file;          ///< JSON, docs/formats.md
  std::string state_folder;         ///< made where it is missing
  bool simulate = false;            ///< nothing runs: tasks end after the times given for them
  bool allow_missing_gpus = false;  ///< the configured GPUs need not be there: for trying it out
  std::string learn_from;     ///< a History whose runs say how long jobs run, for a daemon that has seen none end; empty = none
  Duration simulated_faults;  ///< with `simulate`: mean time between failures of a machine; 0 = none fails
  std::string jobs_as;        ///< name of the system's user that all jobs run as; empty = none
  std::string jobs_as_range;  ///< "20000-29999": each of a client's users has one of these accounts; empty = none
  std::string jobs_home;      ///< folder for the homes of those accounts; empty = beside the state folder
  /// Jobs run as the daemon's own user, or as root: whoever submits can read its tokens. Refused at the start where it is not said.
  bool insecure_shared_user = false;
  std::string starter;  ///< socket of the privileged starter, which starts tasks in place of this process; empty = it does itself
  Bytes disk_reserve;   ///< of the disk with the state folder, kept for the daemon's own records
  std::vector<std::string> job_devices;  ///< below /dev, that jobs of other accounts find beside the usual ones and their GPUs
  int64_t job_processes = 0;  ///< that a job's task may have, threads included; 0 = 16,384, at most a quarter of the machine's
  std::string listen;         ///< of the API, for tasks that tell it something; empty = as configured
  bool by_tls = false;        ///< its certificate speaks of a name that is not known here: then tasks are not told where it is
  std::string gpu_scrub;      ///< program that overwrites a GPU's memory between clients; empty = none
  std::optional<Bytes> job_memory;         ///< of a task that names none; 0 = not limited; none = its share of the machine
  Bytes job_log_limit = Bytes::mebi(256);  ///< of each stream of a task; 0 = none
  std::string cgroup;                      ///< folder of the cgroup v2 tree that is ours to write; empty = none
  std::optional<CloudProvider> cloud;      ///< of the machine that tasks run on, whose notices are heeded; none = no cloud's
  std::string program = "/proc/self/exe";  ///< stint itself, which makes audits and statements
  /// Where the log is a database: while another daemon is active follow it, and take over when it is gone.
  bool standby = false;
  std::string host_id;      ///< tells this machine from others in such a log; empty = /etc/machine-id does
  std::string secrets_key;  ///< file with the key of the secrets that are encrypted; empty = none
  std::string fence;  ///< program that makes certain that no task runs on another machine any more (standby.h); empty = none
  std::optional<Duration> fence_after;  ///< another machine's daemon must be away so long before; none = 30 s
  /// Of such a log: another daemon has taken it over, and this one is to end. On the service's thread.
  std::function<void(const std::string& why)> on_superseded;
  /// Standing by: called a few times a second, with what there is to say when that is something new; false = give up.
  std::function<bool(const std::string& news)> keep_waiting;
};

class Daemon {
 public:
  /// Takes the folder, recovers, reconciles with what runs, and begins to take commands.
  /// @return error for a configuration of several machines where tasks run here, too.
  static Result<std::unique_ptr<Daemon>> start(const DaemonOptions& options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  [[nodiscard]] Service& service() { return *service_; }
  [[nodiscard]] AlertDesk& alerts() { return *alerts_; }
  [[nodiscard]] const std::shared_ptr<FindingBook>& findings() const { return findings_; }
  [[nodiscard]] AuditRunner& audits() { return *audits_; }
  [[nodiscard]] AllocationDesk& allocations() { return *allocations_; }
  [[nodiscard]] StatementRunner& statements() { return *statements_; }
  [[nodiscard]] BillBook& bills() { return *bills_; }
  [[nodiscard]] NodePower& power() { return *power_; }
  [[nodiscard]] const OffMachines& off_machines() const { return off_machines_; }
  /// Null where no cluster places work itself.
  [[nodiscard]] const ClusterRest* cluster_rest() const { return cluster_rest_.get(); }
  [[nodiscard]] const ReplicaKeeper& replicas() const { return *replicas_; }
  /// What the GPUs do; filled as long as the daemon runs.
  [[nodiscard]] LiveTelemetry& telemetry() { return telemetry_; }
  [[nodiscard]] const DaemonConfig& config() const { return config_; }
  [[nodiscard]] const std::string& state_folder() const { return options_.state_folder; }
  /// Of tasks that run on this machine; null: they do not.
  [[nodiscard]] const std::shared_ptr<MachineTasks>& tasks() const { return tasks_; }
  /// Folder with what they printed.
  [[nodiscard]] const std::string& job_logs() const { return job_logs_; }
  /// Of a log in a database; nullptr for a file.
  [[nodiscard]] std::shared_ptr<const std::atomic<int64_t>> log_epoch() const { return log_->epoch(); }
  /// Of the tokens of tasks (identity/job_token.h); empty = nothing runs.
  [[nodiscard]] const std::string& job_key() const { return job_key_; }
  /// For its logs; everything else of it is the service's.
  [[nodiscard]] const Backend& backend() const { return *backend_; }
  /// Of the start.
  [[nodiscard]] const Recovery& recovery() const { return recovery_; }
  /// What a person must know about the backend.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

  /// Reads the configuration again and takes over its machines, prices and queues. @return what could not be taken over: all
  /// is then as it was.
  Status reload();
  /// No more commands, everything taken is durable; what runs goes on.
  void stop();

 private:
  explicit Daemon(DaemonOptions options) : options_(std::move(options)) {}
  /// Are tasks processes of this machine, and the log one that daemons of several machines can write?
  [[nodiscard]] bool has_tasks_here() const;
  Status hold_folder(const JobAccounts& accounts);
  Status open_backend(const JobAccounts& accounts);
  Status take_log(Engine& engine, const JobAccounts& accounts);
  void collect();
  void keep_services();
  Status watch_cloud();
  Status begin_background_work();
  [[nodiscard]] std::string history_path() const { return options_.state_folder + "/history.db"; }

  DaemonOptions options_;
  std::optional<LockFile> lock_;  ///< none = standing by for the daemon that has it
  bool has_run_ = false;          ///< tasks have been started in the state folder before
  DaemonConfig config_;
  Recovery recovery_;
  std::vector<std::string> notes_;
  std::string job_key_;
  std::shared_ptr<const SealKey> secrets_key_;  ///< null: no secret is encrypted
  LiveTelemetry telemetry_;
  std::unique_ptr<Backend> backend_;
  std::shared_ptr<MachineTasks> tasks_;
  std::string job_logs_;
  std::unique_ptr<EventLog> log_;
  OffMachines off_machines_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<AlertDesk> alerts_;
  std::unique_ptr<LiveCollector> collector_;
  std::unique_ptr<BillBook> bills_;
  std::shared_ptr<FindingBook> findings_;
  std::unique_ptr<AuditRunner> audits_;
  std::unique_ptr<StatementRunner> statements_;
  std::unique_ptr<AllocationDesk> allocations_;
  std::unique_ptr<NodePower> power_;
  std::unique_ptr<ClusterRest> cluster_rest_;  ///< none: no cluster places work itself
  std::unique_ptr<ChangeKeeper> changes_;
  std::unique_ptr<ReplicaKeeper> replicas_;
  std::unique_ptr<CloudNotices> notices_of_cloud_;  ///< none: tasks run on no machine of a cloud
};

}  // namespace stint
