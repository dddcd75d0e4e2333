// Reads Changes from a file, to be replayed: as text, or as the JSON in which `stint audit --json` gives its advice.
//
//   text   one column of the comparison a line, its changes joined by `;`; empty lines and lines beginning with # are passed over
//   JSON   a change, an array of them (each a column; an array inside it is one column), an audit report, or its `findings`
//
// docs/formats.md, "Changes".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/apply_change.h"

namespace stint {

/// @param source  file name, for messages. @return at least one list; an error names file and line.
Result<std::vector<sim::ChangeList>> read_changes(std::string_view bytes, const std::string& source);

}  // namespace stint
