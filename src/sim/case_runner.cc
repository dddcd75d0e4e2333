#include "sim/case_runner.h"

#include "sim/case_cluster.h"
#include "sim/case_quota.h"

namespace stint {

CaseVerdict run_case(const sched::SchedCase& c, sched::VictimOrder victims) {
  if (const auto* cluster = std::get_if<sched::ClusterCase>(&c.what)) return run_cluster_case(*cluster, victims);
  CaseVerdict verdict;
  if (const auto* share = std::get_if<sched::FairShareCase>(&c.what)) verdict.strict = run_fair_share_case(*share);
  if (const auto* selection = std::get_if<sched::VictimCase>(&c.what)) verdict.strict = run_victim_case(*selection);
  return verdict;
}

}  // namespace stint
