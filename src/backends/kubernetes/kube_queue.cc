#include "backends/kubernetes/kube_queue.h"

#include <algorithm>
#include <bit>

#include "base/counted.h"
#include "base/text.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

constexpr std::string_view kQueueLabel = "stint/queue";
constexpr std::string_view kGangLabel = "stint/gang";
constexpr std::string_view kGangSizeLabel = "stint/gang-size";
constexpr std::string_view kPreemptibleLabel = "stint/preemptible";
constexpr std::string_view kPodGroupLabel = "scheduling.x-k8s.io/pod-group";
// Of the coscheduling plugin before it had objects.
constexpr std::string_view kOldGroupLabel = "pod-group.scheduling.sigs.k8s.io/name";
constexpr std::string_view kOldLeastLabel = "pod-group.scheduling.sigs.k8s.io/min-available";
// Annotations.
constexpr std::string_view kSavesEvery = "stint/saves-every";
constexpr std::string_view kDeadline = "stint/deadline";
constexpr int64_t kMostGang = 4'096;
constexpr size_t kUidShown = 8;
constexpr size_t kMostPlaces = 1'000;
constexpr Duration kAskedFor = Duration::seconds(15);  ///< a place that was found and is being made ready is not looked for anew
constexpr Duration kSayAfter = Duration::seconds(3);   ///< a pod that is bound at once need not be told why it waits

/// Of the pod, then of what is set beside it by people who do not label.
int64_t gang_size(const KubernetesMeta& meta, std::string_view label) {
  const auto size = parse_int(meta.label(label));
  return size && *size > 0 && *size <= kMostGang ? *size : 0;
}

bool is_waiting(const KubePlacingPod& pod) { return pod.pod.node.empty() && !pod.has_ended() && !pod.deleting && !pod.gated; }

/// By age, then by name: web-9 before web-10.
bool comes_before(const KubePlacingPod& a, const KubePlacingPod& b) {
  const auto key = [](const KubePlacingPod& pod) {
    return std::tuple(pod.pod.meta.created.value_or(Instant()), pod.pod.meta.ns, pod.pod.meta.name.size(),
                      std::string_view(pod.pod.meta.name), std::string_view(pod.pod.meta.uid));
  };
  return key(a) < key(b);
}

std::string_view client_of(std::string_view queue) { return queue.substr(0, queue.find('/')); }

/// All that why_not_on() goes by: pods of which this is the same may be on the same machines.
std::string asked_of_machines(const KubePlacingPod& pod) {
  std::string text;
  const auto add = [&](const auto&... parts) { (fmt::format_to(std::back_inserter(text), "{}\n", parts), ...); };
  for (const auto& [key, value] : pod.selector)
    add("selector", key, value);
  for (const KubeToleration& one : pod.tolerations)
    add("toleration", one.key, one.value, one.effect, one.exists);
  if (pod.has_terms) add("terms");
  for (const KubeNodeTerm& term : pod.terms) {
    add("term");
    for (const KubeLabelRule& rule : term)
      add(rule.key, rule.how, rule.of_name, fmt::format("{}", fmt::join(rule.values, "\n")));
  }
  return text;
}

/// All that KubeAsk goes by.
std::string asked_of_surroundings(const KubePlacingPod& pod, const KubeCluster& cluster) {
  std::string text = turn_of(pod) + pod.pod.meta.ns + print_of_claims(pod, cluster);
  for (const auto& [key, value] : pod.pod.meta.labels)
    text += fmt::format("\n{}={}", key, value);
  for (const auto& [name, amount] : held_by(pod).others)
    text += fmt::format("\n{} {}", amount, name);
  for (const std::string& claim : pod.around.claims)
    text += fmt::format("\nclaim {}", claim);
  return text;
}

std::string mig_of(const KubeHeld& held) {
  std::vector<MigAsk> asks;
  for (const auto& [name, amount] : held.others)
    if (const std::string_view profile = mig_profile_of_resource(name); !profile.empty())
      asks.push_back({.profile = std::string(profile), .count = static_cast<int32_t>(std::min<int64_t>(amount, 1 << 16))});
  return mig_text(asks);
}

