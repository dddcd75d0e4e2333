// The caller's own launches in a cluster: an attempt becomes a Job, its pods are bound to the machines that the caller chose.
//
//   ordered ──file──► POST Job (409: ours by its annotation) ──file with uid──► its pods are there ──► bound ──► as any launch
//
// What cannot go on (a quota, an image, a right) is said of the launch and tried again, and ends it after `patience`.
#include <algorithm>
#include <csignal>
#include <filesystem>

#include "backends/kubernetes/kube_requests.h"
#include "backends/kubernetes/kubernetes_backend.h"
#include "base/text.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr Duration kTryOwnAgain = Duration::seconds(2);
constexpr Duration kAskWhyAfter = Duration::seconds(3);  ///< pods that are not made yet
constexpr Duration kAskWhyEvery = Duration::seconds(5);
constexpr Duration kForgottenAfter = Duration::minutes(10);  ///< files of attempts that the caller does not ask for
constexpr int kNoSuchCommand = 127;
constexpr int64_t kMostLog = int64_t{16} << 20;

std::string name_in(const KubernetesMeta& meta) { return meta.ns + "/" + meta.name; }

Report ended_unbegun(const LaunchKey& key, EndCause cause, std::string why, Instant at) {
  Report report{.kind = ReportKind::kEnded, .key = key, .at = at, .status = {}, .cause = cause};
  if (cause == EndCause::kNotStarted)
    report.status.code = kNoSuchCommand;
  else
    report.status.signal = SIGTERM;
  report.detail = std::move(why);
  return report;
}

}  // namespace

std::string KubernetesBackend::intent_of(const AttemptKey& attempt) const {
  return fmt::format("{}/launches/{}.{}", rules_.state_folder, attempt.job, attempt.attempt);
}

/// Attempts that were asked for, or were about to be, before this program began.
Status KubernetesBackend::find_intents() {
  namespace fs = std::filesystem;
  if (!rules_.jobs) return {};
  const std::string folder = rules_.state_folder + "/launches";
  std::error_code failed;
  fs::create_directories(folder, failed);
  for (fs::directory_iterator it(folder, failed); !failed && it != fs::directory_iterator(); it.increment(failed)) {
    const auto key = parse_key(it->path().filename().string() + ".0");
    if (!key) {  // of a write that was cut off before the file had its name
      std::error_code ignored;
      fs::remove(it->path(), ignored);
      continue;
    }
    TRY_ASSIGN(const std::string text, read_all(it->path().string()));
    const std::vector<std::string_view> words = split(trim(text), ' ');
    OwnJob& own = own_[attempt_of(*key)];
    own.uncertain = words.size() != 3;
    if (own.uncertain) continue;
    own.job.ns = words[0];
    own.job.name = words[1];
    own.job.uid = words[2];
    own.was_made = true;
  }
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: cannot be read: {}", folder, failed.message());
  return {};
}

void KubernetesBackend::order_own(const Order& order) {
  if (!rules_.jobs) return refuse(order, RefusalKind::kNotSo, takes(*order.launch).error().message);
  OwnJob& own = own_[attempt_of(order.key)];
  own.at = std::max(own.at, order.at);
  own.launches.insert_or_assign(order.key.task, *order.launch);
}

/// Of the attempt's launches those that no pod has begun with, and that have not ended.
std::vector<LaunchKey> KubernetesBackend::unbegun(const AttemptKey& attempt, const OwnJob& own) const {
  std::vector<LaunchKey> keys;
  for (const auto& [task, launch] : own.launches) {
    const LaunchKey key{.job = attempt.job, .attempt = attempt.attempt, .task = task};
    if (!launches_.contains(key) && !own.forgotten.contains(task)) keys.push_back(key);
  }
  return keys;
}

void KubernetesBackend::make_ordered(Instant now) {
  std::vector<AttemptKey> to_make;
  for (auto& [attempt, own] : own_)
    if (own.job.uid.empty() && !own.launches.empty() && now - own.tried >= kTryOwnAgain && !unbegun(attempt, own).empty())
      to_make.push_back(attempt);
  for (const AttemptKey& attempt : to_make)
    if (const auto own = own_.find(attempt); own != own_.end()) make(attempt, own->second, now);
}

