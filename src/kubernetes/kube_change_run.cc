#include "kubernetes/kube_change_run.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "base/counted.h"
#include "base/text.h"
#include "codec/kubernetes/kubernetes_state.h"
#include "host/clock.h"
#include "kubernetes/kube_mirror.h"

namespace stint {
namespace {

using ChangeJson = nlohmann::ordered_json;

constexpr std::string_view kStateOfCut = "nvidia.com/mig.config.state";
constexpr auto kLookAtCut = std::chrono::seconds(1);

std::string short_name(const std::string& key) {
  Fnv1a hash;
  hash.update(key);
  return fmt::format("{:016x}", hash.digest());
}

/// What one change leaves on the objects it touched.
struct ChangeMarks {
  explicit ChangeMarks(const std::string& key)
      : label("stint/change-" + short_name(key)),
        annotation("stint/before-" + short_name(key)),
        manager("stint-change-" + short_name(key)) {}
  std::string label, annotation, manager;

  [[nodiscard]] std::string text_on(const ChangeJson& object) const {
    const auto at = ChangeJson::json_pointer("/metadata/annotations");
    return object.contains(at) && object[at].is_object() ? object[at].value(annotation, "") : std::string();
  }
};

/// A field of an object before a change, and as the change set it.
struct FieldBefore {
  std::string at;
  ChangeJson was, is;  ///< null = it is not there
};
struct ObjectBefore {
  bool made = false;
  std::vector<FieldBefore> fields;

  [[nodiscard]] std::string text() const {
    ChangeJson out = {{"made", made}, {"fields", ChangeJson::array()}};
    for (const FieldBefore& field : fields)
      out["fields"].push_back({{"at", field.at}, {"was", field.was}, {"is", field.is}});
    return out.dump(-1, ' ', false, ChangeJson::error_handler_t::replace);
  }
  /// None: it is no record of ours.
  static std::optional<ObjectBefore> parse(const std::string& text) {
    const auto json = ChangeJson::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("made") || !json["made"].is_boolean() || !json.contains("fields") ||
        !json["fields"].is_array())
      return std::nullopt;
    ObjectBefore out{.made = json["made"].get<bool>(), .fields = {}};
    ChangeJson tried = {{"apiVersion", ""}, {"kind", ""}, {"metadata", {{"name", ""}, {"namespace", ""}}}};
    try {
      for (const auto& field : json["fields"]) {
        out.fields.push_back({field.at("at").get<std::string>(), field.at("was"), field.at("is")});
        if (out.fields.back().at.empty()) return std::nullopt;  // the whole object
        tried[ChangeJson::json_pointer(out.fields.back().at)] = out.fields.back().was;
      }
    } catch (const ChangeJson::exception&) {
      return std::nullopt;  // somebody wrote into it
    }
    return out;
  }
  [[nodiscard]] const FieldBefore* find(const std::string& at) const {
    const auto found = std::ranges::find(fields, at, &FieldBefore::at);
    return found == fields.end() ? nullptr : &*found;
  }
};

ChangeJson value_at(const ChangeJson& object, const std::string& pointer) {
  const ChangeJson::json_pointer at(pointer);
  return object.contains(at) ? object[at] : ChangeJson();
}

ChangeJson bare_object(const KubeObjectName& name) {
  ChangeJson object = {
      {"apiVersion", find_kube_object_kind(name.kind)->api_version}, {"kind", name.kind}, {"metadata", {{"name", name.name}}}};
  if (!name.ns.empty()) object["metadata"]["namespace"] = name.ns;
  return object;
}

class OnCluster {
 public:
  OnCluster(KubeClient& client, const std::string& key) : client_(client), marks_(key) {}

