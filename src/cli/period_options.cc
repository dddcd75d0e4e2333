#include "cli/period_options.h"

#include "cli/parser.h"

namespace stint {

void add_period_options(Command& command, PeriodOptions& options) {
  command.add_option("--month", options.month, "UTC month, such as 2026-10")->type_name("YYYY-MM");
  command.add_option("--since", options.since, "first instant, with --until")->type_name("TIME");
  command.add_option("--until", options.until, "first instant that no longer counts")->type_name("TIME");
}

Result<Interval> parse_period(const PeriodOptions& options) {
  if (!options.month.empty()) {
    if (!options.since.empty() || !options.until.empty()) return invalid("give --month, or --since and --until, not both");
    return parse_month(options.month);
  }
  if (options.since.empty() && options.until.empty()) return Interval{};
  if (options.since.empty() || options.until.empty()) return invalid("give --since and --until together");
  TRY_ASSIGN(const Instant since, parse_instant(options.since));
  TRY_ASSIGN(const Instant until, parse_instant(options.until));
  if (until <= since) return invalid("--until {} is not after --since {}", options.until, options.since);
  return Interval{since, until};
}

}  // namespace stint