void KubernetesBackend::make(const AttemptKey& attempt, OwnJob& own, Instant now) {
  std::vector<Launch> together;
  for (const auto& [task, launch] : own.launches)
    together.push_back(launch);
  std::ranges::sort(together, {}, [](const Launch& one) { return std::pair(one.gang ? one.gang->rank : 0, one.key.task); });
  const size_t size = together.front().gang ? static_cast<size_t>(together.front().gang->world_size) : 1;
  if (together.size() < size && !own.uncertain) return;  // the others are still to be ordered
  own.tried = now;
  const auto spec = kube_job_of(together, *rules_.jobs);
  if (!spec.ok()) return refuse_own(attempt, own, RefusalKind::kNotSo, spec.error().message);
  const std::string path = fmt::format("/apis/batch/v1/namespaces/{}/jobs/{}", spec->ns, spec->name);
  KubeMadeJobDecoder decoder;
  if (own.uncertain) {
    const auto there = client_->get(path);
    if (!there.ok() && there.error().code != ErrorCode::kNotFound) return hinder(attempt, own, there.error().message, now);
    if (!there.ok() && now - own.at > rules_.jobs->keep) {
      // It may have been there, have ended, and be removed.
      for (const LaunchKey& key : unbegun(attempt, own))
        tell({.kind = ReportKind::kLost,
              .key = key,
              .at = now,
              .status = {},
              .detail = "the daemon ended while it asked for the Job, and the cluster does not say what became of it"});
      return;
    }
    if (!there.ok() && together.size() < size) return;
  } else if (const Status kept = write_file_atomically(intent_of(attempt), ""); !kept.ok()) {
    return hinder(attempt, own, kept.error().message, now);
  }
  own.uncertain = true;
  const auto answer = client_->change(make_job_request(*spec));
  if (!answer.ok() && answer.error().code == ErrorCode::kInvalidInput)
    return refuse_own(attempt, own, RefusalKind::kNotSo, answer.error().message);
  if (!answer.ok()) return hinder(attempt, own, answer.error().message, now);
  if (answer->status == 422) return refuse_own(attempt, own, RefusalKind::kNotSo, answer->message);
  if (answer->status == 404)
    return hinder(attempt, own, fmt::format("namespace {}: {}: make it, or name another", spec->ns, answer->message), now);
  if (!answer->ok() && answer->status != 409) return hinder(attempt, own, answer->message, now);
  const auto text = answer->ok() ? Result<std::string>(answer->body) : client_->get(path);
  if (!text.ok()) return hinder(attempt, own, text.error().message, now);
  const auto job = decoder.decode(*text);
  const auto whose = job.ok() ? attempt_of_job(*job, rules_.jobs->mark) : std::nullopt;
  if (!whose || whose->attempt != attempt)
    return refuse_own(attempt, own, RefusalKind::kNotSo, fmt::format("{}/{} is another's Job", spec->ns, spec->name));
  if (job->deleting || discarded_.contains(job->meta.uid) || removing_.contains(job->meta.uid))
    return hinder(attempt, own, "the Job that it was before is still being removed", now);
  take_over(attempt, own, *job);
}

/// It is there, whoever asked for it.
void KubernetesBackend::take_over(const AttemptKey& attempt, OwnJob& own, const KubeMadeJob& job) {
  own.job = job.meta;
  if (const auto whose = attempt_of_job(job, rules_.jobs->mark)) own.tasks = whose->tasks;
  own.uncertain = false;
  // Without it the Job is found by its label.
  (void)write_file_atomically(intent_of(attempt), fmt::format("{} {} {}\n", job.meta.ns, job.meta.name, job.meta.uid));
  unhinder(attempt, own);
}

void KubernetesBackend::hinder(const AttemptKey& attempt, OwnJob& own, const std::string& why, Instant now) {
  if (!own.hindered_since) own.hindered_since = now;
  if (now - *own.hindered_since > rules_.jobs->patience) return give_up(attempt, own, why, now);
  if (own.hindrance == why) return;
  own.hindrance = why;
  for (const LaunchKey& key : unbegun(attempt, own))
    events_.emplace_back(LaunchNote{key, why});
}

