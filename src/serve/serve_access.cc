#include "serve/serve_access.h"

#include <openssl/crypto.h>

#include <algorithm>

#include "base/text.h"
#include "host/secret.h"

namespace stint::serve {
namespace {

bool has_right(const ServeToken& token, Right right) {
  if (right == Right::kLook) return has_right(token, Right::kInfer) || has_right(token, Right::kControl);
  return std::ranges::find(token.rights, right) != token.rights.end();
}

constexpr std::string_view kHashed = "sha256:";

/// Of a token as its file holds it.
Result<std::string> hash_of(const std::string& secret) {
  if (secret.empty()) return invalid("a token file is empty");
  if (!secret.starts_with(kHashed)) return sha256_hex(secret);
  std::string hash = to_lower(std::string_view(secret).substr(kHashed.size()));
  constexpr size_t kDigits = 64;
  if (hash.size() != kDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos)
    return invalid(
        "a token file begins with sha256: and goes on otherwise than with the 64 hexadecimal digits of a SHA-256, as "
        "`printf %s TOKEN | sha256sum` prints them");
  return hash;
}

bool same_hash(std::string_view shown, std::string_view hash) {
  return shown.size() == hash.size() && CRYPTO_memcmp(shown.data(), hash.data(), hash.size()) == 0;
}

}  // namespace

Result<ServeAccess> ServeAccess::create(Options options) {
  for (size_t i = 0; i < options.tokens.size(); ++i) {
    TRY_ASSIGN(options.tokens[i].secret, hash_of(options.tokens[i].secret));
    for (size_t j = 0; j < i; ++j)
      if (options.tokens[i].secret == options.tokens[j].secret)
        return invalid("two token files hold the same token: it would not say who asks, nor for what; make one for each");
  }
  return ServeAccess(std::move(options));
}

ServeAccess::Caller ServeAccess::who(std::optional<std::string_view> authorization,
                                     std::optional<std::string_view> tenant) const {
  constexpr std::string_view kScheme = "Bearer ";
  Caller caller;
  if (!authorization || !authorization->starts_with(kScheme)) return caller;
  const std::string shown = sha256_hex(authorization->substr(kScheme.size()));
  for (const ServeToken& token : options_.tokens)
    if (same_hash(shown, token.secret)) caller.token = &token;
  if (caller.token == nullptr) return caller;
  caller.tenant = caller.token->tenant;
  if (!caller.token->names_tenant || !tenant) return caller;
  const auto known = options_.tenants.find(std::string(*tenant));
  if (known != options_.tenants.end()) caller.tenant = batching::TenantId(known->second);
  return caller;
}

bool ServeAccess::asks_for_token(Right right) const {
  if (right == Right::kNone) return false;
  if (right == Right::kControl) return true;
  const auto has = [&](Right wanted) {
    return std::ranges::any_of(options_.tokens, [wanted](const ServeToken& token) { return has_right(token, wanted); });
  };
  return has(right == Right::kLook ? Right::kInfer : right) || (right == Right::kMetrics && has(Right::kInfer));
}

bool ServeAccess::may(const Caller& caller, Right right) const {
  return !asks_for_token(right) || (caller.token != nullptr && has_right(*caller.token, right));
}

}  // namespace stint::serve
