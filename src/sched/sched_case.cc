#include "sched/sched_case.h"

namespace stint::sched {

std::string_view kind_of(const SchedCase& c) {
  switch (c.what.index()) {
    case 0: return "cluster";
    case 1: return "fair_share";
    default: return "victim_selection";
  }
}

}  // namespace stint::sched
