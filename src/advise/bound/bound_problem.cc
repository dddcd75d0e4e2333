#include "advise/bound/bound_problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "advise/commit/commit_pools.h"
#include "advise/find/finder_text.h"
#include "advise/find/idle_windows.h"
#include "advise/find/resize_fit.h"
#include "advise/thresholds.h"
#include "sim/spot_math.h"

namespace stint {
namespace {

/// Stretches of presence from which on a machine comes and goes by itself, and a limit may shorten them.
constexpr size_t kFewestStretches = 2;
constexpr int64_t kMilliOfUnit = kUnitHour / 3600;  // of a second of one unit

bool suits_spot(const NodeFacts& node) {
  const bool kind = node.kind == WorkloadKind::kTraining || node.kind == WorkloadKind::kFineTuning ||
                    node.kind == WorkloadKind::kBatchInference || node.kind == WorkloadKind::kEvaluation;
  return kind && node.checkpointable != false;
}

bool serves_requests(const NodeFacts& node) { return node.kind == WorkloadKind::kRealtimeInference; }

bool may_share(const NodeFacts& node) {
  return serves_requests(node) || node.category == "serving" || node.category == "batch inference" ||
         node.category == "notebooks";
}

/// Nothing ran there, or nothing will.
bool needs_no_machine(const NodeFacts& node) {
  if (node.idle_pct.value_or(0) >= kIdlePct && sees_all_gpus(node)) return true;
  return !serves_requests(node) && sees_all_gpus(node) && idle_since(node).has_value();
}

size_t stretches_of(const NodeFacts& node) {
  size_t count = 0;
  bool on = false;
  for (const NodeHour& hour : node.timeline) {
    count += hour.on_s > 0 && !on ? 1 : 0;
    on = hour.on_s > 0;
  }
  return count;
}

/// Rounded down, so that no work needs more than the truth.
int64_t billionths(double part) {
  return part > 0 ? static_cast<int64_t>(std::min(part, 1e6) * static_cast<double>(kWholeMachine) * (1 - 1e-12)) : 0;
}

class FleetCovering {
 public:
  explicit FleetCovering(const BoundInput& input) : input_(input), facts_(input.facts) {}

  BoundProblem build() {
    out_.covering.hours = facts_.hour_count;
    learn_present_prices();
    for (const NodeFacts& node : facts_.nodes) {
      NodeInBound& made = out_.nodes.emplace_back();
      if (is_paid_while_off(node.market) || !hourly_nanos(node)) continue;
      made.part = needs_no_machine(node) ? BoundPart::kIdle : BoundPart::kWork;
      made.shares = may_share(node);
      made.spot = node.market == Market::kSpot || (suits_spot(node) && input_.max_risk >= Level::kMedium);
      if (made.part == BoundPart::kIdle) continue;
      if (serves_requests(node) && can_move(node))
        add_replicas(node, made);
      else
        add_machine(node, made);
    }
    add_services();
    drop_beaten_offers();
    return std::move(out_);
  }

 private:
  struct OfferKey {
    std::string provider, region, type;
    bool spot = false;
    auto operator<=>(const OfferKey&) const = default;
  };
  /// What a GPU that is moved must find. Of equal needs uses are worked out once.
  struct Need {
    std::string provider, region, own_type, gpu_model, arch;
    int64_t own_gpus = 1;
    Bytes gpu_memory;  ///< of a present GPU
    Bytes memory;      ///< of the fullest one, that a GPU must hold
    int64_t together = 1;
    double busy_pct = 0;  ///< that a whole GPU must do
    bool own_type_only = false, shares = false, spot = false, on_demand = true, any_time = false;
    auto key() const {
      return std::tie(provider, region, own_type, gpu_model, arch, own_gpus, gpu_memory, memory, together, busy_pct,
                      own_type_only, shares, spot, on_demand, any_time);
    }
    bool operator<(const Need& other) const { return key() < other.key(); }
  };
  struct CoveredService {
    Need need;
    std::set<Need> of_other_types;  ///< replicas on machines of another type
    std::vector<int64_t> compute, memory;
    std::map<size_t, double> gpus_of;  ///< by node
  };