void KubernetesBackend::unhinder(const AttemptKey& attempt, OwnJob& own) {
  own.hindered_since.reset();
  if (std::exchange(own.hindrance, {}).empty()) return;
  for (const LaunchKey& key : unbegun(attempt, own))
    events_.emplace_back(LaunchNote{key, ""});
}

void KubernetesBackend::give_up(const AttemptKey& attempt, OwnJob& own, const std::string& why, Instant now) {
  for (const LaunchKey& key : unbegun(attempt, own))
    tell(ended_unbegun(key, EndCause::kNotStarted, why, now));
  remove(own);
}

/// Nothing of it is left behind.
void KubernetesBackend::refuse_own(const AttemptKey& attempt, OwnJob& own, RefusalKind kind, const std::string& why) {
  for (const LaunchKey& key : unbegun(attempt, own))
    refuse({.kind = OrderKind::kStart, .key = key, .at = own.at, .launch = {}, .grace = {}}, kind, why);
  drop_own(attempt, own);
}

/// What may be of its Job is found no more, and the attempt may be ordered anew.
void KubernetesBackend::drop_own(AttemptKey attempt, OwnJob& own) {
  if (!own.job.uid.empty()) discarded_.insert(own.job.uid);
  remove(own);
  std::error_code ignored;
  std::filesystem::remove(intent_of(attempt), ignored);
  own_.erase(attempt);
}

void KubernetesBackend::remove(OwnJob& own) {
  own.launches.clear();
  if (own.job.uid.empty()) return;
  removing_.emplace(own.job.uid, std::pair(own.job, Instant()));
  own.job.uid.clear();
}

/// Before it began.
void KubernetesBackend::stop_own(const LaunchKey& key) {
  const auto own = own_.find(attempt_of(key));
  if (own == own_.end()) return;
  remove(own->second);
  std::erase(strays_, key);
}

/// The end of one launch is recorded; after the last of its attempt the Job stays for its log, or goes.
void KubernetesBackend::forget_own(const LaunchKey& key, const std::optional<Report>& last) {
  const AttemptKey attempt = attempt_of(key);
  const auto at = own_.find(attempt);
  if (at == own_.end()) return;
  OwnJob& own = at->second;
  if (last) {
    own.is_kept &= last->kind == ReportKind::kEnded && last->cause != EndCause::kStopped && last->cause != EndCause::kNotStarted;
  } else if (std::ranges::count(unbegun(attempt, own), key) > 0) {
    remove(own);  // given up by the caller: none of its attempt begins any more
  }
  own.forgotten.insert(key.task);
  const auto others = launches_.lower_bound({.job = attempt.job, .attempt = attempt.attempt, .task = 0});
  if (others != launches_.end() && attempt_of(others->first) == attempt) return;
  if (!unbegun(attempt, own).empty()) return;
  if (!own.is_kept && !own.job.uid.empty()) removing_.emplace(own.job.uid, std::pair(own.job, Instant()));
  std::error_code ignored;
  std::filesystem::remove(intent_of(attempt), ignored);
  own_.erase(at);
  done_.insert(attempt);
}

/// With the lock: what became of the Jobs and pods of attempts.
void KubernetesBackend::look_at_own(Instant now) {
  to_bind_.clear();
  strays_.clear();
  hopeless_.clear();
  if (!rules_.jobs) return;
  OwnPods pods;
  for (const auto& [uid, pod] : cluster_.pods) {
    const auto whose = attempt_of_pod(pod, rules_.jobs->mark);
    if (!whose) continue;
    const KubePlacingPod*& place = pods[whose->attempt][whose->index];
    if (place == nullptr || place->has_ended() || place->deleting) place = &pod;
  }
  find_strays(pods);
  std::vector<AttemptKey> attempts;
  for (const auto& [attempt, own] : own_)
    if (!own.job.uid.empty()) attempts.push_back(attempt);
  for (const AttemptKey& attempt : attempts)
    look_at_own(attempt, own_.at(attempt), pods, now);
  look_at_hindered(now);
  std::erase_if(discarded_, [&](const std::string& uid) { return !cluster_.pods.contains(uid) && !made_.jobs.contains(uid); });
  std::erase_if(removing_, [&](const auto& entry) {
    const auto job = made_.jobs.find(entry.first);
    return entry.second.second > Instant() && (job == made_.jobs.end() || job->second.deleting);
  });
}

