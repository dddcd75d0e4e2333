#include "serve/serve_access.h"

#include <openssl/crypto.h>

#include <algorithm>

namespace stint::serve {
namespace {

bool has_right(const ServeToken& token, Right right) {
  if (right == Right::kLook) return has_right(token, Right::kInfer) || has_right(token, Right::kControl);
  return std::ranges::find(token.rights, right) != token.rights.end();
}

bool same_secret(std::string_view shown, std::string_view secret) {
  return shown.size() == secret.size() && CRYPTO_memcmp(shown.data(), secret.data(), secret.size()) == 0;
}

}  // namespace

Result<ServeAccess> ServeAccess::create(Options options) {
  for (size_t i = 0; i < options.tokens.size(); ++i) {
    if (options.tokens[i].secret.empty()) return invalid("a token file is empty");
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
  for (const ServeToken& token : options_.tokens)
    if (same_secret(authorization->substr(kScheme.size()), token.secret)) caller.token = &token;
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