  /// Telemetry says what must be moved; without it a machine stays the type it is.
  bool can_move(const NodeFacts& node) const {
    return node.mean_pct && node.memory_peak && input_.prices.catalog().find_gpu(node.gpu_model) != nullptr;
  }

  static std::optional<int64_t> hourly_nanos(const NodeFacts& node) {
    int64_t seconds = 0;
    for (const NodeHour& hour : node.timeline)
      seconds += hour.on_s;
    if (seconds == 0 || node.compute.count_nanos() <= 0) return std::nullopt;
    __extension__ using Wide = __int128;
    return static_cast<int64_t>(Wide{node.compute.count_nanos()} * 3600 / seconds);
  }

  void learn_present_prices() {
    for (const NodeFacts& node : facts_.nodes) {
      const auto hourly = hourly_nanos(node);
      if (!hourly || is_paid_while_off(node.market)) continue;
      const auto [it, is_new] =
          present_.try_emplace({node.provider, node.region, node.instance_type, node.market == Market::kSpot}, *hourly);
      it->second = std::min(it->second, *hourly);
      zones_[{node.provider, node.region, node.instance_type}].insert(node.zone);
    }
  }

  Need need_of(const NodeFacts& node) const {
    const Catalog& catalog = input_.prices.catalog();
    const InstanceType* now = catalog.find_instance(node.provider, node.instance_type);
    Need need{.provider = node.provider,
              .region = node.region,
              .own_type = node.instance_type,
              .gpu_model = node.gpu_model,
              .arch = now == nullptr ? "x86_64" : now->arch,
              .own_gpus = std::max<int64_t>(1, node.gpu_count),
              .gpu_memory = node.memory_total.value_or(now == nullptr ? Bytes() : now->gpu_memory),
              .memory = node.memory_peak.value_or(Bytes())};
    need.own_type_only = !can_move(node);
    need.shares = may_share(node) && !need.own_type_only;
    need.spot = out_.nodes.back().spot;
    need.on_demand = node.market != Market::kSpot;
    for (const GpuLoad& gpu : node.gpus) {
      if (!need.shares) need.busy_pct = std::max(need.busy_pct, gpu.busy_p95_pct.value_or(0));
      if (!need.shares && gpu.in_gang) need.together = most_at_once(node);
    }
    need.any_time = !is_interactive(node.kind) && stretches_of(node) >= kFewestStretches;
    return need;
  }

  static int64_t most_at_once(const NodeFacts& node) {
    int64_t most = 1;
    for (const NodeHour& hour : node.timeline)
      most = std::max<int64_t>(most, hour.used_gpus);
    return most;
  }

  /// GPUs at work by hour; −1 = on, not watched.
  std::vector<int> active_by_hour(const NodeFacts& node) const {
    const WeekHours off = idle_hours(node, facts_.first_hour);
    std::vector<int> active(facts_.hour_count, 0);
    for (size_t h = 0; h < facts_.hour_count; ++h) {
      const NodeHour& hour = node.timeline[h];
      if (hour.on_s == 0 || off[hour_of_week(facts_.first_hour + static_cast<int64_t>(h))]) continue;
      active[h] = hour.active_gpus > 0 ? hour.active_gpus : hour.seen_s < kWatchedSeconds ? -1 : 0;
    }
    return active;
  }