/// Jobs at work that the caller has not asked for: the caller hears that they run, and stops those that it does not know.
void KubernetesBackend::find_strays(const OwnPods& pods) {
  std::set<AttemptKey> at_work;
  for (const auto& [uid, job] : made_.jobs) {
    if (job.finished || job.deleting || removing_.contains(uid) || discarded_.contains(uid)) continue;
    const auto whose = attempt_of_job(job, rules_.jobs->mark);
    if (!whose) continue;
    at_work.insert(whose->attempt);
    if (done_.contains(whose->attempt)) continue;
    OwnJob& own = own_[whose->attempt];
    if (own.job.uid.empty()) take_over(whose->attempt, own, job);
    own.tasks = whose->tasks;
    if (!own.launches.empty()) continue;
    const auto of_attempt = pods.find(whose->attempt);
    for (size_t i = 0; i < whose->tasks.size(); ++i) {
      const LaunchKey key{.job = whose->attempt.job, .attempt = whose->attempt.attempt, .task = whose->tasks[i]};
      bool ended = false;
      if (of_attempt != pods.end())
        if (const auto pod = of_attempt->second.find(static_cast<int32_t>(i)); pod != of_attempt->second.end())
          ended = pod->second->has_ended();
      if (!launches_.contains(key) && !ended) strays_.push_back(key);
    }
  }
  std::erase_if(done_, [&](const AttemptKey& attempt) { return !at_work.contains(attempt); });
}

void KubernetesBackend::look_at_own(const AttemptKey& attempt, OwnJob& own, const OwnPods& pods, Instant now) {
  const auto job = made_.jobs.find(own.job.uid);
  const bool is_there = job != made_.jobs.end();
  own.seen |= is_there;
  if (is_there && own.tasks.empty())
    if (const auto whose = attempt_of_job(job->second, rules_.jobs->mark)) own.tasks = whose->tasks;
  const auto of_attempt = pods.find(attempt);
  const auto pod_of = [&](int32_t task) -> const KubePlacingPod* {
    const auto index = std::ranges::find(own.tasks, task) - own.tasks.begin();
    if (of_attempt == pods.end()) return nullptr;
    const auto pod = of_attempt->second.find(static_cast<int32_t>(index));
    const bool is_its =
        pod != of_attempt->second.end() && pod->second->pod.meta.owner && pod->second->pod.meta.owner->uid == own.job.uid;
    return is_its ? pod->second : nullptr;
  };
  size_t waiting = 0, gone = 0, on_their_way = 0;
  const std::vector<LaunchKey> left = unbegun(attempt, own);
  for (const LaunchKey& key : left) {
    const KubePlacingPod* pod = pod_of(key.task);
    if (const auto begun = launched_pods_.find(key); begun != launched_pods_.end()) {
      // Ended before this program looked.
      launches_[key] = {.pod = begun->second, .called = {}, .job = {}, .last = {}, .leaves = {}, .tried = {}};
    } else if (binding_.contains(key)) {
      ++on_their_way;
    } else if (pod != nullptr && !pod->deleting && !pod->has_ended()) {
      if (pod->pod.node.empty()) ++waiting;
    } else if (!own.seen && own.was_made) {
      tell({.kind = ReportKind::kLost,
            .key = key,
            .at = now,
            .status = {},
            .detail = fmt::format("Job {} is gone, and the cluster does not say how it ended", name_in(own.job))});
      ++gone;
    } else if (own.seen && (!is_there || job->second.deleting || job->second.finished)) {
      const std::string_view what = is_there && !job->second.deleting ? "its pod" : "its Job";
      tell(
          ended_unbegun(key, EndCause::kItself, fmt::format("{} ({}) was deleted before it began", what, name_in(own.job)), now));
      ++gone;
    }
  }
  own.lacks_pods = waiting + gone + on_their_way < left.size();
  if (!left.empty() && waiting == left.size()) to_bind_.push_back(attempt);
  if (gone > 0) own.is_kept = false;
}

