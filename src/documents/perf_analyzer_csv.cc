#include "documents/perf_analyzer_csv.h"

#include <array>
#include <cmath>

#include "codec/csv_table.h"

namespace stint {
namespace {

constexpr int64_t kMostAtOnce = 1'000'000;
constexpr double kLongestPartUs = 3.6e9;  // an hour
constexpr std::string_view kHowToMeasure = "measure with `perf_analyzer -b SIZE --concurrency-range 1 -f FILE`";

/// A time of the row in microseconds; a column that is not there took none.
Result<double> microseconds(const CsvTable& table, std::string_view column) {
  if (table.header().find(column) < 0) return 0.0;
  const std::optional<double> us = parse_number(table.text(column));
  if (us && *us >= 0 && *us <= kLongestPartUs) return *us;
  return table.wrong("{} `{}` is no time from 0 to {} microseconds", column, excerpt(table.text(column)), kLongestPartUs);
}

/// Older versions write one column for the three.
Result<double> computing_us(const CsvTable& table) {
  double sum = 0;
  for (const std::string_view column :
       {"Server Compute", "Server Compute Input", "Server Compute Infer", "Server Compute Output"}) {
    TRY_ASSIGN(const double us, microseconds(table, column));
    sum += us;
  }
  return sum;
}

}  // namespace

Result<Duration> read_perf_analyzer(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 1> kRequired = {"Concurrency"};
  CsvTable table(bytes, source);
  if (const Status header = table.read_header(kRequired, "that perf_analyzer -f writes"); !header.ok())
    return invalid("{}; {}", header.error().message, kHowToMeasure);
  if (table.header().find("Server Compute Infer") < 0 && table.header().find("Server Compute") < 0)
    return invalid("{}: no column 'Server Compute Infer', so not what a Triton server measured of itself; {}", source,
                   kHowToMeasure);
  double sum_us = 0;
  int64_t rows = 0;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    TRY_ASSIGN(const int64_t at_once, table.whole("Concurrency", kMostAtOnce));
    TRY_ASSIGN(const double us, computing_us(table));
    TRY_ASSIGN(const double cached_us, microseconds(table, "Server Cache Hit"));
    if (at_once != 1) continue;
    if (cached_us > 0) return table.wrong("the server answered from its cache: measure without it (response_cache)");
    if (us * 1000 < 1) return table.wrong("the server computed for no time");
    sum_us += us;
    ++rows;
  }
  if (rows == 0)
    return invalid("{}: no row of Concurrency 1, and at more the server may join requests; {}", source, kHowToMeasure);
  return Duration::nanoseconds(std::llround(sum_us / static_cast<double>(rows) * 1000));
}

}  // namespace stint
