#include "advise/find/bill_facts.h"

#include <algorithm>
#include <map>

#include "advise/node_facts.h"
#include "advise/presence.h"

namespace stint {
namespace {

/// Hours charged, by what the line says.
using SaidHours = std::map<std::string, double>;

struct BilledSayings {
  SaidHours market, region, type;
};

bool is_machine_use(const BillLine& line) {
  return line.spend == SpendKind::kCompute && line.category == ChargeCategory::kUsage && !line.commitment_unused;
}

bool region_is_known(const Catalog& catalog, const NodeFacts& node, const std::string& type, const std::string& region) {
  return std::ranges::any_of(catalog.price_range(node.provider, type), [&](const PriceRow& row) { return row.region == region; });
}

struct SaidMost {
  std::string text;
  double pct = 0;
};

SaidMost said_most(const SaidHours& hours) {
  SaidMost most;
  double sum = 0, best = 0;
  for (const auto& [text, h] : hours) {
    sum += h;
    if (h <= best) continue;
    best = h;
    most.text = text;
  }
  if (sum > 0) most.pct = 100 * best / sum;
  return most;
}

}  // namespace

std::vector<BillContradiction> let_bill_decide(FleetFacts& fleet, const Ledger& ledger, const Catalog& catalog) {
  std::vector<BilledSayings> said(fleet.nodes.size());
  for (size_t i = 0; i < ledger.lines.size(); ++i) {
    const BillLine& line = ledger.lines[i];
    if (!ledger.line_nodes[i].valid() || ledger.synthesised[i] || !is_machine_use(line)) continue;
    const double hours = charged_hours(line).value_or(line.charge_period.length().to_hours());
    if (hours <= 0) continue;
    BilledSayings& of = said[ledger.line_nodes[i].index()];
    if (line.market != Market::kUnknown) of.market[std::string(name_of(line.market))] += hours;
    if (!line.region.empty()) of.region[line.region] += hours;
    if (!line.instance_type.empty()) of.type[line.instance_type] += hours;
  }
  std::vector<BillContradiction> out;
  for (size_t n = 0; n < said.size(); ++n) {
    NodeFacts& node = fleet.nodes[n];
    const auto take = [&](std::string& ours, const SaidMost& bill, const char* what) {
      if (bill.text.empty() || bill.text == ours) return;
      if (!ours.empty()) out.push_back({node.name, what, ours, bill.text, bill.pct});
      ours = bill.text;
    };
    if (const SaidMost type = said_most(said[n].type);
        node.instance_type.empty() || catalog.find_instance(node.provider, type.text) != nullptr)
      take(node.instance_type, type, "instance type");
    if (const SaidMost region = said_most(said[n].region);
        node.region.empty() || region_is_known(catalog, node, node.instance_type, region.text))
      take(node.region, region, "region");
    std::string market = node.market == Market::kUnknown ? "" : std::string(name_of(node.market));
    take(market, said_most(said[n].market), "market");
    if (!market.empty()) node.market = parse_market(market).value();
  }
  std::ranges::sort(out, {}, [](const BillContradiction& c) { return std::tie(c.node, c.what); });
  return out;
}

}  // namespace stint
