#include "daemon/api_routes.h"

#include <array>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kLimit = R"({"type":"integer","minimum":1,"maximum":1000,"default":100})";
constexpr std::string_view kText = R"({"type":"string"})";
constexpr std::string_view kNumber = R"({"type":"integer","minimum":0})";
constexpr std::string_view kProse = "text/plain";

std::vector<ApiRoute> make_routes() {
  using P = Permission;
  const ApiParameter limit{"limit", kLimit, "at most so many"};
  const ApiParameter after{"after", kNumber, "those behind this number"};
  std::vector<ApiRoute> routes;
  const auto add = [&routes](ApiRoute route) { routes.push_back(std::move(route)); };

  add({.method = "POST",
       .path = "/v1/jobs",
       .name = "submitJob",
       .summary = "Submit a job, or an array of jobs",
       .needs = P::kSubmit,
       .request = "JobRequest",
       .response = "Job",
       .status = 201,
       .handler = api_submit});
  add({.method = "GET",
       .path = "/v1/jobs",
       .name = "listJobs",
       .summary = "Jobs, newest first",
       .needs = P::kSeeJobs,
       .parameters = {{"state", kText, "active, ended, or one state"},
                      {"queue", kText, "of this queue and those below"},
                      {"user", kText, "of this user"},
                      {"name", kText, "of this name"},
                      limit,
                      {"cursor", kNumber, "`next` of the page before"}},
       .response = "JobPage",
       .handler = api_list_jobs});
  add({.method = "GET",
       .path = "/v1/jobs/{id}",
       .name = "getJob",
       .summary = "One job",
       .needs = P::kSeeJobs,
       .response = "Job",
       .handler = api_show_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/cancel",
       .name = "cancelJob",
       .summary = "End it, or take it out of the queue",
       .needs = P::kControl,
       .response = "Job",
       .handler = api_cancel_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/hold",
       .name = "holdJob",
       .summary = "Keep it from starting",
       .needs = P::kControl,
       .response = "Job",
       .handler = api_hold_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/release",
       .name = "releaseJob",
       .summary = "Let it start again",
       .needs = P::kControl,
       .response = "Job",
       .handler = api_release_job});
  add({.method = "GET",
       .path = "/v1/jobs/{id}/why",
       .name = "explainJob",
       .summary = "Why it waits, what would start it, and what that costs",
       .needs = P::kSeeJobs,
       .response = "Why",
       .handler = api_why});
  add({.method = "GET",
       .path = "/v1/jobs/{id}/logs",
       .name = "getJobLog",
       .summary = "What it prints, a piece at a time",
       .needs = P::kSeeLogs,
       .parameters = {{"stream", R"({"enum":["output","error"],"default":"output"})", "which of the two"},
                      {"task", kNumber, "of a gang; 0 = the first"},
                      {"attempt", kNumber, "the newest when absent"},
                      {"offset", R"({"type":"integer","default":0})", "first byte; below 0: counted from the end"},
                      {"limit", R"({"type":"integer","minimum":1,"maximum":1048576})", "bytes"}},
       .content = kProse,
       .handler = api_logs});
  add({.method = "GET",
       .path = "/v1",
       .name = "getOverview",
       .summary = "The daemon as a whole",
       .needs = P::kSeeNodes,
       .response = "Overview",
       .handler = api_overview});
  add({.method = "GET",
       .path = "/v1/nodes",
       .name = "listNodes",
       .summary = "Machines",
       .needs = P::kSeeNodes,
       .response = "NodeList",
       .handler = api_nodes});
  add({.method = "POST",
       .path = "/v1/nodes/{name}/drain",
       .name = "drainNode",
       .summary = "Start nothing new there",
       .needs = P::kRunNodes,
       .response = "Node",
       .handler = api_drain_node});
  add({.method = "POST",
       .path = "/v1/nodes/{name}/up",
       .name = "nodeUp",
       .summary = "Take it back after a drain",
       .needs = P::kRunNodes,
       .response = "Node",
       .handler = api_node_up});
  add({.method = "GET",
       .path = "/v1/queues",
       .name = "listQueues",
       .summary = "Queues with their use and their money",
       .needs = P::kSeeJobs,
       .response = "QueueList",
       .handler = api_queues});
  add({.method = "GET",
       .path = "/v1/events",
       .name = "listEvents",
       .summary = "What happened; with Accept: text/event-stream, what happens, as it does",
       .needs = P::kSeeJobs,
       .parameters = {after, limit},
       .response = "EventPage",
       .handler = api_events});
  add({.method = "GET",
       .path = "/v1/me",
       .name = "whoAmI",
       .summary = "Whose token this is",
       .needs = P::kSeeNodes,
       .response = "Me",
       .handler = api_me});
  add({.method = "GET",
       .path = "/v1/tokens",
       .name = "listTokens",
       .summary = "Tokens, without their secrets",
       .needs = P::kOwnTokens,
       .response = "TokenList",
       .handler = api_list_tokens});
  add({.method = "POST",
       .path = "/v1/tokens",
       .name = "makeToken",
       .summary = "Make a token; its secret is shown this once",
       .needs = P::kOwnTokens,
       .request = "TokenWish",
       .response = "NewToken",
       .status = 201,
       .handler = api_make_token});
  add({.method = "DELETE",
       .path = "/v1/tokens/{id}",
       .name = "revokeToken",
       .summary = "Revoke it, at once and for ever",
       .needs = P::kOwnTokens,
       .response = "Token",
       .handler = api_revoke_token});
  add({.method = "GET",
       .path = "/v1/users",
       .name = "listUsers",
       .summary = "Users and their roles",
       .needs = P::kSeeUsers,
       .response = "UserList",
       .handler = api_list_users});
  add({.method = "GET",
       .path = "/v1/users/{name}",
       .name = "getUser",
       .summary = "One user",
       .needs = P::kSeeUsers,
       .response = "User",
       .handler = api_show_user});
  add({.method = "PUT",
       .path = "/v1/users/{name}",
       .name = "putUser",
       .summary = "Make a user, or set roles in one's clients",
       .needs = P::kManageUsers,
       .request = "UserWish",
       .response = "User",
       .handler = api_put_user});
  add({.method = "GET",
       .path = "/v1/clients",
       .name = "listClients",
       .summary = "Clients and their rules",
       .needs = P::kSeeJobs,
       .response = "ClientList",
       .handler = api_list_clients});
  add({.method = "PUT",
       .path = "/v1/clients/{name}",
       .name = "putClient",
       .summary = "Make a client, or set its rules",
       .needs = P::kManageClients,
       .request = "ClientWish",
       .response = "Client",
       .handler = api_put_client});
  add({.method = "GET",
       .path = "/v1/audit-log",
       .name = "readAuditLog",
       .summary = "Who did what, oldest first",
       .needs = P::kSeeAudit,
       .parameters = {after, limit, {"client", kText, "of this client alone"}},
       .response = "AuditPage",
       .handler = api_audit_log});
  add({.method = "GET",
       .path = "/metrics",
       .name = "metrics",
       .summary = "Prometheus' text format",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .content = kProse,
       .handler = api_metrics});
  add({.method = "GET",
       .path = "/healthz",
       .name = "health",
       .summary = "It answers",
       .content = kProse,
       .handler = api_healthz});
  add({.method = "GET",
       .path = "/readyz",
       .name = "ready",
       .summary = "It takes commands",
       .content = kProse,
       .handler = api_readyz});
  add({.method = "GET",
       .path = "/openapi.json",
       .name = "contract",
       .summary = "This document",
       .response = "Contract",
       .handler = api_openapi});
  return routes;
}

bool is_name_part(std::string_view part) { return part.size() > 2 && part.front() == '{' && part.back() == '}'; }

/// @return what stands for the {…}; none when the path is another.
std::optional<std::vector<std::string>> names_in_path(std::string_view pattern, const std::vector<std::string>& segments) {
  const std::vector<std::string_view> parts = split(pattern.substr(1), '/');
  if (parts.size() != segments.size()) return std::nullopt;
  std::vector<std::string> names;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (is_name_part(parts[i]))
      names.push_back(segments[i]);
    else if (parts[i] != segments[i])
      return std::nullopt;
  }
  return names;
}

}  // namespace

const std::vector<ApiRoute>& api_routes() {
  static const std::vector<ApiRoute> routes = make_routes();
  return routes;
}

RouteMatch match_route(std::string_view method, const std::vector<std::string>& segments) {
  RouteMatch match;
  for (const ApiRoute& route : api_routes()) {
    auto names = names_in_path(route.path, segments);
    if (!names) continue;
    match.path_exists = true;
    if (route.method != method) continue;
    match.route = &route;
    match.names = std::move(*names);
    return match;
  }
  return match;
}

}  // namespace stint
