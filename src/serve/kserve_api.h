// The Open Inference Protocol ("KServe v2") over HTTP, on top of a model store: health, metadata, inference with tensors as JSON or
// binary, the repository, and /metrics.
//
// admit() decides by a request's head, before its body is read; handle() takes what was admitted.
//
// Source: Open Inference Protocol, version 2, REST; Triton's extensions for binary tensors, model repository, model configuration and
// generate.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "codec/serving/infer_wire.h"
#include "host/byte_budget.h"
#include "host/http_server.h"
#include "serve/model_store.h"
#include "serve/serve_access.h"

namespace stint::serve {

/// What every transport goes by.
struct ApiOptions {
  std::string version;  ///< the program's
  ServeAccess access;
  std::shared_ptr<ByteBudget> memory;  ///< of all requests together: bodies, tensors, answers
  uint64_t max_body_bytes = 0;         ///< of a request, unpacked
  bool compress_answers = false;       ///< over HTTP, for those who take that
  std::string replica_secret = {};     ///< with which it proves that it is the server meant at `place`; empty = it proves nothing
  std::string place = {};
};

class KserveApi {
 public:
  /// @param store  outlives this.
  KserveApi(ModelStore& store, ApiOptions options);
  KserveApi(const KserveApi&) = delete;
  KserveApi& operator=(const KserveApi&) = delete;
  /// Waits for what it does to the repository.
  ~KserveApi();

  /// Whether a request may come in.
  [[nodiscard]] HttpAdmission admit(const HttpRequest& head) const;
  /// On one thread, what was admitted; answers then or later.
  void handle(HttpRequest request, const Responder& responder);
  /// From now on not ready, and nothing new is inferred. Any thread.
  void close_doors() { closing_ = true; }

 private:
  void model(HttpRequest& request, const Responder& responder);
  /// Takes the request's body.
  void infer(HttpRequest& request, const Responder& responder, const ServedVersion& served);
  /// Reads the call and submits it. @return none: it was refused
  std::optional<batching::RequestId> begin(HttpRequest& request, const Responder& responder, const ServedVersion& served,
                                           InferParser& parser) const;
  /// Its body, as the client had it before it was compressed; on reader_'s thread. @return why not
  std::optional<HttpReply> unpack(HttpRequest& request);
  [[nodiscard]] batching::TenantId tenant_of(const HttpRequest& request) const;
  /// @return false: it was refused
  bool takes(const HttpRequest& request, const Responder& responder) const;
  /// By the generate extension: one answer, or a stream of them.
  void generate(HttpRequest& request, const Responder& responder, const ServedVersion& served, bool as_stream);
  void repository(const HttpRequest& request, const Responder& responder);
  void ready(const HttpRequest& request, const Responder& responder) const;

  ModelStore& store_;
  const ApiOptions options_;
  InferParser parser_;
  std::atomic<bool> closing_ = false;
  InferParser large_parser_;
  std::map<batching::TenantId, std::shared_ptr<ByteBudget>> unpacked_;  ///< what compressed bodies take; reader_'s
  WorkerPool reader_{1};  // large bodies and compressed ones take long to read; large_parser_ is its
  WorkerPool chores_{1};  // loads take seconds
};

/// All that is served, in Prometheus' text format. @param requests  what requests take of memory
std::string serve_metrics(const ModelStore& store, const ByteBudget& requests);

}  // namespace stint::serve