  void add_machine(const NodeFacts& node, NodeInBound& made) {
    const Need need = need_of(node);
    const bool comes_and_goes = stretches_of(node) >= kFewestStretches && !is_interactive(node.kind);
    const int64_t unseen = node.quality == TelemetryQuality::kNone || need.own_type_only ? need.own_gpus : most_at_once(node);
    double p95 = 0, peak = 0;
    int64_t in_use = 0;
    for (const GpuLoad& gpu : node.gpus) {
      p95 += gpu.busy_p95_pct.value_or(100) / 100;
      in_use += gpu.in_use ? 1 : 0;
      if (gpu.in_use && need.gpu_memory.count() > 0)
        peak += static_cast<double>(gpu.memory_peak.value_or(Bytes()).count()) / static_cast<double>(need.gpu_memory.count());
    }
    std::vector<int64_t> compute(facts_.hour_count, 0), memory(facts_.hour_count, 0);
    const std::vector<int> active = active_by_hour(node);
    for (size_t h = 0; h < facts_.hour_count; ++h) {
      if (active[h] == 0 || (active[h] < 0 && comes_and_goes && node.quality != TelemetryQuality::kNone)) continue;
      const NodeHour& hour = node.timeline[h];
      const int64_t gpus = std::min(active[h] < 0 ? unseen : active[h], need.own_gpus);
      compute[h] = memory[h] = gpus * hour.on_s * kMilliOfUnit;
      made.active_gpu_s += static_cast<double>(gpus * hour.on_s);
      if (need.shares) {
        // Of work that was not watched only its memory is known to be there.
        const double busy =
            active[h] < 0
                ? 0
                : std::min(p95, std::max(0.0, static_cast<double>(hour.mean_pct)) / 100 * static_cast<double>(node.gpus.size()));
        const double held =
            peak * static_cast<double>(std::min(gpus, in_use)) / static_cast<double>(std::max<int64_t>(1, in_use));
        compute[h] = static_cast<int64_t>(std::min(busy, static_cast<double>(gpus)) * hour.on_s * kMilliOfUnit);
        memory[h] = static_cast<int64_t>(std::min(held, static_cast<double>(gpus)) * hour.on_s * kMilliOfUnit);
      }
      made.filled_gpu_s += static_cast<double>(std::max(compute[h], memory[h])) / kMilliOfUnit;
    }
    const std::vector<CoveringUse>& uses = uses_of(need);
    if (need.shares) {
      made.works.push_back({add_work(uses, std::move(compute), std::move(memory)), 1});
      return;
    }
    // Whole GPUs with the same choices are one work.
    const auto [at, is_new] = whole_.try_emplace(uses, out_.covering.works.size());
    if (is_new)
      add_work(uses, std::move(compute), std::move(memory));
    else
      for (size_t h = 0; h < facts_.hour_count; ++h) {
        out_.covering.works[at->second].compute[h] += compute[h];
        out_.covering.works[at->second].memory[h] += memory[h];
      }
    made.works.push_back({at->second, made.active_gpu_s});
    whole_sum_[at->second] += made.active_gpu_s;
  }

  /// Replicas on this machine, each added to its service.
  void add_replicas(const NodeFacts& node, NodeInBound& made) {
    const Need need = need_of(node);
    const std::vector<int> active = active_by_hour(node);
    for (size_t h = 0; h < facts_.hour_count; ++h)
      if (active[h] != 0)
        made.active_gpu_s += static_cast<double>(active[h] < 0 ? most_at_once(node) : active[h]) * node.timeline[h].on_s;
    for (const GpuLoad& gpu : node.gpus) {
      if (!gpu.in_use) continue;
      const std::string name = gpu.workload.empty() ? (node.workload.empty() ? node.name : node.workload) : gpu.workload;
      const auto [it, is_new] =
          services_.try_emplace({node.provider, node.region, node.gpu_model, name, need.spot ? "spot" : ""});
      CoveredService& service = it->second;
      const Bytes held = gpu.memory_peak.value_or(Bytes());
      if (is_new) {
        service.need = need;
        service.need.memory = held;
        service.compute.assign(facts_.hour_count, 0);
        service.memory.assign(facts_.hour_count, 0);
      }
      if (need.own_type != service.need.own_type) service.of_other_types.insert(need);
      // One replica is enough to answer: the leanest that there is.
      service.need.memory = std::min(service.need.memory, held);
      service.gpus_of[node.id.index()] += 1;
      for (size_t h = 0; h < facts_.hour_count; ++h) {
        if (active[h] == 0) continue;
        const int64_t on_ms = node.timeline[h].on_s * kMilliOfUnit;
        const double seen =
            h < gpu.hourly_pct.size() ? static_cast<double>(gpu.hourly_pct[h]) : static_cast<double>(node.timeline[h].mean_pct);
        const double busy = std::min(std::max(0.0, seen), gpu.busy_p95_pct.value_or(100)) / 100;
        service.compute[h] += static_cast<int64_t>(busy * static_cast<double>(on_ms));
        service.memory[h] = std::max(service.memory[h], on_ms);
      }
    }
  }

