#include "codec/kubernetes/kubernetes_job.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/kubernetes/kube_fields.h"

namespace stint {
namespace {

using namespace kube_fields;
using JobJson = nlohmann::ordered_json;

constexpr std::string_view kMain = "main";
constexpr std::string_view kCompletionIndex = "metadata.annotations['batch.kubernetes.io/job-completion-index']";
constexpr std::string_view kOwnOfJob = "stint/";

JobJson tags_json(const std::vector<Tag>& tags) {
  JobJson json = JobJson::object();
  for (const auto& [key, value] : tags)
    json[key] = value;
  return json;
}

/// As long as that, or longer by less than a second.
int64_t seconds_of_kube(Duration length) {
  const int64_t whole = length.whole_seconds();
  return std::min<int64_t>(std::numeric_limits<int32_t>::max(), whole + (Duration::seconds(whole) < length ? 1 : 0));
}

JobJson field_of(std::string_view path) { return {{"fieldRef", {{"fieldPath", path}}}}; }

/// What local tasks find in theirs, as far as a template can say it: each pod is a machine to itself.
JobJson environment_json(const KubeJobSpec& spec) {
  std::map<std::string, JobJson, std::less<>> set;
  const auto put = [&](std::string_view name, std::string_view value) { set[std::string(name)] = {{"value", value}}; };
  const auto refer = [&](std::string_view name, std::string_view path) {
    set[std::string(name)] = {{"valueFrom", field_of(path)}};
  };
  if (spec.port > 0) {
    refer("RANK", kCompletionIndex);
    refer("STINT_TASK", kCompletionIndex);
    put("WORLD_SIZE", std::to_string(spec.tasks));
    put("LOCAL_RANK", "0");
    put("LOCAL_WORLD_SIZE", "1");
    put("MASTER_ADDR", fmt::format("{0}-0.{0}", spec.name));
    put("MASTER_PORT", std::to_string(spec.port));
  }
  for (const auto& [name, value] : spec.environment)
    put(name, kube_literal(value));
  refer("STINT_NODE", "spec.nodeName");
  JobJson list = JobJson::array();
  for (auto& [name, how] : set) {
    JobJson one = {{"name", name}};
    one.update(how);
    list.push_back(std::move(one));
  }
  return list;
}

JobJson resources_json(const KubeJobSpec& spec) {
  JobJson requests = JobJson::object(), limits = JobJson::object();
  if (spec.cpu_milli > 0) requests["cpu"] = fmt::format("{}m", spec.cpu_milli);
  if (spec.memory > Bytes()) requests["memory"] = limits["memory"] = std::to_string(spec.memory.count());
  if (spec.gpus > 0) requests["nvidia.com/gpu"] = limits["nvidia.com/gpu"] = std::to_string(spec.gpus);
  return {{"requests", std::move(requests)}, {"limits", std::move(limits)}};
}

JobJson container_json(const KubeJobSpec& spec) {
  JobJson security = {{"allowPrivilegeEscalation", false}};
  if (spec.restricted) {
    security["runAsNonRoot"] = true;
    security["capabilities"] = {{"drop", {"ALL"}}};
  }
  JobJson command = JobJson::array();
  for (const std::string& word : spec.command)
    command.push_back(kube_literal(word));
  JobJson container = {{"name", kMain},
                       {"image", spec.image},
                       {"command", std::move(command)},
                       {"env", environment_json(spec)},
                       {"resources", resources_json(spec)},
                       {"securityContext", std::move(security)}};
  if (!spec.folder.empty()) container["workingDir"] = spec.folder;
  // Those who load data by several processes share it there; a container has 64 MiB by itself.
  container["volumeMounts"] = JobJson::array({{{"name", "shared-memory"}, {"mountPath", "/dev/shm"}}});
  return container;
}

JobJson tolerations_json(const KubeJobSpec& spec) {
  JobJson list = JobJson::array();
  for (const KubeToleration& one : spec.tolerations) {
    JobJson json = {{"operator", one.exists ? "Exists" : "Equal"}};
    if (!one.key.empty()) json["key"] = one.key;
    if (!one.exists) json["value"] = one.value;
    if (!one.effect.empty()) json["effect"] = one.effect;
    list.push_back(std::move(json));
  }
  // Nodes are often kept to those who ask for GPUs.
  if (spec.gpus > 0) list.push_back({{"key", "nvidia.com/gpu"}, {"operator", "Exists"}});
  return list;
}

JobJson pod_json(const KubeJobSpec& spec) {
  JobJson pod = {{"schedulerName", spec.scheduler},
                 {"restartPolicy", "Never"},
                 {"terminationGracePeriodSeconds", seconds_of_kube(spec.grace)},
                 {"enableServiceLinks", false},
                 {"automountServiceAccountToken", !spec.service_account.empty()},
                 {"securityContext", {{"seccompProfile", {{"type", "RuntimeDefault"}}}}},
                 {"tolerations", tolerations_json(spec)},
                 {"containers", JobJson::array({container_json(spec)})},
                 {"volumes", JobJson::array({{{"name", "shared-memory"}, {"emptyDir", {{"medium", "Memory"}}}}})}};
  if (spec.time_limit) pod["activeDeadlineSeconds"] = std::max<int64_t>(1, seconds_of_kube(*spec.time_limit));
  if (!spec.service_account.empty()) pod["serviceAccountName"] = spec.service_account;
  for (const std::string& name : spec.pull_secrets)
    pod["imagePullSecrets"].push_back({{"name", name}});
  if (spec.port > 0) pod["subdomain"] = spec.name;
  return pod;
}

std::string kube_dump(const JobJson& json) { return json.dump(-1, ' ', false, JobJson::error_handler_t::replace); }

std::vector<Tag> own_annotations(const dom::object& meta) {
  std::vector<Tag> own;
  for (Tag& one : kube_tags(meta, "annotations"))
    if (one.first.starts_with(kOwnOfJob)) own.push_back(std::move(one));
  return own;
}

}  // namespace

std::string job_json(const KubeJobSpec& spec) {
  const JobJson labels = tags_json(spec.labels), annotations = tags_json(spec.annotations);
  return kube_dump(
      {{"apiVersion", "batch/v1"},
       {"kind", "Job"},
       {"metadata", {{"name", spec.name}, {"namespace", spec.ns}, {"labels", labels}, {"annotations", annotations}}},
       {"spec",
        {{"parallelism", spec.tasks},
         {"completions", spec.tasks},
         {"completionMode", "Indexed"},
         {"backoffLimitPerIndex", 0},
         {"ttlSecondsAfterFinished", seconds_of_kube(spec.keep)},
         {"template", {{"metadata", {{"labels", labels}, {"annotations", annotations}}}, {"spec", pod_json(spec)}}}}}});
}

std::string service_json(const KubeJobSpec& spec, std::string_view uid) {
  return kube_dump({{"apiVersion", "v1"},
                    {"kind", "Service"},
                    {"metadata",
                     {{"name", spec.name},
                      {"namespace", spec.ns},
                      {"labels", tags_json(spec.labels)},
                      {"ownerReferences",
                       JobJson::array({{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", spec.name}, {"uid", uid}}})}}},
                    {"spec",
                     {{"clusterIP", "None"},
                      {"publishNotReadyAddresses", true},
                      {"selector", {{"batch.kubernetes.io/job-name", spec.name}}},
                      {"ports", JobJson::array({{{"name", "rendezvous"}, {"port", spec.port}}})}}}});
}

std::string_view KubeMadeJob::annotation(std::string_view key) const {
  const auto it = std::ranges::find(annotations, key, &Tag::first);
  return it == annotations.end() ? std::string_view() : std::string_view(it->second);
}

struct KubeMadeJobDecoder::Impl {
  dom::parser parser;

  static Result<KubeMadeJob> job_of(const dom::object& root) {
    std::string called = "Job";
    try {
      KubeMadeJob job{.meta = meta_of(root, "Job"), .annotations = {}};
      called = fmt::format("Job {}/{}", job.meta.ns, job.meta.name);
      with_object(root, "metadata", [&](const dom::object& meta) {
        job.deleting = has_field(meta, "deletionTimestamp");
        job.annotations = own_annotations(meta);
      });
      with_object(root, "status", [&](const dom::object& status) {
        each_of(status, "conditions", [&](const dom::object& condition) {
          const std::string type = kube_text(condition, "type");
          job.finished |= (type == "Complete" || type == "Failed") && kube_text(condition, "status") == "True";
        });
      });
      return job;
    } catch (const BadField& bad) {
      return invalid("{}: {}", excerpt(called, 120), bad.what);
    }
  }
};

KubeMadeJobDecoder::KubeMadeJobDecoder() : impl_(std::make_unique<Impl>()) {}
KubeMadeJobDecoder::~KubeMadeJobDecoder() = default;

Result<KubeMadeJob> KubeMadeJobDecoder::decode(std::string_view json) {
  TRY_ASSIGN(const dom::object root, parse_object(impl_->parser, json));
  return Impl::job_of(root);
}

Result<KubeMadeJobEvent> KubeMadeJobDecoder::decode_event(std::string_view line) {
  TRY_ASSIGN(const dom::object root, parse_object(impl_->parser, line));
  KubeMadeJobEvent out;
  dom::object object;
  TRY_ASSIGN(out.event, read_event(root, object));
  if (out.event.kind == KubernetesEvent::Kind::kError || out.event.kind == KubernetesEvent::Kind::kBookmark) return out;
  auto job = Impl::job_of(object);
  if (job.ok())
    out.job = std::move(*job);
  else
    out.event.message = job.error().message;
  return out;
}

Result<std::string> KubeMadeJobDecoder::last_warning(std::string_view json) {
  TRY_ASSIGN(const dom::object root, parse_object(impl_->parser, json));
  std::string said;
  Instant last;
  try {
    each_of(root, "items", [&](const dom::object& event) {
      if (kube_text(event, "type") != "Warning") return;
      auto at = kube_instant(event, "lastTimestamp");
      if (!at) at = kube_instant(event, "eventTime");
      if (!said.empty() && at.value_or(Instant()) < last) return;
      last = at.value_or(Instant());
      said = fmt::format("{}: {}", kube_text(event, "reason"), kube_text(event, "message"));
    });
  } catch (const BadField& bad) {
    return invalid("Event: {}", bad.what);
  }
  return said;
}

KubeToleration parse_kube_toleration(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view key = text.substr(0, colon);
  const size_t equals = key.find('=');
  return {.key = std::string(key.substr(0, equals)),
          .value = equals == std::string_view::npos ? "" : std::string(key.substr(equals + 1)),
          .effect = colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1)),
          .exists = equals == std::string_view::npos};
}

/// Two dollars become one; one alone stays, unless a name in parentheses follows.
std::string kube_literal(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    if (text[i] == '$' && i + 1 < text.size() && (text[i + 1] == '$' || text[i + 1] == '(')) out += '$';
  }
  return out;
}

std::string kube_label_value(std::string_view text) {
  constexpr size_t kLongest = 63;
  const auto is_plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (const char c : text.substr(0, kLongest))
    out += is_plain(c) || c == '-' || c == '_' || c == '.' ? c : '-';
  while (!out.empty() && !is_plain(out.back()))
    out.pop_back();
  out.erase(0, static_cast<size_t>(std::ranges::find_if(out, is_plain) - out.begin()));
  return out;
}

}  // namespace stint
