#include "kubernetes/kube_lease.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/clock.h"

namespace stint {
namespace {

using Json = nlohmann::json;

/// MicroTime: "2026-09-01T00:00:00.000000Z".
std::string micro_time(Instant at) {
  std::string text = format_utc(at);
  if (const size_t end = text.find_first_of(".Z"); end != std::string::npos) text.resize(end);
  constexpr int64_t kBillion = 1'000'000'000;
  return fmt::format("{}.{:06}Z", text, (at.ns() % kBillion) / 1'000);
}

std::string text_in(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

int64_t number_in(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

}  // namespace

Result<KubeLeaseState> parse_kube_lease(std::string_view json) {
  const Json root = Json::parse(json, nullptr, false);
  if (!root.is_object() || !root.contains("metadata") || !root["metadata"].is_object()) return invalid("the answer is no Lease");
  KubeLeaseState out;
  out.version = text_in(root["metadata"], "resourceVersion");
  const auto spec = root.find("spec");
  if (spec == root.end() || !spec->is_object()) return out;
  out.holder = text_in(*spec, "holderIdentity");
  out.since = text_in(*spec, "acquireTime");
  out.duration = Duration::seconds(std::clamp<int64_t>(number_in(*spec, "leaseDurationSeconds"), 0, 86'400));
  out.transitions = number_in(*spec, "leaseTransitions");
  return out;
}

KubeLease::KubeLease(std::shared_ptr<KubeClient> client, KubeLeaseRules rules)
    : client_(std::move(client)), rules_(std::move(rules)), thread_([this] { run(); }) {}

KubeLease::~KubeLease() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

bool KubeLease::holds() const { return since_boot().count_ns() < good_until_ns_; }

std::string KubeLease::standing() {
  const std::scoped_lock lock(mutex_);
  return standing_;
}

void KubeLease::run() {
  const auto pause = std::chrono::nanoseconds(rules_.duration.count_ns() / 7);
  for (;;) {
    try_once();
    std::unique_lock lock(mutex_);
    if (wake_.wait_for(lock, pause, [this] { return stop_; })) break;
  }
  if (!holds()) return;
  good_until_ns_ = 0;
  const auto answer = client_->get(fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", rules_.ns, rules_.name));
  if (!answer.ok()) return;
  const auto lease = parse_kube_lease(*answer);
  if (lease.ok() && lease->holder == rules_.holder) (void)put(*lease, "");
}

void KubeLease::try_once() {
  const Duration asked = since_boot();
  const auto say = [&](std::string standing) {
    const std::scoped_lock lock(mutex_);
    standing_ = std::move(standing);
  };
  const auto answer = client_->get(fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", rules_.ns, rules_.name));
  std::optional<KubeLeaseState> lease;
  if (answer.ok()) {
    auto read = parse_kube_lease(*answer);
    if (!read.ok()) return say(read.error().message);
    lease = std::move(*read);
  } else if (answer.error().code != ErrorCode::kNotFound) {
    return say(answer.error().message);
  }
  if (lease && !lease->holder.empty() && lease->holder != rules_.holder) {
    good_until_ns_ = 0;
    if (lease->version != seen_version_) {
      seen_version_ = lease->version;
      seen_at_ = since_boot();
    }
    if (since_boot() - seen_at_ <= std::max(lease->duration, rules_.duration)) return say("held by " + lease->holder);
  }
  const Status done = put(lease, rules_.holder);
  if (!done.ok()) return say(done.error().message);
  good_until_ns_ = (asked + Duration::nanoseconds(rules_.duration.count_ns() / 3 * 2)).count_ns();
  say("");
}

/// @param before  none = there is no such object. Somebody who was faster makes it an error.
Status KubeLease::put(const std::optional<KubeLeaseState>& before, const std::string& holder) {
  const std::string at = micro_time(now());
  const bool taken = !holder.empty() && (!before || before->holder != holder);
  Json body = {{"apiVersion", "coordination.k8s.io/v1"},
               {"kind", "Lease"},
               {"metadata", {{"name", rules_.name}, {"namespace", rules_.ns}}},
               {"spec",
                {{"holderIdentity", holder},
                 {"leaseDurationSeconds", rules_.duration.whole_seconds()},
                 {"renewTime", at},
                 {"leaseTransitions", (before ? before->transitions : 0) + (before && taken ? 1 : 0)}}}};
  const std::string since = taken ? at : before ? before->since : "";
  if (!since.empty()) body["spec"]["acquireTime"] = since;
  const std::string all = fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases", rules_.ns);
  KubeChange change{.method = "POST", .path = all, .body = {}};
  if (before) {
    body["metadata"]["resourceVersion"] = before->version;
    change.method = "PUT";
    change.path = all + "/" + rules_.name;
  }
  change.body = body.dump();
  TRY_ASSIGN(const KubeAnswer answer, client_->change(change));
  if (answer.ok()) return {};
  return make_error(ErrorCode::kConflict, "lease {}/{}: {}", rules_.ns, rules_.name, answer.message);
}

}  // namespace stint
