#include "codec/kubernetes/kube_change.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/counted.h"
#include "base/text.h"
#include "catalog/providers/provider.h"
#include "codec/kubernetes/kubernetes_owner.h"
#include "model/change_machines.h"

namespace stint {
namespace {

using ChangeJson = nlohmann::ordered_json;

constexpr std::string_view kTypeLabel = "node.kubernetes.io/instance-type";
constexpr std::string_view kRegionLabel = "topology.kubernetes.io/region";
constexpr std::string_view kMigLabel = "nvidia.com/mig.config";

// Nodes first, so that nothing new comes to a machine that is given up; autoscalers before what they scale.
constexpr std::array<KubeObjectKind, 9> kKinds = {{
    {"Node", "v1", "nodes", false},
    {"Pod", "v1", "pods", true},
    {"HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers", true},
    {"Deployment", "apps/v1", "deployments", true},
    {"StatefulSet", "apps/v1", "statefulsets", true},
    {"ServiceAccount", "v1", "serviceaccounts", true},
    {"Role", "rbac.authorization.k8s.io/v1", "roles", true},
    {"RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings", true},
    {"CronJob", "batch/v1", "cronjobs", true},
}};

std::string root_path(const KubeObjectKind& kind) {
  return (kind.api_version.find('/') == std::string_view::npos ? "/api/" : "/apis/") + std::string(kind.api_version);
}

bool is_live(const KubernetesPod& pod) { return !pod.gone && (pod.phase == "Running" || pod.phase == "Pending"); }

/// What makes it anew at once when it goes.
bool is_replaced(std::string_view kind) { return kind == "Deployment" || kind == "StatefulSet" || kind == "ReplicaSet"; }

/// Those whose pods' template may be changed, and where it is.
std::optional<std::string> template_of(std::string_view kind) {
  if (kind == "Deployment" || kind == "StatefulSet") return "/spec/template";
  if (kind == "CronJob") return "/spec/jobTemplate/spec/template";
  return std::nullopt;
}

/// "a/b" as one step of a JSON pointer.
std::string pointer_step(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  return out;
}

const ChangeJson* find_at(const ChangeJson& object, const std::string& pointer) {
  const ChangeJson::json_pointer at(pointer);
  return object.contains(at) ? &object[at] : nullptr;
}

int64_t number_at(const ChangeJson& object, const std::string& pointer, int64_t otherwise) {
  const ChangeJson* const found = find_at(object, pointer);
  return found != nullptr && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

struct LivePod {
  const KubernetesPod* pod;
  KubernetesReference owner;  ///< at the top
  [[nodiscard]] KubeObjectName owner_name() const { return {owner.kind, pod->meta.ns, owner.name}; }
  [[nodiscard]] std::string text() const { return pod->meta.ns + "/" + pod->meta.name; }
};

/// Pods with GPUs, by machine.
std::map<std::string, std::vector<LivePod>> pods_by_machine(const KubernetesContents& contents) {
  std::map<std::string, std::vector<LivePod>> out;
  for (const auto& [key, pod] : contents.pods)
    if (is_live(pod) && !pod.node.empty()) out[pod.node].push_back({&pod, top_owner(contents, pod)});
  return out;
}

class ChangePlanner {
 public:
  explicit ChangePlanner(const KubeChangeInput& input) : in_(input), pods_(pods_by_machine(input.contents)) {
    for (const auto& [name, text] : input.objects) {
      ChangeJson object = ChangeJson::parse(text, nullptr, false);
      if (object.is_object()) objects_.emplace(name, std::move(object));
    }
    for (const std::string& text : input.autoscalers) {
      const ChangeJson scaler = ChangeJson::parse(text, nullptr, false);
      const ChangeJson* const target = scaler.is_object() ? find_at(scaler, "/spec/scaleTargetRef") : nullptr;
      if (target == nullptr || !target->is_object()) continue;
      const std::string ns = text_at(scaler, "/metadata/namespace");
      scalers_[{text_at(*target, "/kind"), ns, text_at(*target, "/name")}] = scaler;
    }
  }

  KubeChangePlan take() && {
    FleetPlan so_far = in_.fleet;
    for (const Change& change : in_.changes) {
      plan_one(change, so_far);
      (void)carry_out(so_far, change).ok();
    }
    for (auto& [object, patch] : patches_)
      out_.patches.push_back(std::move(patch));
    std::ranges::stable_sort(out_.patches, {}, [](const KubePatch& patch) { return find_kube_object_kind(patch.object.kind); });
    return std::move(out_);
  }

 private:
  static std::string text_at(const ChangeJson& object, const std::string& pointer) {
    const ChangeJson* const found = find_at(object, pointer);
    return found != nullptr && found->is_string() ? found->get<std::string>() : std::string();
  }

  void plan_one(const Change& change, const FleetPlan& fleet) {
    if (std::vector<std::string> gone = given_up(change, fleet); !gone.empty()) {
      gone = known(gone);
      if (std::holds_alternative<ResizeNodes>(change)) fewer_replicas(gone);
      give_up(gone);
    } else if (const auto* resize = std::get_if<ResizeNodes>(&change)) {
      std::vector<std::pair<std::string, std::string>> labels = {{std::string(kTypeLabel), resize->to_instance_type}};
      if (!resize->to_region.empty()) labels.emplace_back(kRegionLabel, resize->to_region);
      move(change, resize->nodes, labels, {});
    } else if (const auto* region = std::get_if<MoveRegion>(&change)) {
      move(change, region->nodes, {{std::string(kRegionLabel), region->to_region}}, {});
    } else if (const auto* market = std::get_if<SwitchMarket>(&change); market != nullptr && market->to == Market::kSpot) {
      to_spot(change, *market, fleet);
    } else if (const auto* share = std::get_if<ShareGpus>(&change); share != nullptr && share->mode == SharingMode::kMig) {
      cut(*share);
    } else if (const auto* limit = std::get_if<LimitReservation>(&change)) {
      limit_jobs(*limit);
    } else if (const auto* schedule = std::get_if<ScheduleOff>(&change)) {
      scale_by_hours(*schedule);
    } else {
      by_hand(change, beyond(change));
    }
  }

  static std::string_view beyond(const Change& change) {
    if (std::holds_alternative<Commit>(change) || std::holds_alternative<SavingsPlan>(change) ||
        std::holds_alternative<SwitchMarket>(change))
      return "it is bought of the provider, with the commands below";
    if (std::holds_alternative<ShareGpus>(change))
      return "the device plugin's configuration is for all of its machines: change it with the commands below";
    if (std::holds_alternative<MoveOffGpu>(change)) return "take the GPUs out of the pods' requests, with the commands below";
    return "it names no machine that can be given up as it is";
  }
  void by_hand(const Change& change, std::string_view why) {
    out_.by_hand.push_back(fmt::format("{}: {}", describe(change), why));
  }

  std::vector<std::string> known(const std::vector<std::string>& names) {
    std::vector<std::string> out;
    for (const std::string& name : names)
      if (const auto node = in_.contents.nodes.find(name); node != in_.contents.nodes.end() && !node->second.gone)
        out.push_back(name);
      else
        out_.by_hand.push_back(fmt::format("{}: no machine of this cluster", name));
    return out;
  }

  KubePatch& patch(const KubeObjectName& object, std::string says) {
    KubePatch& out = patches_.try_emplace(object, KubePatch{.object = object, .fields = {}, .says = {}}).first->second;
    if (!says.empty() && out.says.find(says) == std::string::npos) out.says += (out.says.empty() ? "" : ", ") + std::move(says);
    return out;
  }
  static void set(KubePatch& patch, std::string at, const ChangeJson& value) {
    std::erase_if(patch.fields, [&](const KubeField& field) { return field.at == at; });
    patch.fields.push_back({std::move(at), value.dump(-1, ' ', false, ChangeJson::error_handler_t::replace)});
  }

  [[nodiscard]] const std::vector<LivePod>& pods_on(const std::string& machine) const {
    static const std::vector<LivePod> kNone;
    const auto found = pods_.find(machine);
    return found == pods_.end() ? kNone : found->second;
  }

  void cordon(const std::string& machine) { set(patch({"Node", "", machine}, "takes no new pods"), "/spec/unschedulable", true); }

  void evict(const std::string& machine) {
    for (const LivePod& live : pods_on(machine)) {
      if (is_replaced(live.owner.kind))
        out_.evicted.push_back({"Pod", live.pod->meta.ns, live.pod->meta.name});
      else
        out_.stays.push_back(fmt::format("{} of {} {}, on {}", live.text(), live.owner.kind, live.owner.name, machine));
    }
  }

  void give_up(const std::vector<std::string>& machines) {
    for (const std::string& machine : machines) {
      cordon(machine);
      evict(machine);
    }
  }

  /// @return what there is in place of `now`, where that is fewer.
  std::optional<int64_t> lower(const KubeObjectName& name, const ChangeJson& object, const std::string& at, int64_t fewer) {
    const int64_t now = number_at(object, at, 1);
    int64_t most = std::max<int64_t>(1, now - fewer);
    if (const auto set_before = in_.set.find(name); set_before != in_.set.end()) {
      const auto field = set_before->second.find(at);
      if (field == set_before->second.end()) return std::nullopt;
      most = parse_int(field->second).value_or(most);
    } else if (most >= now) {
      return std::nullopt;
    }
    set(patch(name, fmt::format("{}{} in place of {}", at == "/spec/replicas" ? "" : "at most ", counted(most, "replica"), now)),
        at, most);
    return most;
  }

  void lower_bounds(const KubeObjectName& name, const ChangeJson& scaler, const KubeObjectName& owner, int64_t fewer) {
    const auto most = lower(name, scaler, "/spec/maxReplicas", fewer);
    if (!most) return;
    patch(name, "of " + owner.text());
    if (number_at(scaler, "/spec/minReplicas", 1) >= *most) set(patch(name, ""), "/spec/minReplicas", *most);
  }

  /// Replicas that ran on `machines` are not made elsewhere.
  void fewer_replicas(const std::vector<std::string>& machines) {
    std::map<KubeObjectName, std::vector<const KubernetesPod*>> gone;
    for (const std::string& machine : machines)
      for (const LivePod& live : pods_on(machine))
        gone[live.owner_name()].push_back(live.pod);
    for (const auto& [owner, pods] : gone) {
      const auto object = objects_.find(owner);
      if (object == objects_.end() || (owner.kind != "Deployment" && owner.kind != "StatefulSet")) continue;
      const auto fewer = static_cast<int64_t>(pods.size());
      if (const auto scaler = scalers_.find(owner); scaler != scalers_.end())
        lower_bounds({"HorizontalPodAutoscaler", owner.ns, text_at(scaler->second, "/metadata/name")}, scaler->second, owner,
                     fewer);
      else
        lower(owner, object->second, "/spec/replicas", fewer);
      // A Deployment that shrinks ends first those that cost least.
      if (owner.kind == "Deployment")
        for (const KubernetesPod* pod : pods)
          set(patch({"Pod", pod->meta.ns, pod->meta.name}, "goes first"),
              "/metadata/annotations/" + pointer_step("controller.kubernetes.io/pod-deletion-cost"), "-1000000");
    }
  }

  [[nodiscard]] bool has_machine(const std::vector<std::pair<std::string, std::string>>& labels,
                                 const std::vector<std::string>& but) const {
    return std::ranges::any_of(in_.contents.nodes, [&](const auto& entry) {
      const KubernetesNode& node = entry.second;
      return !node.gone && std::ranges::find(but, entry.first) == but.end() &&
             std::ranges::all_of(labels, [&](const auto& label) { return node.meta.label(label.first) == label.second; });
    });
  }

  /// Its owners whose template can be changed, and none of whose other pods would move along.
  std::set<KubeObjectName> owners_to_move(const Change& change, const std::vector<std::string>& machines) {
    std::set<KubeObjectName> owners;
    for (const std::string& machine : machines)
      for (const LivePod& live : pods_on(machine))
        owners.insert(live.owner_name());
    std::erase_if(owners, [&](const KubeObjectName& owner) {
      if (!template_of(owner.kind) || !objects_.contains(owner)) {
        by_hand(change, fmt::format("{} has no template that Stint changes: its pods run to their end", owner.text()));
        return true;
      }
      for (const auto& [machine, pods] : pods_) {
        const bool runs_there = std::ranges::any_of(pods, [&](const LivePod& live) { return live.owner_name() == owner; });
        if (!runs_there || std::ranges::find(machines, machine) != machines.end()) continue;
        by_hand(change, fmt::format("{} runs on {} as well, which the change does not name: its template is one for all its pods",
                                    owner.text(), machine));
        return true;
      }
      return false;
    });
    return owners;
  }

  /// @param toleration  null = none.
  void move(const Change& change, const std::vector<std::string>& from,
            const std::vector<std::pair<std::string, std::string>>& labels, const ChangeJson& toleration) {
    const std::vector<std::string> machines = known(from);
    if (machines.empty()) return;
    if (!has_machine(labels, machines)) {
      std::string wanted;
      for (const auto& [label, value] : labels)
        wanted += fmt::format("{}{}={}", wanted.empty() ? "" : ", ", label, value);
      by_hand(change, fmt::format("no machine with {} is there: make its node pool first, with the commands below", wanted));
      return;
    }
    for (const KubeObjectName& owner : owners_to_move(change, machines)) {
      const std::string spec = *template_of(owner.kind) + "/spec";
      ChangeJson selector = ChangeJson::object();  // set as one: Kubernetes has one owner for all of a selector
      const ChangeJson& object = objects_.at(owner);
      if (const ChangeJson* const now = find_at(object, spec + "/nodeSelector"); now != nullptr && now->is_object())
        selector = *now;
      for (const auto& [label, value] : labels)
        selector[label] = value;
      KubePatch& moved = patch(owner, fmt::format("its pods go to {}", labels.front().second));
      set(moved, spec + "/nodeSelector", selector);
      if (toleration.is_null()) continue;
      ChangeJson tolerations = ChangeJson::array();
      if (const ChangeJson* const now = find_at(object, spec + "/tolerations"); now != nullptr && now->is_array())
        tolerations = *now;
      if (std::ranges::find(tolerations, toleration) == tolerations.end()) tolerations.push_back(toleration);
      set(moved, spec + "/tolerations", tolerations);
    }
    // What is rolled out anew leaves by itself.
    for (const std::string& machine : machines) {
      cordon(machine);
      for (const LivePod& live : pods_on(machine))
        if (!patches_.contains(live.owner_name()))
          out_.stays.push_back(fmt::format("{} of {} {}, on {}", live.text(), live.owner.kind, live.owner.name, machine));
    }
  }

  void to_spot(const Change& change, const SwitchMarket& market, const FleetPlan& fleet) {
    const PlannedNode* const node = market.nodes.empty() ? nullptr : fleet.find(market.nodes.front());
    const ProviderFacts& facts = provider_of(node == nullptr ? "" : node->provider).facts();
    if (facts.spot_label.empty()) {
      by_hand(change, "it is not known how this provider's Kubernetes labels machines on spot");
      return;
    }
    const std::string label(facts.spot_label), value(facts.spot_label_value);
    std::vector<std::pair<std::string, std::string>> labels = {{label, value}};
    if (!node->instance_type.empty()) labels.emplace_back(kTypeLabel, node->instance_type);
    move(change, market.nodes, labels, {{"key", label}, {"operator", "Equal"}, {"value", value}, {"effect", "NoSchedule"}});
  }

  /// The one configuration that the MIG manager knows by itself: every GPU cut into the same.
  static std::optional<std::string> uniform_cut(const ShareGpus& change, const std::string& machine) {
    std::set<std::string> profiles;
    for (const ShareGpus::Placement& placed : change.placements)
      if (placed.to_node == machine) profiles.insert(placed.mig_profile);
    if (profiles.size() != 1 || profiles.begin()->empty()) return std::nullopt;
    return "all-" + *profiles.begin();
  }

  void cut(const ShareGpus& share) {
    const Change change = share;
    std::vector<std::string> gone = share.nodes;
    std::erase_if(gone, [&](const std::string& name) { return std::ranges::find(share.keep, name) != share.keep.end(); });
    for (const std::string& machine : known(share.keep)) {
      const auto name = uniform_cut(share, machine);
      const auto& labels = in_.contents.nodes.at(machine).meta.labels;
      if (!name) {
        by_hand(change,
                fmt::format("{} is cut into different parts, for which the MIG manager needs the configuration below", machine));
      } else if (std::ranges::find(labels, Tag{std::string(kMigLabel), *name}) != labels.end()) {
        continue;  // it is cut so
      } else if (pods_on(machine).empty()) {
        set(patch({"Node", "", machine}, fmt::format("its GPUs are cut into {}", name->substr(4))),
            "/metadata/labels/" + pointer_step(kMigLabel), *name);
        out_.cut.push_back(machine);
      } else {
        cordon(machine);
        evict(machine);
        by_hand(change, fmt::format("{} is cut once nothing runs there: the same again does it then", machine));
      }
    }
    give_up(known(gone));
  }

  void limit_jobs(const LimitReservation& limit) {
    std::vector<KubeObjectName> jobs;
    for (const auto& [name, object] : objects_)
      if (name.kind == "CronJob" && name.name == limit.workload) jobs.push_back(name);
    if (jobs.size() == 1 && limit.to.whole_seconds() > 0) {
      set(patch(jobs.front(), fmt::format("its jobs run for {} h at most", limit.to.to_hours())),
          "/spec/jobTemplate/spec/activeDeadlineSeconds", limit.to.whole_seconds());
      return;
    }
    by_hand(limit, jobs.empty() ? fmt::format("no CronJob of this cluster is called {}", limit.workload)
                                : fmt::format("{} CronJobs are called {}", jobs.size(), limit.workload));
  }

  // ---- Schedules: CronJobs that scale ----

  void scale_by_hours(const ScheduleOff& schedule) {
    const std::vector<std::string> machines = known(schedule.nodes);
    if (machines.empty()) return;
    if (in_.kubectl_image.empty()) {
      by_hand(schedule, "name an image that has kubectl by --kubectl-image, and CronJobs scale what runs there by the hour");
      return;
    }
    bool any = false;
    for (const KubeObjectName& owner : owners_to_move(schedule, machines)) {
      if (owner.kind == "CronJob") continue;  // it begins when it is to
      const int64_t now = number_at(objects_.at(owner), "/spec/replicas", 1);
      if (now == 0) continue;
      scale_by_hours(owner, now, spans_of(schedule.off));
      any = true;
    }
    if (!any) by_hand(schedule, "nothing runs there that could be scaled");
  }

  void scale_by_hours(const KubeObjectName& owner, int64_t replicas, const std::vector<std::pair<size_t, size_t>>& spans) {
    const std::string resource(find_kube_object_kind(owner.kind)->resource);
    const auto on_owner = [&](const std::string& what, const std::vector<std::string>& verbs) {
      return ChangeJson{{"apiGroups", {"apps"}}, {"resources", {what}}, {"resourceNames", {owner.name}}, {"verbs", verbs}};
    };
    Fnv1a hash;
    hash.update(owner.text());
    const std::string name = fmt::format("stint-hours-{:016x}", hash.digest());
    made({"ServiceAccount", owner.ns, name}, "may scale " + owner.text(), {{"/automountServiceAccountToken", true}});
    made({"Role", owner.ns, name}, "may scale " + owner.text(),
         {{"/rules",
           ChangeJson::array({on_owner(resource, {"get"}), on_owner(resource + "/scale", {"get", "patch", "update"})})}});
    made({"RoleBinding", owner.ns, name}, "may scale " + owner.text(),
         {{"/roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}}},
          {"/subjects", ChangeJson::array({{{"kind", "ServiceAccount"}, {"name", name}, {"namespace", owner.ns}}})}});
    size_t number = 0;
    for (const auto& [from, to] : spans) {
      ++number;
      made({"CronJob", owner.ns, fmt::format("{}-{}-off", name, number)},
           fmt::format("ends {} at {} UTC", owner.text(), cron_time(from)), scaling(owner, name, from, 0));
      made({"CronJob", owner.ns, fmt::format("{}-{}-on", name, number)},
           fmt::format("{} of {} from {} UTC on", counted(replicas, "replica"), owner.text(), cron_time(to)),
           scaling(owner, name, to, replicas));
    }
  }

  void made(const KubeObjectName& object, std::string says, const std::vector<std::pair<std::string, ChangeJson>>& fields) {
    KubePatch& out = patch(object, std::move(says));
    out.is_made = true;
    for (const auto& [at, value] : fields)
      set(out, at, value);
  }

  [[nodiscard]] std::vector<std::pair<std::string, ChangeJson>> scaling(const KubeObjectName& owner, const std::string& account,
                                                                        size_t hour, int64_t replicas) const {
    const ChangeJson container = {
        {"name", "kubectl"},
        {"image", in_.kubectl_image},
        {"command",
         {"kubectl", "scale", "--namespace", owner.ns, fmt::format("--replicas={}", replicas),
          fmt::format("{}/{}", owner.kind == "Deployment" ? "deployment" : "statefulset", owner.name)}},
        {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "64Mi"}}}, {"limits", {{"memory", "256Mi"}}}}},
        {"securityContext", {{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}}}};
    const ChangeJson pod = {
        {"serviceAccountName", account},
        {"restartPolicy", "OnFailure"},
        {"securityContext", {{"runAsNonRoot", true}, {"runAsUser", 65534}, {"seccompProfile", {{"type", "RuntimeDefault"}}}}},
        {"containers", ChangeJson::array({container})}};
    return {{"/spec/schedule", cron_time(hour)},
            {"/spec/timeZone", "Etc/UTC"},
            {"/spec/concurrencyPolicy", "Forbid"},
            {"/spec/jobTemplate/spec/activeDeadlineSeconds", 600},
            {"/spec/jobTemplate/spec/template/spec", pod}};
  }

