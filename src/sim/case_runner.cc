#include "sim/case_runner.h"

#include "sim/case_cluster.h"
#include "sim/case_engine.h"
#include "sim/case_quota.h"

namespace stint {

CaseVerdict run_case(const sched::SchedCase& c, sched::VictimOrder victims) {
  CaseVerdict verdict;
  if (const auto* cluster = std::get_if<sched::ClusterCase>(&c.what))
    verdict = run_cluster_case(
        *cluster, [&](const CaseSeats& seats) { return live_engine(*cluster, seats, victims); }, foreign_to_live);
  if (const auto* share = std::get_if<sched::FairShareCase>(&c.what)) verdict.strict = run_fair_share_case(*share);
  if (const auto* selection = std::get_if<sched::VictimCase>(&c.what)) {
    const LiveVictims live = live_victims(*selection);
    verdict.not_applicable = live.not_applicable;
    if (live.not_applicable.empty()) verdict.strict = difference_of(*selection, live.victims);
  }
  return verdict;
}

}  // namespace stint
