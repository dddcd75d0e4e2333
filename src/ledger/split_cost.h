// A provider's split cost allocation: which pods a machine's cost of an hour is for, as rows beside the machine's own. AWS calls it split
// cost allocation data (ECS and EKS, CPU, memory and GPUs). Such rows cost nothing themselves: they are the proportions by which the
// machine's line is divided, so nothing counts twice and the parts sum to the line.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/bill.h"
#include "model/tenant.h"

namespace stint {

/// Tags of such a row: the machine's resource id, and decimals in the row's currency. They are called as in the Cost and Usage Report,
/// whose importer (codec/cur) writes them.
inline constexpr std::string_view kSplitParentTag = "split_line_item_parent_resource_id";
inline constexpr std::string_view kSplitCostTag = "split_line_item_split_cost";
inline constexpr std::string_view kSplitUnusedTag = "split_line_item_unused_cost";

class SplitCosts {
 public:
  struct Share {
    Tenant tenant;
    int64_t used_nanos = 0;
  };
  struct Division {
    std::vector<Share> shares;
    int64_t unused_nanos = 0;  ///< of the machine's cost: what no pod asked for
  };

  /// @param rules  whose namespaces are whose; must outlive this.
  explicit SplitCosts(const std::vector<TenantRule>& rules) : rules_(rules) {}

  /// Takes the line where it is a row of split cost allocation (tags kSplitParentTag, kSplitCostTag, kSplitUnusedTag).
  void add(const BillLine& line);
  [[nodiscard]] bool empty() const { return divisions_.empty(); }
  /// How the cost of a machine's line that begins then is divided; nullptr = no row tells.
  [[nodiscard]] const Division* find(std::string_view resource_id, Instant charged_from) const;

 private:
  const std::vector<TenantRule>& rules_;
  std::map<std::pair<std::string, Instant>, Division> divisions_;
};

/// The tenant of a pod by its tags: those that name one, else its Kubernetes namespace and workload under `rules`.
Tenant tenant_of_pod_tags(const std::vector<Tag>& tags, const std::vector<TenantRule>& rules);

}  // namespace stint
