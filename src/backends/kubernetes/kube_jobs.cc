#include "backends/kubernetes/kube_jobs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kIndexOfPod = "batch.kubernetes.io/job-completion-index";
constexpr int64_t kMostPods = 4'096;

std::string_view client_of_owner(std::string_view owner) { return owner.substr(0, owner.find('/')); }
std::string_view user_of_owner(std::string_view owner) {
  const size_t slash = owner.find('/');
  return slash == std::string_view::npos ? std::string_view() : owner.substr(slash + 1);
}

std::string_view variable(const Launch& launch, std::string_view name) {
  const auto at = std::ranges::find(launch.environment, name, [](const auto& one) { return std::string_view(one.first); });
  return at == launch.environment.end() ? std::string_view() : std::string_view(at->second);
}

/// A DNS label that people recognise, and that no other attempt has.
std::string job_name_of_attempt(std::string_view called, const AttemptKey& attempt, std::string_view mark) {
  constexpr size_t kMostShown = 30;
  std::string shown;
  for (const char c : called.substr(0, kMostShown))
    shown += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(c)) : '-';
  Fnv1a print;
  print.update(to_text(attempt, mark));
  return fmt::format("stint-{}-{:016x}", shown, print.digest());
}

/// "Err…", "…BackOff" and the like; a container that is being made is none of these.
bool is_trouble(std::string_view reason) {
  return !reason.empty() && reason != "ContainerCreating" && reason != "PodInitializing";
}

std::string path_in_namespace(std::string_view api, std::string_view ns, std::string_view what) {
  return fmt::format("{}/namespaces/{}/{}", api, ns, what);
}

}  // namespace

const std::string& KubeJobRules::namespace_of(std::string_view owner) const {
  const auto found = of_clients.find(client_of_owner(owner));
  return found == of_clients.end() ? ns : found->second;
}

bool KubeJobRules::makes_in(std::string_view namespace_name) const {
  return namespace_name == ns ||
         std::ranges::any_of(of_clients, [&](const auto& entry) { return entry.second == namespace_name; });
}

Status check_kube_launch(const Launch& launch) {
  if (launch.image.empty())
    return invalid(
        "this daemon's jobs are Jobs of a Kubernetes: name the image that it runs in, --image registry.example.com/train:1");
  if (launch.tenancy == Tenancy::kShared)
    return invalid("a Job of Kubernetes gets whole GPUs: give --gpus in place of --gpu-milli, --gpu-memory and --mig");
  for (const auto& [flag, path] : {std::pair("--output", &launch.output_path), std::pair("--error", &launch.error_path)})
    if (!path->empty())
      return invalid(
          "{} {}: a pod has no files of this machine: leave it away and read `stint logs`, or have the command write "
          "into a volume",
          flag, excerpt(*path));
  if (!launch.folder.empty() && !launch.folder.starts_with('/'))
    return invalid("--folder {}: a folder of the image begins with /", excerpt(launch.folder));
  for (const auto& [name, value] : launch.environment)
    if (!std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f && c != '='; }))
      return invalid("--env {}: Kubernetes takes names of printable characters without spaces", excerpt(name));
  if (launch.gang && launch.gang->world_size > kMostPods)
    return invalid("{} tasks: {} at most", launch.gang->world_size, kMostPods);
  return {};
}

Result<KubeJobSpec> kube_job_of(const std::vector<Launch>& launches, const KubeJobRules& rules) {
  const Launch& first = launches.front();
  TRY(check_kube_launch(first));
  const AttemptKey attempt = attempt_of(first.key);
  const std::string_view called = variable(first, "STINT_JOB");
  KubeJobSpec spec{.ns = rules.namespace_of(first.owner),
                   .name = job_name_of_attempt(called, attempt, rules.mark),
                   .labels = {{std::string(kKubeDaemon), rules.mark},
                              {"stint/job", kube_label_value(called)},
                              {"stint/client", kube_label_value(client_of_owner(first.owner))},
                              {"stint/user", kube_label_value(user_of_owner(first.owner))}},
                   .annotations = {{std::string(kKubeAttempt), to_text(attempt, rules.mark)}},
                   .image = first.image,
                   .command = first.command,
                   .folder = first.folder,
                   .environment = {},
                   .tasks = static_cast<int32_t>(launches.size()),
                   .gpus = std::ssize(first.gpus),
                   .cpu_milli = first.cpu_milli,
                   .memory = first.memory,
                   .scheduler = rules.scheduler,
                   .grace = std::max(Duration(), first.grace),
                   .time_limit = {},
                   .keep = rules.keep,
                   .service_account = rules.service_account,
                   .pull_secrets = rules.pull_secrets,
                   .tolerations = rules.tolerations,
                   .restricted = rules.restricted};
  std::vector<int32_t> tasks;
  for (const Launch& launch : launches)
    tasks.push_back(launch.key.task);
  spec.annotations.emplace_back(std::string(kKubeTaskList), fmt::format("{}", fmt::join(tasks, ",")));
  for (const auto& [name, value] : first.environment)
    spec.environment.insert_or_assign(name, value);
  spec.environment.insert_or_assign("STINT_ATTEMPT", std::to_string(attempt.attempt));
  if (first.gang) {
    spec.port = first.gang->master_port;
    // To a daemon that does not know of the attempt they are a gang all the same.
    spec.labels.emplace_back("stint/gang-size", std::to_string(first.gang->world_size));
  } else {
    spec.environment.insert_or_assign("STINT_TASK", std::to_string(first.key.task));
  }
  if (first.time_limit > Duration()) spec.time_limit = first.time_limit;
  return spec;
}