/// What a pod says of its work: how often it saves, until when it has to be done.
Status read_wishes(const KubePlacingPod& pod, OthersJob& job) {
  if (const std::string_view text = pod.annotation(kSavesEvery); !text.empty()) {
    const auto every = parse_duration(text);
    if (!every.ok() || *every <= Duration())
      return invalid("annotation {}={}: give a duration such as 10m", kSavesEvery, excerpt(text));
    job.saves_every = *every;
  }
  if (const std::string_view text = pod.annotation(kDeadline); !text.empty()) {
    const auto at = parse_instant(text);
    if (!at.ok()) return invalid("annotation {}={}: give an instant such as 2026-10-27T08:00:00Z", kDeadline, excerpt(text));
    job.deadline = *at;
  }
  return {};
}

}  // namespace

const KubeQueue::Places& KubeQueue::places_of(const KubePlacingPod& pod, const KubeCluster& cluster) {
  if (places_as_of_ != cluster.node_changes) places_.clear();
  places_as_of_ = cluster.node_changes;
  const bool gpus = held_by(pod).gpus > 0;
  const auto [at, is_new] = places_.try_emplace(asked_of_machines(pod) + (gpus ? "gpus" : ""));
  Places& out = at->second;
  if (!is_new) return out;
  for (const auto& [name, node] : cluster.nodes) {
    if (!cluster.is_machine(node)) continue;
    std::string why = why_not_on(pod, node);
    if (why.empty() && gpus && !node.whole_gpus) why = "it offers no nvidia.com/gpu";
    if (why.empty()) {
      out.machines.push_back(name);
      continue;
    }
    out.all = false;
    if (out.why_not.empty()) out.why_not = std::move(why);
  }
  return out;
}

const KubeQueue::Places& KubeQueue::places_now(const KubePlacingPod& pod, Look& look) {
  const Places& may = places_of(pod, look.cluster);
  if (!look.around.concerns(pod)) return may;
  const auto [at, is_new] = look.places.try_emplace(asked_of_machines(pod) + asked_of_surroundings(pod, look.cluster));
  Places& out = at->second;
  if (!is_new) return out;
  const KubeAsk ask(pod, look.around);
  out.all = may.all;
  out.why_not = may.machines.empty() ? may.why_not : ask.why_nowhere();
  for (const std::string& name : may.machines) {
    std::string why = ask.why_nowhere().empty() ? ask.why_not_on(look.cluster.nodes.at(name)) : ask.why_nowhere();
    if (why.empty()) {
      out.machines.push_back(name);
      continue;
    }
    out.all = false;
    if (out.why_not.empty()) out.why_not = std::move(why);
  }
  for (const std::string& name : out.machines) {
    const int64_t gpus = ask.gpus_on(look.cluster.nodes.at(name));
    out.claimed_gpus = std::max(out.claimed_gpus, gpus);
    out.claims_differ |= gpus != out.claimed_gpus;
  }
  return out;
}

std::string called(const KubePlacingPod& pod) { return pod.pod.meta.ns + "/" + pod.pod.meta.name; }

std::string job_name_of(const KubePlacingPod& pod) {
  const KubernetesMeta& meta = pod.pod.meta;
  return fmt::format("{}/{}@{}", meta.ns, meta.name, std::string_view(meta.uid).substr(0, kUidShown));
}

std::string job_name_of(const std::vector<std::pair<std::string, const KubePlacingPod*>>& gang) {
  std::string name = job_name_of(*gang.front().second);
  if (gang.size() > 1) {
    Fnv1a print;
    for (const auto& [uid, pod] : gang)
      print.update(uid);
    name += fmt::format("~{:08x}", print.digest() >> 32U);
  }
  if (const auto revision = parse_int(gang.front().second->annotation(kKubeRevision)); revision && *revision > 0)
    name += fmt::format("+{}", *revision);
  return name;
}

