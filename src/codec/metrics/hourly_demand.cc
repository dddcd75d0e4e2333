#include "codec/metrics/hourly_demand.h"

#include <array>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "codec/csv_table.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 4> kValueNames = {"instances", "gpus", "demand", "count"};

/// Hours since some fixed hour: the number itself, or since 1970.
std::optional<int64_t> parse_hour(std::string_view text) {
  if (const auto number = parse_int(text)) return *number >= 0 && *number < INT64_MAX ? number : std::nullopt;
  const Result<Instant> at = parse_instant(text);
  if (!at.ok() || *at != at->hour_start()) return std::nullopt;
  return at->hour_index();
}

}  // namespace

Result<std::vector<int64_t>> read_hourly_demand(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 1> kRequired = {"hour"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kRequired, "hour and instances"));
  const int value = table.header().find_any(kValueNames);
  if (value < 0) return table.wrong("no column instances, gpus, demand or count; expected `hour,instances`");
  const std::string& column = table.header().names()[static_cast<size_t>(value)];
  std::optional<int64_t> last_hour;
  std::vector<int64_t> demand;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    const std::optional<int64_t> hour = parse_hour(table.text("hour"));
    if (!hour)
      return table.wrong("hour `{}` is neither a whole number from 0 on nor an instant on the hour", excerpt(table.text("hour")));
    if (last_hour && *hour != *last_hour + 1)
      return table.wrong("hour {} follows hour {}; every hour must be there once, in order (one without use as 0)", *hour,
                         *last_hour);
    TRY_ASSIGN(const int64_t instances, table.whole(column, kMaxDemandInstances, "(round a mean up)"));
    if (std::ssize(demand) == kMaxDemandHours)
      return table.wrong("more than {} hours; give the last years alone", kMaxDemandHours);
    last_hour = hour;
    demand.push_back(instances);
  }
  if (demand.empty()) return invalid("{}: a header and no hours; a plan needs at least one", source);
  return demand;
}

}  // namespace stint
