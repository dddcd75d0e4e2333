#include "advise/plan/risk_outlook.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "advise/find/finder_text.h"
#include "advise/find/resize_fit.h"
#include "base/counted.h"
#include "base/short_money.h"

namespace stint {
namespace {

constexpr int64_t kMostPlacesNamed = 3;

/// Regions that only some customers can buy in.
bool is_closed_region(const std::string& region) {
  return region.starts_with("us-gov") || region.starts_with("cn-") || region.starts_with("usgov") ||
         region.starts_with("usdod") || region.starts_with("china");
}

// ── Three years ──

/// What committing what the books leave on demand would save, each pool once, at what its terms save most.
Money saved_by_committing(const FleetView& plan, CommitmentTerm longest) {
  FleetView view = plan;
  view.longest_term = longest;
  view.commit_on_days = 0;
  std::vector<std::pair<Money, Change>> wishes;
  for (const Finding& f : find_commit(view).advised)
    if (const auto saving = plan.books.saving_of(f.change); saving.ok() && saving->count_nanos() > 0)
      wishes.emplace_back(*saving, f.change);
  std::ranges::stable_sort(wishes, [](const auto& a, const auto& b) { return a.first > b.first; });
  Books books = plan.books;
  Money sum = Money::nanos(0, plan.facts.currency);
  for (const auto& [alone, change] : wishes)
    if (const auto saved = books.apply(change); saved.ok()) sum += *saved;
  return sum;
}

/// What the plan's own commitments of a year would cost less for three.
Money saved_by_longer_terms(const FleetView& plan, std::span<const Finding> findings) {
  Money sum = Money::nanos(0, plan.facts.currency);
  for (const Finding& f : findings) {
    const auto* commit = std::get_if<Commit>(&f.change);
    if (commit == nullptr || commit->term != CommitmentTerm::kOneYear) continue;
    const PriceLookup::Where where = {commit->provider, commit->instance_type, commit->region};
    const auto* now = plan.prices.find(where, Market::kReserved, commit->term, commit->payment);
    const auto* then = plan.prices.find(where, Market::kReserved, CommitmentTerm::kThreeYears);
    if (now == nullptr || then == nullptr || then->hourly >= now->hourly) continue;
    const int64_t hours = std::ssize(plan.books.of(NodeId(0)).on_s) * commit->count;
    sum += plan.facts.months.monthly(scale(now->hourly - then->hourly, hours, 1));
  }
  return sum;
}

std::optional<RiskOutlook> for_three_years(const FleetView& plan, std::span<const Finding> findings) {
  if (plan.longest_term == CommitmentTerm::kThreeYears || plan.facts.nodes.empty()) return std::nullopt;
  const Money with_three = saved_by_committing(plan, CommitmentTerm::kThreeYears);
  const Money with_one = saved_by_committing(plan, CommitmentTerm::kOneYear);
  const Money more = with_three - with_one + saved_by_longer_terms(plan, findings);
  if (more.count_nanos() <= 0) return std::nullopt;
  return RiskOutlook{RiskLever::kThreeYears, more,
                     fmt::format("beyond what a year would take off; the work must go on for three years, which {} of use do not "
                                 "show (--longest-term 3y has the plan weigh them)",
                                 counted(static_cast<int64_t>(plan.facts.period.length().to_hours() / 24), "day"))};
}

// ── OfferElsewhere ──

struct OfferElsewhere {
  const InstanceType* type = nullptr;
  std::string region;
  Money hourly;
  auto key() const { return std::tie(hourly, type->provider, type->name, region); }
};

/// What the work on the node needs of a machine elsewhere; none: not known, or the plan has changed what runs there.
std::optional<ResizeNeed> need_elsewhere(const FleetView& plan, const NodeFacts& node) {
  const PlanNode& now = plan.books.of(node.id);
  if (now.gone || now.committed || now.in_savings_plan || now.provider.empty() || !plan.books.hourly(node.id))
    return std::nullopt;
  if (now.market == Market::kOwned || now.market == Market::kReserved) return std::nullopt;
  if (node.gpu_count == 0 || node.quality < TelemetryQuality::kFair || !sees_all_gpus(node)) return std::nullopt;
  // Replicas that the plan left fewer of do more each than telemetry has seen.
  if (now.structure_changed && node.kind == WorkloadKind::kRealtimeInference) return std::nullopt;
  auto need = resize_need(node, plan.prices.catalog());
  if (need && !need->instances.empty()) return std::nullopt;
  return need;
}

enum class Whose : uint8_t { kSameProvider, kOthers };

/// Where the work of machines would cost least. Types and their speed are looked up once for machines of one type.
class ElsewhereFinder {
 public:
  ElsewhereFinder(const FleetView& plan, Whose whose) : plan_(plan), whose_(whose) {}

  std::optional<OfferElsewhere> cheapest(const PlanNode& now, const ResizeNeed& need) {
    const Market market = now.market == Market::kSpot ? Market::kSpot : Market::kOnDemand;
    std::optional<OfferElsewhere> best;
    for (const OfferElsewhere& offer : offers_for(now, market))
      if ((!best || offer.key() < best->key()) && !resize_misfit(*offer.type, need)) best = offer;
    return best;
  }

