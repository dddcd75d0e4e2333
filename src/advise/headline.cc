#include "advise/headline.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "advise/find/finder_text.h"
#include "base/counted.h"
#include "ledger/synthesis.h"

namespace stint {
namespace {

auto key_of_price(const PriceRow& p) { return std::tie(p.provider, p.instance_type, p.region, p.market, p.term, p.payment); }

void add_once(std::vector<PriceRow>& rows, const PriceRow& row) {
  const auto same = [&](const PriceRow& other) { return key_of_price(other) == key_of_price(row); };
  if (std::ranges::none_of(rows, same)) rows.push_back(row);
}

/// Does the catalogue say what the machines cost after it?
bool is_priced_anew(const Change& change) {
  return std::holds_alternative<SwitchMarket>(change) || std::holds_alternative<ResizeNodes>(change) ||
         std::holds_alternative<MoveRegion>(change) || std::holds_alternative<MoveOffGpu>(change);
}

/// What would let such a change into a plan, where its finding does not say.
std::string_view usual_remedy(const Change& change) {
  if (std::holds_alternative<ShareGpus>(change)) return "a laxer latency, or slices as fast as the services need";
  if (std::holds_alternative<SwitchMarket>(change)) return "checkpoints more often, or jobs that may end later";
  if (std::holds_alternative<LimitReservation>(change) || std::holds_alternative<ScheduleOff>(change))
    return "work that fits the hours left to it, or may end later";
  return "work that may take longer or go elsewhere";
}

/// Prices of spot at `pct` percent, but none above on-demand.
std::vector<PriceRow> moved_spot(const Catalog& catalog, int64_t pct) {
  std::vector<PriceRow> rows;
  for (const PriceRow& row : catalog.prices()) {
    if (row.market != Market::kSpot) continue;
    PriceRow moved = row;
    moved.rate = Rate::per_hour(scale(row.rate.per_hour(), pct, 100));
    const auto list = catalog.price({.provider = row.provider, .instance_type = row.instance_type, .region = row.region});
    if (list.ok() && list->rate.per_hour().currency() == moved.rate.per_hour().currency())
      moved.rate = std::min(moved.rate, std::max(list->rate, row.rate));
    rows.push_back(std::move(moved));
  }
  return rows;
}

Money cost_by_arithmetic(std::span<const Change> changes, const FleetFacts& facts, const Catalog& catalog) {
  const PriceLookup prices(catalog, facts.currency);
  Books books(facts, prices);
  for (const Change& change : changes)
    (void)books.apply(change);  // what cannot be applied cannot at other prices either, and falls out of the difference
  return books.total();
}

}  // namespace

Money SavingBasis::* part_of_saving(const Finding& finding) {
  if (finding.price_doubt >= PriceDoubt::kOld) return &SavingBasis::doubtful_price;
  const bool replayed = finding.proof && finding.proof->verdict == ProofVerdict::kSurvives;
  return replayed ? &SavingBasis::replayed : &SavingBasis::arithmetic;
}

std::vector<PriceRow> prices_behind(const Change& change, const Books& after) {
  const PriceLookup& prices = after.prices();
  std::vector<PriceRow> rows;
  const auto add = [&](const PriceLookup::Quote* quote) {
    if (quote != nullptr) add_once(rows, quote->row);
  };
  if (const auto* commit = std::get_if<Commit>(&change))
    add(prices.find({commit->provider, commit->instance_type, commit->region}, Market::kReserved, commit->term, commit->payment));
  if (!is_priced_anew(change)) return rows;
  const std::vector<std::string> names = nodes_of(change);
  for (const NodeFacts& node : after.facts().nodes) {
    const PlanNode& plan = after.of(node.id);
    if (plan.gone || std::ranges::find(names, node.name) == names.end()) continue;
    const Market market = plan.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
    add(prices.find({plan.provider, plan.instance_type, plan.region}, market));
  }
  return rows;
}

PriceDoubt worst_doubt(std::span<const PriceRow> prices, Instant now) {
  PriceDoubt worst = PriceDoubt::kNone;
  for (const PriceRow& row : prices)
    worst = std::max(worst, doubt_of(row, now));
  return worst;
}

std::vector<UsedPrice> prices_used(std::span<const Finding> findings, const Ledger& ledger, const History& history,
                                   const Catalog& catalog, Instant now) {
  std::vector<PriceRow> rows;
  for (const Finding& f : findings)
    for (const PriceRow& row : f.prices)
      add_once(rows, row);
  for (size_t i = 0; i < ledger.lines.size(); ++i)
    if (ledger.synthesised[i] && ledger.line_nodes[i].valid())
      if (const auto row = catalogue_price_of(history.nodes[ledger.line_nodes[i].index()], catalog)) add_once(rows, *row);
  std::ranges::stable_sort(rows, [](const PriceRow& a, const PriceRow& b) {
    return std::tie(a.as_of, a.provider, a.instance_type, a.region) < std::tie(b.as_of, b.provider, b.instance_type, b.region);
  });
  std::vector<UsedPrice> used;
  for (const PriceRow& row : rows)
    used.push_back({row, doubt_of(row, now), is_stale(row, now)});
  return used;
}

SavingBasis saving_basis(std::span<const Finding> findings, Money zero) {
  SavingBasis basis{zero, zero, zero};
  for (const Finding& f : findings)
    basis.*part_of_saving(f) += f.saving_per_month;
  return basis;
}

std::optional<PlanRange> plan_range(std::span<const Finding> findings, const FleetFacts& facts, const Catalog& catalog,
                                    Money plan) {
  std::vector<const Finding*> in_order;
  bool any_spot = false;
  for (const Finding& f : findings) {
    in_order.push_back(&f);
    const auto* market = std::get_if<SwitchMarket>(&f.change);
    any_spot = any_spot || (market != nullptr && market->to == Market::kSpot);
  }
  if (!any_spot) return std::nullopt;
  std::ranges::stable_sort(in_order, {}, &Finding::step);
  std::vector<Change> changes;
  for (const Finding* f : in_order)
    changes.push_back(f->change);
  const Money now = cost_by_arithmetic(changes, facts, catalog);
  const auto at = [&](int64_t pct) {
    return plan + (cost_by_arithmetic(changes, facts, catalog.with_prices(moved_spot(catalog, pct))) - now);
  };
  return PlanRange{
      at(kSpotLowPct), at(kSpotHighPct),
      fmt::format("spot prices between {} % lower and {} % higher, at most on-demand: so far those of p5.48xlarge and "
                  "p4d.24xlarge moved from the estimate of 2025-06-28 to the quote of 2026-07-07",
                  100 - kSpotLowPct, kSpotHighPct - 100)};
}

std::vector<DataCheck> data_checks(const AuditReport& report, const Ledger& ledger) {
  std::vector<DataCheck> checks;
  std::string bill;
  for (const BillCoverage& c : ledger.coverage)
    bill += fmt::format("{}{} {} to {}", bill.empty() ? "" : "; ", c.provider, format_date(c.charged.begin),
                        format_date(c.charged.end - Duration::nanoseconds(1)));
  checks.push_back({"bill", !bill.empty() && report.coverage.empty(),
                    bill.empty() ? "none: what machines cost comes from rates and the catalogue" : bill});
  uint64_t rejected = 0;
  uint64_t duplicates = 0;
  for (const ImportRecord& r : report.imports) {
    rejected += r.rejected;
    duplicates += r.duplicates;
  }
  checks.push_back({"rows", rejected + duplicates == 0,
                    fmt::format("{} refused, {} that were there already left out, of {}", counted(rejected, "row"),
                                counted(duplicates, "row"), counted(report.imports.size(), "import"))});
  checks.push_back({"telemetry", report.totals.coverage_pct >= 90,
                    fmt::format("covers {} of the GPU-hours", percent(report.totals.coverage_pct, 1))});
  const Money zero = Money::nanos(0, report.totals.bill_per_month.currency());
  std::array<Money, 4> by_doubt{zero, zero, zero, zero};
  for (const Finding& f : report.findings)
    by_doubt[static_cast<size_t>(f.price_doubt)] += f.saving_per_month;
  std::string prices;
  for (const PriceDoubt doubt : {PriceDoubt::kEstimated, PriceDoubt::kOld, PriceDoubt::kSecondary})
    if (const Money part = by_doubt[static_cast<size_t>(doubt)]; !part.is_zero())
      prices += fmt::format("{}{} on {} prices", prices.empty() ? "of the saving, " : ", ", part.to_text(),
                            doubt == PriceDoubt::kSecondary ? "second-hand" : name_of(doubt));
  if (prices.empty()) prices = "no saving rests on an estimated, old or second-hand price";
  const auto stale = std::ranges::count_if(report.prices, &UsedPrice::stale);
  if (stale > 0)
    prices +=
        fmt::format("; {} of {} used {} older than {:.0f} days, the oldest of {}", stale,
                    counted(report.prices.size(), "price of the catalogue", "prices of the catalogue"), stale == 1 ? "is" : "are",
                    kPriceStaleAfter.to_hours() / 24, format_date(report.prices.front().row.as_of));
  checks.push_back({"prices",
                    by_doubt[static_cast<size_t>(PriceDoubt::kEstimated)].is_zero() &&
                        by_doubt[static_cast<size_t>(PriceDoubt::kOld)].is_zero() && stale == 0,
                    prices});
  return checks;
}

std::vector<Obstacle> obstacles_of(std::span<const Finding> rejected, std::span<const std::string> without, Books plan) {
  std::vector<Obstacle> out;
  for (const Finding& f : rejected) {
    if (std::ranges::find(without, f.id) != without.end()) continue;
    const auto worth = plan.saving_of(f.change);
    if (!worth.ok() || worth->count_nanos() <= 0 || !plan.apply(f.change).ok()) continue;
    const std::string remedy = f.remedy.empty() ? std::string(usual_remedy(f.change)) : f.remedy;
    out.push_back({f.title, *worth, f.caveats.empty() ? remedy : fmt::format("{} (now: {})", remedy, f.caveats.front())});
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &Obstacle::amount);
  return out;
}

std::vector<Obstacle> gap_of(std::span<const Obstacle> obstacles, Money missing) {
  std::vector<Obstacle> out;
  for (const Obstacle& o : obstacles) {
    if (missing.count_nanos() <= 0) break;
    out.push_back(o);
    out.back().amount = std::min(o.amount, missing);
    missing -= out.back().amount;
  }
  if (missing.count_nanos() > 0)
    out.push_back(
        {"no change known here", missing, "cheaper capacity (a discount, an imported price, another provider) or less work"});
  return out;
}

}  // namespace stint
