// What a person may write for a replay: policies, fleets, changes and files of changes. A value or an error; a policy and a
// workload that is changed stay sound.
#include <cstdint>

#include "base/check.h"
#include "codec/changes/change_file.h"
#include "codec/changes/change_json.h"
#include "model/change_algebra.h"
#include "model/change_check.h"
#include "model/change_text.h"
#include "sched/policy_text.h"
#include "sim/apply_change.h"
#include "sim/fleet_text.h"

namespace {

/// Two machines of which jobs have run, one of them alone on a GPU.
stint::sim::Workload small_workload() {
  stint::sim::Workload w;
  w.nodes = stint::sim::parse_fleet("2xp4d.24xlarge@us-east-1", stint::Catalog::built_in()).value();
  w.nodes[0].node.name = "a";
  w.nodes[1].node.name = "b";
  w.queues.emplace_back().name = "q";
  w.requests.emplace_back().gpus = 1;
  for (const char* node : {"a", "b"}) {
    stint::sim::SimJob& job = w.jobs.emplace_back();
    job.name = node;
    job.run_time = stint::Duration::hours(1);
    job.spec.queue = stint::sched::QueueId(0);
    job.spec.request = stint::sched::RequestId(0);
    job.ran_on = {node};
  }
  return w;
}

/// What undoing needs reads back; undoing gives the fleet back; what stands against the changes is said, not thrown.
void carry_out_and_undo(const std::vector<stint::Change>& changes) {
  stint::FleetPlan fleet;
  for (const char* name : {"a", "b"}) {
    stint::PlannedNode& node = fleet.nodes.emplace_back();
    node.name = node.resource_id = name;
    node.provider = "aws";
    node.gpu_model = "A100-40GB";
    node.gpu_count = 8;
  }
  const stint::FleetPlan before = fleet;
  (void)stint::check_changes(changes, fleet, {});
  (void)stint::contradictions(changes);
  const auto undo = stint::carry_out(fleet, changes);
  if (!undo.ok()) return;
  const auto read = stint::read_undo(stint::write_undo(*undo), "fuzz");
  CHECK(read.ok() && stint::undo(fleet, *read).ok() && fleet == before, "undoing does not give the fleet back");
}

void apply_all(const std::vector<stint::Change>& changes) {
  carry_out_and_undo(changes);
  static const stint::sim::Workload start = small_workload();
  stint::sim::Workload w = start;
  for (const stint::Change& change : changes)
    (void)stint::sim::apply_change(w, change, {.catalog = &stint::Catalog::built_in()}).ok();
  CHECK(stint::sim::check_workload(w).ok(), "{}", stint::sim::check_workload(w).error().message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0: {
      const auto policy = stint::sched::parse_policy(text);
      if (!policy.ok()) break;
      const std::string again = stint::sched::to_text(*policy);
      const auto second = stint::sched::parse_policy(again);
      CHECK(second.ok() && stint::sched::to_text(*second) == again, "policy '{}' does not read back", again);
      break;
    }
    case 1: (void)stint::sim::parse_fleet(text, stint::Catalog::built_in()).ok(); break;
    case 2:
      if (const auto list = stint::parse_changes(text); list.ok()) apply_all(list->changes);
      break;
    default:
      if (const auto proposals = stint::read_proposals(text, "fuzz"); proposals.ok()) {
        const std::string bytes = stint::write_proposals(*proposals);
        const auto again = stint::read_proposals(bytes, "written");
        CHECK(again.ok() && stint::write_proposals(*again) == bytes, "a file of changes does not read back: {}", bytes);
        for (const stint::Proposal& proposal : *proposals)
          apply_all(proposal.changes);
      }
  }
  return 0;
}
