#include "daemon/statement_runner.h"

#include "daemon/json_fields.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr Duration kTriedAgainAfter = kHour * 6;

std::string month_text(Instant begin) { return format_utc(begin).substr(0, 7); }

/// The month whose statements came due last, and when. @param day  of the month after.
struct LastClose {
  Interval month;
  Instant due;
};
LastClose last_close(Instant now, int day) {
  const Duration from_begin = kHour * (24 * (day - 1));
  const Interval present = month_of(now);
  const Interval before = month_of(present.begin - kHour);
  if (now >= present.begin + from_begin) return {before, present.begin + from_begin};
  return {month_of(before.begin - kHour), before.begin + from_begin};
}

}  // namespace

Result<StatementConfig> read_statement_config(JsonFields& fields) {
  StatementConfig config;
  config.day = static_cast<int>(fields.integer("day", 0, 28, config.day));
  config.basis = fields.text("basis", config.basis);
  if (config.basis != "effective" && config.basis != "billed") fields.wrong("basis", "effective or billed");
  config.idle = fields.text("idle", config.idle);
  if (config.idle != "separate" && config.idle != "spread") fields.wrong("idle", "separate or spread");
  TRY(fields.finish());
  return config;
}

StatementRunner::StatementRunner(StatementConfig config, StatementRunnerOptions options)
    : options_(std::move(options)),
      book_(options_.folder),
      config_(std::move(config)),
      work_({.name = "writing statements",
             .clock = options_.clock,
             .due = [this](const State& state) { return due(state); },
             .work = [this](const std::string& month, const std::atomic<bool>& stopping) { return write(month, stopping); },
             .last = {}}) {}

Status StatementRunner::begin(const std::string& month, std::string by) {
  TRY_ASSIGN(const Interval asked, parse_month(month));
  if (asked.end > options_.clock()) return invalid("{} has not ended: `stint statements` shows it so far", month);
  return work_.begin(std::move(by), month);
}

void StatementRunner::reconfigure(StatementConfig config) {
  {
    const std::lock_guard guard(lock_);
    config_ = std::move(config);
  }
  work_.look_again();
}

StatementConfig StatementRunner::config() const {
  const std::lock_guard guard(lock_);
  return config_;
}

std::optional<Instant> StatementRunner::due(const State& state) const {
  const int day = config().day;
  if (day == 0) return std::nullopt;
  const LastClose last = last_close(options_.clock(), day);
  if (book_.has(month_text(last.month.begin))) {
    const Interval next = month_of(last.month.end);
    return next.end + kHour * (24 * (day - 1));
  }
  return state.error.empty() || !state.ended ? last.due : std::max(last.due, *state.ended + kTriedAgainAfter);
}

Status StatementRunner::write(const std::string& month, const std::atomic<bool>& stopping) {
  if (!is_regular_file(options_.history))
    return make_error(ErrorCode::kNotFound, "nothing is recorded yet (telemetry.history of the configuration)");
  const StatementConfig config = this->config();
  const std::string of = month.empty() ? month_text(last_close(options_.clock(), config.day).month.begin) : month;
  TRY_ASSIGN(const std::string folder, book_.begin(of));
  TRY_ASSIGN(const std::string json,
             output_in_background({options_.program, "statements", "--history", options_.history, "--month", of, "--folder",
                                   folder, "--basis", config.basis, "--idle", config.idle, "--json"},
                                  "writing the statements of " + of, stopping));
  return book_.put(of, options_.clock(), json);
}

}  // namespace stint
