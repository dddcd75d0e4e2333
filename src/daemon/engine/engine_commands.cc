// Commands, as they are asked for from outside (commands.h), and notices.
#include "daemon/engine/engine_impl.h"
#include "daemon/engine/fleet_change.h"

namespace stint {

Result<int64_t> Engine::stage_submit(const JobRequest& request, const CommandInfo& by) {
  return impl_->commands.submit(request, by);
}
Result<std::vector<int64_t>> Engine::stage_pipeline(const std::vector<PipelineStage>& stages, const CommandInfo& by) {
  return impl_->commands.submit_pipeline(stages, by);
}
Status Engine::stage_cancel(int64_t job, const CommandInfo& by) { return impl_->commands.for_job(RecordKind::kCancel, job, by); }
Status Engine::stage_hold(int64_t job, const CommandInfo& by) { return impl_->commands.for_job(RecordKind::kHold, job, by); }
Status Engine::stage_release(int64_t job, const CommandInfo& by) {
  return impl_->commands.for_job(RecordKind::kRelease, job, by);
}
Status Engine::stage_checkpoint(int64_t job, const CommandInfo& by) {
  return impl_->commands.for_job(RecordKind::kCheckpoint, job, by);
}
Status Engine::stage_trial(int64_t id, int32_t rung, int64_t loss_micro, const CommandInfo& by) {
  return impl_->commands.report_trial(id, rung, loss_micro, by);
}
Status Engine::stage_drain(std::string_view node, const CommandInfo& by) {
  return impl_->commands.for_node(RecordKind::kNodeDrain, node, by);
}
Status Engine::stage_up(std::string_view node, const CommandInfo& by) {
  return impl_->commands.for_node(RecordKind::kNodeUp, node, by);
}
Status Engine::stage_down(std::string_view node, const CommandInfo& by) {
  return impl_->commands.for_node(RecordKind::kNodeDown, node, by);
}

Status Engine::stage_fleet(const FleetConfig& fleet, const CommandInfo& by) {
  TRY(impl_->commands.check_writable());
  // As it will be read again.
  Record record;
  record.kind = RecordKind::kFleet;
  record.actor = by.actor;
  TRY_ASSIGN(const FleetConfig ordered, in_known_order(*impl_, fleet));
  record.fleet = to_json(ordered);
  TRY_ASSIGN(const FleetConfig read, parse_fleet_config(record.fleet, "fleet"));
  TRY(check_fleet_change(*impl_, read));
  impl_->staged.put(std::move(record));
  return {};
}

Result<int64_t> Engine::stage_learn(std::vector<sim::RunLength> lengths, const CommandInfo& by) {
  TRY(impl_->commands.check_writable());
  if (impl_->scheduler->durations().learnt() > 0) return 0;
  // Lines and cells of the record.
  std::erase_if(lengths, [](const sim::RunLength& l) { return (l.user + l.name).find_first_of("\t\n") != std::string::npos; });
  if (lengths.size() > kMostLearnt) lengths.erase(lengths.begin(), lengths.end() - static_cast<std::ptrdiff_t>(kMostLearnt));
  if (lengths.empty()) return 0;
  Record record;
  record.kind = RecordKind::kLearn;
  record.actor = by.actor;
  record.lengths = std::move(lengths);
  const auto taken = static_cast<int64_t>(record.lengths.size());
  impl_->staged.put(std::move(record));
  return taken;
}

void Engine::stage_side_row(SideRow row) { impl_->staged.rows.push_back(std::move(row)); }
void Engine::stage_side_renewal(std::string stream) { impl_->staged.renewals.push_back(std::move(stream)); }

void Engine::stage_notice(EventView notice) {
  Record record;
  record.kind = RecordKind::kNotice;
  record.notice = std::move(notice);
  if (record.notice.job_number > 0)
    record.notice.job =
        find_job({.client = std::string(client_of_queue(record.notice.queue)), .number = record.notice.job_number}).value_or(0);
  impl_->staged.put(std::move(record));
}

}  // namespace stint
