// What may come in: each command is checked against the state as it is, so that what is written can be applied.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "daemon/engine_impl.h"
#include "host/file.h"
#include "sched/policy_text.h"

namespace stint {
namespace {

bool same_but_price(const sim::SimNode& a, const sim::SimNode& b) {
  FleetConfig left, right;
  left.nodes = {a};
  right.nodes = {b};
  right.nodes[0].rate = a.rate;
  return to_json(left) == to_json(right);
}

bool same_queue(const sched::QueueSpec& a, const sched::QueueSpec& b) {
  FleetConfig left, right;
  left.queues = {a};
  right.queues = {b};
  left.queues[0].parent = right.queues[0].parent = {};
  return a.parent == b.parent && to_json(left) == to_json(right);
}

}  // namespace

Status Engine::Impl::check_writable() const {
  if (read_only) return make_error(ErrorCode::kUnavailable, "{}", *read_only);
  return {};
}

Result<const JobBook*> Engine::Impl::find_job(int64_t id) const {
  if (id < 1 || id > static_cast<int64_t>(jobs.size())) return make_error(ErrorCode::kNotFound, "no job {}", id);
  return &jobs[static_cast<size_t>(id - 1)];
}

Status Engine::Impl::check_submit(const JobRequest& request) const {
  TRY(check_request(request));
  if (!queue_ids.contains(request.queue))
    return make_error(ErrorCode::kNotFound, "no queue '{}': name one of the configuration", excerpt(request.queue));
  for (const int64_t after : request.after)
    if (after < 1 || after > static_cast<int64_t>(jobs.size()))
      return make_error(ErrorCode::kNotFound, "field 'after': no job {}", after);
  constexpr size_t kMostJobs = 50'000'000;
  if (jobs.size() + staged_jobs + static_cast<size_t>(std::max(request.array, 1)) > kMostJobs)
    return make_error(ErrorCode::kUnavailable, "the log is full with {} jobs: begin a new state folder", jobs.size());
  return {};
}

Result<int64_t> Engine::stage_submit(const JobRequest& request, const CommandInfo& by) {
  Impl& s = *impl_;
  TRY(s.check_writable());
  constexpr size_t kLongestKey = 200;
  std::string digest;
  if (const std::string& key = by.idempotency_key; !key.empty()) {
    if (key.size() > kLongestKey) return invalid("idempotency key: {} bytes; {} at most", key.size(), kLongestKey);
    digest = fingerprint_of_bytes(to_json(request));
    const auto staged = std::ranges::find(s.staged_keys, key, &LogKey::key);
    TRY_ASSIGN(std::optional<LogKey> known,
               staged != s.staged_keys.end() ? Result<std::optional<LogKey>>(std::optional(*staged)) : s.log.find_key(key));
    if (known && known->request != digest)
      return make_error(ErrorCode::kConflict, "idempotency key '{}' was used for another request: use a new key", excerpt(key));
    if (known) return known->answer;
  }
  TRY(s.check_submit(request));
  Record record;
  record.kind = RecordKind::kSubmit;
  record.actor = by.actor;
  record.job = static_cast<int64_t>(s.jobs.size() + s.staged_jobs) + 1;
  record.request = request;
  s.staged_jobs += static_cast<uint32_t>(std::max(request.array, 1));
  if (!by.idempotency_key.empty()) s.staged_keys.push_back({by.idempotency_key, digest, record.job});
  const int64_t id = record.job;
  s.staged.push_back(std::move(record));
  return id;
}

Status Engine::Impl::stage_for_job(RecordKind kind, int64_t id, const CommandInfo& by) {
  TRY(check_writable());
  TRY_ASSIGN(const JobBook* job, find_job(id));
  if (has_ended(job->state)) return make_error(ErrorCode::kConflict, "job {} has ended: {}", id, name_of(job->state));
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.job = id;
  staged.push_back(std::move(record));
  return {};
}

Status Engine::Impl::stage_for_node(RecordKind kind, std::string_view node, const CommandInfo& by) {
  TRY(check_writable());
  const auto known = node_ids.find(node);
  if (known == node_ids.end()) return make_error(ErrorCode::kNotFound, "no node '{}'", excerpt(node));
  if (kind == RecordKind::kNodeUp && !nodes[known->second.index()].named)
    return make_error(ErrorCode::kConflict, "node '{}' is no longer in the configuration: put it back there", node);
  Record record;
  record.kind = kind;
  record.actor = by.actor;
  record.node = node;
  staged.push_back(std::move(record));
  return {};
}

Status Engine::stage_cancel(int64_t job, const CommandInfo& by) { return impl_->stage_for_job(RecordKind::kCancel, job, by); }
Status Engine::stage_hold(int64_t job, const CommandInfo& by) { return impl_->stage_for_job(RecordKind::kHold, job, by); }
Status Engine::stage_release(int64_t job, const CommandInfo& by) { return impl_->stage_for_job(RecordKind::kRelease, job, by); }
Status Engine::stage_checkpoint(int64_t job) { return impl_->stage_for_job(RecordKind::kCheckpoint, job, {}); }
Status Engine::stage_drain(std::string_view node, const CommandInfo& by) {
  return impl_->stage_for_node(RecordKind::kNodeDrain, node, by);
}
Status Engine::stage_up(std::string_view node, const CommandInfo& by) {
  return impl_->stage_for_node(RecordKind::kNodeUp, node, by);
}
Status Engine::stage_down(std::string_view node, const CommandInfo& by) {
  return impl_->stage_for_node(RecordKind::kNodeDown, node, by);
}

/// What a running scheduler cannot follow is refused here, before it is written.
Status Engine::Impl::check_fleet(const FleetConfig& next) const {
  TRY_ASSIGN(const sched::Policy policy, sched::parse_policy(next.policy));
  if (scheduler && sched::to_text(policy) != sched::to_text(*sched::parse_policy(fleet.policy)))
    return make_error(ErrorCode::kConflict, "policy '{}': this log was written under '{}'; begin a new state folder to change it",
                      next.policy, fleet.policy);
  for (size_t q = 0; q < fleet.queues.size(); ++q)
    if (q >= next.queues.size() || next.queues[q].name != fleet.queues[q].name || !same_queue(next.queues[q], fleet.queues[q]))
      return make_error(ErrorCode::kConflict,
                        "queue '{}': queues that are there cannot change, go or change their order while jobs of them are known; "
                        "add new ones below them",
                        fleet.queues[q].name);
  for (const sim::SimNode& node : next.nodes) {
    const auto known = node_ids.find(node.node.name);
    if (known != node_ids.end() && !same_but_price(node, nodes[known->second.index()].node))
      return make_error(ErrorCode::kConflict,
                        "node '{}': a machine that is known can change its price only; give the new one a new name",
                        node.node.name);
  }
  return {};
}

Status Engine::stage_fleet(const FleetConfig& fleet, const CommandInfo& by) {
  TRY(impl_->check_writable());
  // As it will be read again.
  Record record;
  record.kind = RecordKind::kFleet;
  record.actor = by.actor;
  record.fleet = to_json(fleet);
  TRY_ASSIGN(const FleetConfig read, parse_fleet_config(record.fleet, "fleet"));
  TRY(impl_->check_fleet(read));
  impl_->staged.push_back(std::move(record));
  return {};
}

void Engine::stage_side_row(SideRow row) { impl_->staged_rows.push_back(std::move(row)); }

}  // namespace stint
