#include "model/workload.h"

#include <array>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::array<std::pair<WorkloadKind, std::string_view>, 7> kKindNames = {{
    {WorkloadKind::kUnknown, "unknown"},
    {WorkloadKind::kTraining, "training"},
    {WorkloadKind::kFineTuning, "fine-tuning"},
    {WorkloadKind::kBatchInference, "batch-inference"},
    {WorkloadKind::kRealtimeInference, "realtime-inference"},
    {WorkloadKind::kEvaluation, "evaluation"},
    {WorkloadKind::kNotebook, "notebook"},
}};

struct KindHint {
  std::string_view word;
  WorkloadKind kind;
};

// In order: the more telling word first ("finetune" holds "tun", "batch-infer" holds "infer").
constexpr KindHint kHints[] = {
    {"notebook", WorkloadKind::kNotebook},
    {"jupyter", WorkloadKind::kNotebook},
    {"finetun", WorkloadKind::kFineTuning},
    {"fine-tun", WorkloadKind::kFineTuning},
    {"fine_tun", WorkloadKind::kFineTuning},
    {"lora", WorkloadKind::kFineTuning},
    {"eval", WorkloadKind::kEvaluation},
    {"benchmark", WorkloadKind::kEvaluation},
    {"batch-inf", WorkloadKind::kBatchInference},
    {"batch_inf", WorkloadKind::kBatchInference},
    {"embedding", WorkloadKind::kBatchInference},
    {"scoring", WorkloadKind::kBatchInference},
    {"inference", WorkloadKind::kRealtimeInference},
    {"serving", WorkloadKind::kRealtimeInference},
    {"serve", WorkloadKind::kRealtimeInference},
    {"predict", WorkloadKind::kRealtimeInference},
    {"triton", WorkloadKind::kRealtimeInference},
    {"vllm", WorkloadKind::kRealtimeInference},
    {"endpoint", WorkloadKind::kRealtimeInference},
    {"train", WorkloadKind::kTraining},
    {"experiment", WorkloadKind::kTraining},
    {"sweep", WorkloadKind::kTraining},
};

/// `bert-serving-7d4f9c6b5-x2x9k` → `bert-serving`: the suffixes a Deployment gives its pods. Kubernetes makes them of
/// letters and digits that cannot spell a word, so that `jupyter-amira` keeps its name (k8s.io/apimachinery/util/rand).
std::string_view without_generated_suffix(std::string_view pod) {
  const auto generated = [](std::string_view part) {
    return part.size() >= 5 && part.size() <= 10 &&
           part.find_first_not_of("bcdfghjklmnpqrstvwxz2456789") == std::string_view::npos;
  };
  std::string_view name = pod;
  for (int i = 0; i < 2; ++i) {
    const size_t dash = name.rfind('-');
    if (dash == std::string_view::npos || dash == 0 || !generated(name.substr(dash + 1))) break;
    name = name.substr(0, dash);
  }
  return name;
}

/// `vllm-3` → `vllm`: the ordinal that a StatefulSet gives its pods, which is written without leading zeros.
std::string_view without_ordinal(std::string_view pod) {
  constexpr size_t kMostDigits = 4;
  const size_t dash = pod.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return pod;
  const std::string_view ordinal = pod.substr(dash + 1);
  const bool digits = !ordinal.empty() && ordinal.find_first_not_of("0123456789") == std::string_view::npos;
  return digits && ordinal.size() <= kMostDigits && (ordinal.size() == 1 || ordinal[0] != '0') ? pod.substr(0, dash) : pod;
}

/// What owns the pod, as far as its name tells: a Deployment's suffixes go, or else a StatefulSet's ordinal.
std::string_view owner_of(std::string_view pod) {
  const std::string_view name = without_generated_suffix(pod);
  return name.size() < pod.size() ? name : without_ordinal(pod);
}

}  // namespace

std::string_view name_of(WorkloadKind k) { return kKindNames[static_cast<size_t>(k)].second; }

Result<WorkloadKind> parse_workload_kind(std::string_view text) {
  for (const auto& [kind, name] : kKindNames)
    if (equals_ignoring_case(name, trim(text))) return kind;
  return invalid(
      "'{}' is no workload kind: use training, fine-tuning, batch-inference, realtime-inference, evaluation or notebook",
      excerpt(text));
}

WorkloadKind guess_workload_kind(std::string_view text) {
  for (const KindHint& hint : kHints)
    if (contains_ignoring_case(text, hint.word)) return hint.kind;
  return WorkloadKind::kUnknown;
}

bool is_interactive(WorkloadKind k) { return k == WorkloadKind::kRealtimeInference || k == WorkloadKind::kNotebook; }

std::string_view name_of(RunState s) {
  constexpr std::array<std::string_view, 9> kNames = {"unknown",   "pending", "running",   "completed", "failed",
                                                      "cancelled", "timeout", "preempted", "node-fail"};
  return kNames[static_cast<size_t>(s)];
}

Tenant tenant_of(const Holder& holder, const std::vector<TenantRule>& rules) {
  const auto matches = [&](const TenantRule& rule) {
    const auto hit = [&](std::string_view kind, const std::string& name) {
      return !name.empty() && glob_matches(rule.pattern, std::string(kind) + '/' + name);
    };
    return hit("pod", holder.pod.empty() ? "" : holder.ns + '/' + holder.pod) || hit("job", holder.job) ||
           hit("user", holder.user) || hit("account", holder.account) || hit("namespace", holder.ns);
  };
  Tenant derived;
  derived.client = !holder.ns.empty() ? holder.ns : holder.account;
  derived.team = holder.user;
  if (!holder.pod.empty())
    derived.workload = owner_of(holder.pod);
  else if (!holder.job.empty())
    derived.workload = holder.job;
  for (const TenantRule& rule : rules)
    if (matches(rule)) return merged(rule.tenant, derived);
  return derived;
}

}  // namespace stint
