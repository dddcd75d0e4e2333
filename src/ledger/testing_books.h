// Hand-made books for tests of the ledger and the statement: a fleet, who held it, and a bill.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ledger/ledger.h"
#include "model/history.h"
#include "model/occupancy.h"

namespace stint::testing {

inline const Instant kStart = Instant::from_hour_index(490'000);

struct HandMade {
  explicit HandMade(int64_t hours) { history.period = {kStart, kStart + kHour * hours}; }

  NodeId node(const std::string& name, int64_t gpus = 0) {
    Node n;
    n.name = name;
    n.gpu_count = gpus;
    n.present_from = history.period.begin;
    n.present_until = history.period.end;
    history.nodes.push_back(n);
    return NodeId(static_cast<uint32_t>(history.nodes.size() - 1));
  }
  /// Devices must be added in the order of their hours.
  DeviceId device(NodeId node, int index, const std::string& mig_profile = "", int instance = 0) {
    Device d;
    d.node = node;
    d.index = index;
    d.model = "A100-80GB";
    if (!mig_profile.empty()) d.mig = MigInstance{mig_profile, instance};
    history.devices.push_back(d);
    return DeviceId(static_cast<uint32_t>(history.devices.size() - 1));
  }
  TenantId tenant(const std::string& client) {
    Tenant t;
    t.client = client;
    return occupancy.tenants.intern(t);
  }
  DeviceHour& hour(DeviceId device, int64_t hour, const std::vector<Tenure>& tenures = {}) {
    DeviceHour h;
    h.device = device;
    h.hour_index = kStart.hour_index() + hour;
    h.first_tenure = static_cast<uint32_t>(occupancy.tenures.size());
    h.tenure_count = static_cast<uint32_t>(tenures.size());
    occupancy.tenures.insert(occupancy.tenures.end(), tenures.begin(), tenures.end());
    occupancy.hours.push_back(h);
    return occupancy.hours.back();
  }
  BillLine& compute(const std::string& resource, Money amount, int64_t from = 0, int64_t to = -1) {
    BillLine line;
    line.provider = "aws";
    line.resource_id = resource;
    line.spend = SpendKind::kCompute;
    line.charge_period = {kStart + kHour * from, to < 0 ? history.period.end : kStart + kHour * to};
    line.billed = amount;
    line.effective = amount;
    history.bill.push_back(line);
    return history.bill.back();
  }
  BillLine& other(SpendKind spend, Money amount, std::vector<Tag> tags = {}) {
    BillLine& line = compute("", amount);
    line.spend = spend;
    line.tags = std::move(tags);
    return line;
  }
  Result<Ledger> post(LedgerOptions options = {}, const Catalog& catalog = Catalog::built_in()) const {
    return stint::post(history, occupancy, catalog, options);
  }

  History history;
  Occupancy occupancy;
};

/// Money of all postings that `wanted` picks.
template <typename Wanted>
Money sum_of(const Ledger& ledger, const Wanted& wanted) {
  Money sum;
  for (const Posting& p : ledger.postings)
    if (wanted(p)) sum += p.amount;
  return sum;
}
inline Money of_cause(const Ledger& l, IdleCause cause) {
  return sum_of(l, [&](const Posting& p) { return p.cause == cause; });
}
inline Money of_client(const Ledger& l, const std::string& client) {
  return sum_of(l, [&](const Posting& p) { return l.tenants[p.tenant].client == client; });
}

}  // namespace stint::testing
