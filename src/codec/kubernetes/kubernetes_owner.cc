#include "codec/kubernetes/kubernetes_owner.h"

#include <cmath>

#include "base/text.h"

namespace stint {
namespace {

constexpr int kMostOwners = 16;  ///< from a pod upwards: a chain that is longer goes round

/// `vllm-7d4f9c6b5` with the pod's label pod-template-hash 7d4f9c6b5 is of Deployment `vllm`, as Kubernetes names them.
std::optional<KubernetesReference> deployment_of(const KubernetesReference& set, const KubernetesMeta& pod) {
  const std::string_view hash = pod.label("pod-template-hash");
  const std::string_view name = set.name;
  if (set.kind != "ReplicaSet" || hash.empty() || !name.ends_with(hash) || name.size() < hash.size() + 2 ||
      name[name.size() - hash.size() - 1] != '-')
    return std::nullopt;
  return KubernetesReference{"Deployment", std::string(name.substr(0, name.size() - hash.size() - 1)), ""};
}

/// A CronJob names its Jobs `NAME-` and the minutes since 1970 for which they were due.
std::optional<KubernetesReference> cron_job_of(const KubernetesReference& job, const KubernetesMeta& pod) {
  constexpr size_t kDigits = 8;
  const std::string_view name = job.name;
  if (job.kind != "Job" || name.size() < kDigits + 2 || name[name.size() - kDigits - 1] != '-' || !pod.created)
    return std::nullopt;
  const auto minutes = parse_int(name.substr(name.size() - kDigits));
  if (!minutes || name[name.size() - kDigits] == '-') return std::nullopt;
  const int64_t apart = std::abs(pod.created->seconds() - *minutes * 60);
  if (apart > 86'400) return std::nullopt;
  return KubernetesReference{"CronJob", std::string(name.substr(0, name.size() - kDigits - 1)), ""};
}

}  // namespace

KubernetesReference top_owner(const KubernetesContents& contents, const KubernetesPod& pod) {
  if (!pod.meta.owner) {
    std::string name = pod.meta.generate_name.empty() ? pod.meta.name : pod.meta.generate_name;
    while (name.size() > 1 && name.back() == '-')
      name.pop_back();
    return {"Pod", std::move(name), pod.meta.uid};
  }
  KubernetesReference top = *pod.meta.owner;
  for (int i = 0; i < kMostOwners; ++i) {
    if (const auto next = contents.owned.find(top.uid); next != contents.owned.end())
      top = next->second.owner;
    else if (const auto deployment = deployment_of(top, pod.meta))
      top = *deployment;
    else if (const auto cron = cron_job_of(top, pod.meta))
      top = *cron;
    else
      break;
  }
  return top;
}

}  // namespace stint
