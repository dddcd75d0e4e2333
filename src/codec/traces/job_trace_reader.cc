#include "codec/traces/job_trace_reader.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/decimal.h"
#include "codec/traces/job_csv.h"

namespace stint {
namespace {

constexpr int64_t kMaxSeconds = 100LL * 366 * 86400;  // a hundred years: sums stay far from overflow
constexpr std::array<std::string_view, 4> kTraceFormats = {"csv", "openb", "dlrm", "sacct"};

bool has_all(std::string_view line, char separator, std::initializer_list<std::string_view> columns) {
  const std::vector<std::string_view> found = split(line, separator);
  return std::ranges::all_of(columns, [&](std::string_view column) {
    return std::ranges::any_of(found, [&](std::string_view name) { return equals_ignoring_case(trim(name), column); });
  });
}

}  // namespace

std::string_view name_of(TraceFormat f) { return kTraceFormats[static_cast<size_t>(f)]; }

Result<TraceFormat> parse_trace_format(std::string_view text) {
  for (size_t f = 0; f < kTraceFormats.size(); ++f)
    if (kTraceFormats[f] == text) return static_cast<TraceFormat>(f);
  return invalid("format '{}': write {}", excerpt(text), fmt::join(kTraceFormats, ", "));
}

std::optional<TraceFormat> detect_trace_format(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  if (has_all(line, '|', {"JobID", "State", "Start", "End"})) return TraceFormat::kSacct;
  if (has_all(line, ',', {"timestamp", "duration", "num_gpus", "cluster"})) return TraceFormat::kCsv;
  if (has_all(line, ',', {"name", "num_gpu", "gpu_milli", "creation_time", "deletion_time"})) return TraceFormat::kOpenb;
  if (has_all(line, ',', {"instance_sn", "gpu_request", "creation_time", "deletion_time"})) return TraceFormat::kDlrm;
  return std::nullopt;
}

std::unique_ptr<JobTraceReader> make_trace_reader(TraceFormat format, const std::string& source) {
  switch (format) {
    case TraceFormat::kCsv: break;
    case TraceFormat::kOpenb: return make_openb_trace_reader(source);
    case TraceFormat::kDlrm: return make_dlrm_trace_reader(source);
    case TraceFormat::kSacct: return make_sacct_trace_reader(source);
  }
  return std::make_unique<JobCsvReader>(source);
}

std::optional<int64_t> parse_seconds_as_ns(std::string_view text) {
  const std::optional<double> value = parse_number(text);
  if (!value || *value < 0 || *value > static_cast<double>(kMaxSeconds)) return std::nullopt;
  if (const auto whole = parse_int(text)) return *whole * 1'000'000'000;
  return Duration::from_seconds(*value).count_ns();
}

void JobTraceReader::reject(const std::string& source, uint64_t line, std::string_view why) {
  ++counts_.rejected;
  if (counts_.reasons.size() < TraceCounts::kReasonsKept) counts_.reasons.push_back(fmt::format("{}:{}: {}", source, line, why));
}

Status CsvTraceReader::feed(std::string_view bytes) {
  while (true) {
    TRY_ASSIGN(const bool ready, csv_.next(bytes));
    if (!ready) return {};
    TRY(record(csv_.record()));
  }
}

Result<JobTrace> CsvTraceReader::finish() {
  TRY_ASSIGN(const bool ready, csv_.finish());
  if (ready) TRY(record(csv_.record()));
  if (columns_ == 0) return invalid("{}: empty; expected a header and rows", source_);
  end_rows();
  return std::move(trace_);
}

Status CsvTraceReader::record(const CsvRecord& r) {
  if (columns_ == 0) {
    const Status found = header(r);
    if (!found.ok()) return invalid("{}: {}", source_, found.error().message);
    columns_ = r.fields.size();
  } else if (r.malformed || r.fields.size() != columns_) {
    reject(r, fmt::format("{} fields, expected {}", r.fields.size(), columns_));
  } else {
    row(r);
  }
  return {};
}

uint32_t CsvTraceReader::id_of(Names& ids, std::vector<std::string>& names, std::string_view name) {
  if (const auto known = ids.find(name); known != ids.end()) return known->second;
  const auto id = static_cast<uint32_t>(names.size());
  names.emplace_back(name);
  ids.emplace(name, id);
  return id;
}

uint32_t CsvTraceReader::shape_of(const TraceShape& shape) {
  const auto known = std::ranges::find(trace_.shapes, shape);
  const auto id = static_cast<uint32_t>(known - trace_.shapes.begin());
  if (known == trace_.shapes.end()) trace_.shapes.push_back(shape);
  return id;
}

void CsvTraceReader::accept(const TraceJob& job) {
  trace_.jobs.push_back(job);
  ++counts_.accepted;
}

}  // namespace stint
