// Who may do what, as one table: role × permission. Everything the API lets through or hides goes by it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/identity.h"

namespace stint {

enum class Permission : uint8_t {
  kSeeJobs,  ///< and queues, events, metrics and costs of a client
  kSeeLogs,  ///< what its jobs print
  kSubmit,
  kControl,   ///< cancel, hold, release
  kApprove,   ///< let an expensive job of somebody else run, or refuse it
  kSeeNodes,  ///< machines, and which of one's own jobs are on them
  kRunNodes,  ///< drain them and take them back
  kSeeUsers,
  kManageUsers,    ///< who has which role in a client
  kManageClients,  ///< and users as such: new ones' tokens, disabled ones
  kOwnTokens,      ///< see, make and revoke one's own
  kSeeAudit,
  kSilenceAlerts,
};
inline constexpr int kPermissions = 13;

/// Somebody who has shown who they are.
struct Principal {
  std::string user;
  std::string token;  ///< id; empty = known by a certificate
  std::vector<Grant> grants;
  Scopes scopes;
  /// Known by a signed token of an identity provider, which is good until then: there is nothing else to look up.
  std::optional<Instant> expires = {};
  /// Of those: until when the provider's word holds that they showed a second factor, where the configuration asks for one; none = it
  /// does not, or they did not.
  std::optional<Instant> second_factor_until = {};
  /// Of a session of the page: set once the person has logged out. null = it is none.
  std::shared_ptr<const std::atomic<bool>> over = {};
  /// Of a task that shows its own token (job_token.h): its key, "17.0.3"; it has no role. Empty = it is none.
  std::string launch = {};

  /// In the client, for what belongs to `owner`.
  [[nodiscard]] bool may(Permission what, std::string_view client, std::string_view owner = "") const;
  /// In all clients alike, those to come included.
  [[nodiscard]] bool may_everywhere(Permission what) const;
  /// In any client at all: else the answer is no, whatever it is about.
  [[nodiscard]] bool may_somewhere(Permission what) const;
  /// The clients in which it may, ascending; for those who may not everywhere.
  [[nodiscard]] std::vector<std::string> clients_for(Permission what) const;
};

enum class Allowed : uint8_t { kNo, kOwn, kYes };
/// The table itself.
Allowed allowed(Role role, Permission what);
/// The scope a token must have for it.
Scope scope_of(Permission what);

}  // namespace stint
