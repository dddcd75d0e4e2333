#include "advise/share/share_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "advise/find/gpu_load.h"
#include "advise/share/share_seats.h"
#include "base/counted.h"

namespace stint {
namespace {

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
bool read_instances(ShareCard& card, const MigGeometry& geometry, const History& history, const Usage& usage) {
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

SharedSeat seat_of(const std::vector<ShareCard>& cards, const MigGeometry* geometry, size_t service,
                   const std::optional<MigPlacement>& where, bool reused) {
  const ShareCard& from = cards[service];
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
  return "needs most of a GPU, or nothing it may share with fits beside it";
}

std::vector<SharedGpu> gpus_of(const std::vector<ShareCard>& cards, const ShareSeats& seats, const MigGeometry* geometry) {
  std::set<size_t> disturbed;
  for (const MigMove& move : seats.moves) {
    disturbed.insert(seats.cut[move.from_gpu]);
    disturbed.insert(seats.cut[move.to_gpu]);
  }
  std::vector<SharedGpu> out;
  for (size_t c = 0; c < cards.size(); ++c) {
    const ShareCard& card = cards[c];
    SharedGpu gpu{card.node->name, card.load->index, SharedGpu::Step::kAsItIs, {}};
    for (const MigPlacement& p : seats.kept[c]) {
      const auto moved = std::find_if(seats.moves.begin(), seats.moves.end(),
                                      [&](const MigMove& m) { return seats.cut[m.to_gpu] == c && m.to == p; });
      const bool moves = moved != seats.moves.end();
      const ShareCard& from = moves ? cards[seats.cut[moved->from_gpu]] : card;
      gpu.seats.push_back({"in use", from.load->client, from.node->name, from.load->index,
                           geometry->profiles[static_cast<size_t>(p.profile)].name, moves ? p.start : -1, !moves, moves});
    }
    bool adds = false;
    for (const auto& [service, where] : seats.of[c]) {
      gpu.seats.push_back(seat_of(cards, geometry, service, where, seats.reuses[service]));
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

SharePool plan_pool(const FleetView& fleet, const std::vector<ShareCard>& cards, const MigGeometry* geometry) {
  const GpuFacts* gpu = fleet.prices.catalog().find_gpu(cards.front().node->gpu_model);
  const ShareSeats seats = seat_services(cards, geometry, gpu);
  const NodeFacts& first = *cards.front().node;
  SharePool out{first.provider,
                first.region,
                first.gpu_model,
                seats.mode,
                gpus_of(cards, seats, geometry),
                0,
                seats.needed,
                0,
                {},
                {},
                Money::nanos(0, fleet.facts.currency)};
  std::map<std::string, std::pair<bool, bool>> work;  // by node: now, then
  std::map<std::string, int> alone;
  for (size_t c = 0; c < cards.size(); ++c) {
    const ShareCard& card = cards[c];
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
    std::vector<ShareCard> cards;
    for (const NodeFacts* node : nodes)
      for (const GpuLoad& load : node->gpus) {
        ShareCard card{node, &load, std::nullopt, false, {}, {}};
        if (load.cut_by_mig && (geometry == nullptr || !read_instances(card, *geometry, fleet.history, usage))) {
          plan.notes.push_back(
              fmt::format("{} GPU {} was left out: its MIG instances make no layout that is known", node->name, load.index));
          continue;
        }
        if (!card.cut && load.in_use) card.service = share_service(fleet.facts, *node, load);
        cards.push_back(std::move(card));
      }
    if (cards.empty()) continue;
    SharePool made = plan_pool(fleet, cards, geometry);
    if (made.needed < made.in_use) plan.pools.push_back(std::move(made));
  }
  std::stable_sort(plan.pools.begin(), plan.pools.end(), [](const SharePool& a, const SharePool& b) {
    return std::tuple(b.saving_per_month, b.in_use - b.needed) < std::tuple(a.saving_per_month, a.in_use - a.needed);
  });
  if (unseen > 0)
    plan.notes.push_back(counted(unseen, "machine was", "machines were") +
                         " left out: telemetry of every GPU, in half of the hours or more, is needed");
  return plan;
}

}  // namespace stint
