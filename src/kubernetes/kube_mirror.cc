#include "kubernetes/kube_mirror.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/kubernetes/kubernetes_lists.h"
#include "host/clock.h"

namespace stint {
namespace {

bool must_be_read(const KubeList& list) { return list.kind == "Pod" || list.kind == "Node"; }

std::string gap_of(const KubeList& list, const Error& error) { return fmt::format("no {}: {}", list.path, error.message); }

struct ListedOnce {
  std::vector<KubeFollower::Followed> versions;  ///< what there is, at which version
  std::vector<std::string> gaps;
};

Result<ListedOnce> list_all(const std::vector<KubeList>& lists, const std::function<Result<std::string>(const KubeList&)>& read) {
  ListedOnce out;
  for (const KubeList& list : lists) {
    auto version = read(list);
    if (version.ok())
      out.versions.push_back({list, std::move(*version)});
    else if (must_be_read(list))
      return version.error();
    else if (version.error().code != ErrorCode::kNotFound)
      out.gaps.push_back(gap_of(list, version.error()));
  }
  return out;
}

}  // namespace

Result<std::vector<KubeList>> discover_kube_lists(KubeClient& client) {
  TRY_ASSIGN(const std::string answer, client.get("/apis"));
  const auto root = nlohmann::json::parse(answer, nullptr, false);
  if (!root.is_object() || !root.contains("groups"))
    return make_error(ErrorCode::kUnavailable, "{}: /apis is no list of API groups: is this a Kubernetes API server?",
                      client.identity().server());
  std::map<std::string, std::string, std::less<>> versions;  // preferred, by group
  try {
    for (const auto& group : root["groups"])
      versions[group.at("name").get<std::string>()] = group.at("preferredVersion").at("groupVersion").get<std::string>();
  } catch (const nlohmann::json::exception&) {
    return make_error(ErrorCode::kUnavailable, "{}: /apis has a group without a version", client.identity().server());
  }
  std::vector<KubeList> out;
  for (const KubernetesResource& one : kKubernetesResources) {
    const auto version = versions.find(one.group);
    if (!one.group.empty() && version == versions.end()) continue;
    const std::string root_path = one.group.empty() ? "/api/v1" : "/apis/" + version->second;
    out.push_back({.path = fmt::format("{}/{}", root_path, one.resource),
                   .kind = std::string(one.kind),
                   .query = std::string(one.query),
                   .view = one.metadata_only ? KubeView::kMetadata : KubeView::kWhole});
  }
  return out;
}

Result<std::vector<std::string>> list_all_into(KubeClient& client, const std::vector<KubeList>& lists, KubernetesState& state) {
  const auto read = [&](const KubeList& what) {
    auto version = client.list(
        what, [&] { state.begin_list(what.kind); },
        [&](std::string_view json, const std::string& kind) { state.read(json, kind); });
    if (version.ok()) state.end_list(what.kind, now());
    return version;
  };
  TRY_ASSIGN(ListedOnce listed, list_all(lists, read));
  return std::move(listed.gaps);
}

void KubeMirror::Taker::begin_list(const std::string& kind) { state.begin_list(kind); }
void KubeMirror::Taker::take(std::string_view json, const std::string& kind) { state.read(json, kind); }
void KubeMirror::Taker::end_list(const std::string& kind, Instant at) { state.end_list(kind, at); }
Result<KubernetesEvent> KubeMirror::Taker::event(std::string_view line, const std::string& kind, Instant at) {
  return state.event(line, kind, at);
}
bool KubeMirror::Taker::refused(const KubeList& what, const Error& why) {
  const std::scoped_lock lock(mutex);
  gaps.push_back(gap_of(what, why));
  return false;
}

Result<std::unique_ptr<KubeMirror>> KubeMirror::start(std::shared_ptr<KubeClient> client) {
  TRY_ASSIGN(const std::vector<KubeList> lists, discover_kube_lists(*client));
  std::unique_ptr<KubeMirror> mirror(new KubeMirror(std::move(client)));
  TRY_ASSIGN(ListedOnce listed, list_all(lists, [&](const KubeList& what) { return mirror->follower_.list(what); }));
  mirror->taker_.gaps = std::move(listed.gaps);
  mirror->follower_.follow(std::move(listed.versions));
  return mirror;
}

void KubeMirror::with(const std::function<void(KubernetesState&)>& use) {
  const std::scoped_lock lock(taker_.mutex);
  use(taker_.state);
}

std::vector<std::string> KubeMirror::gaps() {
  const std::scoped_lock lock(taker_.mutex);
  return taker_.gaps;
}

}  // namespace stint
