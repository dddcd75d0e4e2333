// Users, clients, tokens and the audit log in the database of an event log in PostgreSQL, so that whichever daemon drives the log has
// the same. Drawn in docs/daemon/governance.md.
//
// Guarded like the log, by its epoch (store/postgres.h): what a daemon writes that another has relieved is refused. It has a
// connection of its own, for it is another thread's.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/govern_store.h"
#include "store/postgres.h"

namespace stint {

class GovernPostgres final : public GovernStore {
 public:
  /// @param url  of the log. @param epoch  of the log, which this daemon drives (EventLog::epoch()).
  /// @return error for tables of a newer version; kUnavailable: cannot be reached, or another daemon drives the log.
  static Result<std::unique_ptr<GovernPostgres>> open(std::string url, std::shared_ptr<const std::atomic<int64_t>> epoch,
                                                      GovernSecrets secrets);
  /// All as of one moment, whoever drives the log; secrets are left untouched, and nothing may be written. nullptr: there are no
  /// such tables, or nothing is in them yet.
  static Result<std::unique_ptr<GovernPostgres>> open_to_read(std::string url);

  Result<GovernState> load() override;
  Result<AuditRow> last_audit() override;
  Status read_audit(int64_t after, int64_t limit, std::string_view client,
                    const std::function<Status(const AuditRow&)>& visit) override;
  Status begin() override;
  Status commit() override;
  void roll_back() override { pending_.clear(); }
  Status put(const User& user) override;
  Status put(const Client& client) override;
  Status put(const Token& token) override;
  Status put(const SecondFactor& factor) override;
  Status append(const AuditRow& row) override;
  Status take_out(int64_t first, int64_t last) override;
  Result<int64_t> taken_out_up_to() override;

  /// Have the tables been begun with? What they hold before that counts for nothing.
  Result<bool> is_begun();
  /// Before that: makes them empty.
  Status clear();
  /// From here on they count. @param from  what was copied into them; empty = nothing. @param head  of the audit log in that
  Status mark_begun(const std::string& from, const std::string& head);
  struct Origin {
    std::string from;
    std::string head;
  };
  Result<Origin> origin();

 private:
  GovernPostgres(std::string url, std::shared_ptr<const std::atomic<int64_t>> epoch, GovernSecrets secrets)
      : url_(std::move(url)), log_epoch_(std::move(epoch)), secrets_(std::move(secrets)) {}
  Status make_tables();
  /// Connects where it is not.
  Status reach();
  Result<PostgresRows> query(const char* sql, const PostgresValues& values = {});
  Status write(const std::vector<PostgresStatement>& statements);
  Status seal_all(const std::vector<SecondFactor>& factors);

  std::string url_;
  std::shared_ptr<const std::atomic<int64_t>> log_epoch_;  ///< nullptr: only reads
  GovernSecrets secrets_;
  PostgresConnection connection_;
  int64_t epoch_ = 0;  ///< that of the log when it was last loaded
  std::vector<PostgresStatement> pending_;
};

/// Where a daemon's users, tokens and audit log are.
struct GovernPlace {
  std::string state_folder;                           ///< with govern.db, where they are in no database
  std::string database;                               ///< URL of the log; empty = it is a file
  std::shared_ptr<const std::atomic<int64_t>> epoch;  ///< of the log in a database
};
struct OpenedGovernance {
  std::unique_ptr<GovernStore> store;
  std::string news;  ///< what an operator must know; empty = nothing new
};
/// Opens them. In a database that holds none yet those of govern.db are taken over, once; a govern.db beside a database is then moved out
/// of the way, so that nothing in it is taken for what holds.
Result<OpenedGovernance> open_governance(const GovernPlace& place, std::optional<SealKey> key);

}  // namespace stint
