// Fleet: nodes, the devices in them, and the market they were bought on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/money.h"
#include "base/time.h"
#include "base/units.h"
#include "model/tenant.h"
#include "model/workload.h"

namespace stint {

enum class Market { kUnknown, kOnDemand, kSpot, kReserved, kOwned };
std::string_view name_of(Market m);  // "unknown", "on-demand", "spot", "reserved", "owned"
Result<Market> parse_market(std::string_view text);
/// An owned or reserved machine costs the same while it is idle, any other nothing while it is off.
bool is_paid_while_off(Market m);

using NodeId = Id<struct NodeTag>;
using DeviceId = Id<struct DeviceTag>;

/// What is paid from `from` on, until the next of its list.
struct RatePoint {
  Instant from;
  Rate rate;
  bool operator==(const RatePoint&) const = default;
};

/// A machine with GPUs: a cloud instance or an owned server. Empty text and absent values = not known.
struct Node {
  std::string name;         ///< as telemetry calls it; unique in a History
  std::string resource_id;  ///< as the bill calls it; empty = the same as `name`
  std::string provider;     ///< "aws", "gcp", "azure", …; "" for owned machines
  std::string region;
  std::string zone;
  std::string instance_type;
  Market market = Market::kUnknown;
  std::string gpu_model;  ///< canonical catalogue name
  int64_t gpu_count = 0;
  int64_t vcpus = 0;
  Bytes memory;
  std::optional<Rate> rate;  ///< paid for the whole node, where the inventory says so; of several the last
  Tenant tenant;             ///< whose machine it is, when it belongs to one
  WorkloadKind kind = WorkloadKind::kUnknown;
  std::optional<bool> checkpointable;
  std::optional<Instant> present_from;
  std::optional<Instant> present_until;
  std::vector<Interval> absent = {};  ///< within that: switched off, and not paid for; ascending, apart
  /// Where `rate` was not always the same: what was paid when. Ascending; the first holds before it, too. Empty = `rate` at all times.
  std::vector<RatePoint> rates = {};
};

/// What of an interval costs the same.
struct RateSpan {
  Interval when;
  Rate rate;
};
/// `rates` over the interval, without gaps; neighbours differ. @param rates  ascending, not empty
std::vector<RateSpan> rate_spans(const std::vector<RatePoint>& rates, Interval when);

/// How long of that time it was absent.
Duration absent_within(const Node& node, Interval when);

/// The node's own tenant: what the inventory says, and for the rest the first rule that matches `node/NAME`.
Tenant tenant_of(const Node& node, const std::vector<TenantRule>& rules);
/// True when the tenant names somebody who can be billed: a client, project, team or workload; an environment alone does not.
bool can_be_billed(const Tenant& tenant);

/// A MIG GPU instance on a device.
struct MigInstance {
  std::string profile;  ///< "1g.10gb"
  int instance_id = 0;  ///< NVIDIA's GPU instance id
  auto operator<=>(const MigInstance&) const = default;
};

/// What telemetry measures: a whole GPU or one MIG instance of it.
struct Device {
  NodeId node;
  std::string uuid;   ///< "" when the source gives only an index
  int index = -1;     ///< position in the node; −1 = not known
  std::string model;  ///< canonical catalogue name where it is known, else as the source writes it
  Bytes memory;       ///< 0 = not known
  std::optional<MigInstance> mig;
};

}  // namespace stint
