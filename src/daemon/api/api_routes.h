// The table of routes, and what a handler needs: the API's inside.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "daemon/api/api.h"
#include "daemon/engine/event_hub.h"
#include "daemon/finding_book.h"

namespace stint {

/// One request on its way.
struct ApiCall {
  HttpRequest request;
  Responder responder;
  Principal who;                   ///< no one on public routes
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
  std::shared_ptr<FindingBook> findings;

  /// Writes the audit record, then answers; what only reads is answered at once.
  void answer(const Call& call, HttpReply reply) const;
  void answer(const Call& call, int status, const nlohmann::ordered_json& body) const;
  void answer(const Call& call, const Error& error) const;
  /// Writes the audit record, then does it (on the governor's thread), then answers so.
  void record_then(const Call& call, std::function<Status()> act, int status, const nlohmann::ordered_json& body) const;
  /// A one-time code of whoever asks; `then` hears on the governor's thread whether it was good.
  void show_code(const Call& call, std::string_view code, std::function<void(const Status&)> then) const;
  /// Changes what the governor keeps, with its record, then answers so.
  void change(const Call& call, GovernChange change, int status, const nlohmann::ordered_json& body) const;
};

/// A parameter of the query.
struct ApiParameter {
  std::string_view name;
  std::string_view schema;  ///< JSON Schema
  std::string_view description;
};

/// What a page or a scrape asks every few seconds for ever and changes nothing is not: the record of its event stream says who looks.
enum class Audited { kNo, kYes };

/// Of those who have set up one-time codes: what a stolen token alone must not do.
enum class CodeWanted {
  kNo,
  kYes,       ///< one, and none again for the same operation from the same address for a few minutes
  kEachTime,  ///< what would outlive a thief's minutes: tokens, users, codes
};

struct ApiRoute {
  std::string_view method;
  std::string_view path;  ///< "/v1/jobs/{id}"
  std::string_view name;  ///< operationId
  std::string_view summary;
  std::optional<Permission> needs;  ///< somewhere; none = public
  Audited audited = Audited::kYes;
  CodeWanted code = CodeWanted::kNo;
  bool of_jobs = false;  ///< takes the token that a task of the job has, too
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

/// For /metrics: of the services that they may see.
std::string service_metrics(const ApiContext& api, const Principal& who);

/// The schemas that routes name, as OpenAPI's components.schemas.
std::string_view api_schemas();

// Handlers, by family: api_jobs.cc, api_budgets.cc, api_bills.cc, api_allocation.cc, api_statements.cc, api_watch.cc, api_live.cc, api_services.cc, api_board.cc, api_findings.cc, api_alerts.cc,
// api_govern.cc, api_codes.cc, api_login.cc.
void api_submit(const ApiContext& api, const Call& call);
void api_list_jobs(const ApiContext& api, const Call& call);
void api_show_job(const ApiContext& api, const Call& call);
void api_job_request(const ApiContext& api, const Call& call);
void api_cancel_job(const ApiContext& api, const Call& call);
void api_hold_job(const ApiContext& api, const Call& call);
void api_checkpoint_job(const ApiContext& api, const Call& call);
void api_report_trial(const ApiContext& api, const Call& call);
void api_release_job(const ApiContext& api, const Call& call);
void api_why(const ApiContext& api, const Call& call);
void api_logs(const ApiContext& api, const Call& call);
void api_submit_pipeline(const ApiContext& api, const Call& call);
void api_approve_job(const ApiContext& api, const Call& call);
void api_refuse_job(const ApiContext& api, const Call& call);
void api_list_approvals(const ApiContext& api, const Call& call);
void api_list_budgets(const ApiContext& api, const Call& call);
void api_show_budget(const ApiContext& api, const Call& call);
void api_put_budget(const ApiContext& api, const Call& call);
void api_remove_budget(const ApiContext& api, const Call& call);
void api_overview(const ApiContext& api, const Call& call);
void api_nodes(const ApiContext& api, const Call& call);
void api_changes(const ApiContext& api, const Call& call);
void api_carry_out(const ApiContext& api, const Call& call);
void api_take_back(const ApiContext& api, const Call& call);
void api_drain_node(const ApiContext& api, const Call& call);
void api_node_up(const ApiContext& api, const Call& call);
void api_capacity(const ApiContext& api, const Call& call);
void api_sweep(const ApiContext& api, const Call& call);
void api_gpus(const ApiContext& api, const Call& call);
void api_gpu_minutes(const ApiContext& api, const Call& call);
void api_services(const ApiContext& api, const Call& call);
void api_queues(const ApiContext& api, const Call& call);
void api_board(const ApiContext& api, const Call& call);
void api_timeline(const ApiContext& api, const Call& call);
void api_spending(const ApiContext& api, const Call& call);
void api_events(const ApiContext& api, const Call& call);
void api_alerts(const ApiContext& api, const Call& call);
void api_list_silences(const ApiContext& api, const Call& call);
void api_make_silence(const ApiContext& api, const Call& call);
void api_expire_silence(const ApiContext& api, const Call& call);
void api_metrics(const ApiContext& api, const Call& call);
void api_healthz(const ApiContext& api, const Call& call);
void api_readyz(const ApiContext& api, const Call& call);
void api_openapi(const ApiContext& api, const Call& call);
void api_findings(const ApiContext& api, const Call& call);
void api_put_findings(const ApiContext& api, const Call& call);
void api_statements(const ApiContext& api, const Call& call);
void api_statement_page(const ApiContext& api, const Call& call);
void api_write_statements(const ApiContext& api, const Call& call);
void api_decide_finding(const ApiContext& api, const Call& call);
void api_audit_heads(const ApiContext& api, const Call& call);
void api_begin_audit(const ApiContext& api, const Call& call);
void api_bills(const ApiContext& api, const Call& call);
void api_allocation(const ApiContext& api, const Call& call);
void api_bills_csv(const ApiContext& api, const Call& call);
void api_show_login(const ApiContext& api, const Call& call);
void api_begin_login(const ApiContext& api, const Call& call);
void api_end_login(const ApiContext& api, const Call& call);
void api_me(const ApiContext& api, const Call& call);
void api_list_tokens(const ApiContext& api, const Call& call);
void api_make_token(const ApiContext& api, const Call& call);
void api_revoke_token(const ApiContext& api, const Call& call);
void api_enable_codes(const ApiContext& api, const Call& call);
void api_confirm_codes(const ApiContext& api, const Call& call);
void api_disable_codes(const ApiContext& api, const Call& call);
void api_list_users(const ApiContext& api, const Call& call);
void api_show_user(const ApiContext& api, const Call& call);
void api_put_user(const ApiContext& api, const Call& call);
void api_list_clients(const ApiContext& api, const Call& call);
void api_put_client(const ApiContext& api, const Call& call);
void api_audit_log(const ApiContext& api, const Call& call);

// What several of them need.

/// A command of whoever asks, which is done again when it is asked for twice.
CommandInfo by_caller(const Call& call);
/// An integer parameter of the query, `fallback` when it is absent. @return error outside of the range.
Result<int64_t> integer_parameter(const Call& call, std::string_view name, int64_t fallback, int64_t least, int64_t most);
/// The job that is called so: "agency-17", or just 17 by those who see one client alone. none: none, or none that they may see.
std::optional<JobView> job_called(const Engine& engine, const Principal& who, std::string_view name);
/// What is said of a job that is not there, or not for this user; of a number that several clients have, which jobs it may mean.
Error no_such_job(const Engine& engine, const Principal& who, std::string_view id);
bool may_see(const Principal& who, const JobView& job);
/// They may approve or refuse the job: it waits for that and is somebody else's, or they may approve all clients' jobs.
bool may_decide(const Principal& who, const JobView& job);
/// When the daemon first started with this state: there is nothing to show of before.
Instant first_started(const ApiContext& api);
bool may_see_queue(const Principal& who, const QueueView& queue);
/// Newest first over the clients the caller sees.
JobPage jobs_seen(const Engine& engine, const Principal& who, const JobFilter& filter, int64_t before, size_t limit);
/// As they are shown: those that are switched off are off.
std::vector<NodeView> nodes_shown(const ApiContext& api, const Engine& engine);
/// Of a machine a user of some clients sees what it is, and which of their own jobs are on it: not how busy others keep it.
nlohmann::ordered_json node_for(const Principal& who, const NodeView& node, const Engine& engine);
/// The body as an object. @return error when it is none, or has other fields than these.
Result<nlohmann::json> body_object(const Call& call, std::span<const std::string_view> fields);

}  // namespace stint