  Result<KubeChanged> apply(const KubePatch& patch, KubeApply how) {
    KubeChanged out{.object = patch.object, .says = patch.says, .refusal = {}};
    ChangeJson now;
    const auto found = client_.get(kube_object_path(patch.object));
    if (!found.ok()) {
      if (found.error().code == ErrorCode::kUnavailable) return found.error();
      if (found.error().code != ErrorCode::kNotFound || !patch.is_made) {
        out.refusal = found.error().message;
        return out;
      }
    } else {
      now = ChangeJson::parse(*found, nullptr, false);
    }
    const auto known = now.is_object() ? ObjectBefore::parse(marks_.text_on(now)) : std::nullopt;
    ObjectBefore before{.made = patch.is_made, .fields = {}};
    ChangeJson asked = bare_object(patch.object);
    for (const KubeField& field : patch.fields) {
      const ChangeJson value = ChangeJson::parse(field.value);
      asked[ChangeJson::json_pointer(field.at)] = value;
      if (patch.is_made) continue;
      const FieldBefore* const first = known ? known->find(field.at) : nullptr;
      before.fields.push_back({field.at, first != nullptr ? first->was : value_at(now, field.at), value});
    }
    // What an earlier run set and this one does not is as it was.
    for (const FieldBefore& field : known ? known->fields : std::vector<FieldBefore>())
      if (before.find(field.at) == nullptr && !field.was.is_null()) asked[ChangeJson::json_pointer(field.at)] = field.was;
    asked["metadata"]["labels"][marks_.label] = "1";
    asked["metadata"]["annotations"][marks_.annotation] = before.text();
    TRY_ASSIGN(out.refusal, send(asked, patch.object, how));
    return out;
  }

  Result<KubeChanged> evict(const KubeObjectName& pod, KubeApply how) {
    KubeChanged out{.object = pod, .says = how == KubeApply::kDryRun ? "would be evicted" : "evicted", .refusal = {}};
    ChangeJson body = {
        {"apiVersion", "policy/v1"}, {"kind", "Eviction"}, {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}}};
    if (how == KubeApply::kDryRun) body["deleteOptions"] = {{"dryRun", {"All"}}};
    const auto answer = client_.change({.method = "POST", .path = kube_object_path(pod) + "/eviction", .body = body.dump()});
    if (!answer.ok()) {
      if (answer.error().code == ErrorCode::kUnavailable) return answer.error();
      out.refusal = answer.error().message;
    } else if (!answer->ok() && answer->status != 404) {  // gone already
      out.refusal = answer->message;
    }
    return out;
  }

  /// The state of an earlier cut would look like that of this one.
  Status forget_cut(const std::string& machine) {
    const ChangeJson body = {{"metadata", {{"labels", {{kStateOfCut, nullptr}}}}}};
    const auto answer = client_.change({.method = "PATCH",
                                        .path = kube_object_path({"Node", "", machine}),
                                        .body = body.dump(),
                                        .content_type = "application/merge-patch+json"});
    return answer.ok() ? Status() : Status(answer.error());
  }

  Result<KubeChanged> wait_for_cut(const std::string& machine, Instant until) {
    KubeChanged out{.object = {"Node", "", machine}, .says = "its MIG manager is done", .refusal = {}};
    for (;;) {
      TRY_ASSIGN(const std::string text, client_.get(kube_object_path(out.object)));
      const auto node = ChangeJson::parse(text, nullptr, false);
      const auto labels = node.is_object() ? value_at(node, "/metadata/labels") : ChangeJson();
      const std::string state = labels.is_object() ? labels.value(std::string(kStateOfCut), "") : "";
      if (state == "success") return out;
      if (state == "failed" || now() >= until) {
        out.refusal = state == "failed"
                          ? "the MIG manager could not cut its GPUs: its log says why"
                          : "the MIG manager has not said that it is done: is it there, and does anything still use the GPUs?";
        return out;
      }
      std::this_thread::sleep_for(kLookAtCut);
    }
  }

