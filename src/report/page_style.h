// The style sheet of every HTML page Stint writes.
#pragma once

#include <string_view>

namespace stint {

/// One ink, one accent, three signal colours; light and dark by the reader's setting, A4 on paper.
std::string_view page_style();

}  // namespace stint
