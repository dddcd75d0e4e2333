// The Open Inference Protocol ("KServe v2") over HTTP, on top of a model store: health, metadata, inference with tensors as JSON or
// binary, the repository, and /metrics.
//
// Source: Open Inference Protocol, version 2, REST; Triton's extensions for binary tensors, model repository and model configuration.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <string>

#include "codec/infer_wire.h"
#include "host/http_server.h"
#include "serve/model_store.h"

namespace stint::serve {

/// Who may ask, over whichever transport.
struct ApiOptions {
  std::string version;                      ///< the program's
  std::map<std::string, uint32_t> tenants;  ///< by the header `stint-tenant`; who is none of them is tenant 0
  std::string token;                        ///< asked for as `Authorization: Bearer …` when not empty

  /// @param authorization  what was sent under that name; none: nothing. In constant time for the token's length.
  [[nodiscard]] bool admits(std::optional<std::string_view> authorization) const;
  /// @param name  what was sent as `stint-tenant`; none: nothing.
  [[nodiscard]] batching::TenantId tenant(std::optional<std::string_view> name) const;
};

class KserveApi {
 public:
  /// @param store  outlives this.
  KserveApi(ModelStore& store, ApiOptions options);
  KserveApi(const KserveApi&) = delete;
  KserveApi& operator=(const KserveApi&) = delete;
  /// Waits for what it does to the repository.
  ~KserveApi();

  /// On one thread; answers then or later.
  void handle(HttpRequest request, const Responder& responder);
  /// From now on not ready, and nothing new is inferred. Any thread.
  void close_doors() { closing_ = true; }

 private:
  void model(HttpRequest& request, const Responder& responder);
  /// Takes the request's body.
  void infer(HttpRequest& request, const Responder& responder, const ServedVersion& served);
  void repository(const HttpRequest& request, const Responder& responder);

  ModelStore& store_;
  const ApiOptions options_;
  InferParser parser_;
  std::atomic<bool> closing_ = false;
  WorkerPool chores_{1};  // loads take seconds
};

/// All that is served, in Prometheus' text format.
std::string serve_metrics(const ModelStore& store);

}  // namespace stint::serve
