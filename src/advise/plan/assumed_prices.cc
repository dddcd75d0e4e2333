#include "advise/plan/assumed_prices.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kAssumed = "assumed, no provider's price";

std::set<std::string> providers_on_demand(const FleetView& plan) {
  std::set<std::string> providers;
  for (const NodeFacts& node : plan.facts.nodes)
    if (const PlanNode& now = plan.books.of(node.id); !now.gone && !now.provider.empty() && plan.books.open_hourly(node.id))
      providers.insert(now.provider);
  for (const SavingsPlanOffer& offer : plan.savings_plans)
    providers.erase(offer.provider);
  return providers;
}

struct PctRange {
  int64_t least = 0, most = 0;
};

/// "30-60%"
std::optional<PctRange> parse_pct_range(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto least = parse_int(text.substr(0, dash)), most = parse_int(text.substr(dash + 1));
  if (!least || !most || *least < 1 || *least > *most || *most > 99) return std::nullopt;
  return PctRange{*least, *most};
}

}  // namespace

std::vector<DiscountOutlook> discount_outlooks(const FleetView& plan) {
  std::vector<DiscountOutlook> outlooks;
  for (const std::string& provider : providers_on_demand(plan))
    for (const int64_t pct : kLookedAtPct) {
      const std::array<SavingsPlanOffer, 1> offers = {{{.provider = provider, .discount_pct = pct, .rates = {}}}};
      FleetView view = plan;
      view.savings_plans = offers;
      view.commit_on_days = 0;
      const Proposals found = find_savings_plan(view);
      if (found.advised.empty()) continue;
      const auto saving = plan.books.saving_of(found.advised.front().change);
      if (saving.ok() && saving->count_nanos() > 0) outlooks.push_back({provider, pct, *saving});
    }
  return outlooks;
}

std::vector<std::string> discount_notes(const std::vector<DiscountOutlook>& outlooks) {
  std::vector<std::string> notes;
  for (size_t i = 0; i < outlooks.size();) {
    const std::string& provider = outlooks[i].provider;
    std::string worth;
    for (; i < outlooks.size() && outlooks[i].provider == provider; ++i)
      worth += fmt::format("{}{} % below on-demand {} a month", worth.empty() ? "" : ", ", outlooks[i].pct,
                           outlooks[i].saving_per_month.to_text());
    notes.push_back(fmt::format(
        "your discount here: a savings plan of {} for a year would take off this plan at {}; no such price is known, so none is "
        "counted: give yours with --savings-plan {}=1y,27%",
        provider, worth, provider));
  }
  return notes;
}

Catalog at_assumed_discount(const Catalog& catalog, const AssumedDiscount& discount) {
  std::vector<PriceRow> rows;
  for (const PriceRow& row : catalog.prices()) {
    if (row.market != Market::kOnDemand) continue;
    PriceRow assumed = row;
    assumed.estimated = true;
    assumed.source = kAssumed;
    assumed.market = Market::kReserved;
    assumed.term = CommitmentTerm::kOneYear;
    assumed.payment = PaymentOption::kNoUpfront;
    assumed.rate = Rate::per_hour(scale(row.rate.per_hour(), 100 - discount.reserved_pct, 100));
    rows.push_back(assumed);
    assumed.market = Market::kSpot;
    assumed.term = CommitmentTerm::kNone;
    assumed.payment = PaymentOption::kNone;
    assumed.rate = Rate::per_hour(scale(row.rate.per_hour(), 100 - discount.spot_pct, 100));
    rows.push_back(std::move(assumed));
  }
  return catalog.with_prices(rows);
}

Result<std::vector<AssumedDiscount>> parse_assumed_discounts(std::string_view text) {
  const auto wrong = [&] {
    return invalid("assumed discounts '{}': write reserved=LEAST-MOST%,spot=LEAST-MOST%, such as reserved=30-60%,spot=60-80%",
                   excerpt(text));
  };
  std::optional<PctRange> reserved, spot;
  for (const std::string_view part : split(text, ',')) {
    const size_t is = part.find('=');
    if (is == std::string_view::npos) return wrong();
    const std::string_view name = part.substr(0, is);
    std::optional<PctRange>& range = name == "spot" ? spot : reserved;
    if ((name != "spot" && name != "reserved") || range) return wrong();
    range = parse_pct_range(part.substr(is + 1));
    if (!range) return wrong();
  }
  if (!reserved || !spot) return wrong();
  return std::vector<AssumedDiscount>{{reserved->least, spot->least}, {reserved->most, spot->most}};
}

}  // namespace stint
