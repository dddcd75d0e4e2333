#include "kubernetes/kube_identity.h"

#include <filesystem>

#include "base/text.h"
#include "clouds/digests.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/process.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr Duration kTokenFileIsGoodFor = Duration::minutes(1);
constexpr Duration kPluginPatience = Duration::seconds(60);
constexpr Duration kRenewBefore = Duration::seconds(30);  ///< so that a token does not run out on its way

/// What a kubeconfig calls a file is beside it.
std::string beside(const std::string& kubeconfig, const std::string& file) {
  if (file.empty() || file.starts_with('/')) return file;
  return (std::filesystem::path(kubeconfig).parent_path() / file).string();
}

/// A member in base64, or what lies in the file of that name.
Result<std::string> pem_of(const std::string& what, const std::string& packed, const std::string& file) {
  if (packed.empty()) return read_all(file);
  auto bytes = from_base64(packed);
  if (!bytes) return invalid("{}-data is no base64", what);
  return std::move(*bytes);
}

Result<KubeAccess> access_from_file(const std::string& path, const std::string& context) {
  TRY(check_secret_file(path, SecretReaders::kOwnerAndGroup));
  TRY_ASSIGN(const std::string text, read_all(path));
  TRY_ASSIGN(KubeAccess access, parse_kube_config(text, path, context));
  for (std::string* file : {&access.ca_file, &access.token_file, &access.certificate_file, &access.key_file})
    *file = beside(path, *file);
  return access;
}

std::optional<KubeAccess> access_of_pod(const KubeIdentityOptions& options) {
  const std::string host = options.environment("KUBERNETES_SERVICE_HOST");
  const std::string port = options.environment("KUBERNETES_SERVICE_PORT");
  std::error_code ignored;
  if (host.empty() || port.empty() || !std::filesystem::exists(options.service_account + "/token", ignored)) return std::nullopt;
  KubeAccess access;
  access.context = "the pod's account";
  access.server =
      host.find(':') == std::string::npos ? fmt::format("https://{}:{}", host, port) : fmt::format("https://[{}]:{}", host, port);
  access.ca_file = options.service_account + "/ca.crt";
  access.token_file = options.service_account + "/token";
  return access;
}

Result<KubeAccess> find_access(const KubeIdentityOptions& options) {
  if (!options.kubeconfig.empty()) return access_from_file(options.kubeconfig, options.context);
  const std::string named = options.environment("KUBECONFIG");
  for (const std::string_view path : split(named, ':'))
    if (!path.empty()) return access_from_file(std::string(path), options.context);
  if (auto access = access_of_pod(options)) return std::move(*access);
  const std::string at_home = options.environment("HOME") + "/.kube/config";
  std::error_code ignored;
  if (std::filesystem::exists(at_home, ignored)) return access_from_file(at_home, options.context);
  return make_error(ErrorCode::kNotFound,
                    "no cluster is named: give --kubeconfig, set KUBECONFIG, or run in a pod with an account ({} is absent)",
                    at_home);
}

}  // namespace

Result<std::shared_ptr<KubeIdentity>> KubeIdentity::find(const KubeIdentityOptions& options) {
  TRY_ASSIGN(KubeAccess access, find_access(options));
  std::shared_ptr<KubeIdentity> identity(new KubeIdentity(std::move(access)));
  TRY(identity->prepare_files());
  return identity;
}

std::string KubeIdentity::called() const { return fmt::format("{} (context {})", access_.server, access_.context); }

Result<std::string> KubeIdentity::keep_in_file(const std::string& bytes) {
  TRY_ASSIGN(TemporaryFile file, TemporaryFile::create());
  TRY(write_secret(file.path(), bytes));
  files_.push_back(std::move(file));
  return files_.back().path();
}

Status KubeIdentity::prepare_files() {
  if (!access_.ca_data.empty() || !access_.ca_file.empty()) {
    TRY_ASSIGN(const std::string authority, pem_of("certificate-authority", access_.ca_data, access_.ca_file));
    TRY_ASSIGN(http_.ca_file, keep_in_file(authority));
  }
  if (!access_.certificate_data.empty() || !access_.certificate_file.empty()) {
    TRY_ASSIGN(const std::string certificate, pem_of("client-certificate", access_.certificate_data, access_.certificate_file));
    TRY_ASSIGN(const std::string key, pem_of("client-key", access_.key_data, access_.key_file));
    TRY_ASSIGN(http_.certificate_file, keep_in_file(certificate));
    TRY_ASSIGN(http_.key_file, keep_in_file(key));
  }
  if (access_.exec) TRY(ask_plugin());
  return {};
}

Status KubeIdentity::ask_plugin() {
  const KubeExec& exec = *access_.exec;
  std::vector<std::string> command = {
      "env", fmt::format(R"(KUBERNETES_EXEC_INFO={{"apiVersion":"{}","kind":"ExecCredential","spec":{{"interactive":false}}}})",
                         exec.api_version)};
  for (const auto& [name, value] : exec.environment)
    command.push_back(fmt::format("{}={}", name, value));
  command.push_back(exec.command);
  command.insert(command.end(), exec.arguments.begin(), exec.arguments.end());
  TRY_ASSIGN(const CommandOutput output, run_command(command, kPluginPatience));
  if (output.status.shell_code() != 0)
    return make_error(ErrorCode::kUnavailable, "the credential plugin {} ended with {}: run it by hand, or log in anew{}{}",
                      exec.command, output.status.shell_code(), exec.install_hint.empty() ? "" : "; ", exec.install_hint);
  TRY_ASSIGN(KubeCredential credential, parse_exec_credential(output.standard_output, exec.command));
  token_ = std::move(credential.token);
  good_until_ = credential.expires;
  if (credential.certificate.empty()) return {};
  if (http_.certificate_file.empty()) {
    TRY_ASSIGN(http_.certificate_file, keep_in_file(credential.certificate));
    TRY_ASSIGN(http_.key_file, keep_in_file(credential.key));
    return {};
  }
  TRY(write_secret(http_.certificate_file, credential.certificate));
  return write_secret(http_.key_file, credential.key);
}

Result<std::string> KubeIdentity::authorization(Instant now, bool renew) {
  const std::scoped_lock lock(mutex_);
  const bool over = good_until_ && now + kRenewBefore >= *good_until_;
  if (access_.exec) {
    if (renew || over) TRY(ask_plugin());
  } else if (!access_.token_file.empty()) {
    if (renew || token_.empty() || !good_until_ || now >= *good_until_) {
      TRY_ASSIGN(token_, read_secret_file(access_.token_file));
      good_until_ = now + kTokenFileIsGoodFor;
    }
  } else {
    token_ = access_.token;
  }
  if (!token_.empty()) return "Bearer " + token_;
  return access_.password_user.empty() ? std::string() : "Basic " + to_base64(access_.password_user + ":" + access_.password);
}

}  // namespace stint
