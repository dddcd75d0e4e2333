// Who pays: five tag dimensions, and the rules that derive them from what telemetry and bills call things.
#pragma once

#include <array>
#include <compare>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"

namespace stint {

/// Empty text = not known. A tenant with all five empty is "unattributed".
struct Tenant {
  std::string client;
  std::string project;
  std::string team;
  std::string environment;
  std::string workload;
  auto operator<=>(const Tenant&) const = default;
  [[nodiscard]] bool empty() const { return *this == Tenant{}; }
};

enum class TenantDimension { kClient, kProject, kTeam, kEnvironment, kWorkload };
inline constexpr std::array kTenantDimensions = {TenantDimension::kClient, TenantDimension::kProject, TenantDimension::kTeam,
                                                 TenantDimension::kEnvironment, TenantDimension::kWorkload};
std::string_view name_of(TenantDimension d);
Result<TenantDimension> parse_tenant_dimension(std::string_view text);
const std::string& get(const Tenant& t, TenantDimension d);
std::string& get(Tenant& t, TenantDimension d);

using Tag = std::pair<std::string, std::string>;
/// Reads the dimensions out of free-form tags. Keys are compared without case, `-`, `_`, `.` and `/` prefixes
/// (`user:Cost-Center` is `costcenter`); see kTagAliases in the source for the accepted names.
Tenant tenant_from_tags(const std::vector<Tag>& tags);
/// `primary` where it says something, `fallback` elsewhere.
Tenant merged(const Tenant& primary, const Tenant& fallback);

using TenantId = Id<struct TenantTag>;

/// Dense ids for tenants, in order of first appearance.
class TenantTable {
 public:
  TenantId intern(const Tenant& t);
  const Tenant& operator[](TenantId id) const { return tenants_[id.index()]; }
  [[nodiscard]] size_t size() const { return tenants_.size(); }

 private:
  std::vector<Tenant> tenants_;
  std::map<Tenant, TenantId> ids_;
};

/// `pattern` (a glob with * and ?) matched against `namespace/NAME`, `account/NAME`, `user/NAME`, `node/NAME`,
/// `pod/NAMESPACE/NAME` or `job/NAME`; the first rule that matches gives the tenant.
struct TenantRule {
  std::string pattern;
  Tenant tenant;
};
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace stint
