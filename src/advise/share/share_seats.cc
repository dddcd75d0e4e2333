#include "advise/share/share_seats.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stint {
namespace {

/// Machines that must stay come first, then those with most work; ties by name.
std::vector<size_t> order_of(const std::vector<ShareCard>& cards, const std::vector<bool>& fixed) {
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

class Seating {
 public:
  Seating(const std::vector<ShareCard>& cards, const MigGeometry* geometry, const GpuFacts* gpu)
      : cards_(cards), geometry_(geometry), gpu_(gpu) {}

  [[nodiscard]] ShareSeats best() const {
    ShareSeats side = side_by_side();
    if (geometry_ == nullptr) return side;
    ShareSeats mig = by_mig();
    return mig.needed <= side.needed ? mig : side;
  }

 private:
  [[nodiscard]] ShareSeats empty_seats(SharingMode mode) const {
    ShareSeats s;
    s.mode = mode;
    s.of.resize(cards_.size());
    s.reuses.resize(cards_.size());
    for (const ShareCard& card : cards_)
      s.kept.push_back(card.used);
    return s;
  }

  /// Puts packings on cards in order, those that stay as they are taken out.
  void place(ShareSeats& seats, const std::vector<PackedGpu>& packings, const std::vector<size_t>& services,
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

  void count(ShareSeats& seats) const {
    for (size_t c = 0; c < cards_.size(); ++c)
      seats.needed += seats.of[c].empty() && seats.kept[c].empty() ? 0 : 1;
  }

  [[nodiscard]] ShareSeats side_by_side() const {
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
    ShareSeats seats = empty_seats(packing.mode);
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

  [[nodiscard]] ShareSeats by_mig() const {
    ShareSeats seats = empty_seats(SharingMode::kMig);
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
  void reuse_idle(ShareSeats& seats, std::map<int, std::vector<size_t>>& waiting) const {
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
  void fill_cut(ShareSeats& seats, std::map<int, std::vector<size_t>>& waiting) const {
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
    // An idle instance that was just given away is not to be moved for others.
    const bool moves_reused = std::any_of(plan.moves.begin(), plan.moves.end(), [&](const MigMove& move) {
      const MigLayout& used = cards_[seats.cut[move.from_gpu]].used;
      return std::find(used.begin(), used.end(), move.from) == used.end();
    });
    if (!plan.moves.empty() && (moves_reused || further(waiting, still) <= further(waiting, plan))) plan = still;
    seats.moves = plan.moves;
    for (const MigMove& move : plan.moves) {
      MigLayout& from = seats.kept[seats.cut[move.from_gpu]];
      from.erase(std::find(from.begin(), from.end(), move.from));
    }
    for (const MigMove& move : plan.moves)
      seats.kept[seats.cut[move.to_gpu]].push_back(move.to);
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

  const std::vector<ShareCard>& cards_;
  const MigGeometry* geometry_;
  const GpuFacts* gpu_;
};

}  // namespace

ShareSeats seat_services(const std::vector<ShareCard>& cards, const MigGeometry* geometry, const GpuFacts* gpu) {
  return Seating(cards, geometry, gpu).best();
}

}  // namespace stint
