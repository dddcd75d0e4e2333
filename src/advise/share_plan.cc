#include "advise/share_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "advise/gpu_load.h"
#include "advise/mig_plan.h"

namespace stint {
namespace {

/// One GPU of a pool.
struct Card {
  const NodeFacts* node = nullptr;
  const GpuLoad* load = nullptr;
  std::optional<ShareService> service;  // what has it whole
  bool cut = false;
  MigLayout used, idle;  // cut: instances in use, and others
  [[nodiscard]] bool busy() const { return cut ? !used.empty() : load->in_use; }
};

/// A legal layout of those profiles; the History does not say where instances begin. none: there is none.
std::optional<MigLayout> layout_of(const MigGeometry& geometry, std::vector<int> profiles) {
  std::sort(profiles.begin(), profiles.end());
  for (const MigLayout& layout : all_layouts(geometry)) {
    std::vector<int> has;
    for (const MigPlacement& p : layout)
      has.push_back(p.profile);
    std::sort(has.begin(), has.end());
    if (has == profiles) return layout;
  }
  return std::nullopt;
}

bool instance_in_use(const DeviceUsage& usage) {
  const HourlySeries* utilization = usage.utilization();
  const HourlySeries* memory = usage.find(Metric::kMemoryUsed);
  const bool active =
      utilization != nullptr && utilization->sketch.quantile(Metric::kUtilization, 0.99).value_or(0) >= kIdleBelowPercent;
  return active || (memory != nullptr && memory->max > static_cast<double>(kHeldMemoryBytes));
}

/// @return false when its instances make no layout.
bool read_instances(Card& card, const MigGeometry& geometry, const History& history, const Usage& usage) {
  card.cut = true;
  std::vector<int> all;
  std::multiset<int> in_use;
  for (const uint32_t d : card.load->devices) {
    const MigProfile* profile = history.devices[d].mig ? geometry.find_profile(history.devices[d].mig->profile) : nullptr;
    if (profile == nullptr) return false;
    all.push_back(geometry.index_of(*profile));
    if (d >= usage.devices.size() || instance_in_use(usage.devices[d])) in_use.insert(all.back());
  }
  const auto layout = layout_of(geometry, all);
  if (!layout) return false;
  for (const MigPlacement& p : *layout) {
    const auto used = in_use.find(p.profile);
    (used == in_use.end() ? card.idle : card.used).push_back(p);
    if (used != in_use.end()) in_use.erase(used);
  }
  return true;
}

/// Machines that must stay come first, then those with most work; ties by name.
std::vector<size_t> order_of(const std::vector<Card>& cards, const std::vector<bool>& fixed) {
  std::map<const NodeFacts*, std::pair<int, int>> rank;  // fixed, in use
  for (size_t c = 0; c < cards.size(); ++c) {
    auto& [stay, busy] = rank[cards[c].node];
    stay += fixed[c] ? 1 : 0;
    busy += cards[c].busy() ? 1 : 0;
  }
  std::vector<size_t> order;
  for (size_t c = 0; c < cards.size(); ++c)
    order.push_back(c);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto key = [&](size_t c) {
      const auto& [stay, busy] = rank.at(cards[c].node);
      return std::tuple(stay == 0, -busy, cards[c].node->name, cards[c].load->index);
    };
    return key(a) < key(b);
  });
  return order;
}

/// Work put onto cards: by card the services and, for MIG, their placements.
struct Seats {
  SharingMode mode = SharingMode::kMig;
  std::vector<std::vector<std::pair<size_t, std::optional<MigPlacement>>>> of;  // by card: (service's card, where)
  std::vector<bool> reuses;     // by card that has a service: it takes an instance that exists
  std::vector<MigMove> moves;   // of instances in use, between the cards of `cut`
  std::vector<size_t> cut;      // card of each layout that moves speak of
  std::vector<MigLayout> kept;  // by card: instances in use afterwards
  int64_t needed = 0;
};

class Pool {
 public:
  Pool(std::vector<Card> cards, const MigGeometry* geometry, const GpuFacts* gpu)
      : cards_(std::move(cards)), geometry_(geometry), gpu_(gpu) {}

  [[nodiscard]] const std::vector<Card>& cards() const { return cards_; }

  [[nodiscard]] Seats best() const {
    Seats side = side_by_side();
    if (geometry_ == nullptr) return side;
    Seats mig = by_mig();
    return mig.needed <= side.needed ? mig : side;
  }

