// Keeps who may do what, and writes down who did what.
//
// Questions are answered from memory under a lock; changes and audit records are written by its own thread, all that came
// while the last sync ran in one transaction. A change and its record are durable together, before anybody is told of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "daemon/identity/access.h"
#include "daemon/identity/audit_heads.h"
#include "daemon/identity/audit_log.h"
#include "daemon/identity/audit_policy.h"
#include "store/govern_store.h"

namespace stint {

/// Put in place of what has the same name or id.
using GovernChange = std::variant<User, Client, Token, SecondFactor>;

/// A token as it is made: the only moment at which its secret is seen.
struct NewToken {
  Token token;
  std::string secret;
};
/// `stint_` and 64 random hexadecimal digits.
NewToken make_token(const std::string& user, Scopes scopes, Instant now, Duration life, std::string note);
inline constexpr Duration kLongestTokenLife = Duration::hours(366 * 24);

class Governor {
 public:
  using Done = std::function<void(Status)>;

  /// @param path  of the file, made when absent.
  /// @param secrets_key  file with the key that secrets of one-time codes are encrypted with; "" = they are not
  /// @param heads  where signed heads of the audit log go: now, then every so often, and at the end; none = nowhere.
  static Result<std::unique_ptr<Governor>> open(const std::string& path, std::optional<AuditHeadsOptions> heads = std::nullopt,
                                                const std::string& secrets_key = "");
  static Result<std::unique_ptr<Governor>> open(std::unique_ptr<GovernStore> store, std::optional<AuditHeadsOptions> heads);
  /// Writes what is waiting, then ends.
  ~Governor();
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;

  // Questions, from any thread.
  [[nodiscard]] std::optional<Principal> by_token(std::string_view secret, Instant now) const;
  /// @param name  from a certificate that has been verified.
  [[nodiscard]] std::optional<Principal> by_certificate(std::string_view name) const;
  /// The same principal as things are now; none = it is no longer one.
  [[nodiscard]] std::optional<Principal> still(const Principal& principal, Instant now) const;
  [[nodiscard]] std::optional<User> user(std::string_view name) const;
  [[nodiscard]] std::optional<Client> client(std::string_view name) const;
  [[nodiscard]] std::optional<Token> token(std::string_view id) const;
  [[nodiscard]] std::optional<SecondFactor> second_factor(std::string_view user) const;
  [[nodiscard]] GovernState state() const;

  // From any thread; `done` is called on the governor's thread once it is durable, or has failed: then nothing of it holds.
  void change(GovernChange change, AuditEntry entry, Done done);
  void record(AuditEntry entry, Done done);
  /// A read: has its record, or is counted, as the policy says.
  void record_read(AuditEntry entry);
  /// From now on, and once an hour for reads past their time: they go where there are signed heads to say so.
  void set_policy(const AuditPolicy& policy);
  /// A one-time code of the entry's actor: looked at and used up at once, so that two requests cannot show the same. `done` hears
  /// whether it is good; both are on record.
  void show_code(std::string_view code, AuditEntry entry, Done done);
  /// As GovernStore::read_audit() does.
  void read_audit(int64_t after, int64_t limit, std::string client, std::function<void(Result<std::vector<AuditRow>>)> done);
  /// Signed heads of the audit log, ascending.
  [[nodiscard]] std::vector<AuditHead> audit_heads() const;
  /// Is the log what its heads say? Told at open(); empty = as far as they tell.
  [[nodiscard]] const std::string& audit_problem() const;

 private:
  struct Impl;
  explicit Governor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Sees to it that there is somebody who may do everything: when no operator has a good token, makes the user `admin`
/// (operator and auditor) and a token for it, good for 90 days, and writes that to `path`, readable to its owner alone.
/// @return whether it did.
Result<bool> ensure_operator(Governor& governor, const std::string& path, Instant now);

}  // namespace stint
