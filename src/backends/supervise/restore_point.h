// Where a command takes up its work again: the newest checkpoint that proves good, here or among the copies.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "backends/supervise/supervisor_state.h"

namespace stint {

/// Checkpoints without a list of hashes that were not seen complete.
enum class Unproven : uint8_t {
  kRefused,  ///< they may have been cut off by a crash
  kTaken,    ///< nothing is known of this folder yet: what lies there was put there by somebody
};

struct RestorePoint {
  std::optional<KnownCheckpoint> chosen;  ///< none = from the beginning
  bool fetched = false;                   ///< it was copied back
  /// Newer ones that are damaged or incomplete, with the reason; those here are set aside.
  std::vector<std::pair<std::string, std::string>> passed_over;
};

/// Reads checkpoints, newest first, until one is good.
/// @param copies  folder; "" = there are none.
RestorePoint choose_restore_point(const std::string& folder, const std::string& copies, const SupervisorState& state,
                                  Unproven unproven);

std::string to_json(const RestorePoint& point);
Result<RestorePoint> parse_restore_point(std::string_view json);

}  // namespace stint
