#include "codec/traces/demand_csv.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/ranges.h>

#include "base/text.h"
#include "codec/decimal.h"

namespace stint {
namespace {

constexpr int64_t kMostSteps = 200'000;  // 22 years of hours
constexpr int64_t kWantedSteps = 336;    // as many as two weeks have hours
constexpr double kMostValue = 1e15;
constexpr int64_t kMostHours = 2'000'000;
constexpr std::array<Duration, 6> kShorterSteps = {Duration::minutes(30), Duration::minutes(10), Duration::minutes(5),
                                                   Duration::minutes(1),  Duration::seconds(10), Duration::seconds(1)};

/// Until 2200, so that forecasts of any length stay within an Instant.
constexpr Instant kLatest = Instant::from_seconds(7'258'118'400);

/// Seconds since 1970 as some traces have it, with their own year 0 as well; or ISO 8601.
std::optional<Instant> parse_time(std::string_view text) {
  std::optional<Instant> at = parse_unix_time(text);
  // Rounding noise such as 475.00000000000006 has more digits than a time should.
  if (const auto seconds = at ? std::nullopt : parse_number(text);
      seconds && *seconds >= 0 && *seconds < static_cast<double>(kLatest.seconds()))
    at = Instant() + Duration::from_seconds(*seconds);
  if (!at)
    if (const Result<Instant> civil = parse_instant(text); civil.ok()) at = *civil;
  return at && *at < kLatest ? at : std::nullopt;
}

int64_t floor_to(int64_t ns, Duration step) { return ns - ((ns % step.count_ns()) + step.count_ns()) % step.count_ns(); }

/// The whole steps within a span; they lie on multiples of the step since 1970.
Interval whole_steps(Interval span, Duration step) {
  const int64_t begin = floor_to(span.begin.ns() + step.count_ns() - 1, step);
  return {Instant::from_ns(begin), Instant::from_ns(std::max(begin, floor_to(span.end.ns(), step)))};
}

size_t steps_in(Interval interval, Duration step) { return static_cast<size_t>(interval.length().count_ns() / step.count_ns()); }

}  // namespace

DemandCsvReader::DemandCsvReader(std::string source) : source_(source), csv_(CsvOptions{.source = std::move(source)}) {}

Status DemandCsvReader::feed(std::string_view content) {
  while (true) {
    TRY_ASSIGN(const bool ready, csv_.next(content));
    if (!ready) return {};
    TRY(record(csv_.record()));
  }
}

Status DemandCsvReader::record(const CsvRecord& r) {
  if (format_ == Format::kUnknown) return header(r);
  row(r);
  return {};
}

Status DemandCsvReader::header(const CsvRecord& r) {
  TRY_ASSIGN(const CsvHeader names, CsvHeader::create(r, {}));
  columns_ = names.size();
  const auto all = [&](std::initializer_list<std::string_view> wanted) {
    return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) { return names.find(name) >= 0; });
  };
  if (all({"timestamp_anon", "value", "request_type"})) {
    format_ = Format::kRates;
    time_ = names.find("timestamp_anon");
    value_ = names.find("value");
    type_ = names.find("request_type");
    part_ = names.find("container_ip");
    return {};
  }
  if (all({"timestamp", "contexttokens", "generatedtokens"})) {
    format_ = Format::kTokens;
    time_ = names.find("timestamp");
    value_ = names.find("contexttokens");
    end_ = names.find("generatedtokens");
    return {};
  }
  if (all({"gmt_create", "predict_type"})) {
    format_ = Format::kRequests;
    time_ = names.find("gmt_create");
    type_ = names.find("predict_type");
    return {};
  }
  if (all({"role", "gpu_request", "creation_time", "deletion_time"})) {
    format_ = Format::kInstances;
    type_ = names.find("role");
    value_ = names.find("gpu_request");
    time_ = names.find("creation_time");
    end_ = names.find("deletion_time");
    return {};
  }
  constexpr std::array<std::string_view, 4> kTime = {"time", "timestamp", "hour", "date"};
  time_ = names.find_any(kTime);
  value_ = names.find("value");
  if (value_ < 0 && columns_ == 2 && time_ >= 0) value_ = 1 - time_;
  if (time_ < 0 || value_ < 0)
    return invalid(
        "{}: expected the columns time,value or those of a known trace, found {}; see docs/formats.md, \"Demand series\"",
        source_, fmt::join(names.names(), ","));
  format_ = Format::kValues;
  counts_hours_ = equals_ignoring_case(names.names()[static_cast<size_t>(time_)], "hour");
  unit_ = names.names()[static_cast<size_t>(value_)];
  return {};
}