int32_t priority_of_value(int64_t value) {
  constexpr int64_t kUsual = 50, kByThemselves = 500, kStep = 14, kMost = 1'000;
  if (value <= kByThemselves) return static_cast<int32_t>(std::max<int64_t>(0, kUsual + std::max<int64_t>(value, -kUsual)));
  const auto width = [](int64_t of) { return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(of))); };
  const int64_t beyond = width(value) - width(kByThemselves);
  return static_cast<int32_t>(std::min(kMost, kUsual + kByThemselves + 1 + beyond * kStep));
}

int32_t KubeQueue::priority_of(const KubePlacingPod& pod) const {
  const auto known = rules_.priority_classes.find(pod.pod.priority_class);
  return known == rules_.priority_classes.end() ? priority_of_value(pod.priority) : known->second;
}

KubeQueue::Gang KubeQueue::gang_of(const KubePlacingPod& pod, const KubeCluster& cluster) const {
  const KubernetesMeta& meta = pod.pod.meta;
  const auto called = [&](std::string_view label) { return fmt::format("{}/{}", meta.ns, meta.label(label)); };
  if (!meta.label(kGangLabel).empty()) return {called(kGangLabel), gang_size(meta, kGangSizeLabel)};
  if (!meta.label(kPodGroupLabel).empty()) {
    const std::string name = called(kPodGroupLabel);
    const auto group = cluster.groups.find(name);
    return {name, group == cluster.groups.end() ? 0 : std::clamp<int64_t>(group->second, 1, kMostGang)};
  }
  if (!meta.label(kOldGroupLabel).empty()) return {called(kOldGroupLabel), gang_size(meta, kOldLeastLabel)};
  if (!meta.label(kGangSizeLabel).empty() && meta.owner)
    return {fmt::format("{}/{} {}", meta.ns, meta.owner->kind, meta.owner->uid), gang_size(meta, kGangSizeLabel)};
  return {};
}

/// A label chooses among the queues of the namespace's client, and no others.
Result<std::string> KubeQueue::queue_of(const KubePlacingPod& pod) const {
  const KubernetesMeta& meta = pod.pod.meta;
  std::string of_namespace = rules_.queue;
  if (const auto mapped = rules_.namespaces.find(meta.ns); mapped != rules_.namespaces.end())
    of_namespace = mapped->second;
  else if (rules_.known_queues.contains(meta.ns))
    of_namespace = meta.ns;
  const std::string_view label = meta.label(kQueueLabel);
  if (label.empty()) return of_namespace;
  // The slash of a path is none of a label's characters.
  std::string wanted(label);
  std::ranges::replace(wanted, '.', '/');
  if (!rules_.known_queues.contains(wanted) || client_of(wanted) != client_of(of_namespace))
    return invalid("label {}={}: no such queue of '{}'", kQueueLabel, excerpt(label), client_of(of_namespace));
  return wanted;
}

OthersJob KubeQueue::running_job(const KubePlacingPod& pod) const {
  const KubeHeld held = held_by(pod);
  OthersJob job{.name = job_name_of(pod),
                .submitted = pod.pod.meta.created.value_or(Instant()),
                .state = OthersJob::State::kRuns,
                .queue = {},
                .user = pod.pod.meta.ns,
                .title = pod.pod.meta.name};
  const auto queue = queue_of(pod);
  job.queue = queue.ok() ? *queue : rules_.queue;
  job.gpus = static_cast<int32_t>(held.gpus);
  if (job.gpus == 0) job.mig_profile = mig_of(held);
  job.cpu_milli = held.cpu_milli;
  job.memory = Bytes::of(held.memory);
  job.priority = priority_of(pod);
  job.machines = {pod.pod.node};
  return job;
}

