// The Kubernetes API as Stint needs it: objects got, listed in pages and watched.
//
// Tries that may pass are repeated (429 of a busy server and 503 after what Retry-After asks for), a refused token is renewed once, and every error says the
// API server's reason and what to do. Source: Kubernetes, "Kubernetes API Concepts".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "clouds/cloud_http.h"
#include "codec/kubernetes/kubernetes_object.h"
#include "kubernetes/kube_identity.h"

namespace stint {

enum class KubeView : uint8_t {
  kWhole,
  kMetadata,  ///< name, labels and owners alone: a tenth of the bytes
};

struct KubeList {
  std::string path;   ///< /api/v1/pods
  std::string kind;   ///< Pod
  std::string query;  ///< further parameters, with & before each: &fieldSelector=…
  KubeView view = KubeView::kWhole;
};

enum class KubeWatchEnd : uint8_t {
  kServerEnded,  ///< time is up: go on from the last version
  kCut,          ///< the connection, or the server has trouble: go on likewise, after a pause
  kExpired,      ///< 410: the version is too old, list anew
  kStopped,      ///< by the taker
};

/// A change that is asked for: POST, PUT, PATCH or DELETE.
struct KubeChange {
  std::string method, path;  ///< path: /api/v1/namespaces/a/pods/x/binding
  std::string body;          ///< JSON; "" = none
  std::string content_type = "application/json";
};
struct KubeAnswer {
  int status = 0;  ///< 2xx, or 404, 409, 410, 422: what was asked for does not hold; 429: a disruption budget forbids it
  std::string body, message;  ///< the server's words where it is no success
  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
};

struct KubeClientOptions {
  int page = 500;                              ///< objects of one answer
  Duration watch_for = Duration::seconds(10);  ///< then the server ends a watch, with a bookmark, and it is begun again
  int tries = 8;                               ///< of a request that may pass
  std::function<void(Duration)> sleep;         ///< between them; empty = this thread's
};

/// Any number of threads may use it at the same time; each watch has a connection.
class KubeClient {
 public:
  explicit KubeClient(std::shared_ptr<KubeIdentity> identity, KubeClientOptions options = {});

  /// @return the answer's body; kNotFound, kInvalidInput (refused), kUnavailable, each with the server's words.
  Result<std::string> get(const std::string& path);

  /// What a machine has, as it is: a log. Asked for once, since machines may be away. @return as get(); kInvalidInput: it is not there yet.
  Result<std::string> text(const std::string& path);

  /// Sent again where no answer came, so a change may have been made before: ask for what is harmless twice.
  Result<KubeAnswer> change(const KubeChange& change);

  /// @param json  valid until the call ends. @param kind  that of the list.
  using TakeObject = std::function<void(std::string_view json, const std::string& kind)>;
  /// All objects, page by page. `restart` is called before the first page, and again when the server forgot the list in the middle (410) and
  /// it begins anew. @return the version that the list shows, for a watch to go on from.
  Result<std::string> list(const KubeList& what, const std::function<void()>& restart, const TakeObject& take);

  /// False = enough.
  using TakeLine = std::function<bool(std::string_view line)>;
  /// Lines of a watch from `version` on. @return error when it is refused for good (403, 404).
  Result<KubeWatchEnd> watch(const KubeList& what, const std::string& version, const TakeLine& take);

  [[nodiscard]] const KubeIdentity& identity() const { return *identity_; }

 private:
  /// @param is_answer  beside 2xx; empty = none else.
  Result<HttpResponse> send(HttpCall call, const std::string& what, std::function<bool(const HttpResponse&)> is_answer = {});

  std::shared_ptr<KubeIdentity> identity_;
  KubeClientOptions options_;
  CloudHttp http_;
};

}  // namespace stint
