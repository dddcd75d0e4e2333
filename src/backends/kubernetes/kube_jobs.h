// The daemon's own jobs in a cluster: an attempt is one Job, its tasks are the Job's pods. What is asked for, what cannot be, and which Jobs
// are there. Pure.
//
// A Job is named after its attempt, so that asking for it twice makes one. Whose it is stands in a label and in an annotation, by which it is
// found again.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/kubernetes/kube_queue.h"
#include "codec/kubernetes/kubernetes_job.h"
#include "kubernetes/kube_client.h"

namespace stint {

/// Label of Jobs and pods: which daemon made them.
inline constexpr std::string_view kKubeDaemon = "stint/daemon";
/// Annotation beside kKubeAttempt, "0,1,2": the tasks of its pods, by index.
inline constexpr std::string_view kKubeTaskList = "stint/task-list";

struct KubeJobRules {
  std::string mark;                                            ///< of this daemon's
  std::string scheduler = "stint";                             ///< spec.schedulerName
  std::string ns;                                              ///< where jobs are made
  std::map<std::string, std::string, std::less<>> of_clients;  ///< in place of it, by client
  Duration keep = Duration::hours(24);                         ///< a Job that has ended, with its log
  Duration patience = Duration::minutes(10);                   ///< what cannot begin (its image is not there) ends then
  std::string service_account;                                 ///< "" = none
  std::vector<std::string> pull_secrets;
  std::vector<KubeToleration> tolerations;
  bool restricted = false;

  [[nodiscard]] const std::string& namespace_of(std::string_view owner) const;
  [[nodiscard]] bool makes_in(std::string_view namespace_name) const;
};

/// @return error that says what of it a Job cannot be, and what works instead.
Status check_kube_launch(const Launch& launch);

/// @param launches  of one attempt, all that start together, in order of rank. @return as check_kube_launch().
Result<KubeJobSpec> kube_job_of(const std::vector<Launch>& launches, const KubeJobRules& rules);

/// The tasks of a Job's pods, by index; empty = it is none of `mark`'s.
struct KubeJobOfAttempt {
  AttemptKey attempt;
  std::vector<int32_t> tasks;
};
std::optional<KubeJobOfAttempt> attempt_of_job(const KubeMadeJob& job, std::string_view mark);

/// Of a pod that a Job of `mark`'s made: which attempt and which of its pods. none = it is none.
struct KubePodOfAttempt {
  AttemptKey attempt;
  int32_t index = 0;
};
std::optional<KubePodOfAttempt> attempt_of_pod(const KubePlacingPod& pod, std::string_view mark);

KubeChange make_job_request(const KubeJobSpec& spec);
KubeChange make_service_request(const KubeJobSpec& spec, std::string_view uid);
/// With its pods, in their own time.
KubeChange delete_job_request(const KubernetesMeta& job);

/// Jobs as they are, as KubeCluster has pods.
class KubeMadeJobs {
 public:
  std::map<std::string, KubeMadeJob, std::less<>> jobs;  ///< by uid

  void begin_list() { listed_.emplace(); }
  void take(std::string_view json);
  void end_list();
  Result<KubernetesEvent> event(std::string_view line);

 private:
  KubeMadeJobDecoder decoder_;
  std::optional<std::set<std::string>> listed_;
};

/// What keeps the containers of a pod that is bound from beginning, and does not pass by itself: "ImagePullBackOff: …"; "" = nothing.
std::string why_not_begun(const KubePlacingPod& pod);
/// It will not pass at all.
bool is_hopeless(const KubePlacingPod& pod);

}  // namespace stint
