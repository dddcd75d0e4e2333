// Whatever an identity provider, or whoever pretends to be one, sends: tokens, keys, discovery documents, claims; and a file of the audit
// log's heads that somebody changed.
#include <cstdint>

#include "base/check.h"
#include "daemon/audit_heads.h"
#include "daemon/oidc.h"
#include "host/jwt.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  stint::OidcConfig config;
  config.issuer = "https://id.example.org";
  config.audience = "stint";
  config.roles = {{"ops", {}}};
  const auto keys = stint::KeySet::parse(input);
  if (const auto token = stint::parse_jwt(input); token.ok() && keys.ok())
    CHECK(!keys->verifies(token->kid, token->algorithm, token->message, token->signature), "a token verifies by itself");
  (void)stint::read_discovery(input, config).ok();
  if (const auto who = stint::principal_of_claims(input, config, stint::Instant::from_seconds(1'800'000'000)); who.ok())
    CHECK(!who->user.empty(), "an identity without a user");
  if (const auto heads = stint::read_signed_heads(input, "a key that nobody who writes this knows", "fuzz"); heads.ok())
    CHECK(heads->empty(), "a head is signed by itself");
  if (const auto bytes = stint::from_base64url(input))
    CHECK(stint::from_base64url(stint::to_base64url(*bytes)) == bytes, "{} is not read back", input.size());
  return 0;
}
