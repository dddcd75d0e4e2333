// A look at a cluster: what became of launches, of machines and of pods since the last.
#include <algorithm>
#include <csignal>

#include "backends/kubernetes/kube_requests.h"
#include "backends/kubernetes/kubernetes_backend.h"
#include "base/text.h"

namespace stint {
namespace {

constexpr Duration kEndsBehind = Duration::seconds(2);
constexpr size_t kMostSaid = 500;  ///< of one look
constexpr int kNodeHasChanged = 409;

/// What the machine or the cluster did, and not the pod.
bool is_lost(const KubePlacingPod& pod) {
  const std::string& reason = pod.pod.reason;
  return reason.starts_with("OutOf") || reason == "UnexpectedAdmissionError" || reason == "NodeLost" ||
         reason == "NodeShutdown" || reason == "Evicted" || reason == "Preempting" || reason == "Terminated" ||
         !pod.pod.disruption.empty();
}

Report end_of_pod(const KubePlacingPod& pod, const LaunchKey& key, bool leaves, Instant now) {
  Report report{.kind = ReportKind::kEnded, .key = key, .at = std::min(now, pod.pod.ended.value_or(now)), .status = {}};
  if (pod.pod.phase == "Succeeded") return report;
  constexpr int64_t kMostCode = 255;
  report.status.code = static_cast<int>(std::clamp<int64_t>(pod.exit_code.value_or(1), 1, kMostCode));
  report.detail = pod.pod.reason.empty() ? pod.exit_reason : pod.pod.reason;
  if (leaves)
    report.cause = EndCause::kStopped;
  else if (pod.pod.reason == "DeadlineExceeded")
    report.cause = EndCause::kTimeLimit;
  else if (pod.exit_reason == "OOMKilled")
    report.cause = EndCause::kOutOfMemory;
  else if (is_lost(pod))
    report.kind = ReportKind::kLost;
  return report;
}

}  // namespace

void KubernetesBackend::look(Instant now) {
  finish_answered();
  looked_at_ = now;
  dirty_ = false;
  const bool leads = lease_.holds();
  if (!follower_.has_all() || !leads) {
    std::string trouble = follower_.has_all() ? "" : follower_.trouble();
    if (trouble.empty() && !leads) trouble = lease_.standing();
    if (!trouble.empty() && trouble != trouble_)
      events_.emplace_back(BackendNote{fmt::format("nothing is placed in Kubernetes: {}", trouble)});
    trouble_ = std::move(trouble);
    return;
  }
  trouble_.clear();
  {
    const std::scoped_lock lock(mutex_);
    for (MachineReport& report : fleet_.look(cluster_, rules_.queue.mark))
      events_.emplace_back(std::move(report));
    mark_nodes(now);
    look_at_launches(now);
    look_at_own(now);
    // The caller has to know the machines before it hears what is to run there.
    if (ready_) {
      for (BackendEvent& event : queue_.look(cluster_, now))
        events_.emplace_back(std::move(event));
      if (!std::exchange(others_told_, true)) events_.emplace_back(OthersThere{.names = queue_.there(cluster_)});
      say_why(now);
    }
  }
  for (auto& [due, job] : end_later_)
    if (due <= now) events_.emplace_back(job);
  std::erase_if(end_later_, [&](const auto& entry) { return entry.first <= now; });
  for (const auto& [key, known] : launches_)
    if (known.leaves && !known.asked && !known.has_ended() && now - known.tried >= kAskAgain) ask_to_leave(key, known.grace, now);
  for (auto one = dismissed_.begin(); others_told_ && one != dismissed_.end();) {
    const bool is_due = now - one->second >= kAskAgain;
    if (is_due) one->second = now;
    one = is_due && dismiss(one->first) ? dismissed_.erase(one) : std::next(one);
  }
  act_on_own(now);
  ready_ = true;
}

/// With the lock. Each node is brought in line by one request at a time, made for what the watch last told of it.
void KubernetesBackend::mark_nodes(Instant now) {
  if (rules_.asks == nullptr) return;
  const auto [asks, number] = rules_.asks->get();
  if (asks == nullptr) return;
  bool open = false;
  std::string problem;
  for (const MachineReport& report : fleet_.machines()) {
    const std::string& name = report.machine.node.name;
    const auto node = cluster_.nodes.find(name);
    if (node == cluster_.nodes.end()) continue;
    const auto asked = asks->find(name);
    MachineAsk ask = asked == asks->end() ? MachineAsk() : asked->second;
    if (report.cause == MachineCause::kBroken) ask.broken = report.detail;
    if (ask == MachineAsk() && !is_marked(node->second)) {
      marking_.erase(name);
      continue;
    }
    Marking& marking = marking_[name];
    open |= mark_node(node->second, std::move(ask), marking, now);
    if (problem.empty() && !marking.problem.empty()) problem = fmt::format("node {}: {}", name, marking.problem);
  }
  std::erase_if(marking_, [&](const auto& one) { return !one.second.is_asked && !cluster_.nodes.contains(one.first); });
  if (!problem.empty() && problem != marking_trouble_)
    events_.emplace_back(BackendNote{fmt::format("Kubernetes is not told what takes no work: {}", problem)});
  marking_trouble_ = problem;
  rules_.asks->looked(number, open, std::move(problem));
}

/// @return whether it is not in line yet.
bool KubernetesBackend::mark_node(const KubePlacingNode& node, MachineAsk ask, Marking& marking, Instant now) {
  if (marking.is_asked) return true;
  // A device plugin that begins anew offers none for a while.
  if (ask.broken.empty())
    marking.broken_since.reset();
  else if (now - marking.broken_since.emplace(marking.broken_since.value_or(now)) < rules_.taint_after)
    ask.broken.clear();
  const std::optional<KubeChange> change = mark_request(node, ask, rules_.queue.mark);
  if (!change) {
    marking.problem.clear();
    return false;
  }
  if (marking.version == node.version && now - marking.tried < kAskAgain)
    return true;  // the watch has not told yet, or it was refused
  marking.version = node.version;
  marking.tried = now;
  marking.is_asked = true;
  auto answer = std::make_shared<Result<KubeAnswer>>(make_error(ErrorCode::kUnavailable, "another has the lease"));
  send(
      removers_,
      [this, change = *change, answer] {
        if (lease_.holds()) *answer = client_->change(change);
      },
      [this, name = node.node.meta.name, answer] { marked(name, *answer); });
  return true;
}

/// A node that has changed meanwhile (409) is read again first.
void KubernetesBackend::marked(const std::string& name, const Result<KubeAnswer>& answer) {
  Marking& marking = marking_[name];
  marking.is_asked = false;
  marking.problem = !answer.ok()                                        ? answer.error().message
                    : answer->ok() || answer->status == kNodeHasChanged ? ""
                                                                        : answer->message;
}

void KubernetesBackend::look_at_launches(Instant now) {
  launched_pods_.clear();
  const std::string mark = rules_.queue.mark + ":";
  for (const auto& [uid, pod] : cluster_.pods) {
    const std::string_view text = pod.annotation(kKubeLaunch);
    if (!text.starts_with(mark) || pod.pod.node.empty()) continue;
    const auto key = parse_key(text.substr(mark.size()));
    if (!key || discarded_.contains(uid)) continue;
    launched_pods_[*key] = uid;
    // After a restart. What has ended is told when it is asked for: it may have been forgotten.
    if (!pod.has_ended() && !launches_.contains(*key) && !binding_.contains(*key))
      launches_[*key] = {
          .pod = uid, .called = pod.pod.meta.ns + "/" + pod.pod.meta.name, .job = std::string(pod.annotation(kKubeJob))};
  }
  for (auto& [key, known] : launches_)
    if (!known.has_ended() && !known.pod.empty()) look_at(key, known, now);
}

void KubernetesBackend::look_at(const LaunchKey& key, Known& known, Instant now) {
  const auto there = cluster_.pods.find(known.pod);
  if (there == cluster_.pods.end()) {
    Report report{.kind = ReportKind::kEnded, .key = key, .at = now, .status = {}};
    report.cause = known.leaves ? EndCause::kStopped : EndCause::kItself;
    report.status.signal = SIGTERM;
    report.detail = known.leaves ? "" : fmt::format("pod {} was deleted", known.called);
    // The caller would wait for it to come back: what its controller makes anew is another job.
    if (known.leaves && !known.job.empty())
      end_later_.emplace_back(
          now + kEndsBehind,
          OthersJob{.name = known.job, .submitted = {}, .state = OthersJob::State::kEnded, .queue = {}, .user = {}, .title = {}});
    return tell(std::move(report));
  }
  const KubePlacingPod& pod = there->second;
  known.called = pod.pod.meta.ns + "/" + pod.pod.meta.name;
  if (pod.has_ended()) return tell(end_of_pod(pod, key, known.leaves.has_value(), now));
  if (!known.last && pod.pod.phase == "Running")
    tell({.kind = ReportKind::kStarted, .key = key, .at = std::min(now, pod.pod.started.value_or(now)), .status = {}});
}

void KubernetesBackend::say_why(Instant now) {
  size_t said = 0;
  for (const KubeComplaint& complaint : queue_.complaints()) {
    const auto there = cluster_.pods.find(complaint.uid);
    if (there == cluster_.pods.end()) continue;
    const KubePlacingPod& pod = there->second;
    if (pod.scheduled_message == complaint.message) continue;
    if (++said > kMostSaid) break;
    teller_.say(
        complaint.uid, complaint.message,
        {condition_request(pod, complaint.reason == "Unschedulable" ? "Unschedulable" : complaint.reason, complaint.message, now),
         event_request(pod, complaint.reason, complaint.message, now)});
  }
  for (const auto& [uid, revision] : queue_.revisions())
    if (const auto there = cluster_.pods.find(uid); there != cluster_.pods.end())
      teller_.say(uid + " revision", std::to_string(revision),
                  {annotate_request(there->second, kKubeRevision, std::to_string(revision))});
}

}  // namespace stint
