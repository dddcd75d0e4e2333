// Names behind a hold: the tenant and the kind of work of a run, a holder or a whole node.
#pragma once

#include <map>
#include <vector>

#include "model/history.h"
#include "model/hold.h"
#include "model/occupancy.h"

namespace stint {

class TenantResolver {
 public:
  struct Who {
    TenantId tenant;
    WorkloadKind kind = WorkloadKind::kUnknown;
  };

  /// @param history  must outlive this. @param holds  null = runs and holders are their tenants; else each is a tenant of its own.
  TenantResolver(const History& history, TenantTable& tenants, HoldTable* holds);

  Who of_run(uint32_t run, NodeId node);
  Who of_holder(HolderId holder, NodeId node);
  Who of_node(NodeId node);
  /// True when the node belongs to somebody who can be billed for its free time.
  [[nodiscard]] bool is_owned(NodeId node) const;

 private:
  /// Facts first, guesses last: the source and the rules, then the node's inventory, then names taken from
  /// namespace, account or user. The workload of a holder is always nearer than that of its node.
  Tenant resolve(const Tenant& said, const Holder& holder, const Tenant& node) const;
  TenantId intern(Hold hold);
  const Tenant& node_tenant(NodeId node) const { return node_tenants_[node.index()]; }

  const History& history_;
  TenantTable& tenants_;
  HoldTable* holds_;
  std::vector<Tenant> node_tenants_;
  std::map<std::pair<uint32_t, NodeId>, Who> runs_;
  std::map<std::pair<HolderId, NodeId>, Who> holders_;
  std::map<NodeId, Who> nodes_;
};

}  // namespace stint
