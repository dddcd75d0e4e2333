// Why a job waits, in one line for lists of jobs; waiting_text.h says it in full.
#pragma once

#include <string>

#include "report/waiting_text.h"

namespace stint {

/// What is in the way: "8 more GPUs would have to be free; 3 waiting jobs go before it". Empty = nothing is.
std::string waiting_line(const sched::Explanation& explanation, const WaitingNames& names);

}  // namespace stint