Result<OthersJob> KubeQueue::job_of(const Pods& pods, Look& look) {
  const KubePlacingPod& first = *pods.front().second;
  for (const auto& [uid, pod] : pods)
    if (!pod->not_understood.empty())
      return invalid("Stint cannot honour {} of pod {} and leaves it alone", fmt::join(pod->not_understood, ", "),
                     pod->pod.meta.name);
  KubeHeld each = held_by(first);
  const std::string mig = mig_of(each);
  if (!mig.empty() && each.gpus > 0) return invalid("Stint gives a pod whole GPUs or MIG devices, not both, and leaves it alone");
  std::vector<const KubePlacingPod*> gang;
  for (const auto& [uid, pod] : pods)
    gang.push_back(pod);
  if (const std::string what = among_themselves(gang); !what.empty())
    return invalid("Stint cannot honour {} and leaves it alone", what);
  const Places& places = places_now(first, look);  // stays where it is
  bool preemptible = true;
  for (const auto& [uid, pod] : pods) {
    const KubeHeld held = held_by(*pod);
    if (held.gpus != each.gpus || mig_of(held) != mig)
      return invalid("pods of one gang ask for {} and {} GPUs: give them the same number, or no gang", each.gpus, held.gpus);
    if (const Places& its = places_now(*pod, look); &its != &places && its.machines != places.machines)
      return invalid("pods of one gang may run on different machines: give them the same selector and tolerations");
    each.cpu_milli = std::max(each.cpu_milli, held.cpu_milli);
    each.memory = std::max(each.memory, held.memory);
    const std::string_view said = pod->pod.meta.label(kPreemptibleLabel);
    preemptible &= said.empty() ? pod->pod.meta.owner.has_value() : said == "true";
  }
  if (places.machines.empty())
    return invalid("{}", places.why_not.empty() ? std::string("the cluster has no machine with whole GPUs")
                                                : fmt::format("no machine with GPUs will have it: {}", places.why_not));
  TRY_ASSIGN(std::string queue, queue_of(first));
  OthersJob job{.name = job_name_of(pods),
                .submitted = first.pod.meta.created.value_or(Instant()),
                .queue = std::move(queue),
                .user = first.pod.meta.ns,
                .title = first.pod.meta.name};
  constexpr int64_t kMostGpusOfTask = 64;
  if (std::max(each.gpus, places.claimed_gpus) > kMostGpusOfTask)
    return invalid("it asks for {} GPUs on one machine: {} at most", each.gpus, kMostGpusOfTask);
  if (places.claims_differ)
    return invalid("its ResourceClaims are different numbers of GPUs on different machines: give a number");
  if (places.claimed_gpus > 0 && (each.gpus > 0 || !mig.empty()))
    return invalid("it asks for GPUs by resources and by claims: give one of the two");
  job.gpus = static_cast<int32_t>(each.gpus + places.claimed_gpus);
  job.mig_profile = mig;
  job.cpu_milli = each.cpu_milli;
  job.memory = Bytes::of(each.memory);
  if (!places.all) job.only_on = places.machines;
  job.tasks = static_cast<int32_t>(pods.size());
  job.priority = priority_of(first);
  job.preemptible = preemptible;
  job.time_limit = first.pod.time_limit;
  job.grace = first.grace;
  TRY(read_wishes(first, job));
  return job;
}

void KubeQueue::complain(const Pods& pods, std::string reason, const std::string& message) {
  for (const auto& [uid, pod] : pods)
    complaints_.push_back({uid, reason, message});
}

void KubeQueue::end(const OthersJob& job, std::vector<BackendEvent>& events) {
  OthersJob ended = job;
  ended.state = OthersJob::State::kEnded;
  events.emplace_back(std::move(ended));
}

