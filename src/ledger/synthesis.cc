#include "ledger/synthesis.h"

#include <algorithm>

#include "ledger/line_cut.h"

namespace stint {
namespace {

/// What the rate is multiplied with, and what comes of it.
struct PresenceCost {
  Interval span;
  Duration length;
  Money amount;
};

/// Whole hours are priced and cut, so that the parts of any partition sum to the period.
class PresenceMeter {
 public:
  PresenceMeter(Rate rate, Interval period) : rate_(rate), period_(period) {
    out_.amount = Money::nanos(0, rate.per_hour().currency());
  }

  /// @param there  how long the node was there in that hour.
  void add(int64_t hour_index, Duration there) {
    const Instant begin = Instant::from_hour_index(hour_index);
    const Interval common = intersect({begin, begin + kHour}, period_);
    if (common.empty() || there <= Duration()) return;
    const int64_t from = (common.begin - begin).count_ns(), to = (common.end - begin).count_ns();
    out_.amount += share_between(rate_.over(there), from, to, kHour.count_ns());
    out_.length = out_.length + Duration::nanoseconds(weight_within(there.count_ns(), hour_index, period_));
    out_.span = {out_.span.empty() ? common.begin : out_.span.begin, common.end};
  }

  [[nodiscard]] const PresenceCost& cost() const { return out_; }

 private:
  Rate rate_;
  Interval period_;
  PresenceCost out_;
};

/// The parts of hours in which a GPU of the node was there; a node without GPUs by its dates, else all the time.
PresenceCost presence_of(const Node& node, std::span<const NodeHours::Hour> hours, Interval period, Rate rate) {
  PresenceMeter meter(rate, period);
  for (const NodeHours::Hour& h : hours)
    meter.add(h.hour_index, Duration::nanoseconds(h.present * (kHour.count_ns() / kWholeDevice)));
  if (!hours.empty()) return meter.cost();
  const Interval span = intersect({node.present_from.value_or(period.begin), node.present_until.value_or(period.end)}, period);
  if (span.empty()) return meter.cost();
  for (int64_t h = span.begin.hour_index(); Instant::from_hour_index(h) < span.end; ++h) {
    const Instant begin = Instant::from_hour_index(h);
    const Interval in_hour =
        intersect({node.present_from.value_or(begin), node.present_until.value_or(begin + kHour)}, {begin, begin + kHour});
    meter.add(h, in_hour.length() - absent_within(node, in_hour));
  }
  return meter.cost();
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

BillLine line_of(const Node& node, const PresenceCost& presence, Rate rate, std::string_view source, Interval period) {
  BillLine line;
  line.provider = node.provider;
  line.service_category = "Compute";
  line.description =
      fmt::format("{:.2f} h × {}/h, price from {}", presence.length.to_hours(), rate.per_hour().to_text(4), source);
  line.region = node.region;
  line.zone = node.zone;
  line.resource_id = node.resource_id.empty() ? node.name : node.resource_id;
  line.resource_name = node.name;
  line.instance_type = node.instance_type;
  line.spend = SpendKind::kCompute;
  line.market = node.market;
  line.charge_period = presence.span;
  line.billing_period = period;
  line.billed = presence.amount;
  line.effective = line.billed;
  line.pricing_unit = "Hours";
  line.quantity = fmt::format("{:.6f}", presence.length.to_hours());
  return line;
}

}  // namespace

std::optional<PriceRow> catalogue_price_of(const Node& node, const Catalog& catalog) {
  if (node.rate) return std::nullopt;
  auto price = price_of(node, catalog);
  return price.ok() ? std::optional(std::move(*price)) : std::nullopt;
}

Result<std::vector<BillLine>> synthesise(const Node& node, std::span<const NodeHours::Hour> hours, const Catalog& catalog,
                                         Interval period) {
  const auto nothing = [&] { return presence_of(node, hours, period, Rate()).length <= Duration(); };
  const auto known = price_of(node, catalog);
  if (!known.ok()) return nothing() ? Result<std::vector<BillLine>>(std::vector<BillLine>()) : known.error();
  std::vector<BillLine> lines;
  const std::vector<RateSpan> spans =
      node.rates.empty() ? std::vector{RateSpan{period, known->rate}} : rate_spans(node.rates, period);
  for (const RateSpan& span : spans) {
    const auto first = std::ranges::lower_bound(hours, span.when.begin.hour_index(), {}, &NodeHours::Hour::hour_index);
    const auto last = std::ranges::find_if(
        first, hours.end(), [&](const NodeHours::Hour& h) { return Instant::from_hour_index(h.hour_index) >= span.when.end; });
    // Hours that are known elsewhere are no reason to go by the node's dates here.
    if (!hours.empty() && first == last) continue;
    const PresenceCost presence = presence_of(node, {first, last}, span.when, span.rate);
    if (presence.length > Duration()) lines.push_back(line_of(node, presence, span.rate, known->source, period));
  }
  return lines;
}

}  // namespace stint
