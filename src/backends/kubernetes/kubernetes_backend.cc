#include "backends/kubernetes/kubernetes_backend.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "backends/event_order.h"
#include "backends/kubernetes/kube_requests.h"
#include "base/text.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

constexpr int kBindingsAtOnce = 12;  ///< the API server takes no more of a client's without waiting much longer
constexpr int kRemovalsAtOnce = 4;
constexpr Duration kWatchFor = Duration::seconds(5);
constexpr int kConflict = 409, kTooManyRequests = 429;

Error not_sent() { return make_error(ErrorCode::kUnavailable, "not sent: another has the lease, or it is no longer wanted"); }

/// Rights that an older role may lack: what hangs on them is then left to others.
bool may_follow(KubeClient& client, std::string_view group, std::string_view resource) {
  for (const std::string_view verb : {"list", "watch"}) {
    const auto answer = client.change(may_request(verb, group, resource));
    if (answer.ok() && answer->ok() && answer->body.find("\"allowed\":true") == std::string::npos) return false;
  }
  return true;
}

std::vector<KubeFollower::Followed> what_is_followed(KubeClient& client, const std::optional<KubeJobRules>& jobs) {
  std::vector<KubeFollower::Followed> lists = {{.list = {.path = "/api/v1/nodes", .kind = "Node", .query = {}}, .version = {}},
                                               {.list = {.path = "/api/v1/pods", .kind = "Pod", .query = {}}, .version = {}}};
  if (jobs)
    lists.push_back(
        {.list = {.path = "/apis/batch/v1/jobs",
                  .kind = "Job",
                  .query = fmt::format("&labelSelector={}", escape_url(fmt::format("{}={}", kKubeDaemon, jobs->mark)))},
         .version = {}});
  constexpr std::string_view kGroups = "/apis/scheduling.x-k8s.io/v1alpha1";
  const auto groups = client.get(std::string(kGroups));
  if (groups.ok() && groups->find("\"podgroups\"") != std::string::npos)
    lists.push_back({.list = {.path = fmt::format("{}/podgroups", kGroups), .kind = "PodGroup", .query = {}}, .version = {}});
  if (may_follow(client, "", "persistentvolumeclaims") && may_follow(client, "", "persistentvolumes") &&
      may_follow(client, "storage.k8s.io", "storageclasses"))
    for (const auto& [path, kind] : {std::pair("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim"),
                                     std::pair("/api/v1/persistentvolumes", "PersistentVolume"),
                                     std::pair("/apis/storage.k8s.io/v1/storageclasses", "StorageClass")})
      lists.push_back({.list = {.path = path, .kind = kind, .query = {}}, .version = {}});
  constexpr std::string_view kDevices = "/apis/resource.k8s.io/v1";
  const auto devices = client.get(std::string(kDevices));
  if (devices.ok() && devices->find("\"resourceslices\"") != std::string::npos &&
      may_follow(client, "resource.k8s.io", "resourceclaims") && may_follow(client, "resource.k8s.io", "resourceslices") &&
      may_follow(client, "resource.k8s.io", "deviceclasses"))
    for (const auto& [path, kind] : {std::pair("resourceclaims", "ResourceClaim"), std::pair("resourceslices", "ResourceSlice"),
                                     std::pair("deviceclasses", "DeviceClass")})
      lists.push_back({.list = {.path = fmt::format("{}/{}", kDevices, path), .kind = kind, .query = {}}, .version = {}});
  return lists;
}

/// The same after a restart: who was killed need not wait until its own Lease has run out. No other process is it, since the daemon locks its
/// state folder; a copy of the folder, or the folder on another machine, is somebody else.
std::string lease_holder(const KubernetesBackendRules& rules) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  std::error_code failed;
  const fs::path folder = fs::canonical(rules.state_folder, failed);
  return fmt::format("{}_{}", host.data(), fingerprint_of_bytes(rules.queue.mark + "\n" + folder.string()));
}

}  // namespace

Result<std::unique_ptr<KubernetesBackend>> KubernetesBackend::create(KubernetesBackendRules rules) {
  std::error_code failed;
  fs::create_directories(rules.state_folder, failed);
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", rules.state_folder, failed.message());
  const std::string mark_file = rules.state_folder + "/mark";
  if (!fs::exists(mark_file)) TRY(write_file_atomically(mark_file, random_hex(8)));
  TRY_ASSIGN(const std::string mark, read_all(mark_file));
  rules.queue.mark = std::string(trim(mark));
  rules.lease.holder = lease_holder(rules);
  TRY_ASSIGN(std::shared_ptr<KubeIdentity> identity, KubeIdentity::find(rules.identity));
  KubeClientOptions options;
  options.watch_for = kWatchFor;
  auto client = std::make_shared<KubeClient>(std::move(identity), options);
  if (rules.jobs) {
    rules.jobs->mark = rules.queue.mark;
    rules.jobs->scheduler = rules.queue.scheduler;
  }
  std::unique_ptr<KubernetesBackend> backend(new KubernetesBackend(std::move(rules), std::move(client)));
  TRY(backend->find_intents());
  return backend;
}

