// Text as a CSV field.
#pragma once

#include <string>
#include <string_view>

namespace stint {

/// Quoted where it must be; a leading `=`, `+`, `-` or `@` gets an apostrophe, so that spreadsheets do not run it.
std::string csv_text(std::string_view text);

}  // namespace stint
