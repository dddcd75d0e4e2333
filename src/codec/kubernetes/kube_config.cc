#include "codec/kubernetes/kube_config.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/yaml.h"

namespace stint {
namespace {

using KubeJson = nlohmann::json;

/// "" where it is absent or no text.
std::string text_in(const KubeJson& map, const char* name) {
  const auto it = map.find(name);
  return it != map.end() && it->is_string() ? it->get<std::string>() : std::string();
}

/// The entry of that name in a list of {"name": …, KIND: {…}}. nullptr = there is none.
const KubeJson* entry_named(const KubeJson& root, const char* list, const char* kind, const std::string& name) {
  const auto it = root.find(list);
  if (it == root.end() || !it->is_array()) return nullptr;
  for (const KubeJson& entry : *it)
    if (entry.is_object() && text_in(entry, "name") == name)
      if (const auto found = entry.find(kind); found != entry.end() && found->is_object()) return &*found;
  return nullptr;
}

Status read_cluster(const KubeJson& cluster, KubeAccess& out) {
  out.server = text_in(cluster, "server");
  while (out.server.ends_with('/'))
    out.server.pop_back();
  if (!out.server.starts_with("https://") && !out.server.starts_with("http://"))
    return invalid("cluster '{}': server '{}' is no address such as https://10.0.0.1:6443", out.cluster, excerpt(out.server));
  if (cluster.value("insecure-skip-tls-verify", KubeJson()) == true)
    return invalid(
        "cluster '{}': insecure-skip-tls-verify is not supported: a token sent to an unknown server is no secret; give "
        "certificate-authority",
        out.cluster);
  if (!text_in(cluster, "tls-server-name").empty())
    return invalid("cluster '{}': tls-server-name is not supported: give the server by the name of its certificate", out.cluster);
  if (!text_in(cluster, "proxy-url").empty())
    return invalid("cluster '{}': proxy-url is not supported: set https_proxy", out.cluster);
  out.ca_data = text_in(cluster, "certificate-authority-data");
  out.ca_file = text_in(cluster, "certificate-authority");
  return {};
}

Status read_exec(const KubeJson& exec, KubeAccess& out) {
  KubeExec found{.api_version = text_in(exec, "apiVersion"),
                 .command = text_in(exec, "command"),
                 .install_hint = text_in(exec, "installHint"),
                 .arguments = {},
                 .environment = {}};
  if (found.command.empty()) return invalid("user '{}': exec without command", out.user);
  if (const auto list = exec.find("args"); list != exec.end() && list->is_array())
    for (const KubeJson& argument : *list)
      found.arguments.push_back(argument.is_string() ? argument.get<std::string>() : argument.dump());
  if (const auto list = exec.find("env"); list != exec.end() && list->is_array())
    for (const KubeJson& variable : *list)
      if (variable.is_object()) found.environment.emplace_back(text_in(variable, "name"), text_in(variable, "value"));
  out.exec = std::move(found);
  return {};
}

Status read_user(const KubeJson& user, KubeAccess& out) {
  if (user.contains("auth-provider"))
    return invalid("user '{}': auth-provider was removed from Kubernetes in 2022: use the plugin (exec) that replaced it",
                   out.user);
  if (user.contains("as") || user.contains("as-groups"))
    return invalid("user '{}': acting as another user is not supported: give that user's credentials", out.user);
  out.token = text_in(user, "token");
  out.token_file = text_in(user, "tokenFile");
  out.password_user = text_in(user, "username");
  out.password = text_in(user, "password");
  out.certificate_data = text_in(user, "client-certificate-data");
  out.certificate_file = text_in(user, "client-certificate");
  out.key_data = text_in(user, "client-key-data");
  out.key_file = text_in(user, "client-key");
  const bool certificate = !out.certificate_data.empty() || !out.certificate_file.empty();
  const bool key = !out.key_data.empty() || !out.key_file.empty();
  if (certificate != key) return invalid("user '{}': client-certificate and client-key go together", out.user);
  if (const auto exec = user.find("exec"); exec != user.end() && exec->is_object()) TRY(read_exec(*exec, out));
  return {};
}

Result<KubeAccess> read_context(const KubeJson& root, const std::string& wanted) {
  KubeAccess out;
  out.context = wanted.empty() ? text_in(root, "current-context") : wanted;
  if (out.context.empty()) return invalid("no current-context: choose one with --context");
  const KubeJson* const context = entry_named(root, "contexts", "context", out.context);
  if (context == nullptr) return invalid("there is no context '{}'", excerpt(out.context));
  out.cluster = text_in(*context, "cluster");
  out.user = text_in(*context, "user");
  out.ns = text_in(*context, "namespace");
  const KubeJson* const cluster = entry_named(root, "clusters", "cluster", out.cluster);
  if (cluster == nullptr) return invalid("context '{}': there is no cluster '{}'", excerpt(out.context), excerpt(out.cluster));
  TRY(read_cluster(*cluster, out));
  if (out.user.empty()) return out;
  const KubeJson* const user = entry_named(root, "users", "user", out.user);
  if (user == nullptr) return invalid("context '{}': there is no user '{}'", excerpt(out.context), excerpt(out.user));
  TRY(read_user(*user, out));
  return out;
}

}  // namespace

Result<KubeAccess> parse_kube_config(std::string_view text, const std::string& source, const std::string& context) {
  const auto root = parse_yaml(text);
  if (!root.ok()) return invalid("{}: {}", source, root.error().message);
  if (!root->is_object() || !root->contains("clusters"))
    return invalid("{}: no kubeconfig: it has no `clusters`; see `kubectl config view`", source);
  auto access = read_context(*root, context);
  if (!access.ok()) return invalid("{}: {}", source, access.error().message);
  return access;
}

Result<KubeCredential> parse_exec_credential(std::string_view text, const std::string& source) {
  const KubeJson root = KubeJson::parse(text, nullptr, false);
  const auto status = root.is_object() ? root.find("status") : root.end();
  if (!root.is_object() || status == root.end() || !status->is_object())
    return invalid("{}: what it printed is no ExecCredential with a status", source);
  KubeCredential out{.token = text_in(*status, "token"),
                     .certificate = text_in(*status, "clientCertificateData"),
                     .key = text_in(*status, "clientKeyData"),
                     .expires = {}};
  if (out.token.empty() && (out.certificate.empty() || out.key.empty()))
    return invalid("{}: the ExecCredential it printed holds neither a token nor a certificate with its key", source);
  if (const std::string expires = text_in(*status, "expirationTimestamp"); !expires.empty()) {
    const auto at = parse_instant(expires);
    if (!at.ok()) return invalid("{}: expirationTimestamp '{}' is no time", source, excerpt(expires));
    out.expires = *at;
  }
  return out;
}

}  // namespace stint
