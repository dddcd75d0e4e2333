#include "daemon/logs/log_keeper.h"

#include <algorithm>
#include <chrono>

#include "base/counted.h"
#include "base/text.h"
#include "daemon/engine/views.h"

namespace stint {
namespace {

constexpr size_t kAskedAtOnce = 100;  // jobs: the engine's thread must not be held up
constexpr int64_t kPausesOfLook = 50;
constexpr size_t kNamed = 20;                             // jobs in a record of the audit log
constexpr Duration kToldAgainAfter = Duration::hours(1);  // of a job that prints and prints

std::string size_text(Bytes bytes) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  return bytes.count() < kMebi ? fmt::format("{} KiB", bytes.count() >> 10)
                               : fmt::format("{:.1f} MiB", static_cast<double>(bytes.count()) / static_cast<double>(kMebi));
}

}  // namespace

LogKeeper::LogKeeper(Service& service, Governor& governor, LogKeeperOptions options, LogRules rules)
    : service_(service),
      governor_(governor),
      options_(std::move(options)),
      rules_(std::move(rules)),
      looks_({[this] { return look(); }}, 1) {}

LogKeeper::~LogKeeper() = default;

void LogKeeper::set_rules(LogRules rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

LogRules LogKeeper::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

LogDiskUses LogKeeper::uses() const {
  const std::lock_guard lock(mutex_);
  return uses_;
}

std::map<std::string, Bytes, std::less<>> LogKeeper::taken_away() const {
  const std::lock_guard lock(mutex_);
  return taken_away_;
}

Duration LogKeeper::look() {
  const auto begin = std::chrono::steady_clock::now();
  KeysOfJobs jobs;
  for (const KeptLog& log : options_.tasks->kept_logs())
    jobs[log.key.job].push_back(log);
  std::erase_if(known_, [&](const auto& known) { return !jobs.contains(known.first); });
  learn(jobs);
  std::vector<JobLog> logs;
  for (const auto& [job, launches] : jobs) {
    const auto known = known_.find(job);
    if (known == known_.end()) continue;  // no job of this daemon's log: whoever put it there takes it away
    JobLog log{.job = job, .client = known->second.client, .user = known->second.user, .bytes = {}, .ended = known->second.ended};
    for (const KeptLog& launch : launches)
      log.bytes = log.bytes + launch.bytes;
    logs.push_back(std::move(log));
  }
  cut(logs, jobs);
  const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin);
  return std::max(options_.pause, Duration::nanoseconds(took.count() * kPausesOfLook));
}

void LogKeeper::learn(const KeysOfJobs& jobs) {
  std::vector<int64_t> asked;
  for (const auto& [job, launches] : jobs)
    if (const auto known = known_.find(job); known == known_.end() || !known->second.ended) asked.push_back(job);
  for (size_t from = 0; from < asked.size(); from += kAskedAtOnce) {
    const std::vector<int64_t> some(asked.begin() + static_cast<std::ptrdiff_t>(from),
                                    asked.begin() + static_cast<std::ptrdiff_t>(std::min(asked.size(), from + kAskedAtOnce)));
    const auto views = service_
                           .get([&some](const Engine& engine) {
                             std::vector<std::optional<JobView>> found;
                             for (const int64_t job : some)
                               found.push_back(engine.job(job));
                             return found;
                           })
                           .get();
    for (size_t i = 0; i < some.size(); ++i) {
      if (!views[i]) continue;
      const JobView& view = *views[i];
      known_[some[i]] = {.client = view.client,
                         .user = view.user,
                         .name = public_id(view),
                         .ended = has_ended(view.state) ? view.ended : std::nullopt};
    }
  }
}

void LogKeeper::cut(const std::vector<JobLog>& logs, const KeysOfJobs& jobs) {
  std::vector<LogShortening> done;
  std::string failed;
  std::vector<JobLog> left = logs;
  const auto take_away = [&](const LogShortening& cut) {
    const std::vector<KeptLog>& launches = jobs.at(logs[cut.log].job);
    // Of a job that runs each of its tasks keeps the same part.
    const Bytes each = Bytes::of(cut.left.count() / std::ssize(launches));
    for (const KeptLog& launch : launches)
      if (const Status gone =
              logs[cut.log].ended ? options_.tasks->cut_log(launch.key) : options_.tasks->shorten_log(launch.key, each);
          !gone.ok())
        failed = gone.error().message;
    if (!failed.empty()) return;
    left[cut.log].bytes = cut.left;
    done.push_back(cut);
  };
  const LogRules rules = this->rules();
  for (const LogCut& cut : logs_to_cut(logs, rules, service_.clock().now()))
    if (failed.empty()) take_away({.log = cut.log, .cause = cut.cause, .left = {}});
  for (const LogShortening& cut : logs_to_shorten(left, rules))
    if (failed.empty()) take_away(cut);
  problem(failed);
  {
    const std::lock_guard lock(mutex_);
    uses_ = uses_of(left);
    for (const LogShortening& cut : done) {
      Bytes& taken = taken_away_[logs[cut.log].client];
      taken = taken + logs[cut.log].bytes - cut.left;
    }
  }
  tell(logs, done);
}

/// One record for each client and kind.
void LogKeeper::tell(const std::vector<JobLog>& logs, const std::vector<LogShortening>& cuts) {
  std::map<std::pair<std::string, bool>, std::vector<LogShortening>> by_client;
  const Instant at = options_.clock();
  std::erase_if(shortened_, [&](const auto& job) { return at - job.second >= kToldAgainAfter; });
  for (const LogShortening& cut : cuts)
    if (logs[cut.log].ended || shortened_.try_emplace(logs[cut.log].job, at).second)
      by_client[{logs[cut.log].client, !logs[cut.log].ended}].push_back(cut);
  for (const auto& [whose, of] : by_client) {
    const auto& [client, runs] = whose;
    Bytes bytes;
    std::map<LogCause, int64_t> causes;
    std::vector<std::string> names;
    for (const LogShortening& cut : of) {
      bytes = bytes + logs[cut.log].bytes - cut.left;
      ++causes[cut.cause];
      if (names.size() < kNamed) names.push_back(known_.at(logs[cut.log].job).name);
    }
    std::vector<std::string> why;
    for (const auto& [cause, count] : causes)
      why.push_back(fmt::format("{} by {}", count, name_of(cause)));
    governor_.record(
        {.at = at,
         .method = "CUT",
         .target = fmt::format("/v1/clients/{}/logs", client),
         .client = client,
         .status = 200,
         .detail = fmt::format("logs of {} {}, {}: {}: {}{}", counted(std::ssize(of), runs ? "running job" : "ended job"),
                               runs ? "shortened" : "taken away", size_text(bytes), fmt::join(why, ", "), fmt::join(names, " "),
                               names.size() < of.size() ? " …" : "")},
        nullptr);
  }
}

void LogKeeper::problem(const std::string& text) {
  if (text != problem_ && !text.empty() && options_.say) options_.say(text);
  problem_ = text;
}

}  // namespace stint