std::vector<BackendEvent> KubeQueue::look(const KubeCluster& cluster, Instant now) {
  std::vector<BackendEvent> events;
  if (places_.size() > kMostPlaces) places_.clear();
  complaints_.clear();
  left_alone_.clear();
  revisions_.clear();
  std::set<std::string, std::less<>> runs;
  for (const auto& [uid, pod] : cluster.pods) {
    // Bound by this scheduler they are told of as launches.
    if (pod.pod.node.empty() || pod.has_ended() || is_bound_here(pod)) continue;
    const auto node = cluster.nodes.find(pod.pod.node);
    const KubeHeld held = held_by(pod);
    if (node == cluster.nodes.end() || !cluster.is_machine(node->second)) continue;
    const int64_t claimed = cluster.claimed_gpus(pod);
    if (held.gpus + claimed == 0 && held.cpu_milli == 0 && held.memory == 0 && held.others.empty()) continue;
    OthersJob job = running_job(pod);
    job.gpus += static_cast<int32_t>(std::min<int64_t>(claimed, 1 << 16));
    runs.insert(job.name);
    if (running_.emplace(job.name, Running{job, uid}).second) events.emplace_back(std::move(job));
  }
  std::erase_if(running_, [&](const auto& entry) {
    if (runs.contains(entry.first)) return false;
    end(entry.second.job, events);
    return true;
  });
  Look look{.cluster = cluster, .around = KubeAround(cluster), .now = now, .places = {}, .turns = {}};
  look_at_told(look, events);
  look_at_waiting(look, events);
  return events;
}

/// It may be on a machine that came later, or no longer on one.
bool KubeQueue::must_be_told_anew(const KubeGroup& group, const KubePlacingPod& first, Look& look) {
  const Places& places = places_now(first, look);
  const std::vector<std::string>& told = group.job.only_on;
  if (told.empty()) return !places.all && (group.looks_around || !places.machines.empty());
  return !std::ranges::includes(told, places.machines) || (group.looks_around && !std::ranges::includes(places.machines, told));
}

void KubeQueue::look_at_told(Look& look, std::vector<BackendEvent>& events) {
  const KubeCluster& cluster = look.cluster;
  const bool nodes_changed = looked_at_nodes_ != cluster.node_changes;
  looked_at_nodes_ = cluster.node_changes;
  std::erase_if(told_anew_, [&](const auto& one) { return !cluster.pods.contains(one.second); });
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    KubeGroup& group = at->second;
    const auto there = [&](const std::string& uid) {
      const auto pod = cluster.pods.find(uid);
      return pod != cluster.pods.end() && is_waiting(pod->second);
    };
    const auto bound = [&](const std::string& uid) {
      const auto pod = cluster.pods.find(uid);
      return pod == cluster.pods.end() || !pod->second.pod.node.empty() || pod->second.has_ended();
    };
    if (placing_.contains(at->first)) {
      if (std::ranges::all_of(group.pods, bound)) {
        placing_.erase(at->first);
        at = waiting_.erase(at);
        continue;
      }
    } else {
      const auto first = cluster.pods.find(group.pods.front());
      const bool anew = first != cluster.pods.end() && parse_int(first->second.annotation(kKubeRevision)).value_or(0) > 0 &&
                        !group.job.name.ends_with("+" + std::string(first->second.annotation(kKubeRevision)));
      if (anew || !std::ranges::all_of(group.pods, there)) {
        end(group.job, events);
        if (anew) told_anew_.insert_or_assign(at->first, group.pods.front());
        at = waiting_.erase(at);
        continue;
      }
      group.looks_around |= look.around.concerns(first->second);
      if (group.looks_around && look.now - group.asked < kAskedFor)
        group.revision = 0;
      else if (nodes_changed || group.looks_around)
        group.revision = must_be_told_anew(group, first->second, look)
                             ? parse_int(first->second.annotation(kKubeRevision)).value_or(0) + 1
                             : 0;
      if (group.revision > 0) revisions_[group.pods.front()] = group.revision;
    }
    if (!group.turn.empty()) look.turns.insert(group.turn);
    ++at;
  }
}

