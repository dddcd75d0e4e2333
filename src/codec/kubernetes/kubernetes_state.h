// What is in a cluster, of all its objects that which an inventory of GPUs and their pods needs: gathered object by object in any order, from
// files, lists and watches.
//
// Memory: a pod without GPUs is a few words, an object that only owns others is its owner's name.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/kubernetes/kubernetes_object.h"

namespace stint {

/// By uid, or `namespace/name` where there is none; other keys are told.
struct KubernetesContents {
  std::map<std::string, KubernetesNode> nodes;  ///< by name
  std::map<std::string, KubernetesPod> pods;    ///< those that ask for GPUs or claim devices
  /// Those without: where they run ("" = nowhere) and what they belong to.
  struct OtherPod {
    std::string node, ns, owner_kind, owner;
  };
  std::map<std::string, OtherPod> other_pods;
  struct Owned {
    std::string kind;  ///< of what is owned
    KubernetesReference owner;
  };
  std::map<std::string, Owned> owned;                        ///< by uid of what is owned
  std::map<std::string, std::vector<Tag>> namespace_labels;  ///< by name
  std::map<std::string, KubernetesQuota> quotas;
  std::map<std::string, KubernetesSlice> slices;
  std::map<std::pair<std::string, std::string>, KubernetesClaim> claims;  ///< by namespace and name
  std::map<std::pair<std::string, std::string>, std::map<std::string, int64_t>>
      warnings;  ///< by namespace and pod, then by reason
  std::map<std::string, int64_t> other_kinds;
  std::vector<std::string> refused;  ///< objects that could not be understood, and why; the first kMostRefused
  uint64_t refused_count = 0;
  static constexpr size_t kMostRefused = 1000;
};

class KubernetesState {
 public:
  [[nodiscard]] const KubernetesContents& contents() const { return contents_; }

  /// One object of a file or list (KubernetesDecoder::decode); one that cannot be understood is among the refused.
  /// @param number  its place in the file, for that message; 0 = none.
  void read(std::string_view json, const std::string& kind, uint64_t number = 0);
  /// Of two of one kind and uid (or namespace and name) the later counts.
  void add(KubernetesObject object);
  /// One line of a watch takes effect. @param at  the time here: a pod that is deleted while it runs ran until then.
  /// @return error when it is no event.
  Result<KubernetesEvent> event(std::string_view line, const std::string& kind, Instant at);

  /// What follows until end_list() is all there is of that kind.
  void begin_list(const std::string& kind);
  /// What was there before and was not listed is gone.
  void end_list(const std::string& kind, Instant at);
  /// Pods and machines that are gone are there until this is called, so that their last hours are told.
  void forget_gone();

 private:
  void keep(KubernetesNode node);
  void keep(KubernetesPod pod);
  void keep(KubernetesOwner owner);
  void keep(KubernetesNamespace ns);
  void keep(KubernetesQuota quota);
  void keep(KubernetesSlice slice);
  void keep(KubernetesClaim claim);
  void keep(KubernetesWarning warning);
  void keep(KubernetesOther other);
  void remember(const KubernetesMeta& meta);
  void refuse(std::string reason);
  void remove(const KubernetesMeta& meta, Instant at);
  void pod_is_gone(const std::string& key, Instant at);

  KubernetesContents contents_;
  KubernetesDecoder decoder_;
  std::map<std::string, std::set<std::string>> listing_;  ///< by kind: keys listed so far
};

/// Its uid, or `namespace/name`.
std::string key_of(const KubernetesMeta& meta);

}  // namespace stint