 private:
  [[nodiscard]] Seats empty_seats(SharingMode mode) const {
    Seats s;
    s.mode = mode;
    s.of.resize(cards_.size());
    s.reuses.resize(cards_.size());
    for (const Card& card : cards_)
      s.kept.push_back(card.used);
    return s;
  }

  /// Puts packings on cards in order, those that stay as they are taken out.
  void place(Seats& seats, const std::vector<PackedGpu>& packings, const std::vector<size_t>& services,
             const std::vector<bool>& fixed) const {
    const std::vector<size_t> order = order_of(cards_, fixed);
    std::vector<size_t> free;
    for (const size_t c : order)
      if (!fixed[c]) free.push_back(c);
    CHECK(packings.size() <= free.size(), "{} packings for {} GPUs", packings.size(), free.size());
    free.resize(packings.size());
    // Where one of its pieces runs already, where that can be; the others in order.
    std::vector<std::optional<size_t>> card(packings.size());
    for (size_t g = 0; g < packings.size(); ++g)
      for (const size_t item : packings[g].items) {
        const auto own = std::find(free.begin(), free.end(), services[item]);
        if (own == free.end()) continue;
        card[g] = *own;
        free.erase(own);
        break;
      }
    auto next = free.begin();
    for (size_t g = 0; g < packings.size(); ++g) {
      auto& seated = seats.of[card[g] ? *card[g] : *next++];
      for (size_t k = 0; k < packings[g].items.size(); ++k)
        seated.push_back({services[packings[g].items[k]],
                          packings[g].placements.empty() ? std::nullopt : std::optional(packings[g].placements[k])});
    }
  }

  void count(Seats& seats) const {
    for (size_t c = 0; c < cards_.size(); ++c)
      seats.needed += seats.of[c].empty() && seats.kept[c].empty() ? 0 : 1;
  }

  [[nodiscard]] Seats side_by_side() const {
    std::vector<ShareService> services;
    std::vector<size_t> cards;
    std::vector<bool> fixed(cards_.size());
    for (size_t c = 0; c < cards_.size(); ++c) {
      fixed[c] = cards_[c].cut && cards_[c].busy();  // no processes of others beside instances
      if (!cards_[c].service) continue;
      services.push_back(*cards_[c].service);
      cards.push_back(c);
    }
    const SharePacking packing = pack_side_by_side(services, gpu_);
    Seats seats = empty_seats(packing.mode);
    std::vector<PackedGpu> shared;
    for (const PackedGpu& gpu : packing.gpus) {
      if (gpu.items.size() > 1) {
        shared.push_back(gpu);
        continue;
      }
      seats.of[cards[gpu.items[0]]].push_back({cards[gpu.items[0]], std::nullopt});
      fixed[cards[gpu.items[0]]] = true;
    }
    place(seats, shared, cards, fixed);
    count(seats);
    return seats;
  }

  [[nodiscard]] Seats by_mig() const {
    Seats seats = empty_seats(SharingMode::kMig);
    std::vector<bool> fixed(cards_.size());
    std::map<int, std::vector<size_t>> waiting;  // cards of services by profile
    for (size_t c = 0; c < cards_.size(); ++c) {
      fixed[c] = cards_[c].cut && cards_[c].busy();
      if (!cards_[c].service) continue;
      if (const auto profile = share_profile(*geometry_, *cards_[c].service)) {
        waiting[*profile].push_back(c);
      } else {
        seats.of[c].push_back({c, std::nullopt});
        fixed[c] = true;
      }
    }
    reuse_idle(seats, waiting);
    fill_cut(seats, waiting);
    std::vector<int> profiles;
    std::vector<size_t> services;
    for (const auto& [profile, cards] : waiting)
      for (const size_t c : cards) {
        profiles.push_back(profile);
        services.push_back(c);
      }
    place(seats, pack_mig(*geometry_, profiles), services, fixed);
    count(seats);
    return seats;
  }

  /// Idle instances go to work that asks for just that.
  void reuse_idle(Seats& seats, std::map<int, std::vector<size_t>>& waiting) const {
    for (size_t c = 0; c < cards_.size(); ++c) {
      if (cards_[c].used.empty()) continue;  // a card that only this would keep in use is better free
      for (const MigPlacement& p : cards_[c].idle) {
        auto& cards = waiting[p.profile];
        if (cards.empty()) continue;
        seats.of[c].push_back({cards.front(), p});
        seats.reuses[cards.front()] = true;
        cards.erase(cards.begin());
      }
    }
  }

