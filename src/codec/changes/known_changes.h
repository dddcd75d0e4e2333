// A file of known future changes of a demand: one a line, as known_change.h takes them, and recurring ones.
//
//   # who and what
//   2026-12-01:+8                                # new client
//   2026-11-07 every 14d for 36h:+16             # retraining, from then on
//   2026-11-02..2027-01-01 every 7d for 8h:x1.5  # until then
//
// Blank lines and what follows a # are no changes; the comment behind a change is its note.
#pragma once

#include <string_view>
#include <vector>

#include "codec/changes/known_change.h"

namespace stint {

/// One line of such a file, or the text of a flag. Recurring changes become one for each time that meets `horizon`.
/// @return error that says what is expected, also for one that recurs more than 1,000 times.
Result<std::vector<KnownChange>> expand_known_change(std::string_view text, Interval horizon);

/// @param file  its name, for messages. @return error with file:line.
Result<std::vector<KnownChange>> parse_known_changes(std::string_view file, std::string_view text, Interval horizon);

}  // namespace stint
