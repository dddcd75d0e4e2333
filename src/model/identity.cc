#include "model/identity.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 5> kRoleNames = {"viewer", "submitter", "client-admin", "operator", "auditor"};
constexpr std::array<std::string_view, kScopes> kScopeNames = {"read", "submit", "control", "manage", "audit"};

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_name(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= 64 && is_alphanumeric(text[0]) &&
         std::all_of(text.begin(), text.end(), [others](char c) { return is_alphanumeric(c) || others.find(c) != others.npos; });
}

}  // namespace

std::string_view name_of(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

std::optional<Role> parse_role(std::string_view text) {
  const auto found = std::find(kRoleNames.begin(), kRoleNames.end(), text);
  if (found == kRoleNames.end()) return std::nullopt;
  return static_cast<Role>(found - kRoleNames.begin());
}

std::string format_grant(const Grant& grant) {
  return grant.client.empty() ? std::string(name_of(grant.role)) : fmt::format("{}@{}", name_of(grant.role), grant.client);
}

Result<Grant> parse_grant(std::string_view text) {
  const size_t at = text.find('@');
  const auto role = parse_role(text.substr(0, at));
  if (!role)
    return invalid("role {}: give viewer, submitter, client-admin, operator or auditor, and @CLIENT for one client",
                   excerpt(text));
  Grant grant{*role, at == std::string_view::npos ? "" : std::string(text.substr(at + 1))};
  if (at != std::string_view::npos && !is_plain_name(grant.client))
    return invalid("role {}: behind the @ stands a client's name", excerpt(text));
  if (grant.role == Role::kOperator && !grant.client.empty())
    return invalid("role {}: an operator is one of all clients; a client's own is client-admin", excerpt(text));
  return grant;
}

std::string_view name_of(Scope scope) { return kScopeNames[static_cast<size_t>(scope)]; }

std::string format_scopes(Scopes scopes) {
  if (scopes == Scopes::all()) return "all";
  std::string out;
  for (int i = 0; i < kScopes; ++i)
    if (scopes.has(static_cast<Scope>(i)))
      out += fmt::format("{}{}", out.empty() ? "" : ",", kScopeNames[static_cast<size_t>(i)]);
  return out;
}

Result<Scopes> parse_scopes(std::string_view text) {
  if (text == "all") return Scopes::all();
  Scopes scopes;
  for (const std::string_view part : split(text, ',')) {
    const auto found = std::find(kScopeNames.begin(), kScopeNames.end(), trim(part));
    if (found == kScopeNames.end())
      return invalid("scope {}: give all, or some of read, submit, control, manage, audit with commas between", excerpt(part));
    scopes.add(static_cast<Scope>(found - kScopeNames.begin()));
  }
  return scopes;
}

bool is_plain_name(std::string_view text) { return is_name(text, "._-"); }
bool is_user_name(std::string_view text) { return is_name(text, "._-@"); }

}  // namespace stint
