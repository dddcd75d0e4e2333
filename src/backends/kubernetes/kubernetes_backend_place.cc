// Where pods of others go: what the caller has decided, held against what is on the machines now.
#include <algorithm>
#include <optional>

#include "backends/kubernetes/kube_requests.h"
#include "backends/kubernetes/kubernetes_backend.h"
#include "base/text.h"

namespace stint {
namespace {

constexpr int kRefusedForGood = 127;
constexpr Duration kChooseAgain = Duration::seconds(10);
constexpr std::string_view kGone = "its pod is gone from the cluster";
constexpr std::string_view kToldAnew = "where its pod may run has changed: it waits on as another job";

std::string launch_text(std::string_view mark, const LaunchKey& key) { return fmt::format("{}:{}", mark, format_key(key)); }

bool has_room(const KubePlacingNode& node, KubeHeld sum, const KubeHeld& more) {
  const KubeHeld room = room_of(node);
  add(sum, more);
  const auto has_other = [&](const auto& asked) {
    const auto has = room.others.find(asked.first);
    return has != room.others.end() && sum.others.at(asked.first) <= has->second;
  };
  return sum.gpus <= room.gpus && sum.cpu_milli <= room.cpu_milli && sum.memory <= room.memory && sum.pods <= room.pods &&
         std::ranges::all_of(more.others, has_other);
}

}  // namespace

/// What is told of pods that are there no longer: they do not come back under this name.
void KubernetesBackend::gone(const Placing& placing, const std::vector<const Launch*>& launches, std::string why) {
  for (const Launch* launch : launches) {
    Report end{.kind = ReportKind::kEnded, .key = launch->key, .at = placing.at, .status = {}, .cause = EndCause::kNotStarted};
    end.status.code = kRefusedForGood;
    end.detail = why;
    tell(std::move(end));
  }
}

std::string KubernetesBackend::why_not_there(const KubePlacingPod& pod, const std::string& node, const Held& held) const {
  const auto there = cluster_.nodes.find(node);
  if (there == cluster_.nodes.end()) return "the cluster has no such machine";
  if (std::string why = why_no_work(there->second); !why.empty()) return why;
  if (std::string why = why_not_on(pod, there->second); !why.empty()) return why;
  const auto on_it = held.find(node);
  if (has_room(there->second, on_it == held.end() ? KubeHeld() : on_it->second, held_by(pod))) return {};
  return "other pods have taken the room that it needs";
}

/// With the lock. What decides beside room; what is on its way is where it goes.
KubeAround KubernetesBackend::around() const {
  KubeAround all(cluster_);
  for (const auto& [key, placed] : binding_) {
    if (placed->bindings.front().key != key) continue;  // each once
    for (const Binding& one : placed->bindings)
      if (const auto pod = cluster_.pods.find(one.uid); pod != cluster_.pods.end() && pod->second.pod.node.empty())
        all.add(pod->second, one.node, one.devices);
  }
  return all;
}

/// With the lock. A volume is made where its pod goes to, once the claim says so. @return what is waited for.
std::string KubernetesBackend::have_volumes_made(const std::string& job, const std::string& node,
                                                 const std::vector<std::string>& claims) {
  std::string waits;
  std::erase_if(chosen_, [&](const auto& one) { return !cluster_.claims.contains(one.first); });
  for (const std::string& name : claims) {
    const auto claim = cluster_.claims.find(name);
    if (claim == cluster_.claims.end()) continue;
    waits = fmt::format("volume of {} is being made for {}", name, node);
    Choice& choice = chosen_[name];
    if (choice.node == node && (claim->second.chosen == node || looked_at_ - choice.at < kChooseAgain)) continue;
    choice = {.node = node, .at = looked_at_};
    send(
        binders_,
        [this, change = choose_node_request(claim->second, node)] {
          if (lease_.holds()) (void)client_->change(change);
        },
        [] {});
  }
  if (!waits.empty()) queue_.asked(job, looked_at_);
  return waits;
}

/// With the lock. @return false = not all have it, and that was said.
bool KubernetesBackend::take_room(const Placing& placing, const std::vector<const Launch*>& left,
                                  const std::vector<std::string>& pods, Room& room,
                                  std::vector<std::vector<KubeAllocation>>& devices) {
  std::optional<KubeAround> of_gang;
  KubeAround& around = left.size() > 1 ? of_gang.emplace(room.around) : room.around;
  std::string later, never;  // why not
  size_t taken = 0;
  for (; taken < left.size() && later.empty() && never.empty(); ++taken) {
    const KubePlacingPod& pod = cluster_.pods.at(pods[taken]);
    const std::string& node = left[taken]->node;
    const auto where = [&](const std::string& why) {
      return why.empty() ? why : fmt::format("{} on {}: {}", called(pod), node, why);
    };
    later = where(why_not_there(pod, node, room.held));
    add(room.held[node], held_by(pod));
    if (!later.empty()) continue;
    std::vector<KubeAllocation>& its = devices.emplace_back();
    if (around.concerns(pod)) {
      const KubeAsk ask(pod, around);
      const KubePlacingNode& there = cluster_.nodes.at(node);
      never = where(ask.why_nowhere().empty() ? ask.why_not_on(there) : ask.why_nowhere());
      if (!never.empty()) continue;
      if (auto found = ask.devices_on(there); found.ok())
        its = std::move(*found);
      else
        later = where(found.error().message);
      if (later.empty()) later = where(have_volumes_made(placing.job, node, ask.volumes_to_make()));
    }
    if (later.empty()) around.add(pod, node, its);
  }
  if (later.empty() && never.empty()) {
    if (of_gang) room.around = std::move(*of_gang);
    return true;
  }
  while (taken-- > 0)
    take_away(room.held[left[taken]->node], held_by(cluster_.pods.at(pods[taken])));
  if (!never.empty()) queue_.asked(placing.job, Instant());  // it is told anew at the next look
  not_now(placing, left, never.empty() ? later : never);
  return false;
}

/// With the lock: as they are now.
std::vector<KubernetesBackend::Claim> KubernetesBackend::claims_of(const KubePlacingPod& pod,
                                                                   const std::vector<KubeAllocation>& devices) const {
  std::vector<Claim> claims;
  for (const std::string& name : pod.pod.claims) {
    const auto known = cluster_.devices.claims.find(pod.pod.meta.ns + "/" + name);
    if (known == cluster_.devices.claims.end()) continue;
    Claim claim{.claim = known->second, .devices = {}, .configs = class_configs(known->second, cluster_.devices)};
    if (const auto its = std::ranges::find(devices, known->first, &KubeAllocation::claim); its != devices.end())
      claim.devices = its->devices;
    claim.done = std::ranges::find(claim.claim.reserved_for, pod.pod.meta.uid) != claim.claim.reserved_for.end();
    claims.push_back(std::move(claim));
  }
  return claims;
}

/// By any thread.
Result<KubeAnswer> KubernetesBackend::reserve(Claim& claim, const Binding& one) const {
  if (claim.done) return KubeAnswer{.status = 200, .body = {}, .message = {}};
  KubePlacingDecoder decoder;
  const auto ask = [&](const KubeChange& change) -> Result<KubeAnswer> {
    TRY_ASSIGN(KubeAnswer answer, client_->change(change));
    if (!answer.ok()) return answer;
    TRY_ASSIGN(KubePlacingObject object, decoder.decode(answer.body, "ResourceClaim"));
    claim.claim = std::get<KubeDeviceClaim>(std::move(object));
    return answer;
  };
  if (!claim.claim.is_kept) {
    const auto answer = ask(keep_claim_request(claim.claim));
    if (!answer.ok() || !answer->ok()) return answer;
  }
  auto answer = ask(reserve_request(claim.claim, claim.devices, claim.configs, one.pod, one.node));
  claim.done = answer.ok() && answer->ok();
  return answer;
}

/// Likewise: what was reserved for a pod that could not be bound.
void KubernetesBackend::release(std::vector<Claim>& claims, const KubePlacingPod& pod) const {
  for (Claim& claim : claims) {
    if (!claim.done) continue;
    const auto answer = client_->change(release_request(claim.claim, pod, !claim.devices.empty()));
    KubePlacingDecoder decoder;
    if (!answer.ok() || !answer->ok()) continue;
    if (auto object = decoder.decode(answer->body, "ResourceClaim"); object.ok())
      claim.claim = std::get<KubeDeviceClaim>(std::move(*object));
  }
}

void KubernetesBackend::not_now(const Placing& placing, const std::vector<const Launch*>& launches, const std::string& why) {
  for (const Launch* launch : launches)
    refuse({.kind = OrderKind::kStart, .key = launch->key, .at = placing.at, .launch = {}, .grace = {}}, RefusalKind::kNotNow,
           why);
}

/// With the lock. All or none of what can be bound now; what is bound already says so of itself.
void KubernetesBackend::place(const Placing& placing, Room& room, std::vector<std::shared_ptr<Placed>>& placed) {
  std::vector<const Launch*> left;
  for (const Launch* launch : placing.launches) {
    if (const auto pod = launched_pods_.find(launch->key); pod != launched_pods_.end()) {
      const auto there = cluster_.pods.find(pod->second);
      launches_[launch->key] = {
          .pod = pod->second, .called = there == cluster_.pods.end() ? "" : called(there->second), .job = placing.job};
    } else {
      left.push_back(launch);
    }
  }
  if (left.empty()) return;
  if (const std::string runs = queue_.running_pod(placing.job); !runs.empty()) {
    const auto there = cluster_.pods.find(runs);
    if (there != cluster_.pods.end()) launches_[left.front()->key] = {.pod = runs, .called = called(there->second)};
    return;
  }
  std::vector<std::string> pods;
  const LaunchKey first = left.front()->key;
  const auto waits = [&](const std::string& uid) {
    const auto pod = cluster_.pods.find(uid);
    return pod != cluster_.pods.end() && pod->second.pod.node.empty() && !pod->second.deleting && !pod->second.has_ended();
  };
  if (const KubeGroup* group = queue_.find(placing.job)) {
    std::ranges::copy_if(group->pods, std::back_inserter(pods), waits);
    if (left.size() < pods.size()) return;  // the rest is to be ordered, too
  } else {
    // Cut off between two bindings of a gang: the others of it that wait.
    for (const auto& [key, uid] : launched_pods_) {
      if (key.job != first.job || key.attempt != first.attempt) continue;
      const auto sibling = cluster_.pods.find(uid);
      if (sibling != cluster_.pods.end()) pods = queue_.rest_of_gang(sibling->second, cluster_);
      break;
    }
  }
  if (pods.size() < left.size()) return gone(placing, left, std::string(queue_.was_told_anew(placing.job) ? kToldAnew : kGone));
  pods.resize(left.size());
  std::vector<std::vector<KubeAllocation>> devices;
  if (!take_room(placing, left, pods, room, devices)) return;
  queue_.placed(placing.job);
  auto together = std::make_shared<Placed>();
  together->job = placing.job;
  together->at = placing.at;
  for (size_t i = 0; i < left.size(); ++i)
    together->bindings.push_back(
        {.key = left[i]->key,
         .uid = pods[i],
         .node = left[i]->node,
         .pod = cluster_.pods.at(pods[i]),
         .annotations = {{std::string(kKubeLaunch), launch_text(rules_.queue.mark, left[i]->key)},
                         {std::string(kKubeJob), placing.job},
                         {std::string(kKubeTasks), std::to_string(left[i]->gang ? left[i]->gang->world_size : 1)}},
         .devices = devices[i],
         .claims = claims_of(cluster_.pods.at(pods[i]), devices[i])});
  placed.push_back(std::move(together));
}

}  // namespace stint
