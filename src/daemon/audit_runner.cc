#include "daemon/audit_runner.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "daemon/json_fields.h"
#include "host/file.h"
#include "host/process.h"
#include "store/history_file.h"

namespace stint {
namespace {

/// A daemon that has no audit yet first sees a little.
constexpr Duration kFirstAfter = Duration::minutes(10);
constexpr Duration kLongest = Duration::hours(6);
constexpr size_t kMostBytes = size_t{64} << 20;

/// The hours to look at; empty = all there are.
Result<Interval> period_of(const std::string& path, Duration window, Instant now) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  TRY_ASSIGN(const HistoryInfo info, file.info());
  const Instant until = now.hour_start();
  const Instant since = until - window;
  if (info.telemetry.empty() || info.telemetry.begin >= since) return Interval{};
  return Interval{since, until};
}

/// What it said last, without the program's name.
std::string last_line(std::string_view text) {
  const auto lines = split(trim(text), '\n');
  std::string_view line = lines.empty() ? std::string_view() : trim(lines.back());
  if (line.starts_with("stint: ")) line.remove_prefix(7);
  return std::string(line);
}

}  // namespace

Result<AuditConfig> read_audit_config(JsonFields& fields) {
  AuditConfig config;
  config.every = fields.duration("every", config.every);
  if (config.every != Duration() && config.every < kHour) fields.wrong("every", "at least 1h, or 0 for on demand alone");
  config.window = fields.duration("window", config.window);
  if (config.window < kHour) fields.wrong("window", "at least 1h");
  config.allowed_regions = fields.texts("allowed_regions");
  TRY(fields.finish());
  return config;
}

AuditRunner::AuditRunner(AuditConfig config, AuditRunnerOptions options)
    : options_(std::move(options)), config_(std::move(config)) {
  // As if the one before the first had begun so long ago that the first is due after a little.
  last_begun_ = options_.last ? *options_.last : options_.clock() + kFirstAfter - config_.every;
  state_.ended = options_.last;
  state_.next = due();
  thread_ = std::thread([this] { run(); });
}

AuditRunner::~AuditRunner() {
  {
    const std::lock_guard guard(lock_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

Status AuditRunner::begin(std::string by) {
  {
    const std::lock_guard guard(lock_);
    if (asked_ || state_.running_since)
      return make_error(ErrorCode::kConflict, "an audit runs since {}: its findings will be here when it has ended",
                        format_utc(state_.running_since.value_or(options_.clock())));
    asked_ = true;
    state_.by = std::move(by);
    state_.running_since = options_.clock();
  }
  wake_.notify_all();
  return {};
}

void AuditRunner::reconfigure(AuditConfig config) {
  {
    const std::lock_guard guard(lock_);
    config_ = std::move(config);
    state_.next = due();
  }
  wake_.notify_all();
}

AuditRunner::State AuditRunner::state() const {
  const std::lock_guard guard(lock_);
  return state_;
}

/// With `lock_` held.
std::optional<Instant> AuditRunner::due() const {
  if (config_.every == Duration()) return std::nullopt;
  return *last_begun_ + config_.every;
}

void AuditRunner::run() {
  std::unique_lock lock(lock_);
  for (;;) {
    const auto is_due = [this] {
      const auto next = due();
      return asked_ || (next && *next <= options_.clock());
    };
    // Clocks are set: whether it is time is looked at once a minute.
    while (!stopping_ && !is_due())
      wake_.wait_for(lock, std::chrono::minutes(1));
    if (stopping_) return;
    if (!asked_) state_.by = "daemon";
    asked_ = false;
    last_begun_ = options_.clock();
    state_.running_since = last_begun_;
    state_.next = due();
    const AuditConfig config = config_;
    lock.unlock();
    const Status done = audit(config);
    lock.lock();
    state_.running_since.reset();
    state_.ended = options_.clock();
    state_.error = done.ok() ? "" : done.error().message;
  }
}

Status AuditRunner::audit(const AuditConfig& config) {
  if (!is_regular_file(options_.history))
    return make_error(ErrorCode::kNotFound, "nothing is recorded yet (telemetry.history of the configuration)");
  TRY_ASSIGN(const Interval period, period_of(options_.history, config.window, options_.clock()));
  std::vector<std::string> command = {options_.program, "audit", "--history", options_.history, "--json"};
  if (!period.empty()) {
    const std::string since = format_utc(period.begin), until = format_utc(period.end);
    command.insert(command.end(), {"--since", since, "--until", until});
  }
  for (const std::string& region : config.allowed_regions)
    command.insert(command.end(), {"--allow-region", region});
  TRY_ASSIGN(const CommandOutput done, run_in_background(command, kLongest, kMostBytes, stopping_));
  if (done.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "the audit ended with {}: {}", done.status.shell_code(),
                      excerpt(last_line(done.standard_error), 400));
  return options_.take(done.standard_output);
}

}  // namespace stint
