#include "kubernetes/kube_follower.h"

#include <algorithm>
#include <chrono>

#include "host/clock.h"

namespace stint {
namespace {

constexpr Duration kLongestPause = Duration::seconds(5);

}  // namespace

KubeFollower::~KubeFollower() {
  stop_ = true;
  for (std::thread& thread : threads_)
    thread.join();
}

Result<std::string> KubeFollower::list(const KubeList& what) {
  auto version = client_->list(
      what,
      [&] {
        const std::scoped_lock lock(mutex_);
        taker_.begin_list(what.kind);
      },
      [&](std::string_view json, const std::string& kind) {
        const std::scoped_lock lock(mutex_);
        taker_.take(json, kind);
      });
  {
    const std::scoped_lock lock(trouble_mutex_);
    trouble_ = version.ok() ? "" : version.error().message;
  }
  if (!version.ok()) return version;
  const std::scoped_lock lock(mutex_);
  taker_.end_list(what.kind, now());
  ++lists_;
  return version;
}

void KubeFollower::follow(std::vector<Followed> lists) {
  followed_ = std::move(lists);
  unread_ = static_cast<size_t>(std::ranges::count(followed_, "", &Followed::version));
  for (Followed& one : followed_)
    threads_.emplace_back([this, &one] { run(one); });
}

std::string KubeFollower::trouble() {
  const std::scoped_lock lock(trouble_mutex_);
  return trouble_;
}

KubeMirrorCounts KubeFollower::counts() const { return {.lists = lists_, .events = events_, .cuts = cuts_, .expired = expired_}; }

void KubeFollower::pause(int failures) {
  const Duration until = std::min(pause_after(failures, 1, std::nullopt), kLongestPause);
  for (Duration waited; waited < until && !stop_; waited += Duration::milliseconds(100))
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

bool KubeFollower::list_again(Followed& one) {
  const auto version = list(one.list);
  if (!version.ok()) return false;
  if (one.version.empty()) --unread_;
  one.version = *version;
  return true;
}

void KubeFollower::run(Followed& one) {
  int failures = 0;
  const auto list_until_read = [&] {
    while (!stop_ && !list_again(one))
      pause(++failures);
  };
  if (one.version.empty()) list_until_read();
  while (!stop_) {
    bool expired = false;
    const Duration began = since_boot();
    const auto end = client_->watch(one.list, one.version, [&](std::string_view line) {
      const std::scoped_lock lock(mutex_);
      const auto event = taker_.event(line, one.list.kind, now());
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
      if (!taker_.refused(one.list, end.error())) return;
      pause(++failures);
      list_until_read();
      continue;
    }
    const bool at_once = since_boot() - began < Duration::seconds(1);  // a server that shuts down ends each watch as it begins
    if (*end == KubeWatchEnd::kServerEnded && !at_once) continue;
    if (*end == KubeWatchEnd::kServerEnded || *end == KubeWatchEnd::kCut) {
      ++cuts_;
      pause(++failures);
      continue;
    }
    ++expired_;
    list_until_read();
  }
}

}  // namespace stint
