#include "codec/job_csv.h"

#include <array>

#include "base/text.h"
#include "codec/decimal.h"

namespace stint {
namespace {

constexpr size_t kReasonsKept = 5;
constexpr int64_t kMaxGpus = 100'000;
constexpr int64_t kMaxSeconds = 100LL * 366 * 86400;  // a hundred years: sums stay far from overflow

/// Seconds with up to nine decimals, exactly; none for anything else or out of range.
std::optional<int64_t> seconds_as_ns(std::string_view text) {
  const std::optional<double> value = parse_number(text);
  if (!value || *value < 0 || *value > static_cast<double>(kMaxSeconds)) return std::nullopt;
  if (const auto whole = parse_int(text)) return *whole * 1'000'000'000;
  return Duration::from_seconds(*value).count_ns();
}

std::optional<Instant> parse_timestamp(std::string_view text) {
  if (const auto ns = seconds_as_ns(text)) return Instant::from_ns(*ns);
  const Result<Instant> civil = parse_instant(text);
  return civil.ok() ? std::optional(*civil) : std::nullopt;
}

uint32_t id_of(std::map<std::string, uint32_t, std::less<>>& ids, std::vector<std::string>& names, std::string_view name) {
  if (const auto known = ids.find(name); known != ids.end()) return known->second;
  const auto id = static_cast<uint32_t>(names.size());
  names.emplace_back(name);
  ids.emplace(name, id);
  return id;
}

}  // namespace

JobCsvReader::JobCsvReader(std::string source) : source_(source), csv_(CsvOptions{.source = std::move(source)}) {}

Status JobCsvReader::feed(std::string_view bytes) {
  while (true) {
    TRY_ASSIGN(const bool ready, csv_.next(bytes));
    if (!ready) return {};
    TRY(record(csv_.record()));
  }
}

Result<JobTrace> JobCsvReader::finish() {
  TRY_ASSIGN(const bool ready, csv_.finish());
  if (ready) TRY(record(csv_.record()));
  if (!have_header_) return invalid("{}: empty; expected the columns timestamp, duration, num_gpus, cluster", source_);
  return std::move(trace_);
}

Status JobCsvReader::record(const CsvRecord& r) {
  if (!have_header_) return header(r);
  row(r);
  return {};
}

Status JobCsvReader::header(const CsvRecord& r) {
  constexpr std::array<std::string_view, 4> kRequired = {"timestamp", "duration", "num_gpus", "cluster"};
  const auto found = CsvHeader::create(r, kRequired);
  if (!found.ok()) return invalid("{}: {}", source_, found.error().message);
  timestamp_ = found->find("timestamp");
  duration_ = found->find("duration");
  gpus_ = found->find("num_gpus");
  cluster_ = found->find("cluster");
  constexpr std::array<std::string_view, 2> kUser = {"queue", "user"};
  user_ = found->find_any(kUser);
  columns_ = found->size();
  have_header_ = true;
  return {};
}

void JobCsvReader::row(const CsvRecord& r) {
  if (r.malformed || r.fields.size() != columns_)
    return reject(r, fmt::format("{} fields, expected {}", r.fields.size(), columns_));
  TraceJob job;
  const std::string_view timestamp = trim(r.at(timestamp_));
  const auto submitted = parse_timestamp(timestamp);
  if (!submitted) return reject(r, fmt::format("timestamp '{}' is neither seconds nor ISO 8601", excerpt(timestamp)));
  const auto duration = seconds_as_ns(trim(r.at(duration_)));
  if (!duration) return reject(r, fmt::format("duration '{}' is no number of seconds from 0 on", excerpt(r.at(duration_))));
  const auto gpus = parse_int(trim(r.at(gpus_)));
  if (!gpus || *gpus < 0 || *gpus > kMaxGpus)
    return reject(r, fmt::format("num_gpus '{}' is no integer from 0 to {}", excerpt(r.at(gpus_)), kMaxGpus));
  if (*gpus == 0) {
    ++counts_.cpu_only;
    return;
  }
  job.submitted = *submitted;
  job.duration = Duration::nanoseconds(*duration);
  job.gpus = static_cast<int32_t>(*gpus);
  job.cluster = id_of(cluster_ids_, trace_.clusters, trim(r.at(cluster_)));
  if (user_ >= 0) job.user = id_of(user_ids_, trace_.users, trim(r.at(user_)));
  trace_.jobs.push_back(job);
  ++counts_.accepted;
}

void JobCsvReader::reject(const CsvRecord& r, std::string_view why) {
  ++counts_.rejected;
  if (counts_.reasons.size() < kReasonsKept) counts_.reasons.push_back(fmt::format("{}:{}: {}", source_, r.line, why));
}

Result<std::map<std::string, int64_t>> read_cluster_nodes(std::string_view bytes, const std::string& source) {
  CsvReader csv(CsvOptions{.source = source});
  CsvHeader header;
  std::map<std::string, int64_t> nodes;
  const auto take = [&](const CsvRecord& r) -> Status {
    if (header.size() == 0) {
      constexpr std::array<std::string_view, 2> kRequired = {"cluster", "nodes"};
      TRY_ASSIGN(header, CsvHeader::create(r, kRequired));
      return {};
    }
    if (r.fields.size() != header.size())
      return invalid("{}:{}: {} fields, expected {}", source, r.line, r.fields.size(), header.size());
    const auto count = parse_int(trim(r.at(header.find("nodes"))));
    if (!count || *count < 1 || *count > 1'000'000)
      return invalid("{}:{}: nodes must be an integer from 1 to 1,000,000", source, r.line);
    if (!nodes.emplace(trim(r.at(header.find("cluster"))), *count).second)
      return invalid("{}:{}: cluster named twice", source, r.line);
    return {};
  };
  while (true) {
    TRY_ASSIGN(const bool ready, csv.next(bytes));
    if (!ready) break;
    TRY(take(csv.record()));
  }
  TRY_ASSIGN(const bool last, csv.finish());
  if (last) TRY(take(csv.record()));
  return nodes;
}

}  // namespace stint