  Result<std::vector<KubeChanged>> take_back() {
    std::vector<KubeChanged> out;
    for (const KubeObjectKind& kind : kube_object_kinds()) {
      std::vector<ChangeJson> objects;
      const KubeList list{
          .path = kube_collection_path(kind), .kind = std::string(kind.kind), .query = "&labelSelector=" + marks_.label};
      const auto listed = client_.list(
          list, [&] { objects.clear(); },
          [&](std::string_view json, const std::string&) { objects.push_back(ChangeJson::parse(json, nullptr, false)); });
      if (!listed.ok()) {
        if (listed.error().code == ErrorCode::kUnavailable) return listed.error();
        if (listed.error().code != ErrorCode::kNotFound)
          out.push_back(
              {.object = {std::string(kind.kind), "", "*"}, .says = "not looked through", .refusal = listed.error().message});
        continue;
      }
      for (const ChangeJson& object : objects) {
        if (!object.is_object()) continue;
        TRY_ASSIGN(KubeChanged changed, take_back(kind, object));
        out.push_back(std::move(changed));
      }
    }
    return out;
  }

 private:
  Result<KubeChanged> take_back(const KubeObjectKind& kind, const ChangeJson& object) {
    const auto text = [&](const char* field) { return object["metadata"].value(field, ""); };
    KubeChanged out{.object = {std::string(kind.kind), text("namespace"), text("name")}, .says = {}, .refusal = {}};
    const auto before = ObjectBefore::parse(marks_.text_on(object));
    if (!before) {
      out.refusal =
          fmt::format("its annotation {} is no record of Stint's any more: what it was before is not known", marks_.annotation);
      return out;
    }
    if (before->made) {
      out.says = "deleted";
      const auto answer =
          client_.change({.method = "DELETE", .path = kube_object_path(out.object) + "?propagationPolicy=Background"});
      if (!answer.ok()) {
        if (answer.error().code == ErrorCode::kUnavailable) return answer.error();
        out.refusal = answer.error().message;
      } else if (!answer->ok() && answer->status != 404) {
        out.refusal = answer->message;
      }
      return out;
    }
    ChangeJson asked = bare_object(out.object);
    std::vector<std::string> said;
    for (const FieldBefore& field : before->fields) {
      const ChangeJson now = value_at(object, field.at);
      if (now != field.is) {
        said.push_back(fmt::format("{} is {}, as somebody set it since: left", field.at, now.dump()));
        continue;
      }
      if (!field.was.is_null()) asked[ChangeJson::json_pointer(field.at)] = field.was;
      said.push_back(fmt::format("{} is {} again", field.at, field.was.is_null() ? "not set" : field.was.dump()));
    }
    out.says = fmt::format("{}", fmt::join(said, ", "));
    TRY_ASSIGN(out.refusal, send(asked, out.object, KubeApply::kForGood));
    return out;
  }

  /// @return the server's refusal; "" = applied.
  Result<std::string> send(const ChangeJson& asked, const KubeObjectName& object, KubeApply how) {
    const auto answer = client_.change({.method = "PATCH",
                                        .path = fmt::format("{}?fieldManager={}&force=true{}", kube_object_path(object),
                                                            marks_.manager, how == KubeApply::kDryRun ? "&dryRun=All" : ""),
                                        .body = asked.dump(-1, ' ', false, ChangeJson::error_handler_t::replace),
                                        .content_type = "application/apply-patch+yaml"});
    if (answer.ok()) return answer->ok() ? std::string() : answer->message;
    if (answer.error().code == ErrorCode::kUnavailable) return answer.error();
    return answer.error().message;
  }

  KubeClient& client_;
  ChangeMarks marks_;
};

/// What the cluster does not have, or does not let be listed, is empty; the second is told.
Result<std::vector<std::string>> texts_of(KubeClient& client, const KubeList& list, std::vector<std::string>& gaps) {
  std::vector<std::string> out;
  const auto listed =
      client.list(list, [&] { out.clear(); }, [&](std::string_view json, const std::string&) { out.emplace_back(json); });
  if (listed.ok() || listed.error().code == ErrorCode::kNotFound) return out;
  if (listed.error().code == ErrorCode::kUnavailable) return listed.error();
  gaps.push_back(fmt::format("no {}: {}", list.path, listed.error().message));
  return std::vector<std::string>();
}

}  // namespace

