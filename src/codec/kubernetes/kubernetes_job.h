// A Job of the batch API as Stint makes one, the Service by which its pods find each other, and what the API server tells of both.
//
// One pod for each task, none of them made again: who tries anew is Stint. Source: Kubernetes API reference v1.36, "Job", "Service",
// "Event"; "Jobs", "Indexed Job for Parallel Processing with Static Work Assignment", "Pod Security Standards".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "codec/kubernetes/kubernetes_object.h"
#include "codec/kubernetes/kubernetes_placing.h"

namespace stint {

struct KubeJobSpec {
  std::string ns, name;          ///< of Job and Service: a DNS label
  std::vector<Tag> labels;       ///< of the Job, its pods and its Service
  std::vector<Tag> annotations;  ///< of the Job and its pods
  std::string image;
  std::vector<std::string> command;  ///< in place of the image's own
  std::string folder;                ///< "" = the image's own
  std::map<std::string, std::string, std::less<>> environment;
  int32_t tasks = 1;
  int32_t port = 0;  ///< above 0: they start together and find task 0 there
  // Of each task.
  int64_t gpus = 0;
  int64_t cpu_milli = 0;
  Bytes memory;
  std::string scheduler;               ///< spec.schedulerName
  Duration grace;                      ///< between SIGTERM and SIGKILL
  std::optional<Duration> time_limit;  ///< from the pod's start
  Duration keep;                       ///< once it has ended, for its log
  std::string service_account;         ///< "" = the namespace's default, without its token
  std::vector<std::string> pull_secrets;
  std::vector<KubeToleration> tolerations;
  bool restricted = false;  ///< as PodSecurity `restricted` wants it: not as root
};

std::string job_json(const KubeJobSpec& spec);
/// Goes with the Job. @param uid  of the Job.
std::string service_json(const KubeJobSpec& spec, std::string_view uid);

/// A Job as the API server has it.
struct KubeMadeJob {
  KubernetesMeta meta;
  std::vector<Tag> annotations;  ///< those that begin with "stint/"
  bool deleting = false;
  bool finished = false;  ///< completed, or failed for good

  [[nodiscard]] std::string_view annotation(std::string_view key) const;
};

/// One line of a watch.
struct KubeMadeJobEvent {
  KubernetesEvent event;           ///< its object stays empty
  std::optional<KubeMadeJob> job;  ///< none = a bookmark, an error, or not understood (event.message)
};

class KubeMadeJobDecoder {
 public:
  KubeMadeJobDecoder();
  ~KubeMadeJobDecoder();
  KubeMadeJobDecoder(const KubeMadeJobDecoder&) = delete;
  KubeMadeJobDecoder& operator=(const KubeMadeJobDecoder&) = delete;

  /// @return error naming the Job and the field that cannot be understood.
  Result<KubeMadeJob> decode(std::string_view json);
  Result<KubeMadeJobEvent> decode_event(std::string_view line);
  /// Of an EventList the last warning, "FailedCreate: pods … is forbidden: exceeded quota"; "" = there is none.
  Result<std::string> last_warning(std::string_view json);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// "KEY=VALUE:EFFECT", as kubectl taint writes them; without a value any, without an effect all.
KubeToleration parse_kube_toleration(std::string_view text);

/// As it is, whatever dollars it has: the API server would put variables in place of $(NAME).
std::string kube_literal(std::string_view text);
/// A value of a label: at most 63 letters, digits, '-', '_' and '.'; other characters become '-'.
std::string kube_label_value(std::string_view text);

}  // namespace stint
