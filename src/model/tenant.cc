#include "model/tenant.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

struct TagAlias {
  std::string_view key;
  TenantDimension dimension;
};

// Normalised keys in order of preference: the first that carries a value wins.
constexpr TagAlias kTagAliases[] = {
    {"client", TenantDimension::kClient},       {"customer", TenantDimension::kClient},
    {"tenant", TenantDimension::kClient},       {"costcenter", TenantDimension::kClient},
    {"businessunit", TenantDimension::kClient}, {"project", TenantDimension::kProject},
    {"application", TenantDimension::kProject}, {"app", TenantDimension::kProject},
    {"team", TenantDimension::kTeam},           {"department", TenantDimension::kTeam},
    {"owner", TenantDimension::kTeam},          {"environment", TenantDimension::kEnvironment},
    {"env", TenantDimension::kEnvironment},     {"stage", TenantDimension::kEnvironment},
    {"workload", TenantDimension::kWorkload},   {"service", TenantDimension::kWorkload},
    {"component", TenantDimension::kWorkload},  {"job", TenantDimension::kWorkload},
};

/// `user:Cost-Center` → `costcenter`, `app.kubernetes.io/component` → `component`.
std::string normalised_key(std::string_view key) {
  const size_t prefix = key.find_last_of(":/");
  if (prefix != std::string_view::npos) key.remove_prefix(prefix + 1);
  std::string out = to_lower(key);
  std::erase_if(out, [](char c) { return c == '-' || c == '_' || c == '.' || c == ' '; });
  return out;
}

}  // namespace

std::string_view name_of(TenantDimension d) {
  switch (d) {
    case TenantDimension::kClient: return "client";
    case TenantDimension::kProject: return "project";
    case TenantDimension::kTeam: return "team";
    case TenantDimension::kEnvironment: return "environment";
    case TenantDimension::kWorkload: return "workload";
  }
  CHECK(false, "dimension {}", static_cast<int>(d));
}

Result<TenantDimension> parse_tenant_dimension(std::string_view text) {
  for (const TenantDimension d : kTenantDimensions)
    if (name_of(d) == text) return d;
  return invalid("'{}' is no tenant dimension: use client, project, team, environment or workload", excerpt(text));
}

const std::string& get(const Tenant& t, TenantDimension d) {
  switch (d) {
    case TenantDimension::kClient: return t.client;
    case TenantDimension::kProject: return t.project;
    case TenantDimension::kTeam: return t.team;
    case TenantDimension::kEnvironment: return t.environment;
    case TenantDimension::kWorkload: return t.workload;
  }
  CHECK(false, "dimension {}", static_cast<int>(d));
}

std::string& get(Tenant& t, TenantDimension d) { return const_cast<std::string&>(get(std::as_const(t), d)); }

Tenant tenant_from_tags(const std::vector<Tag>& tags) {
  std::vector<std::string> keys;
  keys.reserve(tags.size());
  for (const Tag& tag : tags)
    keys.push_back(normalised_key(tag.first));
  Tenant out;
  for (const TagAlias& alias : kTagAliases) {
    std::string& field = get(out, alias.dimension);
    for (size_t i = 0; i < tags.size() && field.empty(); ++i)
      if (keys[i] == alias.key) field = tags[i].second;
  }
  return out;
}

Tenant merged(const Tenant& primary, const Tenant& fallback) {
  Tenant out = primary;
  for (const TenantDimension d : kTenantDimensions)
    if (get(out, d).empty()) get(out, d) = get(fallback, d);
  return out;
}

TenantId TenantTable::intern(const Tenant& t) {
  const auto [it, fresh] = ids_.try_emplace(t, static_cast<uint32_t>(tenants_.size()));
  if (fresh) tenants_.push_back(t);
  return it->second;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  // Greedy with one point to return to: linear for one star, never exponential.
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace stint