/// Pods that are bound and do not begin.
void KubernetesBackend::look_at_hindered(Instant now) {
  for (auto& [key, known] : launches_) {
    if (known.last || known.pod.empty()) continue;
    const auto there = cluster_.pods.find(known.pod);
    const std::string why = there == cluster_.pods.end() ? "" : why_not_begun(there->second);
    if (why.empty()) {
      known.hindered_since.reset();
      if (!std::exchange(known.hindrance, {}).empty()) events_.emplace_back(LaunchNote{key, ""});
      continue;
    }
    if (!known.hindered_since) known.hindered_since = now;
    // The kubelet tells one trouble by turns in two ways.
    if (known.hindrance.empty()) {
      known.hindrance = fmt::format("pod {}: {}", called(there->second), why);
      events_.emplace_back(LaunchNote{key, known.hindrance});
    }
    const bool is_own_job = own_.contains(attempt_of(key));
    if (!is_own_job || known.leaves || (!is_hopeless(there->second) && now - *known.hindered_since <= rules_.jobs->patience))
      continue;
    tell(ended_unbegun(key, EndCause::kNotStarted, known.hindrance, now));
    hopeless_.push_back(known.pod);
    discarded_.insert(known.pod);
  }
}

/// Without the lock: what a look has found to do.
void KubernetesBackend::act_on_own(Instant now) {
  if (!rules_.jobs) return;
  if (!ready_since_) ready_since_ = now;
  for (const std::string& uid : hopeless_) {
    KubePlacingPod pod;
    {
      const std::scoped_lock lock(mutex_);
      if (const auto there = cluster_.pods.find(uid); there != cluster_.pods.end()) pod = there->second;
    }
    if (!pod.pod.meta.name.empty()) delete_pod(pod);
  }
  for (auto& [uid, job] : removing_) {
    if (now - job.second < kTryOwnAgain) continue;
    job.second = now;
    (void)client_->change(delete_job_request(job.first));
  }
  make_ordered(now);
  for (const AttemptKey& attempt : std::exchange(to_bind_, {}))
    if (const auto own = own_.find(attempt); own != own_.end()) bind_own(attempt, own->second, now);
  for (auto& [attempt, own] : own_)
    if (!own.job.uid.empty() && own.lacks_pods && !unbegun(attempt, own).empty()) ask_why(attempt, own, now);
  sweep_own(now);
}

/// All that wait, or none.
void KubernetesBackend::bind_own(const AttemptKey& attempt, OwnJob& own, Instant now) {
  const Launch& any = own.launches.begin()->second;
  if (any.gang && !own.has_service) {
    if (now - own.tried < kTryOwnAgain && own.hindered_since) return;
    own.tried = now;
    std::vector<Launch> one = {any};
    auto spec = kube_job_of(one, *rules_.jobs);
    if (!spec.ok()) return;
    spec->name = own.job.name;
    const auto made = client_->change(make_service_request(*spec, own.job.uid));
    if (!made.ok() || (!made->ok() && made->status != 409))
      return hinder(attempt, own, fmt::format("its Service: {}", made.ok() ? made->message : made.error().message), now);
    own.has_service = true;
  }
  const auto placed = std::make_shared<Placed>();
  placed->at = own.at;
  {
    const std::scoped_lock lock(mutex_);
    Held sums = held();
    std::map<int32_t, const KubePlacingPod*> of_task;
    for (const auto& [uid, pod] : cluster_.pods) {
      const auto whose = attempt_of_pod(pod, rules_.jobs->mark);
      if (whose && whose->attempt == attempt && static_cast<size_t>(whose->index) < own.tasks.size() && pod.pod.node.empty() &&
          !pod.deleting && !pod.has_ended() && pod.pod.meta.owner && pod.pod.meta.owner->uid == own.job.uid)
        of_task[own.tasks[static_cast<size_t>(whose->index)]] = &pod;
    }
    for (const LaunchKey& key : unbegun(attempt, own)) {
      const auto found = of_task.find(key.task);
      if (found == of_task.end()) return;
      const KubePlacingPod& pod = *found->second;
      const std::string& node = own.launches.at(key.task).node;
      if (const std::string why = why_not_there(pod, node, sums); !why.empty()) {
        for (const LaunchKey& each : unbegun(attempt, own))
          refuse({.kind = OrderKind::kStart, .key = each, .at = own.at, .launch = {}, .grace = {}}, RefusalKind::kNotNow,
                 fmt::format("{} on {}: {}", called(pod), node, why));
        return;
      }
      add(sums[node], held_by(pod));
      placed->bindings.push_back(
          {.key = key,
           .uid = pod.pod.meta.uid,
           .node = node,
           .pod = pod,
           .annotations = {{std::string(kKubeLaunch), fmt::format("{}:{}", rules_.queue.mark, format_key(key))},
                           {std::string(kKubeAttempt), to_text(attempt, rules_.queue.mark)}}});
    }
  }
  bind(placed);
  unhinder(attempt, own);
}

