// Users, clients, tokens and the audit log, durable: what a store of them must do. One SQLite file beside the event log
// (govern_file.h), or tables beside it in PostgreSQL, where daemons of several machines take turns (govern_postgres.h).
//
// Apart from the event log, because what governs is changed, read and backed up by other people than what runs; a change and
// its audit record are one transaction. For one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/sealed.h"
#include "model/identity.h"

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

/// How secrets of one-time codes lie in a store.
struct GovernSecrets {
  std::optional<SealKey> key;  ///< they are encrypted with it on their way in; none = they lie there as they are
  bool untouched = false;      ///< neither encrypted nor decrypted: for copying from store to store without the key
};

class GovernStore {
 public:
  virtual ~GovernStore() = default;

  /// With a key, secrets that are not encrypted yet are from here on. @return error where the key is missing or another one
  virtual Result<GovernState> load() = 0;
  /// The last row of the audit log; sequence 0 when there is none.
  virtual Result<AuditRow> last_audit() = 0;
  /// Calls visit for the rows behind `after`, ascending, at most `limit`, until it returns an error, which is then returned. Where
  /// `client` is not empty only its rows are there, and `after` and `sequence` count them alone.
  virtual Status read_audit(int64_t after, int64_t limit, std::string_view client,
                            const std::function<Status(const AuditRow&)>& visit) = 0;

  /// What is put between begin() and commit() becomes durable together. After an error nothing of it has, once rolled back; whether it
  /// has when commit() loses its server is not known: load() tells.
  /// @return kConflict: another daemon may have written here since load(): call that first.
  virtual Status begin() = 0;
  virtual Status commit() = 0;
  virtual void roll_back() = 0;
  virtual Status put(const User& user) = 0;            ///< new, or in place of the one with its name
  virtual Status put(const Client& client) = 0;        ///< likewise
  virtual Status put(const Token& token) = 0;          ///< likewise, by id
  virtual Status put(const SecondFactor& factor) = 0;  ///< likewise, by user; one without a secret is removed
  virtual Status append(const AuditRow& row) = 0;
  /// Takes records out, both ends included: the last keeps its row and hash, without client and record.
  virtual Status take_out(int64_t first, int64_t last) = 0;
  /// Up to where records were taken out; 0 = none were.
  virtual Result<int64_t> taken_out_up_to() = 0;
};

/// All of one into another, which is empty; both leave secrets untouched. A copy that failed is to be thrown away.
Status copy_governance(GovernStore& from, GovernStore& to);

}  // namespace stint
