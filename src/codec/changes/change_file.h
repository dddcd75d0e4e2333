// Files of Changes: read to be replayed, checked or applied; written so that they read back the same.
//
//   text   one proposal a line, its changes joined by `;`; empty lines and lines beginning with # are passed over
//   JSON   "stint-changes/1", as write_proposals() writes it; an audit report, or its `findings`; a change, or an array of them (each a
//          proposal; an array inside it is one proposal)
//
// docs/formats.md, "Changes".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/change_text.h"
#include "model/proposal.h"

namespace stint {

/// @param source  file name, for messages. @return at least one, each with at least one change; an error names file and line.
Result<std::vector<Proposal>> read_proposals(std::string_view bytes, const std::string& source);
/// "stint-changes/1". The same values give the same bytes; what is read back is equal, money to the nano-unit.
std::string write_proposals(std::span<const Proposal> proposals);

/// The same file as columns of a comparison.
Result<std::vector<ChangeList>> read_changes(std::string_view bytes, const std::string& source);

}  // namespace stint
