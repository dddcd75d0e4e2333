// What all stores of the log have in common: what may be asked of them when.
#include "store/event_log.h"

#include <xxhash.h>

#include <limits>
#include <utility>

#include "store/event_log_impl.h"

namespace stint {
namespace {

constexpr size_t kSnapshotPart = size_t{512} << 10;

/// The errors of a History speak of imports; these speak of the log.
Error about_log(const Error& error) {
  if (error.code == ErrorCode::kConflict || error.code == ErrorCode::kInvalidInput) return error;
  return make_error(error.code, "event log: {}", error.message);
}

}  // namespace

Result<PostingLink> EventLog::Impl::next_link(const LogStep& step, int64_t number) {
  std::string previous = chain_head.value_or("");
  bool begins = false;
  if (!chain_head) {
    TRY_ASSIGN(const std::optional<std::string> last, last_side_row(kPostingChainStream));
    begins = !last;
    // A damaged one is for check_postings() to tell, and keeps nothing from being written.
    if (const auto link = parse_posting_link(last.value_or("")); link.ok()) previous = link->hash;
  }
  PostingDigest digest(previous);
  if (begins)
    TRY(read_postings(0, [&](int64_t, int64_t at, const RunPosting& posting) -> Status {
      digest.add(at, posting);
      return {};
    }));
  for (const RunPosting& posting : step.postings)
    digest.add(number, posting);
  return PostingLink{number, digest.hash()};
}

EventLog::EventLog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
EventLog::EventLog(EventLog&&) noexcept = default;
EventLog& EventLog::operator=(EventLog&&) noexcept = default;
EventLog::~EventLog() = default;

Result<EventLog> EventLog::open(const std::string& place, const EventLogOptions& options) {
  if (options.follow && !is_database_url(place))
    return invalid("{}: a standby follows a log in PostgreSQL: name one (postgresql://…)", place);
  EventLog log(is_database_url(place) ? make_postgres_log(place, options) : make_sqlite_log(place, options));
  if (const Status connected = log.impl_->connect(); !connected.ok()) return about_log(connected.error());
  return log;
}

Result<int64_t> EventLog::append(const LogStep& step) {
  Impl& s = *impl_;
  CHECK(!step.records.empty(), "a step without records");
  CHECK(step.at >= s.last_at, "time goes back in the log, from {} to {}", format_utc(s.last_at), format_utc(step.at));
  TRY(s.check_whole());
  LogStep chained;
  std::optional<PostingLink> link;
  if (!step.postings.empty()) {
    const Result<PostingLink> next = s.next_link(step, s.last_step + 1);
    if (!next.ok()) return about_log(next.error());
    link = *next;
    chained = step;
    chained.side_rows.push_back({std::string(kPostingChainStream), to_text(*link)});
  }
  if (const Status written = s.write(link ? chained : step, s.last_step + 1, s.last_sequence); !written.ok()) {
    // A conflict is the caller's; anything else leaves open what is on disk.
    s.failed = written.error().code != ErrorCode::kConflict;
    if (!s.roll_back()) s.failed = true;
    return about_log(written.error());
  }
  if (link) s.chain_head = link->hash;
  s.last_sequence += static_cast<int64_t>(step.records.size());
  s.last_at = step.at;
  return ++s.last_step;
}

Status EventLog::reopen() {
  impl_->chain_head.reset();
  if (const Status connected = impl_->connect(); !connected.ok()) {
    impl_->failed = true;
    return about_log(connected.error());
  }
  impl_->failed = false;
  return {};
}

Status EventLog::refresh() { return impl_->refresh(); }
Result<bool> EventLog::take_over() {
  impl_->chain_head.reset();  // another one has written
  return impl_->take_over();
}
Result<bool> EventLog::is_led() { return impl_->is_led(); }
Status EventLog::let_go() { return impl_->let_go(); }
std::shared_ptr<const std::atomic<int64_t>> EventLog::epoch() const { return impl_->epoch(); }
int64_t EventLog::last_step() const { return impl_->last_step; }
int64_t EventLog::last_sequence() const { return impl_->last_sequence; }
Instant EventLog::last_at() const { return impl_->last_at; }

Status EventLog::put_mark(const LogMark& mark) {
  TRY(impl_->check_whole());
  return impl_->put_mark(mark);
}

Status EventLog::put_snapshot(const LogSnapshot& snapshot) {
  size_t written = 0;
  do {
    TRY(put_snapshot_part(snapshot, written));
  } while (written < snapshot.payload.size());
  return {};
}

Status EventLog::put_snapshot_part(const LogSnapshot& snapshot, size_t& written) {
  TRY(impl_->check_whole());
  const std::string_view rest = std::string_view(snapshot.payload).substr(written);
  if (rest.size() > kSnapshotPart) {
    TRY(impl_->put_snapshot_part(snapshot.step, static_cast<int64_t>(written), rest.substr(0, kSnapshotPart)));
    written += kSnapshotPart;
    return {};
  }
  const auto checksum = static_cast<int64_t>(XXH3_64bits(snapshot.payload.data(), snapshot.payload.size()));
  TRY(impl_->put_snapshot(snapshot, rest, checksum));
  written = snapshot.payload.size();
  return {};
}

Result<std::optional<LogSnapshot>> EventLog::snapshot_before(int64_t step, int32_t version) {
  for (;;) {
    int64_t checksum = 0;
    TRY_ASSIGN(std::optional<LogSnapshot> found, impl_->snapshot_before(step, version, checksum));
    if (!found || static_cast<int64_t>(XXH3_64bits(found->payload.data(), found->payload.size())) == checksum) return found;
    step = found->step;
  }
}

Status EventLog::read(int64_t after, const std::function<Status(const LoggedRecord&)>& visit) {
  return impl_->read(after, visit);
}
Result<std::optional<LogKey>> EventLog::find_key(std::string_view key) { return impl_->find_key(key); }
Result<std::vector<LogMark>> EventLog::marks() { return impl_->marks(); }
Result<std::optional<EndedJob>> EventLog::ended_job(int64_t id) { return impl_->ended_job(id); }
Status EventLog::read_ended_jobs(const EndedJobFilter& filter, int64_t before,
                                 const std::function<bool(const EndedJob&)>& visit) {
  return impl_->read_ended_jobs(filter, before, visit);
}
Status EventLog::read_postings(int64_t after, const std::function<Status(int64_t, const RunPosting&)>& visit) {
  return impl_->read_postings(after, [&](int64_t number, int64_t, const RunPosting& posting) { return visit(number, posting); });
}
Result<PostingCheck> EventLog::check_postings() {
  PostingVerifier verifier;
  int64_t links = 0;
  const auto take = [&](int64_t number, std::string_view text) -> Status {
    verifier.link(text);
    links = number;
    return {};
  };
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  TRY(impl_->read_side_rows(kPostingChainStream, 0, kAll, take));
  TRY(impl_->read_postings(0, [&](int64_t, int64_t step, const RunPosting& posting) -> Status {
    verifier.posting(step, posting);
    return {};
  }));
  verifier.postings_end();
  TRY(impl_->read_side_rows(kPostingChainStream, links, kAll, take));
  return verifier.finish();
}
Result<std::vector<PostingSum>> EventLog::sum_postings() { return impl_->sum_postings(); }
Status EventLog::read_side_rows(std::string_view stream, int64_t after, int64_t limit,
                                const std::function<Status(int64_t, std::string_view)>& visit) {
  return impl_->read_side_rows(stream, after, limit, visit);
}

Status EventLog::Impl::check_whole() const {
  if (follows()) return make_error(ErrorCode::kUnavailable, "{}: another daemon writes this log, this one follows", name());
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: not written to since an error; reopen it", name());
  return {};
}

}  // namespace stint