  void add_services() {
    for (auto& [name, service] : services_) {
      const double part = service.need.gpu_memory.count() > 0 ? static_cast<double>(service.need.memory.count()) /
                                                                    static_cast<double>(service.need.gpu_memory.count())
                                                              : 0;
      double filled = 0, gpus = 0;
      for (size_t h = 0; h < facts_.hour_count; ++h) {
        service.memory[h] = static_cast<int64_t>(static_cast<double>(service.memory[h]) * part);
        filled += static_cast<double>(std::max(service.compute[h], service.memory[h])) / kMilliOfUnit;
      }
      for (const auto& [node, count] : service.gpus_of)
        gpus += count;
      const size_t work = add_work(uses_of_service(service), std::move(service.compute), std::move(service.memory));
      for (const auto& [node, count] : service.gpus_of) {
        out_.nodes[node].works.push_back({work, count / gpus});
        out_.nodes[node].filled_gpu_s += filled * count / gpus;
      }
    }
    for (NodeInBound& node : out_.nodes)
      for (NodeInBound::Share& share : node.works)
        if (const auto sum = whole_sum_.find(share.work); sum != whole_sum_.end())
          share.part = sum->second > 0 ? share.part / sum->second : 0;
  }

  /// Any type that some replica is on will do, whatever the catalogue knows of it.
  std::vector<CoveringUse> uses_of_service(const CoveredService& service) {
    std::vector<CoveringUse> uses = uses_of(service.need);
    for (Need other : service.of_other_types) {
      other.own_type_only = true;
      for (const CoveringUse& use : uses_of(other))
        if (std::ranges::find(uses, use.offer, &CoveringUse::offer) == uses.end()) uses.push_back(use);
    }
    return uses;
  }

  size_t add_work(const std::vector<CoveringUse>& uses, std::vector<int64_t> compute, std::vector<int64_t> memory) {
    out_.covering.works.push_back({uses, std::move(compute), std::move(memory)});
    return out_.covering.works.size() - 1;
  }

  const std::vector<CoveringUse>& uses_of(const Need& need) {
    const auto [it, is_new] = uses_.try_emplace(need);
    if (is_new) it->second = find_uses(need);
    return it->second;
  }

  std::vector<CoveringUse> find_uses(const Need& need) {
    std::vector<CoveringUse> uses;
    const auto add = [&](const std::string& region, const std::string& type, double gpus, double speed, double memory) {
      const double compute = 1 / (gpus * (need.shares ? speed : 1));
      for (const bool spot : {false, true}) {
        if (spot ? !need.spot : !need.on_demand) continue;
        const auto offer = offer_for({need.provider, region, type, spot}, need.any_time);
        if (offer) uses.push_back({*offer, billionths(compute), billionths(need.shares ? memory : compute)});
      }
    };
    // As it is, whatever the catalogue knows of it.
    add(need.region, need.own_type, static_cast<double>(need.own_gpus), 1, 1 / static_cast<double>(need.own_gpus));
    if (need.own_type_only) return uses;
    const Catalog& catalog = input_.prices.catalog();
    const GpuFacts* from = catalog.find_gpu(need.gpu_model);
    for (const InstanceType& type : catalog.instances()) {
      if (type.provider != need.provider || type.gpu_milli <= 0 || type.gpu_memory < need.memory || type.arch != need.arch)
        continue;
      if (!need.shares && type.gpu_milli < need.together * 1000) continue;
      const GpuFacts* to = catalog.find_gpu(type.gpu_model, type.gpu_memory);
      const auto speed = to == nullptr ? std::nullopt : relative_throughput(*to, *from);
      if (!speed || (!need.shares && to->model != from->model && speed->high * 100 < need.busy_pct)) continue;
      const double gpus = static_cast<double>(type.gpu_milli) / 1000;
      const double memory = static_cast<double>(need.gpu_memory.count()) / (static_cast<double>(type.gpu_memory.count()) * gpus);
      for (const std::string& region : regions_of(need, type))
        if (type.name != need.own_type || region != need.region)
          add(region, type.name, gpus, std::max(speed->high, 1e-6), memory);
    }
    return uses;
  }

