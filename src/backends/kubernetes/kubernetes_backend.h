// A Kubernetes cluster under the daemon: pods whose schedulerName is Stint's wait in the daemon's queue and are bound when and where it says.
//
// The API server is the truth. A binding carries its launch as an annotation of the pod, made in the same request, so after a restart at any
// instant the pods say what was started; a pod that has a node is never bound again (409). Nothing is changed without the lease.
//
// Requests are sent by threads of a pool, many at a time; what follows from their answers is done by the thread that gives orders and looks.
// That one computes for a while where a cluster is large: wrap it in a BackendThread.
//
// The caller's own launches become Jobs once they are placed (kubernetes_backend_jobs.cc): a file names the attempt before the Job is asked for,
// a Job's name is its attempt's, and its pods are bound as those of others are. A Job that no file or order knows is told as running, so that
// the caller may stop it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/kubernetes/kube_around.h"
#include "backends/kubernetes/kube_cluster.h"
#include "backends/kubernetes/kube_fleet.h"
#include "backends/kubernetes/kube_jobs.h"
#include "backends/kubernetes/kube_marks.h"
#include "backends/kubernetes/kube_queue.h"
#include "backends/kubernetes/kube_teller.h"
#include "host/worker_pool.h"
#include "kubernetes/kube_follower.h"
#include "kubernetes/kube_lease.h"

namespace stint {

struct KubernetesBackendRules {
  KubeIdentityOptions identity;
  std::string state_folder;                              ///< made where it is missing
  KubeQueueRules queue;                                  ///< its mark is the state folder's
  std::map<std::string, Machine, std::less<>> machines;  ///< prices and places, by name
  std::optional<KubeJobRules> jobs;  ///< none = the caller has none of its own; its mark and scheduler are the queue's
  KubeLeaseRules lease;              ///< its holder is made
  Duration every = Duration::milliseconds(250);  ///< between two looks at what came
  std::shared_ptr<KubeMachineAsks> asks;         ///< what nodes are to say; null = nothing is said
  Duration taint_after = Duration::seconds(30);  ///< GPUs that are missing for so long are broken: a device plugin may begin anew
};

class KubernetesBackend final : public Backend {
 public:
  /// @return error when the folder or the credentials cannot be used. A cluster that does not answer is none: is_ready() says when it has.
  static Result<std::unique_ptr<KubernetesBackend>> create(KubernetesBackendRules rules);
  /// Waits for requests that are under way; others are not sent.
  ~KubernetesBackend() override;
  KubernetesBackend(const KubernetesBackend&) = delete;
  KubernetesBackend& operator=(const KubernetesBackend&) = delete;