  const KubeChangeInput& in_;
  std::map<std::string, std::vector<LivePod>> pods_;  ///< by machine
  std::map<KubeObjectName, ChangeJson> objects_;
  std::map<KubeObjectName, ChangeJson> scalers_;  ///< by what they scale
  std::map<KubeObjectName, KubePatch> patches_;
  KubeChangePlan out_;
};

}  // namespace

std::string KubeObjectName::text() const { return ns.empty() ? kind + " " + name : fmt::format("{} {}/{}", kind, ns, name); }

std::span<const KubeObjectKind> kube_object_kinds() { return kKinds; }

const KubeObjectKind* find_kube_object_kind(std::string_view kind) {
  const auto* const found = std::ranges::find(kKinds, kind, &KubeObjectKind::kind);
  return found == kKinds.end() ? nullptr : found;
}

std::string kube_collection_path(const KubeObjectKind& kind) { return fmt::format("{}/{}", root_path(kind), kind.resource); }

std::string kube_object_path(const KubeObjectName& name) {
  const KubeObjectKind& kind = *find_kube_object_kind(name.kind);
  return kind.in_namespace ? fmt::format("{}/namespaces/{}/{}/{}", root_path(kind), name.ns, kind.resource, name.name)
                           : fmt::format("{}/{}/{}", root_path(kind), kind.resource, name.name);
}

std::vector<KubeObjectName> touched_objects(std::span<const Change> changes, const KubernetesContents& contents,
                                            std::span<const KubeObjectName> cron_jobs) {
  const auto pods = pods_by_machine(contents);
  std::set<KubeObjectName> out;
  for (const Change& change : changes) {
    for (const std::string& machine : nodes_of(change))
      if (const auto there = pods.find(machine); there != pods.end())
        for (const LivePod& live : there->second)
          if (template_of(live.owner.kind)) out.insert(live.owner_name());
    if (const auto* limit = std::get_if<LimitReservation>(&change))
      std::ranges::copy_if(cron_jobs, std::inserter(out, out.end()),
                           [&](const KubeObjectName& job) { return job.name == limit->workload; });
  }
  return {out.begin(), out.end()};
}

KubeChangePlan plan_kube_change(const KubeChangeInput& input) { return ChangePlanner(input).take(); }

}  // namespace stint
