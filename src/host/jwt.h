// Signed tokens of an identity provider: JSON Web Tokens with RS256 or ES256, checked with keys it publishes as a JSON Web Key Set.
//
// Only what a bearer token needs is taken: compact form, one signature, the two algorithms that providers use; "none" and keyed
// hashes are refused by not being there. Sources: RFC 7515 (JWS), 7517 (JWK), 7518 (algorithms), 7519 (JWT), 8725 (best practice).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// Bytes of base64url without padding (RFC 4648, section 5). none = not that.
std::optional<std::string> from_base64url(std::string_view text);
/// The same the other way.
std::string to_base64url(std::string_view bytes);

/// Keys by their ids. A value; copies share the keys.
class KeySet {
 public:
  /// A JWKS document. Keys of other kinds or uses, and RSA keys below 2048 bits, are passed over.
  /// @return error when it is none, or has no key of use here.
  static Result<KeySet> parse(std::string_view json);
  /// @param kid  "" = the only one. @param algorithm  "RS256" or "ES256", for which the key must be.
  [[nodiscard]] bool has(std::string_view kid, std::string_view algorithm) const;
  [[nodiscard]] bool verifies(std::string_view kid, std::string_view algorithm, std::string_view message,
                              std::string_view signature) const;
  [[nodiscard]] size_t size() const;

 private:
  struct Keys;
  std::shared_ptr<const Keys> keys_;
};

/// A token taken apart; nothing of it is believed before its signature holds.
struct Jwt {
  std::string algorithm, kid;
  std::string type;       ///< of its header, lower-case, without "application/": "jwt", "at+jwt"; "" = it names none
  std::string claims;     ///< JSON object
  std::string message;    ///< what is signed
  std::string signature;  ///< bytes
};
/// Does it look like one: three parts between dots?
bool looks_like_jwt(std::string_view token);
Result<Jwt> parse_jwt(std::string_view token);

}  // namespace stint
