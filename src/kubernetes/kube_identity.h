// Which cluster, and who asks: a kubeconfig, or the account that Kubernetes gives to a pod. Credentials are renewed as they run out.
//
// Source: Kubernetes, "Organizing Cluster Access Using kubeconfig Files", "Accessing the Kubernetes API from a Pod", "client-go credential
// plugins".
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "clouds/cloud_http.h"
#include "codec/kubernetes/kube_config.h"
#include "host/http_client.h"
#include "host/temporary_file.h"

namespace stint {

struct KubeIdentityOptions {
  std::string kubeconfig;  ///< "" = the first of KUBECONFIG's files, else the pod's account, else ~/.kube/config
  std::string context;     ///< "" = the current one
  Environment environment = process_environment();
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";  ///< folder of a pod's account
};

/// Any number of threads may ask.
class KubeIdentity {
 public:
  /// @return error naming the file and the remedy where no cluster is named, or a file or certificate cannot be read.
  static Result<std::shared_ptr<KubeIdentity>> find(const KubeIdentityOptions& options);

  [[nodiscard]] const std::string& server() const { return access_.server; }
  /// What to call it: `https://10.0.0.1:6443 (context blue)`.
  [[nodiscard]] std::string called() const;
  /// Whom to believe, and the certificate that is shown. It stays the same: a plugin's new certificate comes into the same files.
  [[nodiscard]] const HttpOptions& http() const { return http_; }
  /// What `Authorization` says now; "" = the certificate says it. Token files are read every minute (Kubernetes changes them before they
  /// run out), plugins asked when theirs runs out.
  /// @param renew  the last one was refused.
  Result<std::string> authorization(Instant now, bool renew);

 private:
  explicit KubeIdentity(KubeAccess access) : access_(std::move(access)) {}
  Status prepare_files();
  Result<std::string> keep_in_file(const std::string& bytes);
  Status ask_plugin();

  KubeAccess access_;
  HttpOptions http_;
  std::vector<TemporaryFile> files_;
  std::mutex mutex_;
  std::string token_;
  std::optional<Instant> good_until_;
};

}  // namespace stint