KubernetesBackend::KubernetesBackend(KubernetesBackendRules rules, std::shared_ptr<KubeClient> client)
    : rules_(std::move(rules)),
      client_(std::move(client)),
      lease_(client_, rules_.lease),
      teller_(client_, [this] { return lease_.holds(); }),
      fleet_(rules_.machines),
      queue_(rules_.queue),
      follower_(client_, taker_, mutex_),
      binders_(kBindingsAtOnce),
      removers_(kRemovalsAtOnce) {
  std::vector<KubeFollower::Followed> lists = what_is_followed(*client_, rules_.jobs);
  cluster_.knows_volumes = std::ranges::any_of(lists, [](const auto& one) { return one.list.kind == "StorageClass"; });
  cluster_.devices.known = std::ranges::any_of(lists, [](const auto& one) { return one.list.kind == "ResourceSlice"; });
  follower_.follow(std::move(lists));
}

std::vector<std::string> KubernetesBackend::notes() const {
  return {
      fmt::format("Kubernetes at {} runs the jobs: pods with schedulerName {} wait in this daemon's queue; other pods hold their "
                  "room. {}",
                  client_->identity().called(), rules_.queue.scheduler,
                  rules_.jobs ? fmt::format("What is submitted here becomes Jobs, in namespace {}", rules_.jobs->ns)
                              : "Jobs cannot be submitted here: make pods, or configure `jobs`")};
}

Status KubernetesBackend::takes(const Launch& like) const {
  if (rules_.jobs) return check_kube_launch(like);
  return invalid(
      "this daemon places the pods of a Kubernetes and takes no jobs from stint submit: make a Job or pod there, with "
      "schedulerName: {}, or configure engine: kubernetes: jobs (docs/kubernetes.md)",
      rules_.queue.scheduler);
}

void KubernetesBackend::tell(Report report) {
  launches_[report.key].last = report;
  events_.emplace_back(std::move(report));
}

void KubernetesBackend::refuse(const Order& order, RefusalKind kind, std::string why) {
  events_.emplace_back(Refusal{.order = order.kind, .kind = kind, .key = order.key, .at = order.at, .detail = std::move(why)});
}

KubernetesBackend::~KubernetesBackend() { ending_ = true; }

void KubernetesBackend::send(WorkerPool& pool, std::function<void()> request, std::function<void()> then) {
  pool.submit([this, request = std::move(request), then = std::move(then)]() mutable {
    if (ending_) return;
    request();
    const std::scoped_lock lock(answered_mutex_);
    answered_.push_back(std::move(then));
  });
}

void KubernetesBackend::finish_answered() {
  std::vector<std::function<void()>> answered;
  {
    const std::scoped_lock lock(answered_mutex_);
    answered.swap(answered_);
  }
  for (const auto& then : answered)
    then();
}

/// Without the lease nothing is changed and nothing answered: whoever has no answer asks again. What is to be dismissed is said once.
void KubernetesBackend::submit(std::vector<Order> orders) {
  dirty_ = true;
  finish_answered();
  for (const Order& order : orders)
    if (order.kind == OrderKind::kDismiss) dismissed_.try_emplace(order.others_job);
  if (!ready_ || !lease_.holds()) return;
  // What was ordered before a restart waits among the pods: without a look at them it would seem to be gone.
  if (!others_told_) {
    look(looked_at_);
    dirty_ = true;
    if (!others_told_) return;
  }
  std::map<std::pair<int64_t, int32_t>, Placing> placings;
  for (const Order& order : orders) {
    const auto known = launches_.find(order.key);
    const auto binding = binding_.find(order.key);
    switch (order.kind) {
      case OrderKind::kStart:
        if (order.launch->others_job.empty()) order_own(order);
        if (known != launches_.end()) {
          if (known->second.last) events_.emplace_back(*known->second.last);
        } else if (binding != binding_.end()) {
          break;
        } else if (!order.launch->others_job.empty()) {
          Placing& together = placings[{order.key.job, order.key.attempt}];
          together.job = order.launch->others_job;
          together.launches.push_back(&*order.launch);
          together.at = std::max(together.at, order.at);
        }
        break;
      case OrderKind::kStop:
        if (known != launches_.end() || binding == binding_.end()) {
          stop(order);
        } else {
          binding->second->withdrawn = true;
          stop_then_.insert_or_assign(order.key, order);
        }
        break;
      case OrderKind::kSignal: refuse(order, RefusalKind::kNotKnown, "a pod cannot be sent signals: kubectl exec can"); break;
      case OrderKind::kForget: forget(order); break;
      case OrderKind::kDismiss: break;
    }
  }
  make_ordered(looked_at_);
  std::vector<std::shared_ptr<Placed>> placed;
  if (!placings.empty()) {
    const std::scoped_lock lock(mutex_);
    Room room{.held = held(), .around = around()};
    for (const auto& [attempt, placing] : placings)
      place(placing, room, placed);
  }
  for (const std::shared_ptr<Placed>& one : placed)
    bind(one);
}