  std::vector<std::string> regions_of(const Need& need, const InstanceType& type) const {
    std::vector<std::string> regions = {need.region};
    if (input_.allowed_regions.empty()) return regions;
    for (const PriceRow& row : input_.prices.catalog().price_range(type.provider, type.name))
      if (std::ranges::any_of(input_.allowed_regions, [&](const std::string& glob) { return glob_matches(glob, row.region); }) &&
          std::ranges::find(regions, row.region) == regions.end())
        regions.push_back(row.region);
    return regions;
  }

  /// none: no price is known.
  std::optional<uint32_t> offer_for(const OfferKey& key, bool any_time) {
    const auto [it, is_new] = offers_.try_emplace(key);
    if (is_new)
      if (const auto offer = key.spot ? spot_offer(key) : on_demand_offer(key)) {
        it->second = static_cast<uint32_t>(out_.covering.offers.size());
        out_.covering.offers.push_back(*offer);
      }
    if (it->second && any_time) out_.covering.offers[*it->second].same_every_hour = true;
    return it->second;
  }

  std::optional<int64_t> price_of(const OfferKey& key, Market market) const {
    std::optional<int64_t> price;
    if (const auto* quote = input_.prices.find({key.provider, key.type, key.region}, market)) price = quote->hourly.count_nanos();
    return price;
  }

  std::optional<CoveringOffer> spot_offer(const OfferKey& key) const {
    std::optional<int64_t> price = price_of(key, Market::kSpot);
    if (price) {
      // While a machine is moved it is neither there nor paid.
      double there = 1;
      std::set<std::string> zones = {""};
      if (const auto seen = zones_.find({key.provider, key.region, key.type}); seen != zones_.end())
        zones.insert(seen->second.begin(), seen->second.end());
      for (const std::string& zone : zones) {
        const InterruptionRate rate = facts_.spot.rate({key.provider, key.region, zone, key.type});
        const SpotTime time = spot_time(interruption_model(rate.mean()).mean_between);
        there = std::min(there, time.on_spot + time.on_demand);
      }
      price = static_cast<int64_t>(static_cast<double>(*price) * there) - 1;
    }
    if (const auto now = present_.find(key); now != present_.end()) price = std::min(price.value_or(now->second), now->second);
    return price && *price >= 0 ? std::optional(CoveringOffer{.hourly = *price, .committed = {}}) : std::nullopt;
  }

