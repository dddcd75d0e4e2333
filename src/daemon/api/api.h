// The REST API: requests in, questions to the service and the governor, answers out. Its routes are one table (api_routes.h).
//
// Every answer but those of the public routes belongs to somebody known. Who may see a client sees its jobs; for anybody else they
// are not there: unknown and forbidden answer alike. Everything asked is written to the audit log, and what changes something is
// answered only when its record is durable.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "daemon/alerts/alert_desk.h"
#include "daemon/finding_book.h"
#include "daemon/identity/governor.h"
#include "daemon/service.h"
#include "host/http_server.h"

namespace stint {

class AllocationDesk;
class AuditRunner;
class BillBook;
class ClusterRest;
class LiveTelemetry;
class LogKeeper;
class LoginDesk;
class NodePower;
class OffMachines;
class PageSessions;
class ReplicaKeeper;
class StatementRunner;

struct ApiOptions {
  /// Reads what a task printed, and answers from this thread or another.
  std::function<void(const LogQuery& query, std::function<void(Result<LogPiece>)> answer)> read_log;
  std::function<Instant()> clock;  ///< for tokens and the audit log
  /// Is there room on the disk for new work? Error with what to do when not; empty = not asked.
  std::function<Status()> room_for_work = {};
  std::string version;  ///< of the program
  /// Who a token of the identity provider speaks of; empty = there is no provider.
  std::function<Result<Principal>(std::string_view token, Instant now)> by_provider = {};
  std::string job_key;                 ///< of the tokens of tasks; empty = there are none
  bool provider_shows_factor = false;  ///< what takes a one-time code of users here takes a second factor there of its users
  LoginDesk* login = nullptr;          ///< outlives the API; none = there is no login through a provider
  PageSessions* sessions = nullptr;    ///< outlives the API; none = no session is opened
  std::shared_ptr<FindingBook> findings;
  // These end after the doors are closed and before the service is stopped; nullptr = there is none.
  AuditRunner* audits = nullptr;
  StatementRunner* statements = nullptr;
  AllocationDesk* allocations = nullptr;
  BillBook* bills = nullptr;
  NodePower* power = nullptr;
  const ReplicaKeeper* replicas = nullptr;  ///< none: there are no services
  const LogKeeper* log_keeper = nullptr;    ///< outlives the API; none = nothing bounds what is kept of jobs' logs
  AlertDesk* alerts = nullptr;
  const LiveTelemetry* telemetry = nullptr;  ///< outlives the API; none = nothing is measured
  const ClusterRest* cluster = nullptr;      ///< outlives the API; none = no cluster places work itself
  const OffMachines* off = nullptr;          ///< outlives the API; none = all are on
};

class Api {
 public:
  /// @param service, governor  outlive it; the service is stopped before the API goes.
  Api(Service& service, Governor& governor, ApiOptions options);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// Whether who asks is known, where the route wants that; by the head alone, does not block.
  HttpAdmission admit(const HttpRequest& head);
  /// Does not block; answers from this thread or another. Any thread: large bodies are not read on the server's.
  void handle(HttpRequest request, Responder responder);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The API's contract as OpenAPI 3.1, written from the table of routes.
std::string openapi_document(const std::string& version);

}  // namespace stint