 private:
  /// The cheapest region of each type that is as fast, however the work is bound.
  const std::vector<OfferElsewhere>& offers_for(const PlanNode& now, Market market) {
    const auto [known, is_new] = offers_.try_emplace({now.provider, now.instance_type, market});
    if (!is_new) return known->second;
    const Catalog& catalog = plan_.prices.catalog();
    const InstanceType* type_now = catalog.find_instance(now.provider, now.instance_type);
    const GpuFacts* gpu_now = type_now == nullptr ? nullptr : catalog.find_gpu(type_now->gpu_model, type_now->gpu_memory);
    if (gpu_now == nullptr) return known->second;
    for (const InstanceType& type : catalog.instances()) {
      if ((type.provider == now.provider) != (whose_ == Whose::kSameProvider) || type.gpu_milli == 0) continue;
      const GpuFacts* gpu = catalog.find_gpu(type.gpu_model, type.gpu_memory);
      const auto relative = gpu == nullptr ? std::nullopt : relative_throughput(*gpu, *gpu_now);
      if (!relative || relative->low < 1) continue;
      if (auto offer = cheapest_region(type, market)) known->second.push_back(std::move(*offer));
    }
    return known->second;
  }

  [[nodiscard]] std::optional<OfferElsewhere> cheapest_region(const InstanceType& type, Market market) const {
    std::optional<OfferElsewhere> best;
    for (const PriceRow& row : plan_.prices.catalog().price_range(type.provider, type.name)) {
      const Money price = row.rate.per_hour();
      if (row.market != market || is_closed_region(row.region) || price.currency() != plan_.facts.currency) continue;
      OfferElsewhere found{&type, row.region, price};
      if (!best || found.key() < best->key()) best = std::move(found);
    }
    return best;
  }

  const FleetView& plan_;
  Whose whose_;
  std::map<std::tuple<std::string, std::string, Market>, std::vector<OfferElsewhere>> offers_;
};

/// Machines of the plan that would cost less elsewhere, and by how much.
struct Moves {
  Money saving_per_month;
  int64_t machines = 0;
  std::map<std::string, int64_t> places;  ///< "8 × …" by type and region
};

template <typename IsMeant>
Moves cheaper_elsewhere(const FleetView& plan, Whose whose, IsMeant is_meant) {
  Moves moves{.saving_per_month = Money::nanos(0, plan.facts.currency), .places = {}};
  ElsewhereFinder finder(plan, whose);
  for (const NodeFacts& node : plan.facts.nodes) {
    const PlanNode& now = plan.books.of(node.id);
    if (!is_meant(now)) continue;
    const auto need = need_elsewhere(plan, node);
    const auto best = need ? finder.cheapest(now, *need) : std::nullopt;
    const auto hourly = plan.books.hourly(node.id);
    if (!best || best->hourly >= *hourly) continue;
    moves.saving_per_month += plan.facts.months.monthly(scale(*hourly - best->hourly, now.seconds(), 3600));
    ++moves.machines;
    ++moves.places[fmt::format("{} {} in {} at {}/h", best->type->provider, best->type->name, best->region,
                               short_money(best->hourly))];
  }
  return moves;
}

std::string places_text(const Moves& moves) {
  std::string text;
  int64_t named = 0;
  for (const auto& [place, count] : moves.places) {
    if (named++ == kMostPlacesNamed) break;
    text += fmt::format("{}{} × {}", text.empty() ? "" : ", ", count, place);
  }
  const auto more = std::ssize(moves.places) - kMostPlacesNamed;
  return more > 0 ? fmt::format("{} and {}", text, counted(more, "more place", "more places")) : text;
}

std::optional<RiskOutlook> other_pools(const FleetView& plan) {
  const Moves moves =
      cheaper_elsewhere(plan, Whose::kSameProvider, [](const PlanNode& now) { return now.market == Market::kSpot; });
  if (moves.machines == 0) return std::nullopt;
  return RiskOutlook{RiskLever::kOtherSpotPools, moves.saving_per_month,
                     fmt::format("{} on spot as {}; how often these pools are taken back, where the data may lie and what moving "
                                 "it costs is not known here",
                                 counted(moves.machines, "machine"), places_text(moves))};
}

std::optional<RiskOutlook> other_providers(const FleetView& plan) {
  const Moves moves = cheaper_elsewhere(plan, Whose::kOthers, [](const PlanNode&) { return true; });
  if (moves.machines == 0) return std::nullopt;
  return RiskOutlook{
      RiskLever::kOtherProviders, moves.saving_per_month,
      fmt::format("{} as {}, on the same market and at least as fast; it pays only while moving data, storing it twice and "
                  "running a second provider cost less than that, and where data may lie there",
                  counted(moves.machines, "machine"), places_text(moves))};
}

}  // namespace

std::string_view name_of(RiskLever lever) {
  switch (lever) {
    case RiskLever::kThreeYears: return "commitments of three years";
    case RiskLever::kOtherSpotPools: return "other pools of spot";
    case RiskLever::kOtherProviders: return "another provider";
  }
  return "";
}

std::vector<RiskOutlook> risk_outlooks(const FleetView& plan, std::span<const Finding> findings) {
  std::vector<RiskOutlook> out;
  for (auto& outlook : {for_three_years(plan, findings), other_pools(plan), other_providers(plan)})
    if (outlook) out.push_back(*outlook);
  return out;
}

std::string risk_note(const RiskOutlook& outlook) {
  return fmt::format("Not counted, of high risk: {} would take up to {} a month off this plan: {}", name_of(outlook.lever),
                     outlook.saving_per_month.to_text(), outlook.rests_on);
}

}  // namespace stint
