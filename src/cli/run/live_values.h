// Values that completion offers and no parser knows: jobs, queues and machines of the daemon, findings of a History.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/run/daemon_client.h"
#include "cli/tools/complete.h"

namespace stint {

/// The word that stands behind `option` on the line, also as --option=word, and as bash cuts that; empty = none does.
std::string word_behind(std::span<const std::string> words, std::string_view option);

/// What of a daemon's answer is offered. @param kind  as the command tree names what an option takes: "JOB", "QUEUE", "NODE".
std::vector<Candidate> values_in_answer(std::string_view kind, const nlohmann::ordered_json& answer);

/// Asks the daemon, where one is configured and answers at once, or the History named on the line; else nothing is offered.
std::vector<Candidate> live_values(std::string_view kind, std::span<const std::string> words);

}  // namespace stint