  std::optional<CoveringOffer> on_demand_offer(const OfferKey& key) const {
    std::optional<int64_t> price = price_of(key, Market::kOnDemand);
    if (const auto now = present_.find(key); now != present_.end()) price = std::min(price.value_or(now->second), now->second);
    if (!price) return std::nullopt;
    CoveringOffer offer{.hourly = *price, .committed = {}};
    if (input_.max_risk < Level::kMedium) return offer;
    const CommitmentTerm longest = input_.max_risk < Level::kHigh ? CommitmentTerm::kOneYear : input_.longest_term;
    for (const CommitWay& way :
         ways_to_commit(input_.prices.catalog(), key.provider, key.region, key.type, facts_.currency, longest))
      offer.committed = std::min(offer.committed.value_or(way.offer.hourly.count_nanos()), way.offer.hourly.count_nanos());
    for (const SavingsPlanOffer& plan : input_.savings_plans) {
      if (plan.provider != key.provider || (plan.term == CommitmentTerm::kThreeYears && input_.max_risk < Level::kHigh)) continue;
      // Any use fills it, so it is a price of every hour.
      std::optional<int64_t> rate;
      for (const SavingsPlan::TypeRate& of_type : plan.rates)
        if (of_type.instance_type == key.type && (of_type.region.empty() || of_type.region == key.region) &&
            of_type.per_hour.currency() == facts_.currency)
          rate = std::min(rate.value_or(of_type.per_hour.count_nanos()), of_type.per_hour.count_nanos());
      if (!rate && plan.discount_pct) rate = *price / 100 * (100 - *plan.discount_pct);
      if (rate && *rate > 0) offer.hourly = std::min(offer.hourly, *rate);
    }
    return offer;
  }

  /// An offer goes when all that may use it may use another, which never costs more: what is on its machines costs no more there.
  void drop_beaten_offers() {
    std::vector<std::vector<CoveringWork*>> users(out_.covering.offers.size());
    for (CoveringWork& work : out_.covering.works)
      for (const CoveringUse& use : work.uses)
        users[use.offer].push_back(&work);
    const auto use_in = [](const CoveringWork& work, uint32_t offer) {
      return std::ranges::find(work.uses, offer, &CoveringUse::offer);
    };
    const auto beats = [&](const CoveringWork& work, uint32_t by, uint32_t offer) {
      const auto other = use_in(work, by);
      const auto use = use_in(work, offer);
      if (other == work.uses.end() || use == work.uses.end()) return false;
      __extension__ using Wide = __int128;
      const CoveringOffer& beaten = out_.covering.offers[offer];
      const Wide least = std::min(beaten.hourly, beaten.committed.value_or(beaten.hourly));
      const Wide most = out_.covering.offers[by].hourly;
      return most * other->compute <= least * use->compute && most * other->memory <= least * use->memory;
    };
    for (uint32_t offer = 0; offer < users.size(); ++offer) {
      if (users[offer].empty()) continue;
      for (const CoveringUse& by : std::vector<CoveringUse>(users[offer].front()->uses)) {
        if (by.offer == offer || users[by.offer].empty()) continue;
        if (!std::ranges::all_of(users[offer], [&](const CoveringWork* work) { return beats(*work, by.offer, offer); })) continue;
        for (CoveringWork* work : users[offer])
          std::erase_if(work->uses, [&](const CoveringUse& use) { return use.offer == offer; });
        users[offer].clear();
        break;
      }
    }
    keep_used_offers();
  }

  void keep_used_offers() {
    std::vector<std::optional<uint32_t>> now(out_.covering.offers.size());
    std::vector<CoveringOffer> kept;
    for (CoveringWork& work : out_.covering.works)
      for (CoveringUse& use : work.uses) {
        if (!now[use.offer]) {
          now[use.offer] = static_cast<uint32_t>(kept.size());
          kept.push_back(out_.covering.offers[use.offer]);
        }
        use.offer = *now[use.offer];
      }
    out_.covering.offers = std::move(kept);
  }

  const BoundInput& input_;
  const FleetFacts& facts_;
  BoundProblem out_;
  std::map<OfferKey, int64_t> present_;  ///< the least that a machine there costs an hour
  std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> zones_;
  std::map<OfferKey, std::optional<uint32_t>> offers_;
  std::map<Need, std::vector<CoveringUse>> uses_;
  std::map<std::vector<CoveringUse>, size_t> whole_;
  std::map<size_t, double> whole_sum_;
  std::map<std::vector<std::string>, CoveredService> services_;
};

}  // namespace

BoundProblem bound_problem(const BoundInput& input) { return FleetCovering(input).build(); }

}  // namespace stint
