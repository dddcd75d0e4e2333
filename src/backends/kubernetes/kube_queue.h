// The pods of a cluster as jobs: those that wait for this scheduler, gangs as one; those that run hold their room. Pure.
//
// A gang is told when all of its pods are there. What cannot be honoured is not told, and said of the pod. Labels and annotations:
// docs/kubernetes.md.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/kubernetes/kube_around.h"
#include "backends/kubernetes/kube_cluster.h"

namespace stint {

// Annotations that a binding leaves on its pod.
inline constexpr std::string_view kKubeLaunch = "stint/launch";      ///< "MARK:17.0.3": which launch it is
inline constexpr std::string_view kKubeJob = "stint/job";            ///< of which job of this queue
inline constexpr std::string_view kKubeTasks = "stint/tasks";        ///< how many are bound together
inline constexpr std::string_view kKubeRevision = "stint/revision";  ///< before: told anew so often
/// Annotation of the caller's own Jobs and their pods: "MARK:17.0", the attempt.
inline constexpr std::string_view kKubeAttempt = "stint/attempt";

struct KubeQueueRules {
  std::string mark;                                              ///< of bindings by this daemon: kKubeLaunch begins with it
  std::string scheduler = "stint";                               ///< spec.schedulerName of pods that it places
  std::map<std::string, std::string, std::less<>> namespaces;    ///< queue by namespace
  std::set<std::string, std::less<>> known_queues;               ///< namespaces that are called so need no rule
  std::string queue;                                             ///< of all other namespaces
  std::map<std::string, int32_t, std::less<>> priority_classes;  ///< priority by class; others by their value
};

/// Pods that start together: one of others' jobs.
struct KubeGroup {
  OthersJob job;
  std::vector<std::string> pods;  ///< uids, in order of the tasks
  std::string gang;               ///< namespace and gang; "" = a pod by itself
  int64_t revision = 0;           ///< its annotation has to say so before it is told anew; 0 = it need not be
  Instant since;                  ///< first told
  std::string turn = {};          ///< of turn_of()
  bool looks_around = false;      ///< where it may be changes with what is around it
  Instant asked = {};             ///< its place was found, and something of it has to be made before
};

/// Why a pod is not bound, to be said of it.
struct KubeComplaint {
  std::string uid, reason, message;
};

/// 0 … 1000, in the order of the values: 50 of those without, by themselves to 550, then by powers of two.
int32_t priority_of_value(int64_t value);

class KubeQueue {
 public:
  explicit KubeQueue(KubeQueueRules rules) : rules_(std::move(rules)) {}

  /// What is news: OthersJob.
  std::vector<BackendEvent> look(const KubeCluster& cluster, Instant now);
  /// Names of all jobs that the cluster has, told or not, as of the last look; ascending.
  [[nodiscard]] std::vector<std::string> there(const KubeCluster& cluster) const;
  /// Of those that wait, as of the last look; and what was bound since.
  [[nodiscard]] const KubeGroup* find(std::string_view job) const;
  /// It is bound, or on its way: it is no longer told, until its pods wait again.
  void placed(const std::string& job);
  /// It could not be bound whole.
  void broken(const std::string& job) { placing_.erase(job); }
  /// It has a place, and waits for something there: it is not told anew meanwhile.
  void asked(const std::string& job, Instant at);
  /// Its pods wait as another job.
  [[nodiscard]] bool was_told_anew(std::string_view job) const { return told_anew_.contains(job); }
  /// The pod that runs as this job and that others have bound; "" = none.
  [[nodiscard]] std::string running_pod(std::string_view job) const;
  /// Pods that wait and belong to the gang of this one, by age.
  [[nodiscard]] std::vector<std::string> rest_of_gang(const KubePlacingPod& pod, const KubeCluster& cluster) const;
  [[nodiscard]] bool is_bound_here(const KubePlacingPod& pod) const {
    return pod.annotation(kKubeLaunch).starts_with(rules_.mark + ":");
  }
  /// Of a Job of the caller's own: it is placed as one of its launches.
  [[nodiscard]] bool is_made_here(const KubePlacingPod& pod) const {
    return parse_attempt(pod.annotation(kKubeAttempt), rules_.mark).has_value();
  }
  /// As of the last look: of every pod that waits for this scheduler and was not told, or was a while ago.
  [[nodiscard]] const std::vector<KubeComplaint>& complaints() const { return complaints_; }
  /// Pods that now may run on a machine that came later: told anew once their annotation kKubeRevision says so. By uid.
  [[nodiscard]] const std::map<std::string, int64_t>& revisions() const { return revisions_; }
  [[nodiscard]] bool is_own(const KubePlacingPod& pod) const { return pod.scheduler == rules_.scheduler; }

