// Columns of a FOCUS bill that a BillLine has no place for, kept beside it for FOCUS out: as JSON, in a tag that is no tag.
#pragma once

#include <string_view>

namespace stint {

/// Key of the tag that carries them from the importer into the History, and to write_focus_ledger(). The History gives lines without it.
inline constexpr std::string_view kFocusColumnsTag = "focus:columns";

}  // namespace stint
