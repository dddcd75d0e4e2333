// Who may ask an inference server, for what, and whose requests they are: read from the token that is shown, never from what somebody
// says of himself.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "batching/request.h"

namespace stint::serve {

/// What a route takes.
enum class Right : uint8_t {
  kNone,     ///< health: for everybody
  kLook,     ///< what is said of models: for who infers or controls
  kInfer,    ///< requests
  kControl,  ///< loads and unloads
  kMetrics,
};

struct ServeToken {
  /// The token itself, or `sha256:` and the 64 hexadecimal digits of its SHA-256: then a file of tokens is none of use to who reads it.
  std::string secret;
  std::vector<Right> rights;
  batching::TenantId tenant = batching::TenantId(0);
  bool names_tenant = false;  ///< a gateway's: it has asked who it is, and says so in `stint-tenant`
};

class ServeAccess {
 public:
  struct Options {
    std::vector<ServeToken> tokens;
    std::map<std::string, uint32_t> tenants;  ///< ids by name, for gateways; who is none of them is tenant 0
  };
  /// Who asks; not known without a good token.
  struct Caller {
    const ServeToken* token = nullptr;  ///< null: unknown
    batching::TenantId tenant = batching::TenantId(0);
  };

  /// Keeps hashes alone. @return error for an empty token, for a hash that is none, and for a token that two have: then it could not be
  /// said who asks.
  static Result<ServeAccess> create(Options options);

  /// @param authorization, tenant  what was sent under `authorization` and `stint-tenant`; none: nothing. In constant time for the
  ///   hash of each token.
  [[nodiscard]] Caller who(std::optional<std::string_view> authorization, std::optional<std::string_view> tenant) const;
  /// Where no token is for inference, everybody may infer and, where none is for metrics either, read those. Models are controlled by a
  /// token alone.
  [[nodiscard]] bool may(const Caller& caller, Right right) const;
  [[nodiscard]] bool has_tenants() const { return !options_.tenants.empty(); }
  /// Else everybody may.
  [[nodiscard]] bool asks_for_token(Right right) const;

 private:
  explicit ServeAccess(Options options) : options_(std::move(options)) {}
  Options options_;
};

}  // namespace stint::serve
