// How to reach a cluster: what a kubeconfig says of one context, and what a credential plugin answers.
// Source: Kubernetes, "kubeconfig (v1)" and "client.authentication.k8s.io/v1".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// A program that prints credentials.
struct KubeExec {
  std::string api_version, command, install_hint;
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;
};

/// What stands in the file itself is `…_data`, in base64; what lies in another file is `…_file`, as written.
struct KubeAccess {
  std::string context, cluster, user, ns;
  std::string server;  ///< without a slash at its end
  std::string ca_data, ca_file;
  std::string token, token_file, password_user, password;
  std::string certificate_data, certificate_file, key_data, key_file;
  std::optional<KubeExec> exec;
};

/// @param source  file name, for messages. @param context  "" = the current one.
/// @return error naming what is missing, or what of it Stint does not do: certificates that are not checked, proxies named there,
///   names of servers for TLS, plugins of before 2022.
Result<KubeAccess> parse_kube_config(std::string_view text, const std::string& source, const std::string& context);

/// What such a program printed.
struct KubeCredential {
  std::string token, certificate, key;  ///< the latter in PEM
  std::optional<Instant> expires;
};
Result<KubeCredential> parse_exec_credential(std::string_view text, const std::string& source);

}  // namespace stint
