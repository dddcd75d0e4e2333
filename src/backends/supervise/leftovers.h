// What a supervisor that was killed left behind: processes of its command that the next one must not run beside.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// In the environment of all processes of a command: the folder it saves into.
inline constexpr std::string_view kRunMark = "STINT_RUN";

/// Ends all that carry the mark. The folder is the caller's alone: an earlier supervisor of it is gone, and with it only the
/// command's first process went. @return how many there were; kConflict when one does not end.
Result<size_t> end_leftovers_of(const std::string& mark, const std::string& folder);

}  // namespace stint
