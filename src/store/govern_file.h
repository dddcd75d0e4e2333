// Users, clients, tokens and the audit log in one SQLite file. Drawn in docs/daemon/governance.md.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/govern_store.h"
#include "store/sqlite.h"

namespace stint {

class GovernFile final : public GovernStore {
 public:
  /// @param path  made, readable to its owner alone, when it is absent.
  /// @return error for a file of a newer version, or one that is none.
  static Result<GovernFile> open(const std::string& path, std::optional<SealKey> key = std::nullopt);
  static Result<GovernFile> open(const std::string& path, GovernSecrets secrets);

  Result<GovernState> load() override;
  Result<AuditRow> last_audit() override;
  Status read_audit(int64_t after, int64_t limit, std::string_view client,
                    const std::function<Status(const AuditRow&)>& visit) override;
  Status begin() override;
  Status commit() override;
  void roll_back() override;
  Status put(const User& user) override;
  Status put(const Client& client) override;
  Status put(const Token& token) override;
  Status put(const SecondFactor& factor) override;
  Status append(const AuditRow& row) override;
  Status take_out(int64_t first, int64_t last) override;
  Result<int64_t> taken_out_up_to() override;

 private:
  GovernFile(Database database, GovernSecrets secrets) : database_(std::move(database)), secrets_(std::move(secrets)) {}
  Status prepare();
  Status seal_all(const std::vector<SecondFactor>& factors);
  Database database_;
  GovernSecrets secrets_;
  Statement put_user_, put_client_, put_token_, put_factor_, remove_factor_, append_, forget_, blank_;
};

}  // namespace stint