std::optional<Instant> DemandCsvReader::time_at(const CsvRecord& r, int column) {
  const std::string_view text = trim(r.at(column));
  if (counts_hours_)
    if (const auto hour = parse_int(text)) {
      if (*hour >= 0 && *hour < kMostHours) return Instant::from_hour_index(*hour);
      reject(r, fmt::format("hour '{}' is no number from 0 to {}", excerpt(text), kMostHours));
      return std::nullopt;
    }
  const std::optional<Instant> at = parse_time(text);
  if (!at) reject(r, fmt::format("'{}' is no time before 2200: neither seconds since 1970 nor ISO 8601", excerpt(text)));
  return at;
}

void DemandCsvReader::row(const CsvRecord& r) {
  if (r.malformed || r.fields.size() != columns_)
    return reject(r, fmt::format("{} fields, expected {}", r.fields.size(), columns_));
  if (format_ == Format::kInstances) return instance(r);
  const std::optional<Instant> at = time_at(r, time_);
  if (!at) return;
  if (format_ == Format::kRequests) return add(r, *at, 1, series_id(fmt::format("requests {}", trim(r.at(type_)))));
  const std::string_view text = trim(r.at(value_));
  const auto value = parse_number(text);
  if (format_ == Format::kValues && text.empty()) return add(r, *at, 0, series_id(unit_), 0, true);
  if (!value || std::abs(*value) > kMostValue) return reject(r, fmt::format("'{}' is no value", excerpt(text)));
  if (format_ == Format::kValues) return add(r, *at, *value, series_id(unit_));
  if (*value < 0) return reject(r, fmt::format("'{}' is less than nothing", excerpt(text)));
  if (format_ == Format::kTokens) {
    const auto generated = parse_number(trim(r.at(end_)));
    if (!generated || *generated < 0 || *generated > kMostValue)
      return reject(r, fmt::format("'{}' is no number of tokens", excerpt(r.at(end_))));
    entries_.push_back({*at, *value + *generated, series_id("tokens"), 0, false, r.line});
    return add(r, *at, 1, series_id("requests"));
  }
  const auto [part, fresh] = part_ids_.try_emplace(std::string(trim(r.at(part_))), static_cast<uint32_t>(part_ids_.size()));
  add(r, *at, *value, series_id(trim(r.at(type_))), part->second);
}

/// An instance is in use from its creation (before the trace, where there is none) to its deletion (or for good).
void DemandCsvReader::instance(const CsvRecord& r) {
  const auto gpus = parse_number(trim(r.at(value_)));
  if (!gpus || *gpus < 0 || *gpus > 1000) return reject(r, fmt::format("'{}' is no number of GPUs", excerpt(r.at(value_))));
  const uint32_t series = series_id(*gpus > 0 ? "GPUs in use" : "CPU instances in use");
  const double amount = *gpus > 0 ? *gpus : 1;
  std::optional<Instant> created;
  std::optional<Instant> deleted;
  if (!trim(r.at(time_)).empty() && !(created = time_at(r, time_))) return;
  if (!trim(r.at(end_)).empty() && !(deleted = time_at(r, end_))) return;
  if (created && deleted && *deleted < *created) return reject(r, "it is deleted before it is created");
  ++counts_.accepted;
  initial_.resize(std::max<size_t>(initial_.size(), series + 1));
  if (!created) initial_[series] += amount;
  if (created) entries_.push_back({*created, amount, series, 0, false, r.line});
  if (deleted) entries_.push_back({*deleted, -amount, series, 0, false, r.line});
}

