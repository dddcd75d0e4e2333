// Why the scheduler decided so, in words for a person.
#pragma once

#include <string_view>

#include "sched/decision.h"

namespace stint::sched {

/// As what is said of a job: "room was free", "stopped for a job of higher priority".
std::string_view describe(Reason r);

}  // namespace stint::sched
