#include "daemon/identity/access.h"

#include <algorithm>
#include <array>

namespace stint {
namespace {

struct Row {
  Scope scope;
  std::array<Allowed, 5> of_role;  ///< viewer, submitter, client-admin, operator, auditor
};
constexpr Allowed N = Allowed::kNo;
constexpr Allowed O = Allowed::kOwn;
constexpr Allowed Y = Allowed::kYes;

constexpr std::array<Row, kPermissions> kTable = {{
    {Scope::kRead, {Y, Y, Y, Y, Y}},     // see jobs
    {Scope::kRead, {Y, Y, Y, Y, N}},     // see logs
    {Scope::kSubmit, {N, Y, Y, Y, N}},   // submit
    {Scope::kControl, {N, O, Y, Y, N}},  // control
    {Scope::kManage, {N, N, Y, Y, N}},   // approve
    {Scope::kRead, {Y, Y, Y, Y, Y}},     // see nodes
    {Scope::kManage, {N, N, N, Y, N}},   // run nodes
    {Scope::kRead, {N, N, Y, Y, Y}},     // see users
    {Scope::kManage, {N, N, Y, Y, N}},   // manage users
    {Scope::kManage, {N, N, N, Y, N}},   // manage clients
    {Scope::kManage, {Y, Y, Y, Y, Y}},   // own tokens
    {Scope::kAudit, {N, N, N, N, Y}},    // see the audit log
    {Scope::kManage, {N, N, N, Y, N}},   // silence alerts
}};

const Row& row_of(Permission what) { return kTable[static_cast<size_t>(what)]; }

}  // namespace

Allowed allowed(Role role, Permission what) { return row_of(what).of_role[static_cast<size_t>(role)]; }
Scope scope_of(Permission what) { return row_of(what).scope; }

bool Principal::may(Permission what, std::string_view client, std::string_view owner) const {
  if (!scopes.has(scope_of(what))) return false;
  return std::any_of(grants.begin(), grants.end(), [&](const Grant& grant) {
    const Allowed answer = allowed(grant.role, what);
    return (grant.client.empty() || grant.client == client) &&
           (answer == Allowed::kYes || (answer == Allowed::kOwn && owner == user));
  });
}

bool Principal::may_everywhere(Permission what) const {
  return scopes.has(scope_of(what)) && std::any_of(grants.begin(), grants.end(), [what](const Grant& grant) {
           return grant.client.empty() && allowed(grant.role, what) == Allowed::kYes;
         });
}

bool Principal::may_somewhere(Permission what) const {
  return scopes.has(scope_of(what)) && std::any_of(grants.begin(), grants.end(), [what](const Grant& grant) {
           return allowed(grant.role, what) != Allowed::kNo;
         });
}

std::vector<std::string> Principal::clients_for(Permission what) const {
  std::vector<std::string> clients;
  if (!scopes.has(scope_of(what))) return clients;
  for (const Grant& grant : grants)
    if (!grant.client.empty() && allowed(grant.role, what) == Allowed::kYes) clients.push_back(grant.client);
  std::sort(clients.begin(), clients.end());
  clients.erase(std::unique(clients.begin(), clients.end()), clients.end());
  return clients;
}

}  // namespace stint
