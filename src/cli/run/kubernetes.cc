// stint kubernetes: what a cluster is to be told before clients work on it.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/quoting.h"
#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/run/daemon_client.h"
#include "codec/kubernetes/kube_tenant.h"
#include "codec/yaml.h"
#include "host/file.h"
#include "kubernetes/kube_apply.h"
#include "report/table.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

struct TenantArguments {
  std::string client, file, kubeconfig, context;
  bool check = false, apply = false, json = false;
};

/// What kubectl apply -f takes.
Status print_manifests(const KubeTenant& tenant, const std::vector<KubeManifest>& manifests, bool as_json) {
  if (as_json) {
    Json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::array()}};
    for (const KubeManifest& manifest : manifests)
      list["items"].push_back(Json::parse(manifest.json));
    return print_json(list);
  }
  std::string text = fmt::format(
      "# The namespace of client {0}. The daemon's configuration gets, in engine.kubernetes:\n"
      "#   \"namespaces\": {{{1}: {2}}}, \"jobs\": {{\"clients\": {{{2}: {1}}}}}\n",
      one_line(tenant.client), json_quoted(tenant.ns), json_quoted(tenant.client));
  for (const KubeManifest& manifest : manifests) {
    TRY_ASSIGN(const std::string yaml, yaml_of_json(manifest.json));
    text += "---\n" + yaml;
  }
  return write_output("", text);
}

Result<std::vector<KubeApplied>> sent(const TenantArguments& arguments, const std::vector<KubeManifest>& manifests) {
  KubeIdentityOptions who;
  who.kubeconfig = arguments.kubeconfig;
  who.context = arguments.context;
  TRY_ASSIGN(auto identity, KubeIdentity::find(who));
  KubeClient client(std::move(identity));
  return apply_manifests(client, manifests, arguments.apply ? KubeApply::kForGood : KubeApply::kDryRun);
}

Result<ExitCode> print_outcome(const TenantArguments& arguments, const std::vector<KubeApplied>& applied) {
  size_t refused = 0;
  Json list = Json::array();
  Table table({{"object"}, {"outcome"}, {"why", Align::kLeft, 0, 1}});
  const auto good = [&](const KubeApplied& one) { return arguments.check ? "accepted" : one.made ? "made" : "applied"; };
  for (const KubeApplied& one : applied) {
    const std::string_view outcome = one.refusal.empty() ? good(one) : "refused";
    refused += one.refusal.empty() ? 0U : 1U;
    list.push_back({{"object", one.path}, {"outcome", outcome}, {"why", one.refusal}});
    table.add_row({one.path, std::string(outcome), one.refusal});
    table.tone_cell(1, one.refusal.empty() ? Tone::kGood : Tone::kBad);
  }
  if (arguments.json)
    TRY(print_json({{"objects", std::move(list)}}));
  else
    TRY(write_output("", table.render(screen_of_stdout())));
  return refused == 0 ? ExitCode::kOk : ExitCode::kPartly;
}

Result<ExitCode> run_tenant(const TenantArguments& arguments) {
  TRY_ASSIGN(const std::string text, read_all(arguments.file));
  TRY_ASSIGN(const KubeTenant tenant, parse_kube_tenant(text, arguments.file, arguments.client));
  const std::vector<KubeManifest> manifests = tenant_manifests(tenant);
  if (!arguments.check && !arguments.apply) {
    TRY(print_manifests(tenant, manifests, arguments.json));
    return ExitCode::kOk;
  }
  TRY_ASSIGN(const auto applied, sent(arguments, manifests));
  return print_outcome(arguments, applied);
}

}  // namespace

void add_kubernetes_command(Command& app, Action& action) {
  Command* command = app.add_subcommand("kubernetes", "What a Kubernetes cluster is to be told before clients work on it");
  command->require_subcommand(1);
  Command* tenant = command->add_subcommand("tenant", "A client's namespace: quota, rights, network, security, priorities");
  tenant->footer(
      "Examples:\n"
      "  stint kubernetes tenant acme --file tenants.yaml | kubectl apply -f -\n"
      "  stint kubernetes tenant acme --file tenants.yaml --check\n"
      "  stint kubernetes tenant acme --file tenants.yaml --apply");
  auto a = std::make_shared<TenantArguments>();
  tenant->add_option("client", a->client, "the client, as the file names it")->required();
  tenant->add_option("--file", a->file, "descriptions of clients: docs/kubernetes.md")->required()->type_name("FILE");
  tenant->add_flag("--check", a->check, "asks the API server whether it would take the objects; keeps nothing");
  tenant->add_flag("--apply", a->apply, "makes them, or brings those that are there to the description");
  tenant
      ->add_option("--kubeconfig", a->kubeconfig, "how to reach the cluster; else KUBECONFIG, the pod's account, ~/.kube/config")
      ->type_name("FILE");
  tenant->add_option("--context", a->context, "of the kubeconfig; else the current one");
  tenant->add_flag("--json", a->json, "print JSON");
  tenant->callback([a, &action] {
    if (a->check && a->apply) wrong_usage("--check keeps nothing, --apply does: give one of them");
    if (!a->check && !a->apply && !(a->kubeconfig.empty() && a->context.empty()))
      wrong_usage("--kubeconfig and --context are for --check and --apply");
    action = [a] {
      const auto done = run_tenant(*a);
      return done.ok() ? *done : fail(done.error().message);
    };
  });
}

}  // namespace stint
