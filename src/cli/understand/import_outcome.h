// What an import did, as `stint import` and `stint catalog refresh` say it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "collect/file_import.h"

namespace stint {

nlohmann::json outcome_json(const ImportOutcome& outcome);
/// A line per import, and the first refused rows with their place and reason.
void print_outcome(const ImportOutcome& outcome);

}  // namespace stint