void DemandCsvReader::add(const CsvRecord& r, Instant at, double value, uint32_t series, uint32_t part, bool missing) {
  ++counts_.accepted;
  entries_.push_back({at, value, series, part, missing, r.line});
}

uint32_t DemandCsvReader::series_id(std::string_view name) {
  if (name.empty()) name = "demand";
  if (const auto known = series_ids_.find(name); known != series_ids_.end()) return known->second;
  const auto id = static_cast<uint32_t>(series_names_.size());
  series_names_.emplace_back(name);
  series_ids_.emplace(name, id);
  return id;
}

void DemandCsvReader::reject(const CsvRecord& r, std::string_view why) {
  ++counts_.rejected;
  if (counts_.reasons.size() < DemandCsvCounts::kReasonsKept)
    counts_.reasons.push_back(fmt::format("{}:{}: {}", source_, r.line, why));
}

Result<std::vector<DemandSeries>> DemandCsvReader::finish(std::optional<Duration> step) {
  TRY_ASSIGN(const bool ready, csv_.finish());
  if (ready) TRY(record(csv_.record()));
  if (format_ == Format::kUnknown) return invalid("{}: empty; expected a header such as time,value", source_);
  if (entries_.empty())
    return invalid("{}: no row that could be used{}", source_,
                   counts_.reasons.empty() ? "" : "; the first: " + counts_.reasons.front());
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.at < b.at; });
  const Entry& first = entries_.front();
  const Entry& last = entries_.back();
  const Interval span{first.at, last.at};
  if (!step) {
    TRY_ASSIGN(step, choose_step(span));
  }
  if (*step < Duration::seconds(1) || *step > kHour * 168)
    return invalid("a step of {} s; from a second to a week are possible", step->to_seconds());
  const int64_t most = kMostSteps / static_cast<int64_t>(std::max<size_t>(1, series_names_.size() / 8));
  if (span.length().count_ns() / step->count_ns() >= most)
    return invalid("{}: from {} (line {}) to {} (line {}) are more than {} steps of {} series: is one of these times wrong?",
                   source_, format_utc(first.at), first.line, format_utc(last.at), last.line, most, series_names_.size());
  std::vector<DemandSeries> all = format_ == Format::kInstances                                ? integrate_changes(span, *step)
                                  : format_ == Format::kTokens || format_ == Format::kRequests ? count_events(span, *step)
                                                                                               : average_values(span, *step);
  std::erase_if(all, [](const DemandSeries& s) { return s.values.empty(); });
  if (all.empty())
    return invalid("{}: less than one whole step; it spans {} to {}", source_, format_utc(first.at), format_utc(last.at));
  std::sort(all.begin(), all.end(), [](const DemandSeries& a, const DemandSeries& b) { return a.name < b.name; });
  return all;
}

