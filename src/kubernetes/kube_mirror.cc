#include "kubernetes/kube_mirror.h"

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/kubernetes/kubernetes_lists.h"
#include "host/clock.h"

namespace stint {
namespace {

constexpr Duration kLongestPause = Duration::seconds(5);

bool must_be_read(const KubeList& list) { return list.kind == "Pod" || list.kind == "Node"; }

std::string gap_of(const KubeList& list, const Error& error) { return fmt::format("no {}: {}", list.path, error.message); }

/// Runs what it is given while no one else uses the state.
using WithState = std::function<void(const std::function<void()>&)>;

Result<std::string> list_into(KubeClient& client, const KubeList& what, KubernetesState& state, const WithState& with_state) {
  auto version = client.list(
      what, [&] { with_state([&] { state.begin_list(what.kind); }); },
      [&](std::string_view json, const std::string& kind) { with_state([&] { state.read(json, kind); }); });
  const Instant at = now();
  if (version.ok()) with_state([&] { state.end_list(what.kind, at); });
  return version;
}

struct ListedOnce {
  std::vector<std::pair<KubeList, std::string>> versions;  ///< what there is, at which version
  std::vector<std::string> gaps;
};

Result<ListedOnce> list_all(KubeClient& client, const std::vector<KubeList>& lists, KubernetesState& state) {
  ListedOnce out;
  for (const KubeList& list : lists) {
    auto version = list_into(client, list, state, [](const std::function<void()>& use) { use(); });
    if (version.ok())
      out.versions.emplace_back(list, std::move(*version));
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
  TRY_ASSIGN(ListedOnce listed, list_all(client, lists, state));
  return std::move(listed.gaps);
}

Result<std::unique_ptr<KubeMirror>> KubeMirror::start(std::shared_ptr<KubeClient> client) {
  TRY_ASSIGN(const std::vector<KubeList> lists, discover_kube_lists(*client));
  std::unique_ptr<KubeMirror> mirror(new KubeMirror(std::move(client)));
  TRY_ASSIGN(ListedOnce listed, list_all(*mirror->client_, lists, mirror->state_));
  mirror->gaps_ = std::move(listed.gaps);
  mirror->lists_ = listed.versions.size();
  for (auto& [list, version] : listed.versions)
    mirror->followed_.push_back({std::move(list), std::move(version)});
  for (Followed& one : mirror->followed_)
    mirror->threads_.emplace_back([m = mirror.get(), &one] { m->follow(one); });
  return mirror;
}

KubeMirror::~KubeMirror() {
  stop_ = true;
  for (std::thread& thread : threads_)
    thread.join();
}

void KubeMirror::with(const std::function<void(KubernetesState&)>& use) {
  const std::scoped_lock lock(mutex_);
  use(state_);
}

std::vector<std::string> KubeMirror::gaps() {
  const std::scoped_lock lock(mutex_);
  return gaps_;
}

KubeMirrorCounts KubeMirror::counts() const { return {.lists = lists_, .events = events_, .cuts = cuts_, .expired = expired_}; }

void KubeMirror::pause(int failures) {
  const Duration until = std::min(pause_after(failures, 1, std::nullopt), kLongestPause);
  for (Duration waited; waited < until && !stop_; waited += Duration::milliseconds(100))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

bool KubeMirror::list_again(Followed& one) {
  const auto version = list_into(*client_, one.list, state_, [this](const std::function<void()>& use) {
    const std::scoped_lock lock(mutex_);
    use();
  });
  if (!version.ok()) return false;
  ++lists_;
  one.version = *version;
  return true;
}

void KubeMirror::follow(Followed& one) {
  for (int failures = 0; !stop_;) {
    bool expired = false;
    const Duration began = since_boot();
    const auto end = client_->watch(one.list, one.version, [&](std::string_view line) {
      const std::scoped_lock lock(mutex_);
      const auto event = state_.event(line, one.list.kind, now());
      // What is no event, or an error of the stream, is made good by a list.
      expired = !event.ok() || event->kind == KubernetesEvent::Kind::kError;
      if (expired) return false;
      failures = 0;
      if (!event->version.empty()) one.version = event->version;
      if (event->kind != KubernetesEvent::Kind::kBookmark) ++events_;
      return !stop_;
    });
    if (stop_) return;
    if (!end.ok()) {
      const std::scoped_lock lock(mutex_);
      gaps_.push_back(gap_of(one.list, end.error()));
      return;
    }
    const bool at_once = since_boot() - began < Duration::seconds(1);  // a server that shuts down ends each watch as it begins
    if (*end == KubeWatchEnd::kServerEnded && !at_once) continue;
    if (*end == KubeWatchEnd::kServerEnded || *end == KubeWatchEnd::kCut) {
      ++cuts_;
      pause(++failures);
      continue;
    }
    ++expired_;
    while (!stop_ && !list_again(one))
      pause(++failures);
  }
}

}  // namespace stint