std::optional<KubeJobOfAttempt> attempt_of_job(const KubeMadeJob& job, std::string_view mark) {
  const auto attempt = parse_attempt(job.annotation(kKubeAttempt), mark);
  if (!attempt) return std::nullopt;
  KubeJobOfAttempt out{.attempt = *attempt, .tasks = {}};
  for (const std::string_view part : split(job.annotation(kKubeTaskList), ',')) {
    const auto task = parse_int(part);
    if (!task || *task < 0 || *task >= kMostPods || std::ssize(out.tasks) >= kMostPods) return std::nullopt;
    out.tasks.push_back(static_cast<int32_t>(*task));
  }
  return out;
}

std::optional<KubePodOfAttempt> attempt_of_pod(const KubePlacingPod& pod, std::string_view mark) {
  const auto attempt = parse_attempt(pod.annotation(kKubeAttempt), mark);
  const auto index = parse_int(pod.pod.meta.label(kIndexOfPod));
  if (!attempt || !index || *index < 0 || *index >= kMostPods) return std::nullopt;
  return KubePodOfAttempt{.attempt = *attempt, .index = static_cast<int32_t>(*index)};
}

KubeChange make_job_request(const KubeJobSpec& spec) {
  return {.method = "POST", .path = path_in_namespace("/apis/batch/v1", spec.ns, "jobs"), .body = job_json(spec)};
}

KubeChange make_service_request(const KubeJobSpec& spec, std::string_view uid) {
  return {.method = "POST", .path = path_in_namespace("/api/v1", spec.ns, "services"), .body = service_json(spec, uid)};
}

KubeChange delete_job_request(const KubernetesMeta& job) {
  const nlohmann::json body = {{"apiVersion", "v1"},
                               {"kind", "DeleteOptions"},
                               {"propagationPolicy", "Background"},
                               {"preconditions", {{"uid", job.uid}}}};
  return {.method = "DELETE", .path = path_in_namespace("/apis/batch/v1", job.ns, "jobs/" + job.name), .body = body.dump()};
}

void KubeMadeJobs::take(std::string_view json) {
  auto job = decoder_.decode(json);
  if (!job.ok()) return;
  if (listed_) listed_->insert(job->meta.uid);
  std::string uid = job->meta.uid;
  jobs.insert_or_assign(std::move(uid), std::move(*job));
}

void KubeMadeJobs::end_list() {
  if (listed_) std::erase_if(jobs, [&](const auto& entry) { return !listed_->contains(entry.first); });
  listed_.reset();
}

Result<KubernetesEvent> KubeMadeJobs::event(std::string_view line) {
  TRY_ASSIGN(KubeMadeJobEvent event, decoder_.decode_event(line));
  if (!event.job) return std::move(event.event);
  std::string uid = event.job->meta.uid;
  if (event.event.kind == KubernetesEvent::Kind::kDeleted)
    jobs.erase(uid);
  else
    jobs.insert_or_assign(std::move(uid), std::move(*event.job));
  return std::move(event.event);
}

std::string why_not_begun(const KubePlacingPod& pod) {
  if (pod.pod.phase != "Pending" || !is_trouble(pod.waiting_reason)) return {};
  if (pod.waiting_message.empty()) return pod.waiting_reason;
  return fmt::format("{}: {}", pod.waiting_reason, excerpt(pod.waiting_message, 300));
}

bool is_hopeless(const KubePlacingPod& pod) {
  return pod.pod.phase == "Pending" && (pod.waiting_reason == "InvalidImageName" || pod.waiting_reason == "ErrImageNeverPull");
}

}  // namespace stint