/// A launch of which a pod has failed or goes is over: what waits of its gang is told anew.
std::map<std::string, KubeQueue::Begun> KubeQueue::begun_gangs(const KubeCluster& cluster) const {
  struct Attempt {
    std::string gang;
    int64_t tasks = 0, bound = 0, ended = 0;
    bool is_over = false;
  };
  std::map<AttemptKey, Attempt> attempts;
  for (const auto& [uid, pod] : cluster.pods) {
    if (pod.pod.node.empty() || !is_own(pod) || !is_bound_here(pod) || is_made_here(pod)) continue;
    const auto key = parse_key(pod.annotation(kKubeLaunch).substr(rules_.mark.size() + 1));
    const auto tasks = parse_int(pod.annotation(kKubeTasks));
    if (!key || !tasks || *tasks < 2 || *tasks > kMostGang) continue;
    Attempt& attempt = attempts[attempt_of(*key)];
    attempt.gang = gang_of(pod, cluster).name;
    attempt.tasks = *tasks;
    ++attempt.bound;
    attempt.ended += pod.has_ended() ? 1 : 0;
    attempt.is_over |= pod.deleting || pod.pod.phase == "Failed";
  }
  std::map<std::string, Begun> gangs;
  for (const auto& [key, attempt] : attempts) {
    if (attempt.is_over || attempt.gang.empty() || attempt.bound >= attempt.tasks) continue;
    Begun& begun = gangs[attempt.gang];
    begun.missing += attempt.tasks - attempt.bound;
    begun.ended += attempt.ended;
  }
  return gangs;
}

void KubeQueue::look_at_waiting(Look& look, std::vector<BackendEvent>& events) {
  const KubeCluster& cluster = look.cluster;
  std::set<std::string, std::less<>> taken;  // pods of groups that were told
  std::map<std::string, int64_t> of_gang;    // groups told that wait or are on their way, by gang
  for (const auto& [name, group] : waiting_) {
    taken.insert(group.pods.begin(), group.pods.end());
    if (!group.gang.empty()) ++of_gang[group.gang];
  }

  struct Bucket {
    Pods waiting;
    int64_t size = 1, bound = 0;
  };
  std::map<std::string, Bucket> gangs;
  Pods singles;
  for (const auto& [uid, pod] : cluster.pods) {
    if (!is_own(pod) || pod.has_ended() || is_made_here(pod)) continue;
    const bool waits = is_waiting(pod);
    const Gang gang = gang_of(pod, cluster);
    if (!gang.name.empty()) {
      Bucket& bucket = gangs[gang.name];
      bucket.size = gang.size;
      if (!pod.pod.node.empty() && !pod.deleting) ++bucket.bound;
    }
    if (!waits || taken.contains(uid)) continue;
    (gang.name.empty() ? singles : gangs[gang.name].waiting).emplace_back(uid, &pod);
  }
  // They are told in the order of their ages, gangs by their oldest pod: the scheduler takes them in the order in which it hears of them.
  struct Newcomer {
    Pods waiting;
    std::string_view gang;
    int64_t needed = 1;
  };
  std::vector<Newcomer> newcomers;
  const auto by_age = [](const auto& a, const auto& b) { return comes_before(*a.second, *b.second); };
  for (const auto& one : singles)
    newcomers.push_back({.waiting = {one}, .gang = "", .needed = 1});
  const std::map<std::string, Begun> begun = begun_gangs(cluster);
  for (auto& [name, bucket] : gangs) {
    std::ranges::sort(bucket.waiting, by_age);
    if (const auto its = begun.find(name); its != begun.end()) {
      const auto [missing, ended] = its->second;
      bucket.waiting.erase(bucket.waiting.begin(), bucket.waiting.begin() + std::min(missing, std::ssize(bucket.waiting)));
      bucket.bound += missing + ended;
    }
    if (bucket.waiting.empty()) continue;
    if (bucket.size == 0) {
      complain(bucket.waiting, "GangSize",
               fmt::format("gang {} does not say how many pods it has: label {}, or the PodGroup's minMember, from 1 to {}", name,
                           kGangSizeLabel, kMostGang));
    } else if (of_gang.contains(name)) {
      complain(bucket.waiting, "GangWaits", fmt::format("the first {} of gang {} go first", bucket.size, name));
    } else if (bucket.bound >= bucket.size) {
      for (const auto& one : bucket.waiting)
        newcomers.push_back({.waiting = {one}, .gang = name, .needed = 1});
    } else {
      newcomers.push_back({.waiting = bucket.waiting, .gang = name, .needed = bucket.size - bucket.bound});
    }
  }
  std::ranges::sort(newcomers,
                    [&](const Newcomer& a, const Newcomer& b) { return by_age(a.waiting.front(), b.waiting.front()); });
  for (const Newcomer& one : newcomers)
    form(one.waiting, std::string(one.gang), one.needed, look, events);
  for (const auto& [name, group] : waiting_)
    if (!placing_.contains(name) && look.now - group.since >= kSayAfter)
      for (const std::string& uid : group.pods)
        complaints_.push_back(
            {uid, "Unschedulable",
             fmt::format("waits in queue {} of Stint as job {} of {} × {}: `stint queue` shows it, `stint why` "
                         "says what for",
                         group.job.queue, name, counted(group.job.tasks, "pod"), counted(group.job.gpus, "GPU"))});
}