  /// What fits beside the instances in use; what is placed leaves `waiting`.
  void fill_cut(Seats& seats, std::map<int, std::vector<size_t>>& waiting) const {
    std::vector<MigLayout> running;
    for (size_t c = 0; c < cards_.size(); ++c) {
      if (cards_[c].used.empty()) continue;
      seats.cut.push_back(c);
      MigLayout layout = cards_[c].used;
      for (const auto& [service, where] : seats.of[c])
        layout.push_back(*where);
      std::sort(layout.begin(), layout.end());
      running.push_back(std::move(layout));
    }
    if (running.empty()) return;
    std::vector<int> wanted(geometry_->profiles.size(), 0);
    std::vector<int> requests;
    for (auto w = waiting.rbegin(); w != waiting.rend(); ++w) {  // large ones first
      wanted[static_cast<size_t>(w->first)] = static_cast<int>(w->second.size());
      requests.insert(requests.end(), w->second.size(), w->first);
    }
    MigPlan plan = plan_mig(*geometry_, running, wanted);
    const MigPlan still = first_fit_mig(*geometry_, running, requests);
    if (!plan.moves.empty() && further(waiting, still) <= further(waiting, plan)) plan = still;
    seats.moves = plan.moves;
    for (size_t g = 0; g < running.size(); ++g) {
      MigLayout own = running[g];
      for (const MigMove& move : plan.moves) {
        if (move.from_gpu == g) own.erase(std::find(own.begin(), own.end(), move.from));
        if (move.to_gpu == g) own.push_back(move.to);
      }
      for (const MigPlacement& p : plan.layouts[g]) {
        if (const auto there = std::find(own.begin(), own.end(), p); there != own.end()) {
          own.erase(there);
          continue;
        }
        auto& cards = waiting[p.profile];
        seats.of[seats.cut[g]].push_back({cards.front(), p});
        cards.erase(cards.begin());
      }
    }
  }

  /// GPUs that what a plan leaves takes beside.
  [[nodiscard]] size_t further(const std::map<int, std::vector<size_t>>& waiting, const MigPlan& plan) const {
    std::vector<int> left;
    for (const auto& [profile, cards] : waiting)
      left.insert(left.end(), cards.size() - static_cast<size_t>(plan.placed[static_cast<size_t>(profile)]), profile);
    return pack_mig(*geometry_, left).size();
  }

  std::vector<Card> cards_;
  const MigGeometry* geometry_;
  const GpuFacts* gpu_;
};

SharedSeat seat_of(const Pool& pool, const MigGeometry* geometry, size_t service, const std::optional<MigPlacement>& where,
                   bool reused) {
  const Card& from = pool.cards()[service];
  SharedSeat seat{label_of(*from.service), from.load->client, from.node->name, from.load->index, "", -1, reused, false};
  if (where) {
    seat.mig_profile = geometry->profiles[static_cast<size_t>(where->profile)].name;
    if (!reused) seat.memory_start = where->start;
    seat.restarts = true;
  }
  return seat;
}

std::string why_alone(const ShareService& s) {
  if (s.gpu->in_gang) return "spans several GPUs";
  if (s.whole) return "was not measured";
  if (s.gpu->client.empty()) return "its owner is not known";
  if (s.gpu->mixed_clients) return "several clients hold it";
  return "needs most of a GPU, or nobody it may share with fits beside it";
}

std::vector<SharedGpu> gpus_of(const Pool& pool, const Seats& seats, const MigGeometry* geometry) {
  std::set<size_t> disturbed;
  for (const MigMove& move : seats.moves) {
    disturbed.insert(seats.cut[move.from_gpu]);
    disturbed.insert(seats.cut[move.to_gpu]);
  }
  std::vector<SharedGpu> out;
  for (size_t c = 0; c < pool.cards().size(); ++c) {
    const Card& card = pool.cards()[c];
    SharedGpu gpu{card.node->name, card.load->index, SharedGpu::Step::kAsItIs, {}};
    for (const MigPlacement& p : card.used)
      gpu.seats.push_back({"in use", card.load->client, card.node->name, card.load->index,
                           geometry->profiles[static_cast<size_t>(p.profile)].name, -1, true, false});
    bool adds = false;
    for (const auto& [service, where] : seats.of[c]) {
      gpu.seats.push_back(seat_of(pool, geometry, service, where, seats.reuses[service]));
      SharedSeat& seat = gpu.seats.back();
      const bool moves = service != c;
      seat.restarts |= moves || (seats.mode == SharingMode::kMps && seats.of[c].size() > 1);
      adds |= where && !seats.reuses[service];
    }
    if (gpu.seats.empty())
      gpu.step = SharedGpu::Step::kFree;
    else if (disturbed.contains(c) || (adds && !card.cut))
      gpu.step = SharedGpu::Step::kRepartition;
    else if (adds)
      gpu.step = SharedGpu::Step::kFill;
    else if (!card.cut && gpu.seats.size() > 1)
      gpu.step = SharedGpu::Step::kShare;
    out.push_back(std::move(gpu));
  }
  return out;
}