/// With the lock. What is on its way to a machine has its room there.
KubernetesBackend::Held KubernetesBackend::held() const {
  Held sums = cluster_.held();
  for (const auto& [key, placed] : binding_) {
    if (placed->bindings.front().key != key) continue;  // each once
    for (const Binding& one : placed->bindings) {
      const auto pod = cluster_.pods.find(one.uid);
      if (pod != cluster_.pods.end() && pod->second.pod.node.empty()) add(sums[one.node], held_by(pod->second));
    }
  }
  return sums;
}

void KubernetesBackend::bind(const std::shared_ptr<Placed>& placed) {
  placed->unanswered = placed->bindings.size();
  for (Binding& one : placed->bindings) {
    binding_.insert_or_assign(one.key, placed);
    teller_.forget(one.uid);
  }
  for (Binding& one : placed->bindings)
    send(
        binders_, [this, placed, &one] { bind_one(one, placed->withdrawn); },
        [this, placed] {
          if (--placed->unanswered == 0) settle(*placed);
        });
}

/// By any thread. A request that had no answer may have been carried out before it was repeated: the pod says.
void KubernetesBackend::bind_one(Binding& one, const std::atomic<bool>& withdrawn) const {
  one.answer = not_sent();
  if (withdrawn || !lease_.holds()) return;
  for (Claim& claim : one.claims) {
    one.answer = reserve(claim, one);
    if (one.is_refused()) return release(one.claims, one.pod);
    if (!one.is_bound()) return;
  }
  one.answer = client_->change(bind_request(one.pod, one.node, one.annotations));
  if (!one.is_refused()) return;
  const auto now_there = client_->get(fmt::format("/api/v1/namespaces/{}/pods/{}", one.pod.pod.meta.ns, one.pod.pod.meta.name));
  if (!now_there.ok()) {
    if (one.answer->status == kConflict) one.answer = now_there.error();  // it may be this very binding that was there before
    return;
  }
  KubePlacingDecoder decoder;
  const auto object = decoder.decode(*now_there, "Pod");
  const auto* pod = object.ok() ? std::get_if<KubePlacingPod>(&*object) : nullptr;
  if (pod != nullptr && pod->pod.meta.uid == one.uid && pod->pod.node == one.node &&
      pod->annotation(kKubeLaunch) == one.annotations.front().second)
    one.answer = KubeAnswer{.status = 200, .body = {}, .message = {}};
  else
    release(one.claims, one.pod);
}

/// What the server refused breaks its gang: what was bound of it goes again. Where no answer came, the caller asks again.
void KubernetesBackend::settle(Placed& placed) {
  const auto refused = std::ranges::find_if(placed.bindings, &Binding::is_refused);
  const bool broken = refused != placed.bindings.end();
  {
    const std::scoped_lock lock(mutex_);
    for (const Binding& one : placed.bindings)
      if (one.is_bound()) cluster_.bound(one.uid, one.node, one.annotations);
    for (const Binding& one : placed.bindings)
      for (const Claim& claim : one.claims)
        cluster_.claimed(claim.claim);
  }
  if (std::ranges::none_of(placed.bindings, &Binding::is_bound) || broken) queue_.broken(placed.job);
  for (const Binding& one : placed.bindings) {
    binding_.erase(one.key);
    if (broken) {
      discarded_.insert(one.uid);
      if (one.is_bound()) delete_pod(one.pod);
      refuse({.kind = OrderKind::kStart, .key = one.key, .at = placed.at, .launch = {}, .grace = {}}, RefusalKind::kNotNow,
             fmt::format("{}: {}", called(refused->pod), refused->answer->message));
    } else if (one.is_bound()) {
      launched_pods_[one.key] = one.uid;
      launches_.try_emplace(one.key, Known{.pod = one.uid, .called = called(one.pod), .job = placed.job});
    }
  }
  if (const auto own = own_.find(attempt_of(placed.bindings.front().key)); broken && own != own_.end())
    drop_own(own->first, own->second);
  for (const Binding& one : placed.bindings)
    if (const auto order = stop_then_.extract(one.key)) stop(order.mapped());
}

void KubernetesBackend::delete_pod(const KubePlacingPod& pod) {
  send(
      removers_,
      [this, change = delete_request(pod, pod.grace)] {
        if (lease_.holds()) (void)client_->change(change);
      },
      [] {});
}

