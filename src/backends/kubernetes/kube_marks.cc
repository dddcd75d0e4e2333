// Source: Kubernetes API reference v1.36, "NodeSpec", "Taint", "ObjectMeta"; "Safely Drain a Node"; "Taints and Tolerations".
#include "backends/kubernetes/kube_marks.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace stint {
namespace {

using MarkJson = nlohmann::json;

constexpr size_t kLongestWhy = 200;

/// Behind the words: which daemon says so.
std::string end_of_words(std::string_view mark) { return fmt::format(" (stint daemon {})", mark); }

std::string words_of(const std::string& why, std::string_view mark) { return excerpt(why, kLongestWhy) + end_of_words(mark); }

bool has_broken_taint(const KubePlacingNode& node) {
  return std::ranges::any_of(node.taints, [](const KubeTaint& taint) { return taint.key == kKubeBrokenGpu; });
}

MarkJson taints_of(const KubePlacingNode& node) {
  MarkJson taints = MarkJson::parse(node.taints_json.empty() ? "[]" : node.taints_json, nullptr, false);
  return taints.is_array() ? taints : MarkJson::array();
}

/// A field that is set with its annotation.
struct Mark {
  std::string_view key;
  const std::string& why;  ///< "" = it is not to be
  bool is_set;             ///< the field
};

enum class MarkStep : uint8_t {
  kNone,
  kSet,     ///< the field, and the annotation
  kReword,  ///< the annotation alone
  kClear,   ///< both
};

/// @param said  the annotation as it is. @param words  as it is to be; "" = not at all.
MarkStep step_of(const Mark& mark, std::string_view said, std::string_view words, std::string_view daemon) {
  const bool is_ours = said.ends_with(daemon);
  if (words.empty()) return is_ours ? MarkStep::kClear : MarkStep::kNone;
  if (said == words) return MarkStep::kNone;  // done; whoever took it back since has the last word
  if (!mark.is_set) return MarkStep::kSet;
  return is_ours ? MarkStep::kReword : MarkStep::kNone;
}

}  // namespace

bool is_cordoned_by(const KubePlacingNode& node, std::string_view mark) {
  return node.node.unschedulable && node.annotation(kKubeCordoned).ends_with(end_of_words(mark));
}

std::string why_cordoned(const KubePlacingNode& node) {
  if (!node.node.unschedulable) return {};
  const std::string_view said = node.annotation(kKubeCordoned);
  return std::string(said.substr(0, said.rfind(" (stint daemon ")));
}

bool is_marked(const KubePlacingNode& node) {
  return !node.annotation(kKubeCordoned).empty() || !node.annotation(kKubeBrokenGpu).empty();
}

std::optional<KubeChange> mark_request(const KubePlacingNode& node, const MachineAsk& ask, std::string_view mark) {
  const std::string daemon = end_of_words(mark);
  MarkJson annotations = MarkJson::object(), spec = MarkJson::object();
  const auto take = [&](const Mark& one) {
    const std::string words = one.why.empty() ? "" : words_of(one.why, mark);
    const MarkStep step = step_of(one, node.annotation(one.key), words, daemon);
    if (step != MarkStep::kNone) annotations[std::string(one.key)] = words.empty() ? MarkJson() : MarkJson(words);
    return step;
  };
  const MarkStep cordon =
      ask.is_uncertain ? MarkStep::kNone : take({.key = kKubeCordoned, .why = ask.drained, .is_set = node.node.unschedulable});
  switch (cordon) {
    case MarkStep::kSet: spec["unschedulable"] = true; break;
    case MarkStep::kClear: spec["unschedulable"] = nullptr; break;
    default: break;
  }
  const MarkStep broken = take({.key = kKubeBrokenGpu, .why = ask.broken, .is_set = has_broken_taint(node)});
  if (broken == MarkStep::kSet || (broken == MarkStep::kClear && has_broken_taint(node))) {
    MarkJson taints = MarkJson::array();
    for (MarkJson& taint : taints_of(node))
      if (!taint.is_object() || taint.value("key", "") != kKubeBrokenGpu) taints.push_back(std::move(taint));
    if (broken == MarkStep::kSet) taints.push_back({{"key", kKubeBrokenGpu}, {"effect", "NoSchedule"}});
    spec["taints"] = taints.empty() ? MarkJson() : std::move(taints);
  }
  if (annotations.empty()) return std::nullopt;
  MarkJson body = {
      {"metadata", {{"uid", node.node.meta.uid}, {"resourceVersion", node.version}, {"annotations", std::move(annotations)}}}};
  if (!spec.empty()) body["spec"] = std::move(spec);
  return KubeChange{.method = "PATCH",
                    .path = fmt::format("/api/v1/nodes/{}", node.node.meta.name),
                    .body = body.dump(-1, ' ', false, MarkJson::error_handler_t::replace),
                    .content_type = "application/merge-patch+json"};
}

Status KubeMachineAsks::bring_in_line(MachineAsks asks, Duration patience) {
  std::unique_lock lock(mutex_);
  if (asked_.asks == nullptr || *asked_.asks != asks) {
    asked_ = {.asks = std::make_shared<const MachineAsks>(std::move(asks)), .number = asked_.number + 1};
    problem_.clear();
  }
  const int64_t number = asked_.number;
  told_.wait_for(lock, std::chrono::nanoseconds(patience.count_ns()), [&] { return done_ >= number || !problem_.empty(); });
  if (done_ >= number) return {};
  return make_error(ErrorCode::kUnavailable, "{}", problem_.empty() ? "the API server has not been told yet" : problem_);
}

KubeMachineAsks::Asked KubeMachineAsks::get() const {
  const std::scoped_lock lock(mutex_);
  return asked_;
}

void KubeMachineAsks::looked(int64_t number, bool open, std::string problem) {
  {
    const std::scoped_lock lock(mutex_);
    if (number != asked_.number) return;
    if (!open) done_ = number;
    problem_ = std::move(problem);
  }
  told_.notify_all();
}

}  // namespace stint
