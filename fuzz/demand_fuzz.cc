// Any bytes, cut anywhere, are demand series or an error; what is made of them can be forecast or is refused with a reason.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "codec/changes/known_changes.h"
#include "codec/traces/demand_csv.h"
#include "codec/traces/request_counter.h"
#include "telemetry/forecast.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  // The last byte says how large the pieces are, so that every buffer boundary is met sooner or later.
  const size_t piece = data[size - 1] + size_t{1};
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (size < 256) {
    constexpr stint::Interval kYear = {stint::Instant::from_seconds(1'767'225'600), stint::Instant::from_seconds(1'798'761'600)};
    const auto changes = stint::parse_known_changes("fuzz", input, kYear);
    if (changes.ok() && input.find("every") != std::string_view::npos)
      for (const stint::KnownChange& change : *changes)
        CHECK(!change.until || change.from < *change.until || input.find("..") != std::string_view::npos,
              "a change that ends first");
  }
  constexpr stint::Interval kDay = {stint::Instant::from_seconds(36'000), stint::Instant::from_seconds(122'400)};
  if (const auto counted = stint::read_counter_increase(input, kDay, "fuzz"); counted.ok())
    CHECK(counted->increase >= 0 && counted->known <= kDay.length(), "{} in {} ns", counted->increase, counted->known.count_ns());
  stint::DemandCsvReader reader("fuzz");
  for (size_t at = 0; at < input.size(); at += piece)
    if (!reader.feed(input.substr(at, piece)).ok()) return 0;
  const auto all = reader.finish();
  if (!all.ok()) return 0;
  for (const stint::DemandSeries& series : *all) {
    if (series.values.size() > 500) continue;  // a walk through a long past is slow under the sanitizers
    const auto made = stint::forecast(series, {12, {}});
    if (!made.ok()) continue;
    for (const stint::ForecastPoint& p : made->points)
      CHECK(p.p5 <= p.p10 && p.p10 <= p.expected && p.expected <= p.p90 && p.p90 <= p.p95, "{} {} {} {} {}", p.p5, p.p10,
            p.expected, p.p90, p.p95);
  }
  return 0;
}
