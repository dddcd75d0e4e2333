// The daemon's front: who may come in, what they may ask, and the server they ask through, put together in the right order.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/api.h"
#include "daemon/api/page_sessions.h"
#include "daemon/identity/login_desk.h"
#include "daemon/log_reader.h"
#include "daemon/logs/log_keeper.h"
#include "host/worker_pool.h"

namespace stint {

class ClusterRest;
class MachineTasks;

struct FrontOptions {
  std::string secrets_key;  ///< file with the key that secrets of one-time codes are encrypted with; empty = they are not
  std::string job_key;      ///< of the tokens of tasks; empty = there are none
  Bytes disk_reserve;       ///< of the disk with it: no new work comes in while less is free; 0 = no such bound
  std::string
      state_folder;  ///< holds govern.db (unless the log's database does) and, where the daemon had to make one, admin.token
  std::string
      log;  ///< URL of the event log in a database, which users, tokens and the audit log are then in, too; empty = a file
  std::shared_ptr<const std::atomic<int64_t>> log_epoch = nullptr;  ///< of such a log (EventLog::epoch())
  std::string listen = "127.0.0.1:8470";                            ///< IP address and port; `[::1]:8470`; port 0 = any free one
  TlsOptions tls;
  bool plain_beyond_loopback = false;
  std::optional<OidcConfig> oidc;
  AuditPolicy audit_policy;
  AuditHeadsOptions audit_heads;                  ///< files left empty are audit-heads.jsonl and audit.key of the state folder
  std::vector<std::string> clients;               ///< the tops of the configured queues: made known where they are not
  const Backend* backend = nullptr;               ///< outlives the front: reads what tasks printed
  std::shared_ptr<MachineTasks> tasks = nullptr;  ///< their logs are kept within bounds; null: they are not ours to keep
  std::string job_logs;                           ///< folder with those
  LogKeeping log_keeping;
  std::vector<ClientRules> client_rules;  ///< of the configuration: their quotas of logs
  std::string version;
  std::shared_ptr<FindingBook> findings;
  // These end after the doors are closed and before the service is stopped; nullptr = there is none.
  AuditRunner* audits = nullptr;
  StatementRunner* statements = nullptr;
  AllocationDesk* allocations = nullptr;
  BillBook* bills = nullptr;
  NodePower* power = nullptr;
  const ReplicaKeeper* replicas = nullptr;
  AlertDesk* alerts = nullptr;
  const LiveTelemetry* telemetry = nullptr;  ///< outlives the front
  const ClusterRest* cluster = nullptr;      ///< outlives the front
  const OffMachines* off = nullptr;          ///< outlives the front
};

class Front {
 public:
  /// Opens the doors. @param service  outlives the front, and is stopped before the front goes.
  static Result<std::unique_ptr<Front>> open(Service& service, FrontOptions options);
  /// What a reload has brought. @param clients  tops of queues: clients from here on
  void reconfigure(const std::vector<std::string>& clients, const AuditPolicy& audit_policy, const LogKeeping& log_keeping,
                   const std::vector<ClientRules>& client_rules);
  /// Certificates that were renewed hold for connections from now on. @return error naming the file: then the old ones stay.
  Status reload_certificates();
  /// What an operator must know of the start.
  [[nodiscard]] const std::vector<std::string>& news() const { return news_; }
  /// What is wrong with the audit log, as far as its signed heads tell; empty = nothing.
  [[nodiscard]] const std::string& audit_problem() const { return governor_->audit_problem(); }
  /// No more requests; those being worked on are answered by a service that still runs.
  void close_doors();
  ~Front();
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  [[nodiscard]] std::string url() const;
  /// The file of the first operator's token when it was made just now; empty = there was a good one already.
  [[nodiscard]] const std::string& new_token_file() const { return new_token_file_; }

 private:
  Front() = default;
  [[nodiscard]] LogRules rules_of_logs(const LogKeeping& keeping, const std::vector<ClientRules>& clients) const;
  std::unique_ptr<Governor> governor_;
  std::unique_ptr<IdentityProvider> provider_;  ///< none: there is none
  std::unique_ptr<PageSessions> sessions_;
  std::unique_ptr<LoginDesk> login_;  ///< none: there is no login through the provider
  std::unique_ptr<LogReader> logs_;
  std::unique_ptr<LogKeeper> log_keeper_;  ///< none: there is nothing to keep
  std::unique_ptr<Api> api_;
  std::unique_ptr<WorkerPool> readers_;  ///< of large bodies
  std::unique_ptr<HttpServer> server_;
  std::string new_token_file_;
  std::vector<std::string> news_;
  bool keeps_all_reads_ = false;  ///< of the audit log, whatever its policy
  std::string job_logs_;          ///< folder
};

/// "127.0.0.1:8470" or "[::1]:8470" taken apart. @return error for anything else.
struct ListenAddress {
  std::string address;
  uint16_t port = 0;
};
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace stint
