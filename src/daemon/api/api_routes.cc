#include "daemon/api/api_routes.h"

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
  const ApiParameter hours{"hours", R"({"type":"integer","minimum":1,"maximum":336,"default":6})", "back from now"};
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
                      {"study", kText, "trials of this study"},
                      {"array", kText, "of this array"},
                      {"arrays", R"({"enum":["apart","as-one"],"default":"apart"})",
                       "as-one: an array of which a job is wanted comes as a whole, with how many of its jobs are in each state"},
                      limit,
                      {"cursor", kText, "`next` of the page before"}},
       .response = "JobPage",
       .handler = api_list_jobs});
  add({.method = "GET",
       .path = "/v1/jobs/{id}",
       .name = "getJob",
       .summary = "One job, or an array as a whole",
       .needs = P::kSeeJobs,
       .response = "Job",
       .handler = api_show_job});
  add({.method = "GET",
       .path = "/v1/jobs/{id}/request",
       .name = "getJobRequest",
       .summary = "What submits the same job once more",
       .needs = P::kControl,
       .response = "JobRequest",
       .handler = api_job_request});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/cancel",
       .name = "cancelJob",
       .summary = "End it, or take it out of the queue; of an array all jobs that have not ended",
       .needs = P::kControl,
       .response = "Job",
       .handler = api_cancel_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/hold",
       .name = "holdJob",
       .summary = "Keep it from starting; of an array all jobs that have not ended",
       .needs = P::kControl,
       .response = "Job",
       .handler = api_hold_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/release",
       .name = "releaseJob",
       .summary = "Let it start again; of an array all jobs that have not ended",
       .needs = P::kControl,
       .response = "Job",
       .handler = api_release_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/approve",
       .name = "approveJob",
       .summary = "Let a job that needs approval wait for room",
       .needs = P::kApprove,
       .code = CodeWanted::kYes,
       .response = "Job",
       .handler = api_approve_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/refuse",
       .name = "refuseJob",
       .summary = "End a job that needs approval",
       .needs = P::kApprove,
       .request = "Refusal",
       .response = "Job",
       .handler = api_refuse_job});
  add({.method = "GET",
       .path = "/v1/approvals",
       .name = "listApprovals",
       .summary = "Jobs that wait for approval, oldest first",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .response = "ApprovalList",
       .handler = api_list_approvals});
  add({.method = "POST",
       .path = "/v1/pipelines",
       .name = "submitPipeline",
       .summary = "Submit jobs that wait for each other, all or none",
       .needs = P::kSubmit,
       .request = "Pipeline",
       .response = "PipelineJobs",
       .status = 201,
       .handler = api_submit_pipeline});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/checkpoint",
       .name = "jobSaved",
       .summary = "It has saved its work: less is lost when it is stopped",
       .needs = P::kControl,
       .of_jobs = true,
       .response = "Job",
       .handler = api_checkpoint_job});
  add({.method = "POST",
       .path = "/v1/jobs/{id}/trial",
       .name = "reportTrial",
       .summary = "A trial has reached a rung of its study; the hopeless ones are stopped",
       .needs = P::kControl,
       .of_jobs = true,
       .request = "TrialReport",
       .response = "Job",
       .handler = api_report_trial});
  add({.method = "GET",
       .path = "/v1/jobs/{id}/why",
       .name = "explainJob",
       .summary = "Why it waits, what would start it, and what that costs; of an array its next job",
       .needs = P::kSeeJobs,
       .response = "Why",
       .handler = api_why});
  add({.method = "GET",
       .path = "/v1/jobs/{id}/logs",
       .name = "getJobLog",
       .summary = "What it prints, a piece at a time",
       .needs = P::kSeeLogs,
       .parameters = {{"stream", R"({"enum":["output","error","both"],"default":"output"})",
                       "both: in the order in which they came"},
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
       .code = CodeWanted::kYes,
       .response = "Node",
       .handler = api_drain_node});
  add({.method = "POST",
       .path = "/v1/nodes/{name}/up",
       .name = "nodeUp",
       .summary = "Take it back after a drain",
       .needs = P::kRunNodes,
       .code = CodeWanted::kYes,
       .response = "Node",
       .handler = api_node_up});
  add({.method = "GET",
       .path = "/v1/capacity",
       .name = "listCapacity",
       .summary = "Machines that pools have made or switched, and what they cannot have",
       .needs = P::kRunNodes,
       .response = "Capacity",
       .handler = api_capacity});
  add({.method = "POST",
       .path = "/v1/capacity/sweep",
       .name = "sweepCapacity",
       .summary = "Have all listed that there is, and end what the daemon does not know",
       .needs = P::kRunNodes,
       .response = "Capacity",
       .handler = api_sweep});
  add({.method = "GET",
       .path = "/v1/gpus",
       .name = "listGpus",
       .summary = "GPUs: what they do now, who holds them, and where that is known from",
       .needs = P::kSeeNodes,
       .audited = Audited::kNo,
       .response = "GpuList",
       .handler = api_gpus});
  add({.method = "GET",
       .path = "/v1/services",
       .name = "listServices",
       .summary = "Services whose replicas the daemon runs, with where they answer",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .response = "ServiceList",
       .handler = api_services});
  add({.method = "GET",
       .path = "/v1/gpus/{id}/minutes",
       .name = "gpuMinutes",
       .summary = "What a GPU did, minute by minute",
       .needs = P::kSeeNodes,
       .parameters = {{"metric", kText, "one metric; all when absent"},
                      {"from", R"({"type":"string","format":"date-time"})", "an hour ago when absent"}},
       .response = "GpuMinutes",
       .handler = api_gpu_minutes});
  add({.method = "GET",
       .path = "/v1/queues",
       .name = "listQueues",
       .summary = "Queues with their use and their money",
       .needs = P::kSeeJobs,
       .response = "QueueList",
       .handler = api_queues});
  add({.method = "GET",
       .path = "/v1/board",
       .name = "getBoard",
       .summary = "All that is so now in one answer: machines, queues, jobs, money per hour",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .parameters = {{"why", R"({"type":"integer","minimum":0,"maximum":20,"default":0})",
                       "of so many waiting jobs, why they wait and when they start"}},
       .response = "Board",
       .handler = api_board});
  add({.method = "GET",
       .path = "/v1/timeline",
       .name = "getTimeline",
       .summary = "What ran where and when",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .parameters = {hours, {"limit", R"({"type":"integer","minimum":1,"maximum":10000,"default":2000})", "the latest so many"}},
       .response = "Timeline",
       .handler = api_timeline});
  add({.method = "GET",
       .path = "/v1/spending",
       .name = "getSpending",
       .summary = "What runs have cost over the last hours, piece by piece",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .parameters = {hours, {"pieces", R"({"type":"integer","minimum":1,"maximum":500,"default":72})", "of equal length"}},
       .response = "Spending",
       .handler = api_spending});
  add({.method = "GET",
       .path = "/v1/budgets",
       .name = "listBudgets",
       .summary = "Budgets and how they stand this month",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .response = "BudgetList",
       .handler = api_list_budgets});
  add({.method = "PUT",
       .path = "/v1/budgets/{name}",
       .name = "putBudget",
       .summary = "Set a budget that the configuration does not have",
       .needs = P::kManageClients,
       .code = CodeWanted::kYes,
       .request = "BudgetWish",
       .response = "Budget",
       .handler = api_put_budget});
  add({.method = "GET",
       .path = "/v1/budgets/{name}",
       .name = "getBudget",
       .summary = "One budget",
       .needs = P::kSeeJobs,
       .response = "Budget",
       .handler = api_show_budget});
  add({.method = "DELETE",
       .path = "/v1/budgets/{name}",
       .name = "removeBudget",
       .summary = "Remove a budget that was set",
       .needs = P::kManageClients,
       .code = CodeWanted::kYes,
       .response = "RemovedBudget",
       .handler = api_remove_budget});
  add({.method = "GET",
       .path = "/v1/events",
       .name = "listEvents",
       .summary = "What happened; with Accept: text/event-stream, what happens, as it does",
       .needs = P::kSeeJobs,
       .parameters = {{"after", kText, "those behind the event of this id; else Last-Event-ID of a stream"},
                      {"last", R"({"type":"integer","minimum":0,"maximum":100000})", "without `after`: the last so many, and on"},
                      limit},
       .response = "EventPage",
       .handler = api_events});
  add({.method = "GET",
       .path = "/v1/findings",
       .name = "getFindings",
       .summary = "The last audit, and what was decided on its findings",
       .needs = P::kSeeJobs,
       .response = "Findings",
       .handler = api_findings});
  add({.method = "PUT",
       .path = "/v1/findings",
       .name = "putFindings",
       .summary = "What `stint audit --json` has written, in place of the audit before",
       .needs = P::kRunNodes,
       .request = "Audit",
       .response = "FindingsTaken",
       .handler = api_put_findings});
  add({.method = "POST",
       .path = "/v1/findings/{id}/decision",
       .name = "decideFinding",
       .summary = "Approve or dismiss a finding, or take that back",
       .needs = P::kRunNodes,
       .request = "DecisionWish",
       .response = "Decision",
       .handler = api_decide_finding});
  add({.method = "POST",
       .path = "/v1/findings/audit",
       .name = "beginAudit",
       .summary = "Begins an audit of what the daemon has recorded; its findings take the place of those that are there",
       .needs = P::kRunNodes,
       .response = "BackgroundRun",
       .status = 202,
       .handler = api_begin_audit});
  add({.method = "GET",
       .path = "/v1/changes",
       .name = "listChanges",
       .summary = "Changes of the fleet that were carried out here, by id",
       .needs = P::kRunNodes,
       .response = "Changes",
       .handler = api_changes});
  add({.method = "PUT",
       .path = "/v1/changes/{id}",
       .name = "carryOutChange",
       .summary =
           "Carry a change out: its machines take no new work, or none in hours of the week, and are switched off where the "
           "daemon can; services have fewer replicas, jobs shorter limits. The same again does only what is not done yet",
       .needs = P::kRunNodes,
       .code = CodeWanted::kYes,
       .request = "ChangeWish",
       .response = "CarriedChange",
       .handler = api_carry_out});
  add({.method = "DELETE",
       .path = "/v1/changes/{id}",
       .name = "takeBackChange",
       .summary = "Take a change back: what it has drained takes work again, its limits are no more",
       .needs = P::kRunNodes,
       .code = CodeWanted::kYes,
       .response = "CarriedChange",
       .handler = api_take_back});
  const ApiParameter month{"month", R"({"type":"string","pattern":"^[0-9]{4}-[0-9]{2}$"})", "UTC month; this one when absent"};
  add({.method = "GET",
       .path = "/v1/bills",
       .name = "getBills",
       .summary = "What each client pays for a calendar month, by queue and machine, from what was posted",
       .needs = P::kSeeJobs,
       .parameters = {month},
       .response = "Bills",
       .handler = api_bills});
  add({.method = "GET",
       .path = "/v1/bills/{name}/csv",
       .name = "getBillCsv",
       .summary = "One client's bill as CSV",
       .needs = P::kSeeJobs,
       .parameters = {month},
       .content = "text/csv",
       .handler = api_bills_csv});
  constexpr std::string_view kSwitch = R"({"enum":["true","false"],"default":"false"})";
  const std::vector<ApiParameter> allocation_parameters = {
      {"window", kText,
       "today, yesterday, week, month, lastweek, lastmonth, 12h, 7d, or two instants with a comma between; wanted"},
      {"aggregate", kText,
       "namespace, controller, controllerKind, pod, container, node, team, project, environment, client, label:KEY, or several "
       "with "
       "commas between; namespace,pod,container when absent"},
      {"step", kText, "one set of rows for each such time, as 1d; the window when absent"},
      {"accumulate", kSwitch, "the steps as one set"},
      {"includeIdle", kSwitch, "idle money as __idle__; for roles in all clients"},
      {"shareIdle", kSwitch, "idle money spread over the rows by compute cost; for roles in all clients"}};
  for (const auto& [path, name] :
       {std::pair{"/allocation", "getAllocation"}, std::pair{"/allocation/compute", "computeAllocation"}})
    add({.method = "GET",
         .path = path,
         .name = name,
         .summary = "Costs by namespace, controller, pod or label in the shape of OpenCost's API, of the clients the caller sees",
         .needs = P::kSeeJobs,
         .parameters = allocation_parameters,
         .response = "Allocations",
         .handler = api_allocation});
  add({.method = "GET",
       .path = "/v1/statements",
       .name = "listStatements",
       .summary = "Clients' statements of past months that were written",
       .needs = P::kSeeJobs,
       .response = "Statements",
       .handler = api_statements});
  add({.method = "POST",
       .path = "/v1/statements",
       .name = "writeStatements",
       .summary = "Begins to write each client's statement of a month; they take the place of those that are there",
       .needs = P::kManageClients,
       .request = "StatementWish",
       .response = "BackgroundRun",
       .status = 202,
       .handler = api_write_statements});
  add({.method = "GET",
       .path = "/v1/statements/{month}/{name}",
       .name = "getStatement",
       .summary = "One client's statement of a month, to print or send",
       .needs = P::kSeeJobs,
       .content = "text/html",
       .handler = api_statement_page});
  add({.method = "GET",
       .path = "/v1/alerts",
       .name = "listAlerts",
       .summary = "Alerts that fire, worst first, and how their receivers fare",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .parameters = {{"state", R"({"enum":["firing","all"],"default":"firing"})", "all: those that have ended, too"}, limit},
       .response = "AlertList",
       .handler = api_alerts});
  add({.method = "GET",
       .path = "/v1/silences",
       .name = "listSilences",
       .summary = "Silences; those over for a day are left out",
       .needs = P::kSeeJobs,
       .audited = Audited::kNo,
       .response = "SilenceList",
       .handler = api_list_silences});
  add({.method = "POST",
       .path = "/v1/silences",
       .name = "makeSilence",
       .summary = "Keep alerts from receivers for a time",
       .needs = P::kSilenceAlerts,
       .request = "SilenceWish",
       .response = "Silence",
       .status = 201,
       .handler = api_make_silence});
  add({.method = "DELETE",
       .path = "/v1/silences/{id}",
       .name = "expireSilence",
       .summary = "End it now",
       .needs = P::kSilenceAlerts,
       .response = "Silence",
       .handler = api_expire_silence});
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
       .code = CodeWanted::kEachTime,
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
  add({.method = "POST",
       .path = "/v1/codes",
       .name = "enableCodes",
       .summary = "Begin to use one-time codes beside tokens; their secret is shown this once",
       .needs = P::kOwnTokens,
       .response = "NewCodes",
       .status = 201,
       .handler = api_enable_codes});
  add({.method = "POST",
       .path = "/v1/codes/confirm",
       .name = "confirmCodes",
       .summary = "Show the first code: from then on they are asked for",
       .needs = P::kOwnTokens,
       .request = "Code",
       .response = "Codes",
       .handler = api_confirm_codes});
  add({.method = "DELETE",
       .path = "/v1/users/{name}/codes",
       .name = "disableCodes",
       .summary = "Ask them for no more codes: oneself, or operators for those who lost theirs",
       .needs = P::kOwnTokens,
       .code = CodeWanted::kEachTime,
       .response = "Codes",
       .handler = api_disable_codes});
  add({.method = "GET",
       .path = "/v1/login",
       .name = "showLogin",
       .summary = "How people log in to the page: through which provider, and whether this browser has",
       .response = "Login",
       .handler = api_show_login});
  add({.method = "POST",
       .path = "/v1/login",
       .name = "beginLogin",
       .summary = "Sign this browser in with the token shown; for the page: the header Stint-Page must be there",
       .needs = P::kSeeNodes,
       .response = "Login",
       .handler = api_begin_login});
  add({.method = "DELETE",
       .path = "/v1/login",
       .name = "endLogin",
       .summary = "Log this browser out",
       .response = "Login",
       .handler = api_end_login});
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
       .code = CodeWanted::kEachTime,
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
       .code = CodeWanted::kYes,
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
       .path = "/v1/audit-log/heads",
       .name = "listAuditHeads",
       .summary = "What signed heads, kept outside of the log, say it was",
       .needs = P::kSeeAudit,
       .response = "AuditHeads",
       .handler = api_audit_heads});
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