void KubeQueue::form(const Pods& waiting, const std::string& gang, int64_t needed, Look& look,
                     std::vector<BackendEvent>& events) {
  if (std::ssize(waiting) < needed)
    return complain(waiting, "GangIncomplete",
                    fmt::format("{} of the {} pods that gang {} still needs are there", waiting.size(), needed, gang));
  const Pods together(waiting.begin(), waiting.begin() + needed);
  const Pods rest(waiting.begin() + needed, waiting.end());
  if (!rest.empty()) complain(rest, "GangWaits", fmt::format("the first of gang {} go first", gang));
  const KubePlacingPod& first = *together.front().second;
  const std::string turn = turn_of(first);
  if (!turn.empty() && look.turns.contains(turn)) {
    left_alone_.push_back(job_name_of(together));
    if (look.now - first.pod.meta.created.value_or(Instant()) < kSayAfter) return;
    return complain(together, "Unschedulable", "another pod that asks for the same neighbours goes first");
  }
  Result<OthersJob> job = job_of(together, look);
  if (!job.ok()) {
    left_alone_.push_back(job_name_of(together));
    return complain(together, "Unschedulable", job.error().message);
  }
  KubeGroup group{
      .job = *job, .pods = {}, .gang = gang, .since = look.now, .turn = turn, .looks_around = look.around.concerns(first)};
  if (!turn.empty()) look.turns.insert(turn);
  for (const auto& [uid, pod] : together)
    group.pods.push_back(uid);
  waiting_.insert_or_assign(job->name, std::move(group));
  events.emplace_back(std::move(*job));
}

/// What was bound here is told of as a launch, by its job's name.
std::vector<std::string> KubeQueue::there(const KubeCluster& cluster) const {
  std::set<std::string> names(left_alone_.begin(), left_alone_.end());
  for (const auto& [name, group] : waiting_)
    names.insert(name);
  for (const auto& [name, running] : running_)
    names.insert(name);
  for (const auto& [uid, pod] : cluster.pods)
    if (is_bound_here(pod)) names.emplace(pod.annotation(kKubeJob));
  return {names.begin(), names.end()};
}

const KubeGroup* KubeQueue::find(std::string_view job) const {
  const auto at = waiting_.find(job);
  return at == waiting_.end() ? nullptr : &at->second;
}

std::string KubeQueue::running_pod(std::string_view job) const {
  const auto at = running_.find(job);
  return at == running_.end() ? "" : at->second.pod;
}

std::vector<std::string> KubeQueue::rest_of_gang(const KubePlacingPod& pod, const KubeCluster& cluster) const {
  const std::string gang = gang_of(pod, cluster).name;
  Pods waiting;
  for (const auto& [uid, other] : cluster.pods)
    if (!gang.empty() && is_own(other) && is_waiting(other) && gang_of(other, cluster).name == gang)
      waiting.emplace_back(uid, &other);
  std::ranges::sort(waiting, [](const auto& a, const auto& b) { return comes_before(*a.second, *b.second); });
  std::vector<std::string> uids;
  for (const auto& [uid, other] : waiting)
    uids.push_back(uid);
  return uids;
}

void KubeQueue::asked(const std::string& job, Instant at) {
  if (const auto group = waiting_.find(job); group != waiting_.end()) group->second.asked = at;
}

void KubeQueue::placed(const std::string& job) {
  if (waiting_.contains(job)) placing_.insert(job);
}

}  // namespace stint
