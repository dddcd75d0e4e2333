#include "report/forecast_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/counted.h"
#include "report/figures.h"

namespace stint {
namespace {

constexpr size_t kParts = 10;

std::string shown_time(Instant at, Duration step) {
  const std::string text = format_utc(at);
  if (step < Duration::minutes(1)) return text.substr(0, 10) + " " + text.substr(11, 8);
  return text.substr(0, 10) + " " + text.substr(11, 5);
}

/// The one value that the series has had, but for rounding; none where it changed.
std::optional<double> constant_level(const DemandSeries& series) {
  constexpr double kRounding = 1e-9;
  std::optional<double> low, high;
  for (const std::optional<double>& value : series.values) {
    if (!value) continue;
    low = std::min(low.value_or(*value), *value);
    high = std::max(high.value_or(*value), *value);
  }
  if (!low || *high - *low > kRounding * std::max(std::abs(*low), std::abs(*high))) return std::nullopt;
  return high;
}

std::string count_of(double n, std::string_view unit) { return counted(std::llround(n), unit); }

/// When the demand outgrows what there is; "–" where there is nothing to hold it against.
std::string shown_shortage(const ForecastRow& row) {
  for (const CapacityOutlook& o : row.outlooks) {
    if (o.limit.kind != CapacityLimit::Kind::kCapacity) continue;
    const std::string limit = fmt::format("capacity of {}", shown_amount(o.limit.amount));
    if (!o.short_p90) return limit + " is enough";
    return fmt::format("{} may run out {}", limit, *o.short_p90 <= Duration() ? "now" : "in " + shown_wait(*o.short_p90));
  }
  return "–";
}

}  // namespace

std::string shown_amount(double value) {
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1000) return grouped(value);
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(size))), 0, 6);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.ends_with('.')) text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

