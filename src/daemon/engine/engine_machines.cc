// Machines that come and go, as the service tells of them (machine_reports.h, fleet_machines.h).
#include <algorithm>
#include <set>

#include "daemon/engine/engine_impl.h"

namespace stint {
void Engine::stage_machine(MachineReport report) {
  // What the backend is asked at the start may be answered later.
  impl_->machine_reports.keep(report.machine.node.name, report.news != MachineNews::kGone);
  impl_->machine_reports.stage(std::move(report));
}

void Engine::stage_lost_machines(const std::string& why) {
  std::set<std::string> used;
  for (const JobBook& job : impl_->jobs)
    for (const PlacedTask& placed : job.placed)
      used.insert(impl_->nodes[placed.place.node.index()].machine.node.name);
  for (const std::string& name : used) {
    Record record;
    record.kind = RecordKind::kNodeDown;
    record.actor = "daemon";
    record.node = name;
    record.cause = MachineCause::kOther;
    record.detail = why;
    impl_->staged.put(std::move(record));
  }
}

void Engine::keep_machines(std::set<std::string> names) { impl_->machine_reports.keep(std::move(names)); }

void Engine::stage_health(std::string_view node, std::string failure) {
  const auto known = impl_->node_ids.find(node);
  if (known == impl_->node_ids.end()) return;
  impl_->machine_reports.stage({.news = failure.empty() ? MachineNews::kThere : MachineNews::kDraining,
                                .machine = impl_->nodes[known->second.index()].machine,
                                .cause = MachineCause::kBroken,
                                .detail = std::move(failure)});
}

}  // namespace stint