/// The commonest distance between values of one series and part; of equally common ones the shortest.
Duration DemandCsvReader::spacing() const {
  if (format_ != Format::kValues && format_ != Format::kRates) return Duration();
  std::map<std::pair<uint32_t, uint32_t>, Instant> before;
  std::map<int64_t, uint64_t> gaps;
  for (const Entry& e : entries_) {
    const auto [it, fresh] = before.try_emplace({e.series, e.part}, e.at);
    if (!fresh && e.at > it->second) ++gaps[(e.at - it->second).count_ns()];
    it->second = e.at;
  }
  const auto commonest =
      std::max_element(gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return Duration::nanoseconds(commonest == gaps.end() ? 0 : commonest->first);
}

Result<Duration> DemandCsvReader::choose_step(Interval span) const {
  const Duration apart = spacing();
  if (apart > kHour * 24)
    return invalid("{}: the values lie {:.0f} h apart; a forecast needs at least one a day", source_, apart.to_hours());
  if (apart > kHour) return kHour * 24;
  const auto enough = [&](Duration step) { return span.length().count_ns() / step.count_ns() >= kWantedSteps; };
  Duration chosen = kHour;
  for (const Duration step : kShorterSteps) {
    if (enough(chosen) || step < apart) break;
    chosen = step;
  }
  return chosen;
}

std::vector<DemandSeries> DemandCsvReader::count_events(Interval span, Duration step) const {
  const Interval whole = whole_steps(span, step);
  std::vector<DemandSeries> all;
  const double per = format_ == Format::kRequests ? step.to_hours() : step.to_seconds();
  for (const std::string& name : series_names_) {
    const std::string_view what = name == "tokens" ? "tokens" : "requests";
    DemandSeries series{name, fmt::format("{}/{}", what, format_ == Format::kRequests ? "h" : "s"), whole.begin, step, {}};
    series.values.assign(steps_in(whole, step), 0.0);  // a log of requests: an hour without any had none
    all.push_back(std::move(series));
  }
  for (const Entry& e : entries_)
    if (whole.contains(e.at)) *all[e.series].values[steps_in({whole.begin, e.at}, step)] += e.value / per;
  return all;
}

std::vector<DemandSeries> DemandCsvReader::average_values(Interval span, Duration step) const {
  // The first and last step count as whole: their values are samples, not amounts.
  const Instant begin = Instant::from_ns(floor_to(span.begin.ns(), step));
  const size_t steps = steps_in({begin, span.end}, step) + 1;
  std::vector<DemandSeries> all;
  for (const std::string& name : series_names_)
    all.push_back(
        {name, format_ == Format::kRates ? "requests/s" : unit_, begin, step, std::vector<std::optional<double>>(steps)});
  // Entries are ascending in time: a step's samples lie together; their means by part add up.
  std::map<std::pair<uint32_t, uint32_t>, std::pair<double, double>> parts;  // series, part → sum, count
  const auto close = [&](size_t index) {
    for (const auto& [key, sum] : parts) {
      auto& value = all[key.first].values[index];
      value = value.value_or(0) + sum.first / sum.second;
    }
    parts.clear();
  };
  size_t open = 0;
  for (const Entry& e : entries_) {
    const size_t index = steps_in({begin, e.at}, step);
    if (index != open) close(open);
    open = index;
    if (e.missing) continue;
    auto& [sum, count] = parts[{e.series, e.part}];
    sum += e.value;
    count += 1;
  }
  close(open);
  return all;
}

std::vector<DemandSeries> DemandCsvReader::integrate_changes(Interval span, Duration step) const {
  const Interval whole = whole_steps(span, step);
  std::vector<DemandSeries> all;
  const size_t steps = steps_in(whole, step);
  for (uint32_t id = 0; id < series_names_.size(); ++id) {
    const std::string& name = series_names_[id];
    DemandSeries series{name, name.starts_with("GPU") ? "GPUs" : "instances", whole.begin, step, {}};
    series.values.assign(steps, 0.0);
    double in_use = id < initial_.size() ? initial_[id] : 0;
    Instant since = span.begin;
    const auto hold_until = [&](Instant until) {
      for (Instant at = std::max(since, whole.begin); at < std::min(until, whole.end);) {
        const size_t index = steps_in({whole.begin, at}, step);
        const Instant next = std::min(until, series.at(index + 1));
        *series.values[index] += in_use * ((next - at).to_seconds() / step.to_seconds());
        at = next;
      }
      since = until;
    };
    for (const Entry& e : entries_) {
      if (e.series != id) continue;
      hold_until(e.at);
      in_use += e.value;
    }
    hold_until(whole.end);
    all.push_back(std::move(series));
  }
  return all;
}

}  // namespace stint
