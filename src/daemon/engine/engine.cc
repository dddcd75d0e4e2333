// Recovery and the step: staged → durable → applied → carried out.
#include "daemon/engine/engine.h"

#include <algorithm>

#include "base/check.h"
#include "daemon/engine/engine_impl.h"
#include "daemon/engine/fleet_change.h"

namespace stint {
Engine::Engine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;
Engine::~Engine() = default;

Result<Engine> Engine::open(EventLog& log, Backend& backend, const FleetConfig& fleet, const EngineOptions& options,
                            Instant now) {
  TRY_ASSIGN(Engine engine, follow(log, options));
  TRY(engine.take_over(fleet, backend, now));
  return engine;
}

Result<Engine> Engine::follow(EventLog& log, const EngineOptions& options) {
  int64_t bad_snapshots = 0;
  TRY_ASSIGN(std::unique_ptr<Impl> read, Impl::from_snapshot(log, options, bad_snapshots));
  Engine engine(read ? std::move(read) : std::make_unique<Impl>(log, options));
  engine.impl_->recovery.bad_snapshots = bad_snapshots;
  TRY(engine.impl_->recover());
  return engine;
}

Status Engine::read_on() { return impl_->recover(); }

Status Engine::take_over(const FleetConfig& fleet, Backend& backend, Instant now) {
  Impl& s = *impl_;
  s.backend = &backend;
  TRY(s.recover());
  now = std::max(now, s.now);
  const bool first = s.step == 0;
  const Result<FleetConfig> recorded = as_recorded(s, fleet);
  if (first || !recorded.ok() || s.fleet != *recorded) TRY(stage_fleet(fleet, {.actor = "daemon", .idempotency_key = ""}));
  s.live = true;
  if (has_staged()) TRY(commit(now));
  // What has become due meanwhile comes before what is heard now: a job past its limit was stopped by that.
  if (!first && next_wakeup() <= now) TRY(commit(now));
  s.desk.clear();
  s.dispatch.reconcile(now);
  s.dispatch.carry_out(now);
  if (has_staged()) TRY(commit(now));
  return {};
}

Status Engine::Impl::recover() {
  TRY_ASSIGN(const std::vector<LogMark> marks, log.marks());
  size_t next_mark = 0;
  std::vector<Record> records;
  int64_t reading = 0;
  Instant at;
  const auto finish_step = [&]() -> Status {
    if (records.empty()) return {};
    step = reading;
    TRY(apply_step(at, records));
    records.clear();
    ++recovery.steps;
    while (next_mark < marks.size() && marks[next_mark].step < step)
      ++next_mark;
    if (next_mark == marks.size() || marks[next_mark].step != step) return {};
    ++recovery.marks_checked;
    if (scheduler->fingerprint() == marks[next_mark].fingerprint) return {};
    return make_error(ErrorCode::kConflict,
                      "event log: after step {} the state is not the one that was noted there: the log was changed by hand, or "
                      "this Stint decides differently from the one that wrote it; start that version, let its jobs end, and "
                      "begin a new state folder",
                      step);
  };
  const Status read = log.read(sequence, [&](const LoggedRecord& logged) -> Status {
    if (logged.step != reading) {
      TRY(finish_step());
      reading = logged.step;
      at = logged.at;
    }
    Result<Record> record = decode(parser, logged.kind, logged.payload);
    if (!record.ok()) return invalid("event log, record {}: {}", logged.sequence, record.error().message);
    records.push_back(std::move(record).value());
    sequence = logged.sequence;
    ++recovery.records;
    return {};
  });
  TRY(read);
  return finish_step();
}

Status Engine::Impl::apply_step(Instant at, std::vector<Record>& records) {
  // Who is forgotten is none of the scheduler's business: it decides as if everybody were still there, at the same instants.
  if (scheduler && at == now && std::ranges::all_of(records, [](const Record& r) { return r.kind == RecordKind::kForget; })) {
    touched.clear();
    events.clear();
    for (const Record& record : records)
      forget(record.keep);
    return {};
  }
  now = at;
  govern.spend.advance(now);
  governance.look_again();
  events.clear();
  events.swap(owed);
  touched.clear();
  for (const Record& record : records)
    if (const Status applied = apply(record); !applied.ok())
      return invalid("event log, step {}: {}", step, applied.error().message);
  if (!scheduler) return invalid("event log: its first record is not the fleet");
  prices.apply();
  std::ranges::sort(touched);
  touched.erase(std::ranges::unique(touched).begin(), touched.end());
  for (const sched::JobId id : touched)
    job_runs.settle(id);
  const std::span<const sched::Decision> decisions = scheduler->step(now, events);
  if (options.watcher) options.watcher(now, events, decisions);
  for (const sched::Decision& decision : decisions)
    job_runs.decided(decision);
  for (EventView& event : governance.watch_budgets(now))
    trail.note(std::move(event));
  return {};
}

Status Engine::commit(Instant now) {
  Impl& s = *impl_;
  if (s.read_only) {
    s.staged.clear_beside_records();
    s.staged.keep_what_happened();
    s.governance.set_claims({});
    return make_error(ErrorCode::kUnavailable, "{}", *s.read_only);
  }
  TRY(s.append(std::max(now, s.now)));
  return s.housekeep(s.now);
}

/// What keeps memory and the next recovery small; a failure makes it read-only, but what was committed is.
Status Engine::Impl::housekeep(Instant at) {
  // Not in one step with what has happened meanwhile, which has another instant.
  if (staged.records.empty() && ended_in_memory > options.ended_kept + could_not_leave + options.ended_kept / 5) {
    Record record;
    record.kind = RecordKind::kForget;
    record.keep = options.ended_kept;
    staged.put(std::move(record));
    (void)append(at);
    could_not_leave = std::max<int64_t>(0, ended_in_memory - options.ended_kept);
  }
  if (growing)
    (void)note_state(put_snapshot_part());
  else if (step - marked_at >= options.steps_between_marks || sequence - snapshot_at >= options.records_between_snapshots)
    (void)mark();
  return {};
}

/// Marks and snapshots that cannot be written are like steps that cannot be.
Status Engine::Impl::note_state(Status written) {
  if (!written.ok()) read_only = fmt::format("no command is taken, what runs goes on: {}", written.error().message);
  return written;
}

Status Engine::Impl::append(Instant at) {
  if (staged.records.empty()) staged.records.emplace_back();  // a tick
  std::ranges::stable_sort(staged.records, {}, &Record::kind);
  LogStep writing;
  writing.at = at;
  for (const Record& record : staged.records)
    writing.records.push_back(encode(record));
  writing.postings = costs.postings_of(staged.records, at);
  for (auto& [name, key] : std::exchange(staged.keys, {}))
    writing.keys.push_back(std::move(key));
  writing.side_rows = std::exchange(staged.rows, {});
  writing.renewed = std::exchange(staged.renewals, {});
  writing.ended_jobs = ended_jobs_of(staged.records);
  staged.clear_beside_records();
  governance.set_claims({});
  const Result<int64_t> written = log.append(writing);
  if (!written.ok()) {
    read_only = fmt::format("no command is taken, what runs goes on: {}", written.error().message);
    staged.keep_what_happened();  // and is written when that is possible again
    return make_error(written.error().code, "{}", *read_only);
  }
  // Read back from what was written, as recovery will: what cannot be told by the records cannot get into the state.
  std::vector<Record> records;
  for (const LogRecord& record : writing.records) {
    Result<Record> read = decode(parser, record.kind, record.payload);
    CHECK(read.ok(), "a record that cannot be read back: {}", read.error().message);
    records.push_back(std::move(read).value());
  }
  staged.records.clear();
  step = *written;
  sequence += static_cast<int64_t>(records.size());
  const Status applied = apply_step(at, records);
  CHECK(applied.ok(), "a step that was accepted: {}", applied.error().message);
  if (live) dispatch.carry_out(at);
  return {};
}

void Engine::Impl::poll(Instant at) {
  if (!options.carry_out) return;
  dispatch.poll(at);
  if (read_only) return;
  if (std::optional<Record> approved = governance.approve_one_that_fits(at, shown_at())) staged.put(std::move(*approved));
}

Status Engine::Impl::mark() {
  if (step == 0 || step == marked_at) return {};
  marked_at = step;
  TRY(note_state(log.put_mark({.step = step, .fingerprint = scheduler->fingerprint()})));
  begin_snapshot();
  return note_state(put_snapshot_part());
}

/// Records that a failed append turned out to have written are applied like any.
Status Engine::Impl::catch_up() {
  const bool was_live = std::exchange(live, false);
  const Status read = recover();
  live = was_live;
  if (!read.ok()) return read;
  // Orders of those steps: as after a restart, everything that should be there is ordered again.
  desk.clear();
  dispatch.reconcile(now);
  std::vector<Record> happened = std::exchange(staged.records, {});
  for (Record& record : happened) {
    if (record.kind == RecordKind::kEnded || record.kind == RecordKind::kLost)
      dispatch.stage_report(record.report);
    else if (record.kind == RecordKind::kMachine || node_ids.contains(record.node))
      staged.put(std::move(record));
  }
  return {};
}

Status Engine::try_to_write() {
  Impl& s = *impl_;
  if (!s.read_only) return {};
  TRY(s.log.reopen());
  if (s.log.last_step() > s.step) TRY(s.catch_up());
  // A write of the engine's shows whether writing works; the mark is one that changes nothing.
  TRY(s.log.put_mark({.step = s.step, .fingerprint = s.scheduler->fingerprint()}));
  s.read_only.reset();
  return {};
}

bool Engine::has_staged() const { return !impl_->staged.records.empty() || !impl_->staged.rows.empty(); }

Instant Engine::next_wakeup() const {
  const Impl& s = *impl_;
  if (!s.owed.empty()) return s.now;
  return s.scheduler ? std::min({s.scheduler->next_wakeup(), s.governance.next_watch(), s.prices.next_change()}) : sched::kNever;
}

void Engine::poll_backend(Instant now) { impl_->poll(std::max(now, impl_->now)); }
const std::optional<std::string>& Engine::read_only() const { return impl_->read_only; }
Status Engine::mark() {
  TRY(impl_->mark());
  while (writes_snapshot())
    TRY(write_snapshot_part());
  return {};
}
bool Engine::writes_snapshot() const { return impl_->growing.has_value(); }
Status Engine::write_snapshot_part() { return impl_->note_state(impl_->put_snapshot_part()); }
void Engine::look(Instant now) {
  impl_->looked_at = now;
  impl_->governance.look_again();
}
Instant Engine::now() const { return impl_->shown_at(); }
uint64_t Engine::fingerprint() const { return impl_->scheduler->fingerprint(); }
const Recovery& Engine::recovery() const { return impl_->recovery; }
void Engine::stage_report(const Report& report) { impl_->dispatch.stage_report(report); }

}  // namespace stint
