// The Open Inference Protocol over gRPC, on top of a model store: the same models, batches, tenants and limits as over HTTP. Built
// with -DSTINT_GRPC=ON.
//
// Source: open_inference.proto.
#pragma once

#include <memory>
#include <string>

#include "host/http_server.h"
#include "serve/kserve_api.h"

namespace stint::serve {

struct GrpcOptions {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  ///< 0: a free one
  TlsOptions tls;     ///< none: plain
  bool plain_beyond_loopback = false;
  int max_message_bytes = 16 << 20;
  ApiOptions api;  ///< the token, and a gateway's tenant, are metadata here, under the same names
};

class GrpcApi {
 public:
  /// @param store  outlives this.
  static Result<std::unique_ptr<GrpcApi>> start(ModelStore& store, GrpcOptions options);
  GrpcApi(const GrpcApi&) = delete;
  GrpcApi& operator=(const GrpcApi&) = delete;
  /// Ends what still runs.
  ~GrpcApi();

  /// ADDRESS:PORT
  [[nodiscard]] const std::string& listening() const;
  /// From now on not ready, and nothing new is inferred.
  void close_doors();

 private:
  struct Impl;
  explicit GrpcApi(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint::serve
