// Seats for work that shares GPUs: which card takes what, by MIG or side by side, whichever needs fewer cards.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "advise/share/mig_plan.h"
#include "advise/share/share_fit.h"

namespace stint {

/// One GPU of a pool.
struct ShareCard {
  const NodeFacts* node = nullptr;
  const GpuLoad* load = nullptr;
  std::optional<ShareService> service;  ///< what has it whole
  bool cut = false;
  MigLayout used, idle;  ///< cut: instances in use, and others
  [[nodiscard]] bool busy() const { return cut ? !used.empty() : load->in_use; }
};

/// Work put onto cards: by card the services and, for MIG, their placements.
struct ShareSeats {
  SharingMode mode = SharingMode::kMig;
  std::vector<std::vector<std::pair<size_t, std::optional<MigPlacement>>>> of;  ///< by card: (service's card, where)
  std::vector<bool> reuses;     ///< by card that has a service: it takes an instance that exists
  std::vector<MigMove> moves;   ///< of instances in use, between the cards of `cut`
  std::vector<size_t> cut;      ///< card of each layout that moves speak of
  std::vector<MigLayout> kept;  ///< by card: instances in use afterwards
  int64_t needed = 0;           ///< cards with anything on them
};

/// MIG where it needs no more cards than side by side. What needs its card keeps it; cards with instances in use keep those.
/// @param geometry  nullptr = no MIG. @param gpu  nullptr = not in the catalogue.
ShareSeats seat_services(const std::vector<ShareCard>& cards, const MigGeometry* geometry, const GpuFacts* gpu);

}  // namespace stint