  [[nodiscard]] std::string_view name() const override { return "kubernetes"; }
  [[nodiscard]] std::vector<std::string> notes() const override;
  [[nodiscard]] bool is_ready() const override { return ready_; }
  [[nodiscard]] Status takes(const Launch& like) const override;
  void submit(std::vector<Order> orders) override;
  std::vector<BackendEvent> drain(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_event_at() const override;
  [[nodiscard]] std::vector<LaunchKey> running() const override;
  [[nodiscard]] std::vector<MachineReport> machines() const override { return fleet_.machines(); }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override;

 private:
  struct Known {
    std::string pod;                     ///< uid
    std::string called;                  ///< namespace/name
    std::string job = {};                ///< of the queue
    std::optional<Report> last = {};     ///< told
    std::optional<Instant> leaves = {};  ///< told to leave by then
    Duration grace = {};                 ///< with which it was told
    bool asked = false;                  ///< the server has taken the request to leave
    bool kept = false;                   ///< a disruption budget has refused it, and that was said
    Instant tried = {};                  ///< to ask it
    std::optional<Instant> hindered_since = {};
    std::string hindrance = {};  ///< told
    [[nodiscard]] bool has_ended() const { return last && last->kind != ReportKind::kStarted; }
  };
  struct Placing {  ///< launches of one job that start together
    std::string job;
    std::vector<const Launch*> launches;
    Instant at;
  };
  struct Claim {  ///< of a pod: reserved for it before it is bound
    KubeDeviceClaim claim;
    std::vector<KubeAllocated> devices;  ///< where it has none yet
    std::string configs;
    bool done = false;
  };
  struct Binding {
    LaunchKey key;
    std::string uid, node;
    KubePlacingPod pod;
    std::vector<Tag> annotations;
    std::vector<KubeAllocation> devices = {};
    std::vector<Claim> claims = {};
    Result<KubeAnswer> answer = KubeAnswer();
    [[nodiscard]] bool is_bound() const { return answer.ok() && answer->ok(); }
    [[nodiscard]] bool is_refused() const { return answer.ok() && !answer->ok(); }
  };
  struct Placed {  ///< bindings that go together, until all have an answer
    std::string job;
    Instant at;
    std::vector<Binding> bindings;
    size_t unanswered = 0;
    std::atomic<bool> withdrawn = false;  ///< those that were not sent are not
  };
  using Held = std::map<std::string, KubeHeld, std::less<>>;
  struct Room {  ///< on all machines
    Held held;
    KubeAround around;
  };
  struct Choice {  ///< for which node a volume was asked to be made
    std::string node;
    Instant at;
  };
  struct Marking {                             ///< a node that is to say something else
    std::string version = {};                  ///< resourceVersion that the last request was made for
    Instant tried = {};                        ///< that
    bool is_asked = false;                     ///< it has no answer yet
    std::optional<Instant> broken_since = {};  ///< by what is asked for
    std::string problem = {};                  ///< why it was refused
  };
  struct OwnJob {                        ///< an attempt of the caller's own
    KubernetesMeta job;                  ///< namespace, name, uid; no uid = not made yet, or not known to be
    std::vector<int32_t> tasks;          ///< of its pods, by index
    std::map<int32_t, Launch> launches;  ///< ordered since this program began, by task
    std::set<int32_t> forgotten;         ///< of those
    Instant at;                          ///< of the order
    bool uncertain = false;              ///< it may have been made
    bool was_made = false;               ///< before this program began: a file says so
    bool seen = false;                   ///< in the cluster
    bool has_service = false;
    bool lacks_pods = false;  ///< as of the last look
    bool is_kept = true;      ///< once it has ended, for its log
    Instant tried, asked_why;
    std::optional<Instant> hindered_since;
    std::string hindrance;  ///< told
  };
  struct Taker final : KubeTaker {
    Taker(KubeCluster& of, KubeMadeJobs& own) : cluster(of), jobs(own) {}
    void begin_list(const std::string& kind) override {
      if (kind == kKindJob) return jobs.begin_list();
      cluster.begin_list(kind);
    }
    void take(std::string_view json, const std::string& kind) override {
      if (kind == kKindJob) return jobs.take(json);
      cluster.take(json, kind);
    }
    void end_list(const std::string& kind, Instant) override {
      if (kind == kKindJob) return jobs.end_list();
      cluster.end_list(kind);
    }
    Result<KubernetesEvent> event(std::string_view line, const std::string& kind, Instant) override {
      return kind == kKindJob ? jobs.event(line) : cluster.event(line, kind);
    }
    bool refused(const KubeList&, const Error&) override { return true; }
    static constexpr std::string_view kKindJob = "Job";
    KubeCluster& cluster;
    KubeMadeJobs& jobs;
  };

  KubernetesBackend(KubernetesBackendRules rules, std::shared_ptr<KubeClient> client);

  // Requests.
  /// @param request  made by a thread of the pool. @param then  by this one, when it looks.
  void send(WorkerPool& pool, std::function<void()> request, std::function<void()> then);
  void finish_answered();

  // Orders.
  [[nodiscard]] Held held() const;
  [[nodiscard]] KubeAround around() const;
  void place(const Placing& placing, Room& room, std::vector<std::shared_ptr<Placed>>& placed);
  /// @param devices  for the claims of each pod.
  bool take_room(const Placing& placing, const std::vector<const Launch*>& left, const std::vector<std::string>& pods, Room& room,
                 std::vector<std::vector<KubeAllocation>>& devices);
  [[nodiscard]] std::vector<Claim> claims_of(const KubePlacingPod& pod, const std::vector<KubeAllocation>& devices) const;
  [[nodiscard]] Result<KubeAnswer> reserve(Claim& claim, const Binding& one) const;
  void release(std::vector<Claim>& claims, const KubePlacingPod& pod) const;
  void not_now(const Placing& placing, const std::vector<const Launch*>& launches, const std::string& why);
  std::string have_volumes_made(const std::string& job, const std::string& node, const std::vector<std::string>& claims);
  [[nodiscard]] std::string why_not_there(const KubePlacingPod& pod, const std::string& node, const Held& held) const;
  void bind(const std::shared_ptr<Placed>& placed);
  void bind_one(Binding& one, const std::atomic<bool>& withdrawn) const;
  void settle(Placed& placed);
  void gone(const Placing& placing, const std::vector<const Launch*>& launches, std::string why);
  void stop(const Order& order);
  void ask_to_leave(const LaunchKey& key, Duration grace, Instant at);
  void answered_leaving(const LaunchKey& key, const Result<KubeAnswer>& answer);
  bool dismiss(const std::string& job);
  void delete_pod(const KubePlacingPod& pod);
  void forget(const Order& order);
  void refuse(const Order& order, RefusalKind kind, std::string why);
  void tell(Report report);

  // Own jobs.
  using OwnPods = std::map<AttemptKey, std::map<int32_t, const KubePlacingPod*>>;  ///< by index
  Status find_intents();
  [[nodiscard]] std::string intent_of(const AttemptKey& attempt) const;
  void order_own(const Order& order);
  void make_ordered(Instant now);
  void make(const AttemptKey& attempt, OwnJob& own, Instant now);
  void take_over(const AttemptKey& attempt, OwnJob& own, const KubeMadeJob& job);
  void look_at_own(Instant now);
  void look_at_own(const AttemptKey& attempt, OwnJob& own, const OwnPods& pods, Instant now);
  void find_strays(const OwnPods& pods);
  void look_at_hindered(Instant now);
  void act_on_own(Instant now);
  void bind_own(const AttemptKey& attempt, OwnJob& own, Instant now);
  void ask_why(const AttemptKey& attempt, OwnJob& own, Instant now);
  void hinder(const AttemptKey& attempt, OwnJob& own, const std::string& why, Instant now);
  void unhinder(const AttemptKey& attempt, OwnJob& own);
  void give_up(const AttemptKey& attempt, OwnJob& own, const std::string& why, Instant now);
  void refuse_own(const AttemptKey& attempt, OwnJob& own, RefusalKind kind, const std::string& why);
  void drop_own(AttemptKey attempt, OwnJob& own);
  void remove(OwnJob& own);
  void stop_own(const LaunchKey& key);
  void forget_own(const LaunchKey& key, const std::optional<Report>& last);
  void sweep_own(Instant now);
  [[nodiscard]] std::vector<LaunchKey> unbegun(const AttemptKey& attempt, const OwnJob& own) const;

  // A look.
  static constexpr Duration kAskAgain = Duration::seconds(2);  ///< where a pod is still there
  void look(Instant now);
  void mark_nodes(Instant now);
  bool mark_node(const KubePlacingNode& node, MachineAsk ask, Marking& marking, Instant now);
  void marked(const std::string& name, const Result<KubeAnswer>& answer);
  void look_at_launches(Instant now);
  void look_at(const LaunchKey& key, Known& known, Instant now);
  void say_why(Instant now);

  KubernetesBackendRules rules_;
  std::shared_ptr<KubeClient> client_;
  mutable std::mutex mutex_;  ///< of cluster_, which the follower's threads change
  KubeCluster cluster_;
  KubeMadeJobs made_;  ///< guarded likewise
  Taker taker_{cluster_, made_};
  KubeLease lease_;
  KubeTeller teller_;
  KubeFleet fleet_;
  KubeQueue queue_;
  std::map<LaunchKey, Known> launches_;
  std::map<LaunchKey, std::string> launched_pods_;         ///< as of the last look: pods that say so of themselves
  std::map<LaunchKey, std::shared_ptr<Placed>> binding_;   ///< on their way
  std::map<LaunchKey, Order> stop_then_;                   ///< of those: to be stopped once it is known what became of them
  std::map<std::string, Choice, std::less<>> chosen_;      ///< by claim
  std::map<std::string, Instant, std::less<>> dismissed_;  ///< jobs whose pods are to go, until they do: when that was tried last
  std::map<std::string, Marking, std::less<>> marking_;    ///< by node
  std::string marking_trouble_;                            ///< told
  std::map<AttemptKey, OwnJob> own_;
  std::set<AttemptKey> done_;                     ///< over, while the cluster still shows them at work
  std::set<std::string, std::less<>> discarded_;  ///< pods and Jobs that go, whatever they say of themselves
  std::map<std::string, std::pair<KubernetesMeta, Instant>> removing_;  ///< Jobs to be deleted, by uid; tried then
  std::vector<AttemptKey> to_bind_;                                     ///< as of the last look: all their pods are there
  std::vector<LaunchKey> strays_;      ///< likewise: of Jobs that the caller has not asked for, before pods say it
  std::vector<std::string> hopeless_;  ///< likewise: pods that are to go
  std::optional<Instant> ready_since_;
  std::vector<std::pair<Instant, OthersJob>> end_later_;  ///< jobs whose end is told behind that of their launches
  std::vector<BackendEvent> events_;                      ///< to be told
  bool ready_ = false;
  bool others_told_ = false;  ///< all jobs that were there at the start
  bool dirty_ = true;         ///< orders were given since the last look
  Instant looked_at_;
  std::string trouble_;  ///< told
  std::atomic<bool> ending_ = false;
  std::mutex answered_mutex_;
  std::vector<std::function<void()>> answered_;  // guarded: what follows
  KubeFollower follower_;                        ///< it and the pools call what stands before them
  WorkerPool binders_, removers_;                ///< what is to go does not wait for all that is to come
};

}  // namespace stint
