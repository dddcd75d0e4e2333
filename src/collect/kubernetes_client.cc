#include "collect/kubernetes_client.h"

#include "codec/kubernetes/kubernetes_snapshot.h"
#include "host/file.h"

namespace stint {
namespace {

Result<ImportOutcome> store_snapshot(HistoryFile& history, const KubernetesState& state, const std::string& server,
                                     const std::string& client_label, const std::vector<std::string>& gaps, Instant now) {
  ImportOutcome outcome;
  TRY_ASSIGN(const auto transaction, history.begin_import("kubernetes", server, now));
  KubernetesSnapshot(state, {.at = now, .client_label = client_label}).give(*transaction);
  for (const std::string& gap : gaps)
    transaction->note(gap);
  TRY_ASSIGN(outcome.record, transaction->commit(fingerprint_of_bytes(fmt::format("kubernetes {} at {}", server, now.ns()))));
  outcome.reach = transaction->reach();
  outcome.first_rejections = transaction->first_rejections();
  outcome.notes = transaction->notes();
  return outcome;
}

}  // namespace

Result<ImportOutcome> import_kubernetes(HistoryFile& history, const KubernetesImport& import, Instant now) {
  TRY_ASSIGN(const auto identity, KubeIdentity::find(import.identity));
  KubeClient client(identity);
  TRY_ASSIGN(const std::vector<KubeList> lists, discover_kube_lists(client));
  KubernetesState state;
  TRY_ASSIGN(const std::vector<std::string> gaps, list_all_into(client, lists, state));
  return store_snapshot(history, state, identity->server(), import.client_label, gaps, now);
}

Result<KubernetesFollower> KubernetesFollower::start(const KubernetesImport& import) {
  TRY_ASSIGN(auto identity, KubeIdentity::find(import.identity));
  auto client = std::make_shared<KubeClient>(std::move(identity));
  TRY_ASSIGN(auto mirror, KubeMirror::start(client));
  return KubernetesFollower(std::move(client), std::move(mirror), import.client_label);
}

Result<ImportOutcome> KubernetesFollower::import(HistoryFile& history, Instant now) {
  const std::vector<std::string> gaps = mirror_->gaps();
  Result<ImportOutcome> outcome = invalid("not imported");
  mirror_->with([&](KubernetesState& state) {
    outcome = store_snapshot(history, state, client_->identity().server(), client_label_, gaps, now);
    if (outcome.ok()) state.forget_gone();
  });
  return outcome;
}

}  // namespace stint