void KubernetesBackend::stop(const Order& order) {
  const auto found = launches_.find(order.key);
  if (found != launches_.end() && found->second.has_ended()) return events_.emplace_back(*found->second.last), void();
  if (found == launches_.end()) {
    const auto bound = launched_pods_.find(order.key);
    if (bound == launched_pods_.end()) {
      stop_own(order.key);
      Report report{.kind = ReportKind::kEnded, .key = order.key, .at = order.at, .status = {}, .cause = EndCause::kStopped};
      report.status.signal = SIGTERM;
      report.detail = "stopped before it began";
      return tell(std::move(report));
    }
    launches_[order.key] = {.pod = bound->second, .called = {}};
  }
  ask_to_leave(order.key, order.grace, order.at);
}

/// By the eviction API; by force where no grace is given. Pods that other schedulers place are left alone.
void KubernetesBackend::ask_to_leave(const LaunchKey& key, Duration grace, Instant at) {
  Known& known = launches_.at(key);
  KubePlacingPod pod;
  {
    const std::scoped_lock lock(mutex_);
    const auto there = cluster_.pods.find(known.pod);
    if (there == cluster_.pods.end() || !queue_.is_own(there->second)) return;
    pod = there->second;
  }
  // It counts from when the server takes the request; asked once more, it only becomes shorter.
  const Duration promised = std::min({grace, pod.grace, known.leaves ? known.grace : grace});
  if (known.asked && at + promised >= *known.leaves) return;
  known.grace = promised;
  known.leaves = at + promised;
  known.tried = at;
  const bool by_force = grace <= Duration();
  const KubeChange change = by_force || known.asked ? delete_request(pod, promised) : evict_request(pod, promised);
  const auto answer = std::make_shared<Result<KubeAnswer>>(not_sent());
  send(
      removers_,
      [this, answer, change] {
        if (lease_.holds()) *answer = client_->change(change);
      },
      [this, answer, key] { answered_leaving(key, *answer); });
}

/// A disruption budget keeps a pod for as long as it likes; it is asked again.
void KubernetesBackend::answered_leaving(const LaunchKey& key, const Result<KubeAnswer>& answer) {
  const auto found = launches_.find(key);
  if (found == launches_.end()) return;
  Known& known = found->second;
  const bool is_kept = answer.ok() && answer->status == kTooManyRequests;
  known.asked |= answer.ok() && !is_kept;
  if (is_kept && !std::exchange(known.kept, true))
    events_.emplace_back(BackendNote{
        fmt::format("pod {} is to leave and stays, since a PodDisruptionBudget protects it: {}; it is asked again every "
                    "{} s",
                    known.called, answer->message, kAskAgain.whole_seconds())});
}

/// A job that waits was cancelled: its pods go. @return whether none of them is left.
bool KubernetesBackend::dismiss(const std::string& job) {
  std::vector<KubePlacingPod> pods;
  {
    const std::scoped_lock lock(mutex_);
    const KubeGroup* group = queue_.find(job);
    if (group == nullptr) return true;
    for (const std::string& uid : group->pods)
      if (const auto pod = cluster_.pods.find(uid); pod != cluster_.pods.end() && pod->second.pod.node.empty())
        pods.push_back(pod->second);
  }
  for (const KubePlacingPod& pod : pods)
    delete_pod(pod);
  return false;
}

void KubernetesBackend::forget(const Order& order) {
  const auto known = launches_.find(order.key);
  if (known == launches_.end() && own_.contains(attempt_of(order.key))) return forget_own(order.key, {});
  if (known == launches_.end()) return refuse(order, RefusalKind::kNotKnown, never_started(order.key).message);
  if (!known->second.has_ended())
    return refuse(order, RefusalKind::kRuns, fmt::format("launch {}: has not ended yet: stop it first", format_key(order.key)));
  const std::optional<Report> last = known->second.last;
  launches_.erase(known);
  forget_own(order.key, last);
}

std::vector<BackendEvent> KubernetesBackend::drain(Instant now) {
  if (dirty_ || now - looked_at_ >= rules_.every) look(now);
  put_in_order(events_);
  return std::exchange(events_, {});
}

std::optional<Instant> KubernetesBackend::next_event_at() const {
  return dirty_ || !events_.empty() ? Instant() : looked_at_ + rules_.every;
}

std::vector<LaunchKey> KubernetesBackend::running() const {
  std::vector<LaunchKey> keys;
  for (const auto& [key, known] : launches_)
    if (!known.has_ended() && !known.pod.empty()) keys.push_back(key);
  keys.insert(keys.end(), strays_.begin(), strays_.end());
  std::ranges::sort(keys);
  return keys;
}

}  // namespace stint