Result<KubeChangePlan> read_kube_change(KubeClient& client, std::span<const Change> changes, const std::string& key,
                                        const FleetPlan& fleet, const std::string& kubectl_image) {
  KubernetesState state;
  TRY_ASSIGN(const auto lists, discover_kube_lists(client));
  TRY_ASSIGN(std::vector<std::string> gaps, list_all_into(client, lists, state));
  std::vector<KubeObjectName> cron_jobs;
  if (std::ranges::any_of(changes, [](const Change& change) { return std::holds_alternative<LimitReservation>(change); })) {
    TRY_ASSIGN(const auto texts,
               texts_of(client, {.path = kube_collection_path(*find_kube_object_kind("CronJob")), .kind = "CronJob"}, gaps));
    for (const std::string& text : texts) {
      const auto job = ChangeJson::parse(text, nullptr, false);
      const auto meta = job.is_object() ? value_at(job, "/metadata") : ChangeJson();
      if (meta.is_object()) cron_jobs.push_back({"CronJob", meta.value("namespace", ""), meta.value("name", "")});
    }
  }
  const ChangeMarks marks(key);
  KubeFieldsSet set;
  const auto note_set = [&](const KubeObjectName& name, const std::string& text) {
    const auto object = ChangeJson::parse(text, nullptr, false);
    const auto before = object.is_object() ? ObjectBefore::parse(marks.text_on(object)) : std::nullopt;
    for (const FieldBefore& field : before ? before->fields : std::vector<FieldBefore>())
      set[name][field.at] = field.is.dump();
  };
  KubeObjects objects;
  for (const KubeObjectName& name : touched_objects(changes, state.contents(), cron_jobs)) {
    auto text = client.get(kube_object_path(name));
    if (text.ok()) {
      note_set(name, *text);
      objects.emplace(name, std::move(*text));
    } else if (text.error().code == ErrorCode::kUnavailable) {
      return text.error();
    } else if (text.error().code != ErrorCode::kNotFound) {
      gaps.push_back(text.error().message);
    }
  }
  TRY_ASSIGN(const auto scalers, texts_of(client,
                                          {.path = kube_collection_path(*find_kube_object_kind("HorizontalPodAutoscaler")),
                                           .kind = "HorizontalPodAutoscaler"},
                                          gaps));
  for (const std::string& text : scalers) {
    const auto scaler = ChangeJson::parse(text, nullptr, false);
    const auto meta = scaler.is_object() ? value_at(scaler, "/metadata") : ChangeJson();
    if (meta.is_object()) note_set({"HorizontalPodAutoscaler", meta.value("namespace", ""), meta.value("name", "")}, text);
  }
  KubeChangePlan plan = plan_kube_change({.changes = changes,
                                          .fleet = fleet,
                                          .contents = state.contents(),
                                          .objects = objects,
                                          .set = set,
                                          .autoscalers = scalers,
                                          .kubectl_image = kubectl_image});
  for (std::string& gap : gaps)
    plan.by_hand.push_back(std::move(gap));
  return plan;
}

Result<std::vector<KubeChanged>> carry_out_on_cluster(KubeClient& client, const KubeChangePlan& plan, const std::string& key,
                                                      KubeApply how, Duration cut_within) {
  OnCluster cluster(client, key);
  std::vector<KubeChanged> out;
  if (how == KubeApply::kForGood)
    for (const std::string& machine : plan.cut)
      TRY(cluster.forget_cut(machine));
  for (const KubePatch& patch : plan.patches) {
    TRY_ASSIGN(KubeChanged changed, cluster.apply(patch, how));
    out.push_back(std::move(changed));
  }
  for (const KubeObjectName& pod : plan.evicted) {
    TRY_ASSIGN(KubeChanged changed, cluster.evict(pod, how));
    out.push_back(std::move(changed));
  }
  if (how == KubeApply::kDryRun) return out;
  const Instant until = now() + cut_within;
  for (const std::string& machine : plan.cut) {
    TRY_ASSIGN(KubeChanged changed, cluster.wait_for_cut(machine, until));
    out.push_back(std::move(changed));
  }
  return out;
}

Result<std::vector<KubeChanged>> take_back_on_cluster(KubeClient& client, const std::string& key) {
  return OnCluster(client, key).take_back();
}

}  // namespace stint
