// The REST API: requests in, questions to the service and the governor, answers out. Its routes are one table (api_routes.h).
//
// Every answer but those of the public routes belongs to somebody known. Who may see a client sees its jobs; for anybody else they
// are not there: unknown and forbidden answer alike. Everything asked is written to the audit log, and what changes something is
// answered only when its record is durable.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/governor.h"
#include "daemon/service.h"
#include "host/http_server.h"

namespace stint {

enum class LogStream { kOutput, kError };

struct ApiOptions {
  /// Where a task's own log file lies.
  std::function<std::string(const LaunchKey&, LogStream)> log_path;
  std::function<Instant()> clock;  ///< for tokens and the audit log
  std::string version;             ///< of the program
};

class Api {
 public:
  /// @param service, governor  outlive it; the service is stopped before the API goes.
  Api(Service& service, Governor& governor, ApiOptions options);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Does not block; answers from this thread or another.
  void handle(HttpRequest request, Responder responder);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The API's contract as OpenAPI 3.1, written from the table of routes.
std::string openapi_document(const std::string& version);

}  // namespace stint
