// The table of routes, and what a handler needs: the API's inside.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/api.h"
#include "daemon/event_hub.h"

namespace stint {

/// One request on its way.
struct ApiCall {
  HttpRequest request;
  Responder responder;
  Principal who;                   ///< nobody on public routes
  std::vector<std::string> names;  ///< what stands for the {…} of the path
  Instant at;
  std::string client;  ///< whose matter it is, once known: for the audit log
  std::string detail;  ///< for the audit log
  bool audited = true;
};
using Call = std::shared_ptr<ApiCall>;

/// What handlers work with.
struct ApiContext {
  Service& service;
  Governor& governor;
  ApiOptions options;
  std::shared_ptr<EventHub> hub;

  /// Writes the audit record, then answers; what only reads is answered at once.
  void answer(const Call& call, HttpReply reply) const;
  void answer(const Call& call, int status, const nlohmann::ordered_json& body) const;
  void answer(const Call& call, const Error& error) const;
  /// Changes what the governor keeps, with its record, then answers so.
  void change(const Call& call, GovernChange change, int status, const nlohmann::ordered_json& body) const;
};

/// A parameter of the query.
struct ApiParameter {
  std::string_view name;
  std::string_view schema;  ///< JSON Schema
  std::string_view description;
};

enum class Audited { kNo, kYes };  ///< scrapes come every few seconds for ever, and change nothing

struct ApiRoute {
  std::string_view method;
  std::string_view path;  ///< "/v1/jobs/{id}"
  std::string_view name;  ///< operationId
  std::string_view summary;
  std::optional<Permission> needs;  ///< somewhere; none = public
  Audited audited = Audited::kYes;
  std::vector<ApiParameter> parameters;
  std::string_view request;   ///< schema of the body; empty = none
  std::string_view response;  ///< schema of the answer; empty = `content` is no JSON
  std::string_view content = "application/json";
  int status = 200;
  void (*handler)(const ApiContext&, const Call&) = nullptr;
};

const std::vector<ApiRoute>& api_routes();

/// The route, and what stands for its {…}. none: no such path, or not with this method.
struct RouteMatch {
  const ApiRoute* route = nullptr;
  std::vector<std::string> names;
  bool path_exists = false;  ///< with another method
};
RouteMatch match_route(std::string_view method, const std::vector<std::string>& segments);

/// The schemas that routes name, as OpenAPI's components.schemas.
std::string_view api_schemas();

// Handlers, by family: api_jobs.cc, api_watch.cc, api_govern.cc.
void api_submit(const ApiContext& api, const Call& call);
void api_list_jobs(const ApiContext& api, const Call& call);
void api_show_job(const ApiContext& api, const Call& call);
void api_cancel_job(const ApiContext& api, const Call& call);
void api_hold_job(const ApiContext& api, const Call& call);
void api_release_job(const ApiContext& api, const Call& call);
void api_why(const ApiContext& api, const Call& call);
void api_logs(const ApiContext& api, const Call& call);
void api_overview(const ApiContext& api, const Call& call);
void api_nodes(const ApiContext& api, const Call& call);
void api_drain_node(const ApiContext& api, const Call& call);
void api_node_up(const ApiContext& api, const Call& call);
void api_queues(const ApiContext& api, const Call& call);
void api_events(const ApiContext& api, const Call& call);
void api_metrics(const ApiContext& api, const Call& call);
void api_healthz(const ApiContext& api, const Call& call);
void api_readyz(const ApiContext& api, const Call& call);
void api_openapi(const ApiContext& api, const Call& call);
void api_me(const ApiContext& api, const Call& call);
void api_list_tokens(const ApiContext& api, const Call& call);
void api_make_token(const ApiContext& api, const Call& call);
void api_revoke_token(const ApiContext& api, const Call& call);
void api_list_users(const ApiContext& api, const Call& call);
void api_show_user(const ApiContext& api, const Call& call);
void api_put_user(const ApiContext& api, const Call& call);
void api_list_clients(const ApiContext& api, const Call& call);
void api_put_client(const ApiContext& api, const Call& call);
void api_audit_log(const ApiContext& api, const Call& call);

// What several of them need.

/// An integer parameter of the query, `fallback` when it is absent. @return error outside of the range.
Result<int64_t> integer_parameter(const Call& call, std::string_view name, int64_t fallback, int64_t least, int64_t most);
/// The job's id in the path. @return kNotFound when it is no id.
Result<int64_t> job_id_in_path(const Call& call);
/// What is said of a job that is not there, or not for this user.
Error no_such_job(std::string_view id);
bool may_see(const Principal& who, const JobView& job);
/// The body as an object. @return error when it is none, or has other fields than these.
Result<nlohmann::json> body_object(const Call& call, std::span<const std::string_view> fields);

}  // namespace stint
