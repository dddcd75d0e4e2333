// Machines that are made, as the engine is told of them: what happened to each, and again what it seems not to have heard.
//
// A report may be lost: the daemon was killed between the book's row and the engine's record, or the log could not be written. So the
// book is compared with what the engine knows: a machine that goes and takes work is drained, one that is ready and not known comes,
// one whose end was seen and that is still there goes. Telling twice does no harm. Pure: it reads no clock.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "capacity/capacity_book.h"
#include "daemon/engine/views.h"

namespace stint {

class HandedMachines {
 public:
  /// Those of the book that are ready come, and what it handed over before is known.
  /// @param switched  names of machines that the configuration has: they are not told of.
  std::vector<MachineReport> begin(const CapacityBook& book, const std::set<std::string>& switched);
  /// What a step of the book says.
  std::vector<MachineReport> of(const CapacityStep& step, const CapacityBook& book, const std::set<std::string>& switched);
  /// What the engine has not heard, by what it knows at `now`. A machine that it does not know is told of once a minute.
  std::vector<MachineReport> missing(Instant now, const CapacityBook& book, const std::map<std::string, NodeView>& nodes,
                                     const std::set<std::string>& switched);

 private:
  std::map<std::string, Instant> handed_;  ///< told that they are there, at last when, and not yet gone
};

}  // namespace stint
