#include "ledger/split_cost.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/workload.h"

namespace stint {
namespace {

/// Without what stands before the last `/` of an ARN or a path.
std::string_view last_part(std::string_view id) { return id.substr(id.rfind('/') + 1); }

std::string_view value_of(const std::vector<Tag>& tags, std::string_view key) {
  for (const Tag& tag : tags)
    if (tag.first == key) return tag.second;
  return {};
}

/// A tag that providers set on pods, however they part its words: `aws:eks:namespace`, `aws_eks_namespace`.
std::string_view pod_tag(const std::vector<Tag>& tags, std::span<const std::string_view> names) {
  for (const Tag& tag : tags) {
    std::string key = to_lower(tag.first);
    std::erase_if(key, [](char c) { return (c < 'a' || c > 'z') && (c < '0' || c > '9'); });
    if (std::ranges::find(names, key) != names.end()) return tag.second;
  }
  return {};
}

/// An hour of a machine costs less: more is a damaged figure, and must not overflow the sum.
constexpr int64_t kMostNanos = 100'000 * Money::units(1).count_nanos();

void add_nanos(int64_t& to, std::string_view decimal) {
  const auto money = Money::parse(decimal);
  if (money.ok()) to = std::min(to + std::clamp<int64_t>(money->count_nanos(), 0, kMostNanos), kMostNanos);
}

}  // namespace

Tenant tenant_of_pod_tags(const std::vector<Tag>& tags, const std::vector<TenantRule>& rules) {
  constexpr std::array<std::string_view, 4> kNamespace = {"awseksnamespace", "eksnamespace", "k8snamespace",
                                                          "kubernetesnamespace"};
  constexpr std::array<std::string_view, 3> kWorkload = {"awseksworkloadname", "k8sworkloadname", "awseksdeployment"};
  Holder holder;
  holder.ns = pod_tag(tags, kNamespace);
  Tenant by_namespace = tenant_of(holder, rules);
  if (!holder.ns.empty() && by_namespace.workload.empty()) by_namespace.workload = pod_tag(tags, kWorkload);
  return merged(tenant_from_tags(tags), by_namespace);
}

void SplitCosts::add(const BillLine& line) {
  if (!line.effective.is_zero() || line.tags.empty()) return;
  const std::string_view parent = value_of(line.tags, kSplitParentTag);
  if (parent.empty()) return;
  Division& division = divisions_[{std::string(last_part(parent)), line.charge_period.begin}];
  add_nanos(division.unused_nanos, value_of(line.tags, kSplitUnusedTag));
  const Tenant tenant = tenant_of_pod_tags(line.tags, rules_);
  auto at = std::ranges::find(division.shares, tenant, &Share::tenant);
  if (at == division.shares.end()) at = division.shares.insert(at, {tenant});
  add_nanos(at->used_nanos, value_of(line.tags, kSplitCostTag));
}

const SplitCosts::Division* SplitCosts::find(std::string_view resource_id, Instant charged_from) const {
  if (divisions_.empty()) return nullptr;
  const auto at = divisions_.find({std::string(last_part(resource_id)), charged_from});
  return at == divisions_.end() ? nullptr : &at->second;
}

}  // namespace stint
