#include "daemon/audit_runner.h"

#include "daemon/json_fields.h"
#include "host/file.h"
#include "store/history_file.h"

namespace stint {
namespace {

/// A daemon that has no audit yet first sees a little.
constexpr Duration kFirstAfter = Duration::minutes(10);

/// The hours to look at; empty = all there are.
Result<Interval> period_of(const std::string& path, Duration window, Instant now) {
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(path, OpenMode::kReadOnly));
  TRY_ASSIGN(const HistoryInfo info, file.info());
  const Instant until = now.hour_start();
  const Instant since = until - window;
  if (info.telemetry.empty() || info.telemetry.begin >= since) return Interval{};
  return Interval{since, until};
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
    : options_(std::move(options)),
      made_(options_.clock()),
      config_(std::move(config)),
      work_({.name = "an audit",
             .clock = options_.clock,
             .due = [this](const State& state) -> std::optional<Instant> {
               const Duration every = this->config().every;
               if (every == Duration()) return std::nullopt;
               return state.begun ? *state.begun + every : made_ + kFirstAfter;
             },
             .work = [this](const std::string&, const std::atomic<bool>& stopping) { return audit(stopping); },
             .last = options_.last}) {}

AuditConfig AuditRunner::config() const {
  const std::lock_guard guard(lock_);
  return config_;
}

void AuditRunner::reconfigure(AuditConfig config) {
  {
    const std::lock_guard guard(lock_);
    config_ = std::move(config);
  }
  work_.look_again();
}

Status AuditRunner::audit(const std::atomic<bool>& stopping) {
  if (!is_regular_file(options_.history))
    return make_error(ErrorCode::kNotFound, "nothing is recorded yet (telemetry.history of the configuration)");
  const AuditConfig config = this->config();
  TRY_ASSIGN(const Interval period, period_of(options_.history, config.window, options_.clock()));
  std::vector<std::string> command = {options_.program, "audit", "--history", options_.history, "--json"};
  if (!period.empty()) {
    const std::string since = format_utc(period.begin), until = format_utc(period.end);
    command.insert(command.end(), {"--since", since, "--until", until});
  }
  for (const std::string& region : config.allowed_regions)
    command.insert(command.end(), {"--allow-region", region});
  TRY_ASSIGN(const std::string json, output_in_background(command, "the audit", stopping));
  return options_.take(json);
}

}  // namespace stint