 private:
  struct Gang {
    std::string name;  ///< "" = a pod by itself
    int64_t size = 1;
  };
  using Pods = std::vector<std::pair<std::string, const KubePlacingPod*>>;  ///< by uid
  /// Machines that a pod may run on.
  struct Places {
    std::vector<std::string> machines;  ///< ascending
    bool all = true;                    ///< any there is
    std::string why_not;                ///< of the first that it may not
    int64_t claimed_gpus = 0;           ///< by its claims that have none yet
    bool claims_differ = false;         ///< … not the same number on each
  };
  /// A look at the cluster, as of one moment.
  struct Look {
    const KubeCluster& cluster;
    KubeAround around;
    Instant now;
    std::map<std::string, Places, std::less<>> places;  ///< by what a pod asks of machines and of what is around
    std::set<std::string, std::less<>> turns;           ///< taken
  };
  const Places& places_of(const KubePlacingPod& pod, const KubeCluster& cluster);
  /// And because of what is around it.
  const Places& places_now(const KubePlacingPod& pod, Look& look);
  [[nodiscard]] bool must_be_told_anew(const KubeGroup& group, const KubePlacingPod& first, Look& look);
  [[nodiscard]] Gang gang_of(const KubePlacingPod& pod, const KubeCluster& cluster) const;
  [[nodiscard]] Result<std::string> queue_of(const KubePlacingPod& pod) const;
  [[nodiscard]] Result<OthersJob> job_of(const Pods& pods, Look& look);
  [[nodiscard]] OthersJob running_job(const KubePlacingPod& pod) const;
  [[nodiscard]] int32_t priority_of(const KubePlacingPod& pod) const;
  /// Of each gang: pods of launches that are bound in part, as their bound ones say. The caller orders the rest of such a launch.
  struct Begun {
    int64_t missing = 0;  ///< pods that its launches have yet to bind
    int64_t ended = 0;    ///< of the same launches
  };
  [[nodiscard]] std::map<std::string, Begun> begun_gangs(const KubeCluster& cluster) const;
  void look_at_waiting(Look& look, std::vector<BackendEvent>& events);
  void look_at_told(Look& look, std::vector<BackendEvent>& events);
  void form(const Pods& waiting, const std::string& gang, int64_t needed, Look& look, std::vector<BackendEvent>& events);
  void complain(const Pods& pods, std::string reason, const std::string& message);
  void end(const OthersJob& job, std::vector<BackendEvent>& events);

  KubeQueueRules rules_;
  std::map<std::string, KubeGroup, std::less<>> waiting_;  ///< told, by name
  std::set<std::string, std::less<>> placing_;             ///< of those: bound, or on its way
  struct Running {
    OthersJob job;
    std::string pod;  ///< uid
  };
  std::map<std::string, Running, std::less<>> running_;  ///< bound by others: told, by name
  std::vector<KubeComplaint> complaints_;
  std::vector<std::string> left_alone_;  ///< names of those that cannot be honoured, as of the last look
  // By what pods ask of machines, as of `places_as_of_` changes of the nodes.
  std::map<std::string, Places, std::less<>> places_;
  uint64_t places_as_of_ = 0;
  uint64_t looked_at_nodes_ = 0;  ///< as of the last look
  std::map<std::string, int64_t> revisions_;
  std::map<std::string, std::string, std::less<>> told_anew_;  ///< uid of the first pod, which is there still, by job
};

/// "namespace/name".
std::string called(const KubePlacingPod& pod);
/// What a pod is called in the books: "namespace/pod@1b2c3d4e", so that no two bear it.
std::string job_name_of(const KubePlacingPod& pod);
/// Likewise of a gang, by its first pod and by which pods it is made of: "namespace/pod@1b2c3d4e~9f86d081".
std::string job_name_of(const std::vector<std::pair<std::string, const KubePlacingPod*>>& gang);

}  // namespace stint
