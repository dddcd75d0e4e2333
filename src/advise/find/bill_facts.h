// What the bill says of a machine, against what the inventory says. The bill wins: it is what was paid.
#pragma once

#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "ledger/ledger.h"

namespace stint {

struct FleetFacts;

/// Inventory and bill say different things of one machine.
struct BillContradiction {
  std::string node;
  std::string what;           ///< "market", "region" or "instance type"
  std::string inventory;      ///< as the inventory has it
  std::string bill;           ///< as the bill has it, which the audit goes by
  double bill_hours_pct = 0;  ///< of the hours that the bill charges and says it of, how many it says this of
};

/// Sets market, region and type of every node to what most of its charged hours say; lines that were made from usage do not count. A
/// region or a type counts where the catalogue knows it: bills also write them as display names.
/// @return ascending by node and what.
std::vector<BillContradiction> let_bill_decide(FleetFacts& fleet, const Ledger& ledger, const Catalog& catalog);

}  // namespace stint
