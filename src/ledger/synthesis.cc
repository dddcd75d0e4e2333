#include "ledger/synthesis.h"

#include <algorithm>

namespace stint {
namespace {

/// What the rate is multiplied with: the parts of hours in which a GPU of the node was there; a node without
/// GPUs by its dates, else all the time.
struct Presence {
  Interval span;
  Duration length;
};

Presence presence_of(const Node& node, std::span<const NodeHours::Hour> hours, Interval period) {
  if (hours.empty()) {
    const Interval span = intersect({node.present_from.value_or(period.begin), node.present_until.value_or(period.end)}, period);
    return {span, span.empty() ? Duration() : span.length() - absent_within(node, span)};
  }
  Presence out;
  int64_t parts = 0;
  for (const NodeHours::Hour& h : hours)
    parts += weight_within(h.present, h.hour_index, period);
  out.length = Duration::nanoseconds(parts * (kHour.count_ns() / kWholeDevice));
  out.span = intersect(
      {Instant::from_hour_index(hours.front().hour_index), Instant::from_hour_index(hours.back().hour_index) + kHour}, period);
  return out;
}

Result<PriceRow> price_of(const Node& node, const Catalog& catalog) {
  PriceRow own;
  own.market = node.market;
  own.source = "inventory";
  if (node.rate) {
    own.rate = *node.rate;
    return own;
  }
  if (node.market == Market::kOwned) return invalid("an owned machine without a rate: give its rate in the inventory");
  if (node.instance_type.empty())
    return invalid("neither bill nor rate nor instance type is known: give one of them in the inventory");
  const Market market = node.market == Market::kUnknown ? Market::kOnDemand : node.market;
  return catalog.price({node.provider, node.instance_type, node.region, market,
                        market == Market::kReserved ? CommitmentTerm::kOneYear : CommitmentTerm::kNone});
}

}  // namespace

Result<std::optional<BillLine>> synthesise(const Node& node, std::span<const NodeHours::Hour> hours, const Catalog& catalog,
                                           Interval period) {
  const Presence presence = presence_of(node, hours, period);
  if (presence.length <= Duration()) return std::optional<BillLine>();
  TRY_ASSIGN(const PriceRow price, price_of(node, catalog));
  BillLine line;
  line.provider = node.provider;
  line.service_category = "Compute";
  line.description =
      fmt::format("{:.2f} h × {}/h, price from {}", presence.length.to_hours(), price.rate.per_hour().to_text(4), price.source);
  line.region = node.region;
  line.zone = node.zone;
  line.resource_id = node.resource_id.empty() ? node.name : node.resource_id;
  line.resource_name = node.name;
  line.instance_type = node.instance_type;
  line.spend = SpendKind::kCompute;
  line.market = node.market;
  line.charge_period = presence.span;
  line.billing_period = period;
  line.billed = price.rate.over(presence.length);
  line.effective = line.billed;
  line.pricing_unit = "Hours";
  line.quantity = fmt::format("{:.6f}", presence.length.to_hours());
  return std::optional(std::move(line));
}

}  // namespace stint
