// History: what happened in a period, as plain values. The store reads it from a file; the ledger prices it;
// the advisor works on it. Telemetry rides beside it (telemetry/usage.h) because it is large.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "model/bill.h"
#include "model/fleet.h"
#include "model/price.h"
#include "model/tenant.h"
#include "model/workload.h"

namespace stint {

/// One import that was taken into the History.
struct ImportRecord {
  std::string kind;         ///< "focus", "dcgm", …
  std::string source;       ///< file name or address
  std::string fingerprint;  ///< of the bytes; the same bytes are imported once
  Instant imported_at;
  uint64_t accepted = 0;    ///< rows or samples taken
  uint64_t rejected = 0;    ///< rows or samples refused, each with a reason
  uint64_t duplicates = 0;  ///< samples at an instant that was already there
};

struct RejectedRow {
  std::string source;
  uint64_t line = 0;  ///< 1-based; 0 = not tied to a line
  std::string reason;
};

/// A resource whose compute a bill charges for, in the period or at any other time.
struct BilledResource {
  std::string provider;
  std::string resource_id;
  std::string resource_name;
  std::string instance_type;
};

/// From the first to the last charge of a provider, in the period or at any other time.
struct BillCoverage {
  std::string provider;
  Interval charged;
};

/// Ids are indexes: NodeId into nodes, DeviceId into devices, HolderId into holders.
struct History {
  Interval period;              ///< what was asked for, or all there is
  std::vector<Node> nodes;      ///< ascending by name
  std::vector<Device> devices;  ///< ascending by node, index, uuid, MIG instance
  std::vector<Holder> holders;
  std::vector<TenantRule> tenant_rules;
  std::vector<Run> runs;                 ///< ascending by start, then id
  std::vector<BillLine> bill;            ///< in order of import
  std::map<Currency, size_t> converted;  ///< lines of the bill that came in other currencies, by these (ledger/one_currency.h)
  std::vector<PriceRow> prices;          ///< imported prices; they take precedence over the catalogue
  std::vector<ImportRecord> imports;
  // Of the whole file, so that every part of a period is priced as the period is.
  Interval happened;  ///< first to last sign of anything: telemetry, a run, a charge; empty = not known
  std::vector<BilledResource> billed_resources;
  std::vector<BillCoverage> bill_coverage;  ///< ascending by provider
  std::vector<RejectedRow> rejected;        ///< the first thousand of each import
};

}  // namespace stint
