// How to carry a Change out: commands and configuration, ready to paste once the names in capitals are filled in.
#pragma once

#include <string>
#include <vector>

#include "advise/books.h"

namespace stint {

/// In the order to run them; lines that start with # explain.
/// @param plan  the books with the change applied.
std::vector<std::string> apply_text(const Change& change, const Books& plan);

}  // namespace stint
