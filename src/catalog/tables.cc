#include "catalog/tables.h"

#include <array>
#include <functional>

#include "base/text.h"
#include "catalog/measured.h"
#include "catalog/measured_pairs.h"
#include "catalog/timed_offers.h"

extern "C" {
extern const char stint_gpus_csv[], stint_gpus_csv_end[];
extern const char stint_instances_csv[], stint_instances_csv_end[];
extern const char stint_prices_csv[], stint_prices_csv_end[];
extern const char stint_timed_csv[], stint_timed_csv_end[];
}

namespace stint {
namespace {

constexpr std::array<std::string_view, 17> kGpuColumns = {
    "model",       "aliases",     "vendor",      "architecture", "memory_gib", "memory_bandwidth_gb_s",
    "fp32_tflops", "tf32_tflops", "fp16_tflops", "bf16_tflops",  "fp8_tflops", "int8_tops",
    "tdp_w",       "link_gb_s",   "mig",         "source",       "as_of"};
constexpr std::array<std::string_view, 11> kInstanceColumns = {"provider",       "instance_type", "gpu_model",  "gpu_milli",
                                                               "gpu_memory_gib", "vcpus",         "memory_gib", "arch",
                                                               "best_for",       "source",        "as_of"};

constexpr std::array<std::string_view, 13> kTimedColumns = {
    "provider",   "region",      "instance_type", "market",  "per_hour", "currency", "fewest_hours",
    "most_hours", "whole_hours", "wait_hours",    "upfront", "source",   "as_of"};

using Fields = std::vector<std::string_view>;

/// Calls `row` for each line below the header; puts FILE:LINE: before its error.
Status for_each_row(std::string_view file, std::string_view csv, std::span<const std::string_view> columns,
                    const std::function<Status(const Fields&)>& row) {
  bool header_seen = false;
  uint64_t line = 0;
  while (!csv.empty()) {
    ++line;
    const size_t end = csv.find('\n');
    const std::string_view text = trim(csv.substr(0, end));
    csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
    if (text.empty() || text.front() == '#') continue;
    if (text.find('"') != std::string_view::npos) return invalid("{}:{}: these files are written without quotes", file, line);
    const Fields fields = split(text, ',');
    if (!header_seen) {
      if (!std::equal(fields.begin(), fields.end(), columns.begin(), columns.end()))
        return invalid("{}:{}: the header must be {}", file, line, fmt::join(columns, ","));
      header_seen = true;
      continue;
    }
    if (fields.size() != columns.size())
      return invalid("{}:{}: {} fields where the header has {}", file, line, fields.size(), columns.size());
    if (const Status s = row(fields); !s.ok()) return invalid("{}:{}: {}", file, line, s.error().message);
  }
  if (!header_seen) return invalid("{}: empty: the header is missing", file);
  return {};
}

/// A number above zero. @param limit  the largest that makes sense, so that later arithmetic cannot overflow.
Result<double> positive(std::string_view column, std::string_view text, double limit = 1e6) {
  const auto value = parse_number(trim(text));
  if (!value || *value <= 0 || *value > limit) return invalid("{} '{}' is not a number above zero", column, excerpt(text));
  return *value;
}

Result<std::optional<double>> optional_positive(std::string_view column, std::string_view text) {
  if (trim(text).empty()) return std::optional<double>();
  TRY_ASSIGN(const double value, positive(column, text));
  return std::optional(value);
}

Result<std::string> required(std::string_view column, std::string_view text) {
  if (trim(text).empty()) return invalid("{} is empty", column);
  return std::string(trim(text));
}

Result<int64_t> count(std::string_view column, std::string_view text, int64_t least, int64_t most) {
  const auto value = parse_int(trim(text));
  if (!value || *value < least || *value > most)
    return invalid("{} '{}' is not a whole number from {} to {}", column, excerpt(text), least, most);
  return *value;
}

Result<GpuFacts> parse_gpu(const Fields& f) {
  GpuFacts g;
  TRY_ASSIGN(g.model, required("model", f[0]));
  if (!trim(f[1]).empty())
    for (const std::string_view alias : split(f[1], ';'))
      g.aliases.emplace_back(trim(alias));
  TRY_ASSIGN(g.vendor, required("vendor", f[2]));
  TRY_ASSIGN(g.architecture, required("architecture", f[3]));
  TRY_ASSIGN(const double memory_gib, positive("memory_gib", f[4]));
  g.memory = Bytes::gibi(memory_gib);
  TRY_ASSIGN(g.memory_bandwidth_gb_s, positive("memory_bandwidth_gb_s", f[5]));
  TRY_ASSIGN(g.fp32_tflops, optional_positive("fp32_tflops", f[6]));
  TRY_ASSIGN(g.tf32_tflops, optional_positive("tf32_tflops", f[7]));
  TRY_ASSIGN(g.fp16_tflops, optional_positive("fp16_tflops", f[8]));
  TRY_ASSIGN(g.bf16_tflops, optional_positive("bf16_tflops", f[9]));
  TRY_ASSIGN(g.fp8_tflops, optional_positive("fp8_tflops", f[10]));
  TRY_ASSIGN(g.int8_tops, optional_positive("int8_tops", f[11]));
  TRY_ASSIGN(g.tdp_w, positive("tdp_w", f[12]));
  TRY_ASSIGN(g.link_gb_s, optional_positive("link_gb_s", f[13]));
  if (f[14] != "yes" && f[14] != "no") return invalid("mig '{}': write yes or no", excerpt(f[14]));
  g.mig = f[14] == "yes";
  TRY_ASSIGN(g.source, required("source", f[15]));
  TRY_ASSIGN(g.as_of, parse_instant(f[16]));
  return g;
}

Result<InstanceType> parse_instance(const Fields& f) {
  InstanceType t;
  TRY_ASSIGN(t.provider, required("provider", f[0]));
  TRY_ASSIGN(t.name, required("instance_type", f[1]));
  t.gpu_model = trim(f[2]);
  TRY_ASSIGN(t.gpu_milli, count("gpu_milli", f[3], 0, 1'000'000));
  if (t.gpu_model.empty() != (t.gpu_milli == 0))
    return invalid("gpu_model '{}' with gpu_milli {}: both or neither", t.gpu_model, t.gpu_milli);
  if (t.gpu_milli > 0) {
    TRY_ASSIGN(const double gpu_memory, positive("gpu_memory_gib", f[4]));
    t.gpu_memory = Bytes::gibi(gpu_memory);
  }
  TRY_ASSIGN(t.vcpus, count("vcpus", f[5], 1, 100'000));
  TRY_ASSIGN(const double memory, positive("memory_gib", f[6]));
  t.memory = Bytes::gibi(memory);
  TRY_ASSIGN(t.arch, required("arch", f[7]));
  t.best_for = trim(f[8]);
  TRY_ASSIGN(t.source, required("source", f[9]));
  TRY_ASSIGN(t.as_of, parse_instant(f[10]));
  return t;
}

Result<GpuMeasurement> parse_measurement(const Fields& f) {
  GpuMeasurement m;
  TRY_ASSIGN(m.gpu_model, required("gpu_model", f[0]));
  TRY_ASSIGN(m.rate, parse_gpu_rate(f[1]));
  TRY_ASSIGN(m.median, positive("median", f[2]));
  TRY_ASSIGN(m.lowest, positive("lowest", f[3]));
  TRY_ASSIGN(m.highest, positive("highest", f[4]));
  if (m.lowest > m.median || m.median > m.highest)
    return invalid("lowest {}, median {}, highest {}: not in this order", m.lowest, m.median, m.highest);
  TRY_ASSIGN(m.repeats, count("repeats", f[5], 1, 1'000'000));
  TRY_ASSIGN(m.source, required("source", f[6]));
  TRY_ASSIGN(m.as_of, parse_instant(f[7]));
  return m;
}

Result<PairMeasurement> parse_pair(const Fields& f) {
  PairMeasurement m;
  TRY_ASSIGN(m.gpu_model, required("gpu_model", f[0]));
  const std::string_view mode = trim(f[1]);
  if (mode != name_of(SharingMode::kMps) && mode != name_of(SharingMode::kTimeSlice))
    return invalid("'{}' is no way to share without walls: use mps or time-slice", excerpt(mode));
  m.mode = mode == name_of(SharingMode::kMps) ? SharingMode::kMps : SharingMode::kTimeSlice;
  TRY_ASSIGN(m.workload, required("workload", f[2]));
  TRY_ASSIGN(m.neighbour, required("neighbour", f[3]));
  TRY_ASSIGN(m.median, positive("median", f[4]));
  TRY_ASSIGN(m.lowest, positive("lowest", f[5]));
  TRY_ASSIGN(m.highest, positive("highest", f[6]));
  if (m.lowest > m.median || m.median > m.highest)
    return invalid("lowest {}, median {}, highest {}: not in this order", m.lowest, m.median, m.highest);
  TRY_ASSIGN(m.repeats, count("repeats", f[7], 1, 1'000'000));
  TRY_ASSIGN(m.source, required("source", f[8]));
  TRY_ASSIGN(m.as_of, parse_instant(f[9]));
  return m;
}

Result<TimedOffer> parse_timed_offer(const Fields& f) {
  constexpr int64_t kMostHours = int64_t{10} * 366 * 24;
  TimedOffer o;
  TRY_ASSIGN(o.provider, required("provider", f[0]));
  o.region = trim(f[1]);
  TRY_ASSIGN(o.instance_type, required("instance_type", f[2]));
  const std::string_view market = trim(f[3]);
  if (market != name_of(TimedMarket::kCapacityBlock) && market != name_of(TimedMarket::kFlexStart))
    return invalid("market '{}': write capacity-block or flex-start", excerpt(market));
  o.market = market == name_of(TimedMarket::kFlexStart) ? TimedMarket::kFlexStart : TimedMarket::kCapacityBlock;
  if (!trim(f[4]).empty()) {
    TRY_ASSIGN(const Currency currency, Currency::parse(trim(f[5])));
    TRY_ASSIGN(o.rate, parse_price_per_hour(trim(f[4]), currency));
  }
  TRY_ASSIGN(o.fewest_hours, count("fewest_hours", f[6], 1, kMostHours));
  TRY_ASSIGN(o.most_hours, count("most_hours", f[7], o.fewest_hours, kMostHours));
  TRY_ASSIGN(o.whole_hours, count("whole_hours", f[8], 1, kMostHours));
  TRY_ASSIGN(o.wait_hours, count("wait_hours", f[9], 0, kMostHours));
  if (f[10] != "yes" && f[10] != "no") return invalid("upfront '{}': write yes or no", excerpt(f[10]));
  o.upfront = f[10] == "yes";
  TRY_ASSIGN(o.source, required("source", f[11]));
  TRY_ASSIGN(o.as_of, parse_instant(f[12]));
  return o;
}

/// One parser for all files: rows through `parse`.
template <typename Row>
Result<std::vector<Row>> parse_table(std::string_view file, std::string_view csv, std::span<const std::string_view> columns,
                                     Result<Row> (*parse)(const Fields&)) {
  std::vector<Row> rows;
  TRY(for_each_row(file, csv, columns, [&](const Fields& fields) -> Status {
    TRY_ASSIGN(Row row, parse(fields));
    rows.push_back(std::move(row));
    return {};
  }));
  return rows;
}

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

std::string_view embedded_gpus_csv() { return between(stint_gpus_csv, stint_gpus_csv_end); }
std::string_view embedded_instances_csv() { return between(stint_instances_csv, stint_instances_csv_end); }
std::string_view embedded_timed_csv() { return between(stint_timed_csv, stint_timed_csv_end); }
std::string_view embedded_prices_csv() { return between(stint_prices_csv, stint_prices_csv_end); }

Result<std::vector<GpuFacts>> parse_gpus(std::string_view csv) {
  return parse_table<GpuFacts>("gpus.csv", csv, kGpuColumns, parse_gpu);
}

Result<std::vector<InstanceType>> parse_instances(std::string_view csv) {
  return parse_table<InstanceType>("instances.csv", csv, kInstanceColumns, parse_instance);
}

Result<std::vector<PriceRow>> parse_prices(std::string_view csv) {
  return parse_table<PriceRow>("prices.csv", csv, kPriceColumns, [](const Fields& f) {
    return parse_price({f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10]});
  });
}

Result<std::vector<TimedOffer>> parse_timed_offers(std::string_view csv) {
  return parse_table<TimedOffer>("timed.csv", csv, kTimedColumns, parse_timed_offer);
}

Result<std::vector<GpuMeasurement>> parse_measurements(std::string_view file, std::string_view csv) {
  return parse_table<GpuMeasurement>(file, csv, kMeasurementColumns, parse_measurement);
}

Result<std::vector<PairMeasurement>> parse_pairs(std::string_view file, std::string_view csv) {
  return parse_table<PairMeasurement>(file, csv, kPairColumns, parse_pair);
}

}  // namespace stint