std::string shown_step(Duration step) {
  constexpr std::array<std::pair<int64_t, std::string_view>, 4> kNamed = {
      {{1, "second"}, {60, "minute"}, {3600, "hour"}, {86'400, "day"}}};
  for (const auto& [seconds, name] : kNamed)
    if (step == Duration::seconds(seconds)) return std::string(name);
  if (step.whole_seconds() % 3600 == 0) return fmt::format("{} h", step.whole_seconds() / 3600);
  if (step.whole_seconds() % 60 == 0) return fmt::format("{} min", step.whole_seconds() / 60);
  return fmt::format("{} s", step.whole_seconds());
}

std::string shown_wait(Duration wait) {
  if (wait <= Duration()) return "now";
  if (wait >= kHour * 48) return count_of(std::floor(wait.to_hours() / 24), "day");
  if (wait >= kHour * 2) return count_of(std::floor(wait.to_hours()), "hour");
  if (wait >= Duration::minutes(2)) return count_of(std::floor(wait.to_seconds() / 60), "minute");
  return count_of(wait.to_seconds(), "second");
}

std::vector<std::vector<std::string>> forecast_parts(const ForecastRow& row) {
  const std::string& unit = row.series.unit;
  std::vector<std::vector<std::string>> rows = {{"from (UTC)", fmt::format("mean ({})", unit),
                                                 fmt::format("peak {}", shown_step(row.forecast.step)), "peak p90",
                                                 "90 % interval"}};
  const std::vector<ForecastPoint>& points = row.forecast.points;
  const size_t part = std::max<size_t>(1, (points.size() + kParts - 1) / kParts);
  for (size_t begin = 0; begin < points.size(); begin += part) {
    const size_t end = std::min(points.size(), begin + part);
    double sum = 0, peak = points[begin].expected, p90 = points[begin].p90, low = points[begin].p5, high = points[begin].p95;
    bool tested = true;
    for (size_t i = begin; i < end; ++i) {
      sum += points[i].expected;
      peak = std::max(peak, points[i].expected);
      p90 = std::max(p90, points[i].p90);
      low = std::min(low, points[i].p5);
      high = std::max(high, points[i].p95);
      tested = tested && points[i].tested;
    }
    rows.push_back({shown_time(row.forecast.begin + row.forecast.step * static_cast<int64_t>(begin), row.forecast.step),
                    shown_amount(sum / static_cast<double>(end - begin)), shown_amount(peak), shown_amount(p90),
                    fmt::format("{} – {}{}", shown_amount(low), shown_amount(high), tested ? "" : " *")});
  }
  return rows;
}

std::vector<std::string> forecast_record(const ForecastRow& row) {
  const Forecast& f = row.forecast;
  const ForecastScore& s = f.score;
  std::vector<std::string> out;
  if (const auto level = constant_level(row.series)) {
    out.push_back(
        fmt::format("It has always been {} {}: there is no change to forecast.", shown_amount(*level), row.series.unit));
  } else if (s.compared == 0) {
    out.push_back("The past is too short, or repeats itself too exactly, to say how wrong such a forecast is.");
  } else {
    const std::string season = f.season == 1 ? std::string("no season fits twice: naive")
                                             : fmt::format("a season of {}", shown_wait(f.step * static_cast<int64_t>(f.season)));
    out.push_back(fmt::format(
        "Tried on the past: {} forecasts, {} values. MASE {:.3f}; naive {:.3f}, seasonal-naive {:.3f} ({}). "
        "Mean error {} {}.",
        s.origins, s.compared, s.mase, s.naive_mase, s.seasonal_naive_mase, season, shown_amount(s.mean_error), row.series.unit));
    out.push_back(fmt::format("The 90 % intervals held {:.1f} % of the values.", s.coverage_90 * 100));
    if (s.mase >= s.seasonal_naive_mase)
      out.push_back("Seasonal-naive would have done as well: trust the picture less than usual.");
  }
  if (!f.points.empty() && !f.points.back().tested)
    out.push_back("* The past is too short to have tried this distance: the interval is extrapolated.");
  return out;
}

std::vector<std::string> outlook_sentences(const ForecastRow& row, const CapacityOutlook& o) {
  const std::string& unit = row.series.unit;
  const bool capacity = o.limit.kind == CapacityLimit::Kind::kCapacity;
  const Duration horizon = row.forecast.step * static_cast<int64_t>(row.forecast.points.size());
  std::vector<std::string> out;
  const std::string subject =
      fmt::format("{} of {} {}", capacity ? "Capacity" : "Commitment", shown_amount(o.limit.amount), unit);
  if (capacity) {
    const auto when = [&](const std::optional<Duration>& wait, std::string_view at) {
      if (!wait) return fmt::format("not within {} {}", shown_wait(horizon), at);
      const std::string date = shown_time(row.forecast.begin + *wait, row.forecast.step);
      return *wait <= Duration() ? fmt::format("now {}", at) : fmt::format("in {} {} ({})", shown_wait(*wait), at, date);
    };
    out.push_back(
        fmt::format("{}: runs out {}; {}.", subject, when(o.short_p90, "at p90"), when(o.short_expected, "as expected")));
    if (o.to_buy > 0)
      out.push_back(fmt::format("{} {} more hold the p90 peak of {}.", shown_amount(o.to_buy), unit, shown_amount(o.peak_p90)));
  } else {
    out.push_back(fmt::format("{}: {:.0f} % of it used, {} {} beyond it, on average over {}.", subject, o.used_share() * 100,
                              shown_amount(o.mean_beyond), unit, shown_wait(horizon)));
  }
  if (o.to_release > 0)
    out.push_back(fmt::format("{} {} are {}: they could be released.", shown_amount(o.to_release), unit,
                              capacity ? "above even the p95 peak" : "above the expected peak"));
  return out;
}

std::string forecast_horizon(const ForecastView& view) {
  const Forecast& first = view.rows.front().forecast;
  return "the next " + shown_wait(first.step * static_cast<int64_t>(first.points.size()));
}

std::vector<std::vector<std::string>> forecast_summary(const ForecastView& view) {
  std::vector<std::vector<std::string>> rows = {
      {"series", "unit", "mean so far", "mean coming", "p90 peak", "mean error", "outlook"}};
  for (const ForecastRow& row : view.rows) {
    double past = 0, known = 0, coming = 0, peak = row.forecast.points.front().p90;
    for (const std::optional<double>& value : row.series.values)
      if (value) past += *value, known += 1;
    for (const ForecastPoint& p : row.forecast.points) {
      coming += p.expected;
      peak = std::max(peak, p.p90);
    }
    const ForecastScore& score = row.forecast.score;
    rows.push_back({row.series.name, row.series.unit, known > 0 ? shown_amount(past / known) : "–",
                    shown_amount(coming / static_cast<double>(row.forecast.points.size())), shown_amount(peak),
                    score.compared > 0 ? "± " + shown_amount(score.mean_error) : "–", shown_shortage(row)});
  }
  return rows;
}

}  // namespace stint
