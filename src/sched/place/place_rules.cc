#include "sched/place/place_rules.h"

#include <array>
#include <bit>

namespace stint::sched {

std::optional<Place> pick_by_rules(const Cluster& cluster, RequestId r, Room room, const Scope& scope, const PlaceRules& rules) {
  const Request& request = cluster.request(r);
  const bool part_of_gpu = request.milli > 0 || request.gpu_memory.count() > 0 || !request.mig.empty();
  const bool wants_gpu = part_of_gpu || request.gpus > 0;
  const NodeTable& table = room == Room::kFree ? cluster.free() : cluster.coming();
  std::optional<Place> best;
  std::array<int64_t, 5> best_key{};
  scope.for_each(cluster, [&](NodeId n) {
    if (!cluster.is_eligible(r, n)) return;
    const auto place = cluster.fit(r, n, room, rules.shared_gpu);
    if (!place) return;
    const NodeRecord& node = table[n];
    std::array<int64_t, 5> key{};
    key[0] = room == Room::kComing && cluster.why_not(r, n, Room::kFree) != Misfit::kFits;
    const bool pack_nodes = (wants_gpu ? rules.gpu_tasks : rules.cpu_tasks) == NodeOrder::kPack;
    const int64_t free = wants_gpu ? node.milli_free : node.cpu_free;
    key[3] = pack_nodes ? free : -free;
    const int64_t free_now = wants_gpu ? cluster.free()[n].milli_free : cluster.free()[n].cpu_free;
    key[4] = pack_nodes ? free_now : -free_now;
    if (part_of_gpu && place->gpus != 0) {
      const int64_t left = node.gpu_free[static_cast<size_t>(std::countr_zero(place->gpus))];
      const bool breaks_whole = left == kMilli;
      const bool pack = rules.shared_gpu == SharedGpu::kPack;
      key[1] = breaks_whole == pack;
      key[2] = pack ? left : -left;
    } else if (!wants_gpu) {
      key[1] = node.gpus > 0;
    }
    if (best && key >= best_key) return;
    best = place;
    best_key = key;
  });
  return best;
}

}  // namespace stint::sched
