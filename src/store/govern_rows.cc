#include "store/govern_rows.h"

#include <fmt/ranges.h>

#include "base/text.h"
#include "host/totp.h"

namespace stint {
namespace {

/// What a secret is encrypted for: in another user's row it is none.
std::string purpose_of(const std::string& user) { return "one-time codes of " + user; }

}  // namespace

std::string grants_text(const std::vector<Grant>& grants) {
  std::vector<std::string> parts;
  for (const Grant& grant : grants)
    parts.push_back(format_grant(grant));
  return joined(parts);
}

std::string joined(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ",")); }

std::vector<std::string> parted(std::string_view text) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  for (const std::string_view part : split(text, ','))
    parts.emplace_back(part);
  return parts;
}

Result<User> user_of(std::string_view name, std::string_view grants, bool disabled, int64_t created_ns) {
  User user{.name = std::string(name), .disabled = disabled, .created = Instant::from_ns(created_ns)};
  for (const std::string& part : parted(grants)) {
    TRY_ASSIGN(Grant grant, parse_grant(part));
    user.grants.push_back(std::move(grant));
  }
  return user;
}

Client client_of(std::string_view name, bool disabled, std::string_view mandatory_tags, int64_t created_ns) {
  return {.name = std::string(name),
          .disabled = disabled,
          .mandatory_tags = parted(mandatory_tags),
          .created = Instant::from_ns(created_ns)};
}

std::string closed_secret(const GovernSecrets& secrets, const SecondFactor& factor) {
  if (secrets.untouched) return factor.secret;
  return secrets.key ? secrets.key->seal(factor.secret, purpose_of(factor.user)) : to_base32(factor.secret);
}

Result<std::string> opened_secret(const GovernSecrets& secrets, const std::string& user, std::string_view text,
                                  const std::string& store) {
  if (secrets.untouched) return std::string(text);
  if (!is_sealed(text)) return from_base32(text);
  if (!secrets.key)
    return invalid("{}: secrets of one-time codes are encrypted: name the file with their key (stint daemon --secrets-key)",
                   store);
  const Result<std::string> secret = secrets.key->unseal(text, purpose_of(user));
  if (!secret.ok()) return invalid("{}: the secret of {}'s one-time codes {}", store, user, secret.error().message);
  return *secret;
}

bool is_to_be_sealed(const GovernSecrets& secrets, std::string_view text) {
  return secrets.key && !secrets.untouched && !is_sealed(text);
}

Status copy_governance(GovernStore& from, GovernStore& to) {
  constexpr int64_t kAtATime = 2'000;  // of the audit log, in one transaction
  TRY_ASSIGN(const GovernState state, from.load());
  TRY(to.begin());
  for (const User& user : state.users)
    TRY(to.put(user));
  for (const Client& client : state.clients)
    TRY(to.put(client));
  for (const Token& token : state.tokens)
    TRY(to.put(token));
  for (const SecondFactor& factor : state.second_factors)
    TRY(to.put(factor));
  TRY(to.commit());
  int64_t copied = 0;
  for (int64_t rows = kAtATime; rows == kAtATime;) {
    rows = 0;
    TRY(to.begin());
    TRY(from.read_audit(copied, kAtATime, "", [&](const AuditRow& row) {
      ++rows;
      copied = row.sequence;
      return to.append(row);
    }));
    TRY(to.commit());
  }
  return {};
}

}  // namespace stint