SharePool plan_pool(const FleetView& fleet, const Pool& pool, const MigGeometry* geometry) {
  const Seats seats = pool.best();
  const NodeFacts& first = *pool.cards().front().node;
  SharePool out{first.provider,
                first.region,
                first.gpu_model,
                seats.mode,
                gpus_of(pool, seats, geometry),
                0,
                seats.needed,
                0,
                {},
                {},
                Money::nanos(0, fleet.facts.currency)};
  std::map<std::string, std::pair<bool, bool>> work;  // by node: now, then
  std::map<std::string, int> alone;
  out.restarts = std::ssize(seats.moves);
  for (size_t c = 0; c < pool.cards().size(); ++c) {
    const Card& card = pool.cards()[c];
    out.in_use += card.busy() ? 1 : 0;
    auto& [now, then] = work[card.node->name];
    now |= card.busy();
    then |= !out.gpus[c].seats.empty();
    for (const SharedSeat& seat : out.gpus[c].seats)
      out.restarts += seat.restarts ? 1 : 0;
    if (seats.of[c].size() == 1 && !card.cut && !seats.of[c][0].second)
      ++alone[fmt::format("{}: {}", label_of(*card.service), why_alone(*card.service))];
  }
  for (const auto& [text, count] : alone)
    out.alone.push_back(count == 1 ? text : fmt::format("{} × {}", count, text));
  for (const auto& [node, has] : work)
    if (has.first && !has.second) out.freed_nodes.push_back(node);
  if (!out.freed_nodes.empty())
    if (const auto saving = fleet.books.saving_of(StopNodes{out.freed_nodes}); saving.ok()) out.saving_per_month = *saving;
  return out;
}

}  // namespace

std::string_view name_of(SharedGpu::Step step) {
  constexpr std::array<std::string_view, 5> kNames = {"as it is", "add instances", "drain and cut", "share", "free"};
  return kNames[static_cast<size_t>(step)];
}

FleetSharePlan plan_sharing(const FleetView& fleet, const Usage& usage) {
  FleetSharePlan plan;
  std::map<std::string, std::vector<const NodeFacts*>> pools;
  int64_t unseen = 0;
  for (const NodeFacts& node : fleet.facts.nodes) {
    if (fleet.books.of(node.id).gone || node.gpu_count == 0) continue;
    if (node.quality < TelemetryQuality::kFair || !sees_all_gpus(node)) {
      ++unseen;
      continue;
    }
    // Only machines that are there at the same hours can stand in for each other.
    pools[fmt::format("{}\t{}\t{}\t{}\t{}", node.provider, node.region, node.gpu_model, name_of(node.market),
                      fleet.books.of(node.id).seconds())]
        .push_back(&node);
  }
  for (const auto& [key, nodes] : pools) {
    const MigGeometry* geometry = find_mig_geometry(nodes.front()->gpu_model);
    std::vector<Card> cards;
    for (const NodeFacts* node : nodes)
      for (const GpuLoad& load : node->gpus) {
        Card card{node, &load, std::nullopt, false, {}, {}};
        if (load.cut_by_mig && (geometry == nullptr || !read_instances(card, *geometry, fleet.history, usage))) {
          plan.notes.push_back(
              fmt::format("{} GPU {} was left out: its MIG instances make no layout that is known", node->name, load.index));
          continue;
        }
        if (!card.cut && load.in_use)
          card.service = ShareService{node, &load, !(load.busy_p95_pct && load.memory_peak && load.memory_total) || load.in_gang};
        cards.push_back(std::move(card));
      }
    if (cards.empty()) continue;
    SharePool made =
        plan_pool(fleet, Pool(std::move(cards), geometry, fleet.prices.catalog().find_gpu(nodes.front()->gpu_model)), geometry);
    if (made.needed < made.in_use) plan.pools.push_back(std::move(made));
  }
  std::stable_sort(plan.pools.begin(), plan.pools.end(), [](const SharePool& a, const SharePool& b) {
    return std::tuple(b.saving_per_month, b.in_use - b.needed) < std::tuple(a.saving_per_month, a.in_use - a.needed);
  });
  if (unseen > 0)
    plan.notes.push_back(
        fmt::format("{} machines were left out: telemetry of every GPU, in half of the hours or more, is needed", unseen));
  return plan;
}

}  // namespace stint
