// The changes that `stint replay --change` names: in words, or in files.
#pragma once

#include <string>
#include <vector>

#include "model/change_text.h"
#include "sim/apply_change.h"

namespace stint {

/// Each text is changes joined by `;`, or a file of them (docs/formats.md): `FILE` is every change in it by itself, `FILE#3` the
/// third, `FILE#all` all together, without those that cannot be replayed. @return one list per column, in the order given.
Result<std::vector<ChangeList>> read_change_options(const std::vector<std::string>& texts);

}  // namespace stint
