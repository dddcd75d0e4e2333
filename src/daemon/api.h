// The REST API: requests in, questions to the service and the governor, answers out. Its routes are one table (api_routes.h).
//
// Every answer but those of the public routes belongs to somebody known. Who may see a client sees its jobs; for anybody else they
// are not there: unknown and forbidden answer alike. Everything asked is written to the audit log, and what changes something is
// answered only when its record is durable.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/alert_desk.h"
#include "daemon/finding_book.h"
#include "daemon/governor.h"
#include "daemon/service.h"
#include "host/http_server.h"

namespace stint {

class AuditRunner;
class BillBook;
class LiveTelemetry;
class LoginDesk;
class NodePower;
class OffMachines;
class PageSessions;
class ReplicaKeeper;
class StatementRunner;

struct ApiOptions {
  /// Where the files with a task's output lie, without their endings (backends/output_order.h).
  std::function<std::string(const LaunchKey&)> log_base;
  std::function<Instant()> clock;  ///< for tokens and the audit log
  std::string version;             ///< of the program
  /// Who a token of the identity provider speaks of; empty = there is no provider.
  std::function<Result<Principal>(std::string_view token, Instant now)> by_provider = {};
  LoginDesk* login = nullptr;        ///< outlives the API; none = there is no login through a provider
  PageSessions* sessions = nullptr;  ///< outlives the API; none = no session is opened
  std::shared_ptr<FindingBook> findings;
  // These end after the doors are closed and before the service is stopped; nullptr = there is none.
  AuditRunner* audits = nullptr;
  StatementRunner* statements = nullptr;
  BillBook* bills = nullptr;
  NodePower* power = nullptr;
  const ReplicaKeeper* replicas = nullptr;  ///< none: there are no services
  AlertDesk* alerts = nullptr;
  const LiveTelemetry* telemetry = nullptr;  ///< outlives the API; none = nothing is measured
  const OffMachines* off = nullptr;          ///< outlives the API; none = all are on
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
