#include "telemetry/attribution_tenants.h"

#include <fmt/format.h>

#include <initializer_list>
#include <utility>

namespace stint {
namespace {

WorkloadKind first_guess(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const WorkloadKind kind = guess_workload_kind(name); kind != WorkloadKind::kUnknown) return kind;
  return WorkloadKind::kUnknown;
}

}  // namespace

TenantResolver::TenantResolver(const History& history, TenantTable& tenants, HoldTable* holds)
    : history_(history), tenants_(tenants), holds_(holds) {
  for (const Node& node : history.nodes)
    node_tenants_.push_back(tenant_of(node, history.tenant_rules));
}

Tenant TenantResolver::resolve(const Tenant& said, const Holder& holder, const Tenant& node) const {
  const Tenant ruled = tenant_of(holder, history_.tenant_rules);
  const Tenant derived = tenant_of(holder, {});
  Tenant out = said;
  for (const TenantDimension d : kTenantDimensions) {
    std::string& field = get(out, d);
    if (!field.empty()) continue;
    const bool is_guess = get(ruled, d) == get(derived, d);
    const bool node_knows = is_guess && d != TenantDimension::kWorkload && !get(node, d).empty();
    field = node_knows ? get(node, d) : get(ruled, d);
  }
  return merged(out, node);
}

TenantId TenantResolver::intern(Hold hold) {
  if (holds_ == nullptr) return tenants_.intern(hold.tenant);
  // A workload of its own: no name has that character in it.
  Tenant own = hold.tenant;
  own.workload += fmt::format("\x1f{}", holds_->size());
  const TenantId id = tenants_.intern(own);
  holds_->emplace(id, std::move(hold));
  return id;
}

TenantResolver::Who TenantResolver::of_run(uint32_t index, NodeId node) {
  const auto [it, fresh] = runs_.try_emplace({index, node});
  if (!fresh) return it->second;
  const Run& run = history_.runs[index];
  Tenant said = run.tenant;
  if (said.workload.empty()) said.workload = run.name;
  Who& who = it->second;
  who.tenant = intern({.run = index, .holder = {}, .node = node, .tenant = resolve(said, run.holder, node_tenant(node))});
  who.kind = run.kind;
  if (who.kind == WorkloadKind::kUnknown) who.kind = history_.nodes[node.index()].kind;
  if (who.kind == WorkloadKind::kUnknown) who.kind = first_guess({run.name, run.holder.pod, run.holder.ns, run.holder.account});
  return who;
}

TenantResolver::Who TenantResolver::of_holder(HolderId id, NodeId node) {
  const auto [it, fresh] = holders_.try_emplace({id, node});
  if (!fresh) return it->second;
  const Holder& holder = history_.holders[id.index()];
  Who& who = it->second;
  who.tenant = intern({.run = std::nullopt, .holder = id, .node = node, .tenant = resolve({}, holder, node_tenant(node))});
  who.kind = history_.nodes[node.index()].kind;
  if (who.kind == WorkloadKind::kUnknown)
    who.kind = first_guess({holder.pod, holder.container, holder.job, holder.process, holder.ns});
  return who;
}

TenantResolver::Who TenantResolver::of_node(NodeId id) {
  const auto [it, fresh] = nodes_.try_emplace(id);
  if (!fresh) return it->second;
  const Node& node = history_.nodes[id.index()];
  Who& who = it->second;
  who.tenant = tenants_.intern(node_tenant(id));
  who.kind = node.kind;
  if (who.kind == WorkloadKind::kUnknown) who.kind = first_guess({node_tenant(id).workload, node.name});
  return who;
}

bool TenantResolver::is_owned(NodeId node) const { return can_be_billed(node_tenant(node)); }

}  // namespace stint
