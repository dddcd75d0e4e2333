#include "codec/traces/job_csv.h"

#include <array>

#include "base/text.h"
#include "codec/csv_table.h"

namespace stint {
namespace {

constexpr int64_t kMostGpusOfJob = 100'000;

std::optional<Instant> parse_timestamp(std::string_view text) {
  if (const auto ns = parse_seconds_as_ns(text)) return Instant::from_ns(*ns);
  const Result<Instant> civil = parse_instant(text);
  return civil.ok() ? std::optional(*civil) : std::nullopt;
}

}  // namespace

Status JobCsvReader::header(const CsvRecord& r) {
  constexpr std::array<std::string_view, 4> kRequired = {"timestamp", "duration", "num_gpus", "cluster"};
  TRY_ASSIGN(const CsvHeader found, CsvHeader::create(r, kRequired));
  timestamp_ = found.find("timestamp");
  duration_ = found.find("duration");
  gpus_ = found.find("num_gpus");
  cluster_ = found.find("cluster");
  constexpr std::array<std::string_view, 2> kUser = {"queue", "user"};
  user_ = found.find_any(kUser);
  constexpr std::array<std::string_view, 2> kName = {"name", "job_name"};
  name_ = found.find_any(kName);
  return {};
}

void JobCsvReader::row(const CsvRecord& r) {
  TraceJob job;
  const std::string_view timestamp = trim(r.at(timestamp_));
  const auto submitted = parse_timestamp(timestamp);
  if (!submitted) return reject(r, fmt::format("timestamp '{}' is neither seconds nor ISO 8601", excerpt(timestamp)));
  const auto duration = parse_seconds_as_ns(trim(r.at(duration_)));
  if (!duration) return reject(r, fmt::format("duration '{}' is no number of seconds from 0 on", excerpt(r.at(duration_))));
  const auto gpus = parse_int(trim(r.at(gpus_)));
  if (!gpus || *gpus < 0 || *gpus > kMostGpusOfJob)
    return reject(r, fmt::format("num_gpus '{}' is no integer from 0 to {}", excerpt(r.at(gpus_)), kMostGpusOfJob));
  if (*gpus == 0) {
    ++counts_.cpu_only;
    return;
  }
  job.submitted = *submitted;
  job.duration = Duration::nanoseconds(*duration);
  job.gpus = static_cast<int32_t>(*gpus);
  job.cluster = cluster_of(trim(r.at(cluster_)));
  if (user_ >= 0) job.user = user_of(trim(r.at(user_)));
  if (name_ >= 0) job.name = name_of_job(trim(r.at(name_)));
  accept(job);
}

Result<std::map<std::string, int64_t>> read_cluster_nodes(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 2> kRequired = {"cluster", "nodes"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kRequired));
  std::map<std::string, int64_t> nodes;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) return nodes;
    const auto count = parse_int(table.text("nodes"));
    if (!count || *count < 1 || *count > 1'000'000) return table.wrong("nodes must be an integer from 1 to 1,000,000");
    if (!nodes.emplace(table.text("cluster"), *count).second) return table.wrong("cluster named twice");
  }
}

}  // namespace stint
