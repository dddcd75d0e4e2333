// Whatever an identity provider, or whoever pretends to be one, sends: tokens, keys, discovery documents, claims; a task's token that
// somebody made up; and a file of the audit log's heads, a secret or an encrypted stream that somebody changed.
#include <cstdint>

#include "base/check.h"
#include "daemon/identity/audit_heads.h"
#include "daemon/identity/job_token.h"
#include "daemon/identity/oidc.h"
#include "host/jwt.h"
#include "host/sealed.h"

namespace {

/// Without the key nothing is opened, and what is sealed comes back.
void look_at_sealed(std::string_view input) {
  static const stint::SealKey key = stint::SealKey::of(std::string(32, 'k'));
  CHECK(!key.unseal(input, "fuzz").ok(), "a secret is sealed by itself");
  const auto back = key.unseal(key.seal(input, "fuzz"), "fuzz");
  CHECK(back.ok() && *back == input, "{} bytes do not come back", input.size());
  std::string_view left = input;
  stint::SealReader reader(key, [&left]() -> stint::Result<std::string_view> {
    const std::string_view piece = left.substr(0, 7);
    left.remove_prefix(piece.size());
    return piece;
  });
  CHECK(!reader.read().ok(), "a stream is sealed by itself");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  stint::OidcConfig config;
  config.issuer = "https://id.example.org";
  config.audience = "stint";
  config.roles = {{"ops", {}}};
  config.user_prefix = "oidc:";
  config.second_factor = {.acr = {"gold"}, .amr = {"mfa"}, .max_age = stint::Duration::minutes(10)};
  const auto keys = stint::KeySet::parse(input);
  if (const auto token = stint::parse_jwt(input); token.ok() && keys.ok())
    CHECK(!keys->verifies(token->kid, token->algorithm, token->message, token->signature), "a token verifies by itself");
  (void)stint::read_discovery(input, config).ok();
  if (const auto who = stint::principal_of_claims(input, config, stint::Instant::from_seconds(1'800'000'000)); who.ok())
    CHECK(who->user.starts_with("oidc:") && who->user.size() > 5, "an identity without a user");
  for (const auto use : {stint::TokenUse::kRequest, stint::TokenUse::kLogin})
    (void)stint::check_token_type(input.substr(0, 20), input, use).ok();
  CHECK(!stint::launch_of_token("a key that no writer of this knows", input), "a task's token proves itself");
  look_at_sealed(input);
  if (const auto heads = stint::read_signed_heads(input, "a key that no writer of this knows", "fuzz"); heads.ok())
    CHECK(heads->empty(), "a head is signed by itself");
  if (const auto bytes = stint::from_base64url(input))
    CHECK(stint::from_base64url(stint::to_base64url(*bytes)) == bytes, "{} is not read back", input.size());
  return 0;
}
