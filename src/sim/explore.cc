#include "sim/explore.h"

#include <algorithm>

#include "sched/scheduler.h"

namespace stint::sim {
namespace {

bool same(const sched::Decision& a, const sched::Decision& b) {
  return a.kind == b.kind && a.reason == b.reason && a.job == b.job && a.for_job == b.for_job &&
         std::ranges::equal(a.places, b.places);
}

}  // namespace

Exploration explore(const Scenario& scenario) {
  sched::Scheduler scheduler(scenario.policy);
  load(scheduler, scenario.workload);
  std::optional<sched::Scheduler> copy;
  World world(scenario.workload, scenario.options);
  Checker checker(scenario.workload, scenario.checks);
  Exploration out;
  while (world.advance(scheduler.next_wakeup())) {
    if (copy && copy->next_wakeup() != scheduler.next_wakeup())
      out.violation = Violation{world.now(), "copy", "a copy of the scheduler wants to be woken at another time"};
    if (out.steps == scenario.copy_at_step) copy = scheduler;
    const auto decisions = scheduler.step(world.now(), world.events());
    ++out.steps;
    out.decisions += static_cast<int64_t>(decisions.size());
    if (copy && !std::ranges::equal(decisions, copy->step(world.now(), world.events()), same))
      out.violation = Violation{world.now(), "copy", "a copy of the scheduler decides otherwise"};
    if (!checker.saw(world.now(), world.events(), decisions)) out.violation = checker.violation();
    if (out.violation) {
      out.simulated = world.now() - submissions_of(scenario.workload).begin;
      return out;
    }
    world.carry_out(decisions);
  }
  const ReplayResult result = world.finish();
  checker.ended(result);
  out.violation = checker.violation();
  out.simulated = result.period.length();
  out.fingerprint = result.fingerprint;
  return out;
}

}  // namespace stint::sim