/// Its pods are not made: the reason stands in the events of the Job.
void KubernetesBackend::ask_why(const AttemptKey& attempt, OwnJob& own, Instant now) {
  if (own.asked_why == Instant()) own.asked_why = now + kAskWhyAfter - kAskWhyEvery;
  if (now - own.asked_why < kAskWhyEvery) return;
  own.asked_why = now;
  const auto events = client_->get(fmt::format("/api/v1/namespaces/{}/events?limit=100&fieldSelector={}", own.job.ns,
                                               escape_url(fmt::format("involvedObject.uid={}", own.job.uid))));
  KubeMadeJobDecoder decoder;
  const auto said = events.ok() ? decoder.last_warning(*events) : Result<std::string>(events.error());
  if (!said.ok()) return hinder(attempt, own, said.error().message, now);
  hinder(attempt, own, fmt::format("Job {} has no pods for it yet{}{}", name_in(own.job), said->empty() ? "" : ": ", *said), now);
}

/// Files of attempts that the caller has long recorded the end of.
void KubernetesBackend::sweep_own(Instant now) {
  if (now - *ready_since_ < kForgottenAfter) return;
  const std::scoped_lock lock(mutex_);
  std::erase_if(own_, [&](const auto& entry) {
    const OwnJob& own = entry.second;
    const auto job = made_.jobs.find(own.job.uid);
    if (!own.launches.empty() || (job != made_.jobs.end() && !job->second.finished)) return false;
    std::error_code ignored;
    std::filesystem::remove(intent_of(entry.first), ignored);
    return true;
  });
}

/// The API server hands on what the machine's kubelet has: both streams, from the beginning of the file that it keeps now.
Result<LogPiece> KubernetesBackend::read_log(const LogQuery& query) const {
  if (!rules_.jobs) return make_error(ErrorCode::kNotFound, "the cluster keeps what its pods print: kubectl logs shows it");
  if (!query.output)
    return make_error(ErrorCode::kConflict,
                      "a pod's errors are among its output: leave the stream away, or have the command write them to a file");
  const std::string launch = fmt::format("{}:{}", rules_.queue.mark, format_key(query.key));
  std::string path;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [uid, pod] : cluster_.pods) {
      if (pod.annotation(kKubeLaunch) != launch) continue;
      if (!rules_.jobs->makes_in(pod.pod.meta.ns))
        return make_error(ErrorCode::kNotFound, "kubectl -n {} logs {} shows it: the daemon reads the logs of its jobs alone",
                          pod.pod.meta.ns, pod.pod.meta.name);
      path = fmt::format("/api/v1/namespaces/{}/pods/{}/log?container=main&limitBytes={}", pod.pod.meta.ns, pod.pod.meta.name,
                         kMostLog);
    }
  }
  if (path.empty() && query.ended)
    return make_error(
        ErrorCode::kUnavailable,
        "its pod is gone from the cluster, and what it printed with it: jobs that are cancelled or preempted keep none, "
        "others for engine: kubernetes: jobs: keep");
  if (path.empty()) return LogPiece();
  auto text = client_->text(path);
  if (!text.ok() && text.error().code == ErrorCode::kInvalidInput) return LogPiece();  // its container has not begun
  if (!text.ok()) return text.error();
  LogPiece piece{.bytes = {}, .offset = 0, .size = std::ssize(*text)};
  piece.offset = std::clamp<int64_t>(query.offset < 0 ? piece.size + query.offset : query.offset, 0, piece.size);
  piece.bytes = text->substr(static_cast<size_t>(piece.offset), static_cast<size_t>(std::max<int64_t>(0, query.limit)));
  return piece;
}

}  // namespace stint
