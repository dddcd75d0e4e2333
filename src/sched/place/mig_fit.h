// MIG instances of nodes: who can get one, and where on the GPU.
//
// Static nodes have a fixed number of instances of each profile. On nodes that may be repartitioned an instance is made
// where the request needs it: unused instances are given up, those that run stay where they are, and the new one goes
// to a start the geometry allows (model/mig.h). A GPU is either cut or given out whole and in fractions, never both.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/mig.h"
#include "sched/decision.h"
#include "sched/ids.h"
#include "sched/place/node_table.h"
#include "sched/request.h"
#include "sched/room.h"

namespace stint::sched {

/// Static instances of one node.
struct MigStock {
  int32_t profile = -1;  ///< interned name
  int32_t total = 0;
  std::array<int32_t, 2> free{};  ///< by Room
  bool operator==(const MigStock&) const = default;
};

/// Instances on one GPU that is repartitioned as needed.
struct MigGpu {
  std::array<uint8_t, 2> memory{};   ///< memory slices taken, by Room
  std::array<uint8_t, 2> compute{};  ///< compute slices taken
  std::array<uint8_t, 2> media{};    ///< instances with media extensions
  std::array<uint8_t, 2> instances{};
  bool operator==(const MigGpu&) const = default;
};

struct MigNode {
  const MigGeometry* geometry = nullptr;  ///< of mig_geometries(); nullptr: static only
  bool whole_gpus = true;                 ///< its GPUs are also given out whole and in fractions
  std::vector<MigStock> stock;
  std::vector<MigGpu> gpus;  ///< empty: static only
  [[nodiscard]] bool empty() const { return stock.empty() && gpus.empty(); }
  bool operator==(const MigNode&) const = default;
};

/// An interned MigAsk.
struct MigWant {
  int32_t profile = -1;
  int32_t count = 0;
  bool operator==(const MigWant&) const = default;
};

/// One instance on one GPU.
struct MigSpot {
  int gpu = 0;
  int profile = 0;  ///< index into MigGeometry::profiles
  int start = 0;    ///< memory slice
  bool operator==(const MigSpot&) const = default;
};

/// @param place  of a task with one instance on a GPU that is cut as needed.
inline MigSpot spot_of(const Place& place) { return {std::countr_zero(place.gpus), place.mig_profile, place.mig_start}; }

/// All static instances wanted are there.
bool stock_has(const MigNode& node, std::span<const MigWant> wants, Room room);
void take_stock(MigNode& node, std::span<const MigWant> wants, Room room, int32_t sign);

/// Where one instance of `profile` can go: a GPU already cut before a whole one, then the start that leaves the most other
/// placements, then the lowest. @param whole  by Room: wholly free GPUs of the node, as a mask.
std::optional<MigSpot> find_spot(const MigNode& node, int profile, Room room, const std::array<uint64_t, 2>& whole);
/// The instance can be made there in `room`. @param whole  as above.
bool spot_fits(const MigNode& node, const MigSpot& spot, Room room, const std::array<uint64_t, 2>& whole);
/// The same, asked of what is free now alone: for an instance whose promise stands. @param whole  free now.
bool spot_is_free_now(const MigNode& node, const MigSpot& spot, uint64_t whole);
/// As above for static instances.
bool stock_is_free_now(const MigNode& node, std::span<const MigWant> wants);
/// No more tasks that want this fit together; it may be fewer. @param profile  index into the geometry, where the GPUs are cut
/// as needed. @param whole  as above.
int64_t most_instances(const MigNode& node, std::span<const MigWant> wants, int profile, Room room,
                       const std::array<uint64_t, 2>& whole);
/// Takes (sign +1) or gives back (−1). CHECKs that the layout stays legal.
/// @return whether the GPU has begun (or ceased) to be cut: then it is taken from (given back to) the table as a whole.
bool change_spot(MigNode& node, const MigSpot& spot, Room room, int32_t sign);

}  // namespace stint::sched
