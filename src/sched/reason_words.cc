#include "sched/reason_words.h"

namespace stint::sched {

std::string_view describe(Reason r) {
  switch (r) {
    case Reason::kFree: return "room was free";
    case Reason::kBackfill: return "backfill: delays no reservation";
    case Reason::kHeld: return "room was freed for it";
    case Reason::kPriority: return "stopped for a job of higher priority";
    case Reason::kReclaim: return "stopped: another queue asked for its own";
    case Reason::kConsolidation: return "moved so that a larger job fits";
    case Reason::kStaleGang: return "stopped: too few of its tasks were left";
    case Reason::kSpotNotice: return "stopped: its node will be taken away";
    case Reason::kTimeLimit: return "stopped: time limit reached";
    case Reason::kCancelled: return "cancelled";
    case Reason::kHopelessTrial: return "stopped: among the worst trials";
    case Reason::kNeverFits: return "larger than any node or limit";
    case Reason::kDependencyFailed: return "a job it waits for did not succeed";
    case Reason::kMadeAlready: return "made already by another job";
  }
  return "";
}

}  // namespace stint::sched
