// Who may do what: users with roles in clients, and the tokens they show.
//
// A client is a namespace: the top of its queues' paths. A role is held in one client or in all; a token is at most its
// user, and less where its scopes say so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class Role : uint8_t {
  kViewer,       ///< sees jobs, logs, queues and costs of the client
  kSubmitter,    ///< a viewer who runs jobs, and cancels, holds and releases their own
  kClientAdmin,  ///< a submitter who does so with all jobs of the client, and manages its users and their tokens
  kOperator,     ///< runs the whole: machines, clients, users, all jobs; only of all clients
  kAuditor,      ///< sees what a viewer sees but logs, and the audit log; changes nothing
};
std::string_view name_of(Role role);  // "viewer", "submitter", "client-admin", "operator", "auditor"
std::optional<Role> parse_role(std::string_view text);

struct Grant {
  Role role = Role::kViewer;
  std::string client;  ///< empty = all
  bool operator==(const Grant&) const = default;
};
/// "submitter@agency", "operator".
std::string format_grant(const Grant& grant);
/// @return error for a role that is unknown, an operator of one client, or a client's name that cannot be.
Result<Grant> parse_grant(std::string_view text);

/// What a token may be used for, of what its user may.
enum class Scope : uint8_t {
  kRead,     ///< jobs, logs, queues, machines, events, metrics
  kSubmit,   ///< new jobs
  kControl,  ///< cancel, hold, release
  kManage,   ///< machines, clients, users, tokens
  kAudit,    ///< the audit log
};
inline constexpr int kScopes = 5;
std::string_view name_of(Scope scope);  // "read", "submit", "control", "manage", "audit"

/// A set of scopes.
class Scopes {
 public:
  static constexpr Scopes all() { return Scopes((1U << kScopes) - 1); }
  constexpr Scopes() = default;
  constexpr void add(Scope s) { bits_ |= 1U << static_cast<unsigned>(s); }
  [[nodiscard]] constexpr bool has(Scope s) const { return (bits_ >> static_cast<unsigned>(s) & 1U) != 0; }
  /// Are all of `other` in this set?
  [[nodiscard]] constexpr bool cover(Scopes other) const { return (other.bits_ & ~bits_) == 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const Scopes&) const = default;

 private:
  explicit constexpr Scopes(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};
/// "read,submit"; "all" for all of them.
std::string format_scopes(Scopes scopes);
Result<Scopes> parse_scopes(std::string_view text);

struct User {
  std::string name;
  std::vector<Grant> grants;
  bool disabled = false;  ///< none of the tokens is good any more
  Instant created;
  bool operator==(const User&) const = default;
};

struct Token {
  std::string id;    ///< names it in lists and in the audit log; not secret
  std::string hash;  ///< SHA-256 of the secret, which is kept nowhere
  std::string user;
  Scopes scopes;
  std::string note;
  Instant created;
  Instant expires;
  std::optional<Instant> revoked;
  bool operator==(const Token&) const = default;
};

struct Client {
  std::string name;
  bool disabled = false;                    ///< no new jobs
  std::vector<std::string> mandatory_tags;  ///< keys that every new job must carry, ascending
  Instant created;
  bool operator==(const Client&) const = default;
};

/// Names of users, clients and tags: 1–64 of a–z, A–Z, 0–9 and `.`, `_`, `-`, the first a letter or digit; users also with `@`.
bool is_plain_name(std::string_view text);
bool is_user_name(std::string_view text);

}  // namespace stint
