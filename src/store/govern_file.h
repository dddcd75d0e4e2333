// Users, clients, tokens and the audit log on disk: one SQLite file beside the event log. Drawn in docs/formats.md.
//
// Apart from the event log, because what governs is changed, read and backed up by other people than what runs; a change and
// its audit record are one transaction. For one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/sealed.h"
#include "model/identity.h"
#include "store/sqlite.h"

namespace stint {

/// One line of the audit log as stored.
struct AuditRow {
  int64_t sequence = 0;  ///< from 1, without gaps but those of take_out()
  std::string client;    ///< whose matter it is; empty = no client's in particular
  std::string record;    ///< a JSON object; empty = taken out, with those before it
  std::string hash;      ///< of the row before and this record: see daemon/identity/audit_log.h
  bool operator==(const AuditRow&) const = default;
};

/// The one-time codes somebody is asked for beside a token (daemon/identity/second_factor.h).
struct SecondFactor {
  std::string user;
  std::string secret;                   ///< its bytes; empty = there is none any more
  bool confirmed = false;               ///< a good code was shown: from then on they are asked for
  uint64_t used_step = 0;               ///< codes of steps up to this one are used up
  int failures = 0;                     ///< wrong codes in a row
  std::optional<Instant> locked_until;  ///< no code is looked at before
  std::vector<std::string> recovery;    ///< SHA-256 of those not used yet
  Instant created;
  bool operator==(const SecondFactor&) const = default;
};

struct GovernState {
  std::vector<User> users;                   ///< ascending by name
  std::vector<Client> clients;               ///< ascending by name
  std::vector<Token> tokens;                 ///< ascending by id
  std::vector<SecondFactor> second_factors;  ///< ascending by user
};

class GovernFile {
 public:
  /// @param path  made, readable to its owner alone, when it is absent.
  /// @param key  that secrets of one-time codes are encrypted with, on their way in; none = they lie there as they are
  /// @return error for a file of a newer version, or one that is none.
  static Result<GovernFile> open(const std::string& path, std::optional<SealKey> key = std::nullopt);

  /// With a key, secrets that are not encrypted yet are from here on. @return error where the key is missing or another one
  Result<GovernState> load();
  /// The last row of the audit log; sequence 0 when there is none.
  Result<AuditRow> last_audit();
  /// Calls visit for the rows behind `after`, ascending, at most `limit`, until it returns an error, which is then returned. Where
  /// `client` is not empty only its rows are there, and `after` and `sequence` count them alone.
  Status read_audit(int64_t after, int64_t limit, std::string_view client, const std::function<Status(const AuditRow&)>& visit);

  /// What is put between begin() and commit() becomes durable together. After an error nothing of it has, once rolled back.
  Status begin();
  Status commit();
  void roll_back();
  Status put(const User& user);            ///< new, or in place of the one with its name
  Status put(const Client& client);        ///< likewise
  Status put(const Token& token);          ///< likewise, by id
  Status put(const SecondFactor& factor);  ///< likewise, by user; one without a secret is removed
  Status append(const AuditRow& row);
  /// Takes records out, both ends included: the last keeps its row and hash, without client and record.
  Status take_out(int64_t first, int64_t last);
  /// Up to where records were taken out; 0 = none were.
  Result<int64_t> taken_out_up_to();

 private:
  GovernFile(Database database, std::optional<SealKey> key) : database_(std::move(database)), key_(std::move(key)) {}
  Status prepare();
  [[nodiscard]] Result<std::string> opened_secret(const std::string& user, std::string_view text) const;
  Status seal_all(const std::vector<SecondFactor>& factors);
  Database database_;
  std::optional<SealKey> key_;
  Statement put_user_, put_client_, put_token_, put_factor_, remove_factor_, append_, forget_, blank_;
};

}  // namespace stint
