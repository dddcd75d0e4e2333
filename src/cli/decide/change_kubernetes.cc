#include "cli/decide/change_kubernetes.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/quoting.h"
#include "base/text.h"
#include "cli/decide/change_execute.h"
#include "codec/kubernetes/kube_change_files.h"
#include "host/file.h"
#include "kubernetes/kube_change_run.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Result<std::unique_ptr<KubeClient>> client_of(const ClusterOptions& options) {
  KubeIdentityOptions who;
  who.kubeconfig = options.kubeconfig;
  who.context = options.context;
  TRY_ASSIGN(auto identity, KubeIdentity::find(who));
  return std::make_unique<KubeClient>(std::move(identity));
}

std::string rest_text(const KubeChangePlan& plan) {
  std::string text;
  for (const std::string& pod : plan.stays)
    text += fmt::format("# {}: runs to its end\n", one_line(pod));
  for (const std::string& line : plan.by_hand)
    text += fmt::format("# by hand: {}\n", one_line(line));
  return text;
}

ClusterOutcome outcome_of(const std::vector<KubeChanged>& changed, const std::string& rest) {
  ClusterOutcome out;
  for (const KubeChanged& one : changed) {
    out.refused += one.refusal.empty() ? 0U : 1U;
    out.text += one.refusal.empty() ? fmt::format("# {}: {}\n", one_line(one.object.text()), one_line(one.says))
                                    : fmt::format("# {}: refused: {}\n", one_line(one.object.text()), one_line(one.refusal));
  }
  out.text += rest;
  return out;
}

Json json_of(const std::string& key, const KubeChangePlan& plan, const std::vector<KubeChanged>& changed) {
  Json objects = Json::array();
  for (const KubeChanged& one : changed)
    objects.push_back({{"kind", one.object.kind},
                       {"namespace", one.object.ns},
                       {"name", one.object.name},
                       {"does", one.says},
                       {"refused", one.refusal.empty() ? Json() : Json(one.refusal)}});
  return {{"change", key}, {"objects", std::move(objects)}, {"stays", plan.stays}, {"by_hand", plan.by_hand}};
}

Result<std::vector<KubeChanged>> carried(KubeClient& client, const KubeChangePlan& plan, const Proposal& proposal,
                                         const ClusterOptions& options, KubeApply how) {
  TRY_ASSIGN(const Duration within, parse_duration(options.cut_within));
  return carry_out_on_cluster(client, plan, change_key(proposal), how, within);
}

}  // namespace

void add_cluster_options(Command& command, ClusterOptions& options) {
  command.add_flag("--kubernetes", options.asked,
                   "on a Kubernetes cluster, by server-side apply and evictions: docs/kubernetes.md says what");
  command
      .add_option("--kubeconfig", options.kubeconfig,
                  "how to reach the cluster; else KUBECONFIG, the pod's account, ~/.kube/config")
      ->type_name("FILE");
  command.add_option("--context", options.context, "of the kubeconfig; else the current one");
}

Result<ClusterOutcome> try_on_cluster(const Proposal& proposal, const FleetPlan& fleet, const ClusterOptions& options,
                                      Json* json) {
  TRY_ASSIGN(const auto client, client_of(options));
  TRY_ASSIGN(const KubeChangePlan plan,
             read_kube_change(*client, proposal.changes, change_key(proposal), fleet, options.kubectl_image));
  TRY_ASSIGN(const auto changed, carried(*client, plan, proposal, options, KubeApply::kDryRun));
  if (json != nullptr) *json = json_of(change_key(proposal), plan, changed);
  return outcome_of(changed, rest_text(plan));
}

Result<ClusterOutcome> execute_on_cluster(const Proposal& proposal, const FleetPlan& fleet, const ClusterOptions& options) {
  TRY_ASSIGN(const auto client, client_of(options));
  TRY_ASSIGN(const KubeChangePlan plan,
             read_kube_change(*client, proposal.changes, change_key(proposal), fleet, options.kubectl_image));
  if (plan.does_nothing() && !plan.by_hand.empty())
    return make_error(ErrorCode::kNotFound,
                      "nothing of it can be done on this cluster: {}. Without --execute the commands are printed",
                      fmt::join(plan.by_hand, "; "));
  TRY_ASSIGN(const auto changed, carried(*client, plan, proposal, options, KubeApply::kForGood));
  return outcome_of(changed, plan.does_nothing() ? "# nothing is left to do on this cluster\n" : rest_text(plan));
}

Result<ClusterOutcome> undo_on_cluster(const Proposal& proposal, const ClusterOptions& options) {
  TRY_ASSIGN(const auto client, client_of(options));
  TRY_ASSIGN(const auto changed, take_back_on_cluster(*client, change_key(proposal)));
  return outcome_of(changed, changed.empty() ? "# nothing on this cluster is of this change any more\n" : "");
}

Result<std::string> write_kustomize(const Proposal& proposal, const FleetPlan& fleet, const ClusterOptions& options) {
  TRY_ASSIGN(const auto client, client_of(options));
  TRY_ASSIGN(const KubeChangePlan plan,
             read_kube_change(*client, proposal.changes, change_key(proposal), fleet, options.kubectl_image));
  TRY_ASSIGN(const auto files, kube_change_files(plan, proposal.title));
  if (files.empty())
    return make_error(ErrorCode::kNotFound, "nothing of it is a matter of this cluster's objects{}{}",
                      plan.by_hand.empty() ? "" : ": ", fmt::join(plan.by_hand, "; "));
  std::error_code failed;
  std::filesystem::create_directories(options.kustomize, failed);
  if (failed) return invalid("{}: cannot be made: {}", options.kustomize, failed.message());
  std::string said;
  for (const auto& [name, text] : files) {
    const std::string path = options.kustomize + "/" + name;
    TRY(write_file_atomically(path, text));
    said += fmt::format("# wrote {}\n", path);
  }
  return said + rest_text(plan);
}

}  // namespace stint
