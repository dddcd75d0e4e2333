#include "cli/decide/batch_curve_files.h"

#include "base/text.h"
#include "cli/parser.h"
#include "documents/latency_csv.h"
#include "documents/perf_analyzer_csv.h"
#include "documents/triton_stats.h"
#include "host/file.h"

namespace stint {
namespace {

/// "8:b8.csv": the size that perf_analyzer was given, which its file does not say.
struct SizedFile {
  int64_t batch = 0;
  std::string path;
};

/// none: no size before the name, so one file of another format.
std::optional<SizedFile> sized_file(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto batch = parse_int(text.substr(0, colon));
  if (!batch || *batch < 1 || colon + 1 == text.size()) return std::nullopt;
  return SizedFile{*batch, std::string(text.substr(colon + 1))};
}

Result<batching::LatencyProfile> read_sized_files(const std::string& list) {
  std::vector<batching::MeasuredBatch> measured;
  for (const std::string_view part : split(list, ',')) {
    const auto file = sized_file(part);
    if (!file)
      return invalid("--batch-curve: '{}' in a list of perf_analyzer's files: write SIZE:FILE, such as 8:b8.csv", excerpt(part));
    TRY_ASSIGN(const std::string text, read_all(file->path));
    TRY_ASSIGN(const Duration time, read_perf_analyzer(text, file->path));
    measured.push_back({.batch = file->batch, .times = {time}});
  }
  Result<batching::LatencyProfile> profile = batching::LatencyProfile::create(std::move(measured));
  if (!profile.ok()) return invalid("--batch-curve '{}': {}", excerpt(list), profile.error().message);
  return profile;
}

Result<batching::LatencyProfile> read_profile(const std::string& path) {
  if (sized_file(path)) return read_sized_files(path);
  TRY_ASSIGN(const std::string text, read_all(path));
  if (const std::string_view start = trim(text); start.starts_with('{')) return read_triton_stats(text, path);
  TRY_ASSIGN(std::vector<batching::DeviceProfile> profiles, read_latencies(text, path));
  if (profiles.size() != 1)
    return invalid("{}: rows of {} devices or numbers of instances: leave in those that the service runs on", path,
                   profiles.size());
  return std::move(profiles.front().latency);
}

}  // namespace

void add_batch_curve_option(Command& command, std::vector<std::string>& curves) {
  command.add_option(
      "--batch-curve", curves,
      "SERVICE=FILE, repeated: how long its batches take on a replica of now, as `stint serve measure` writes it or Triton "
      "answers to /v2/models/NAME/stats; or SERVICE=1:FILE,8:FILE,… of perf_analyzer -b 1, -b 8, …");
}

Result<BatchCurves> load_batch_curves(const std::vector<std::string>& curves) {
  BatchCurves out;
  for (const std::string& text : curves) {
    const size_t is = text.rfind('=');
    if (is == std::string::npos || is == 0 || is + 1 == text.size())
      return invalid("--batch-curve '{}': write SERVICE=FILE, such as search=latencies.csv", excerpt(text));
    TRY_ASSIGN(const batching::LatencyProfile profile, read_profile(text.substr(is + 1)));
    batching::BatchingReplica replica;
    const int64_t largest = std::min<int64_t>(profile.largest(), batching::BatchTable::kLargest);
    for (int64_t batch = 1; batch <= largest; ++batch)
      replica.batch_ms.push_back(profile.mean(batch).to_seconds() * 1000);
    if (!out.emplace(text.substr(0, is), std::make_shared<const batching::BatchTable>(std::move(replica))).second)
      return invalid("--batch-curve: {} has two", excerpt(text.substr(0, is)));
  }
  return out;
}

}  // namespace stint
