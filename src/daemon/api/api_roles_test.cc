// Each route of the API against each role: what it answers, and that a token without the scope is refused.
#include <gmock/gmock.h>

#include "daemon/api/api_routes.h"
#include "daemon/api/testing_api.h"

namespace stint {
namespace {

class ApiRolesTest : public ::testing::Test, protected TestingApi {};

/// The route's path with something for each of its {…}: `job` for jobs.
std::string path_for(const ApiRoute& route, const std::string& job) {
  std::string path(route.path);
  const auto replace = [&path](std::string_view what, const std::string& with) {
    if (const size_t at = path.find(what); at != std::string::npos) path.replace(at, what.size(), with);
  };
  if (path.starts_with("/v1/jobs")) replace("{id}", job);
  if (path.starts_with("/v1/findings")) replace("{id}", "F-00000001");
  if (path.starts_with("/v1/gpus")) replace("{id}", "n0:0");
  replace("{id}", "0123456789abcdef");
  if (path.starts_with("/v1/nodes")) replace("{name}", "n0");
  if (path.starts_with("/v1/users")) replace("{name}", "submitter@acme");
  replace("{name}", "acme");
  replace("{month}", "2026-10");
  if (path.starts_with("/allocation")) path += "?window=today";
  return path;
}

std::string body_for(const ApiRoute& route) {
  if (route.request == "JobRequest") return R"({"queue":"acme","command":["true"],"gpus":1})";
  if (route.request == "Pipeline") return R"({"queue":"acme","jobs":[{"name":"a","command":["true"]}]})";
  if (route.request == "BudgetWish") return R"({"queue":"acme","per_month":"1000000"})";
  if (route.request == "SilenceWish") return R"({"matchers":["node=n0"],"for":"1h"})";
  if (route.request == "UserWish") return R"({"roles":["submitter@acme"]})";
  if (route.request == "Audit")
    return R"({"schema":"stint-audit/1","findings":[{"id":"F-00000001","title":"Stop two idle machines"}]})";
  if (route.request == "TrialReport") return R"({"rung":0,"loss":0.5})";
  if (route.request == "StatementWish") return R"({"month":"2026-10"})";
  if (route.request == "ChangeWish") return R"({"title":"Stop n0","machines":["n0"]})";
  if (route.request == "DecisionWish") return R"({"decision":"approved"})";
  return route.method == "GET" || route.request.empty() ? "" : "{}";
}

// What the answer must be, by hand: route → role → status, where the role is in acme and the thing is acme's.
// v viewer, s submitter (of their own), c client-admin, o operator, a auditor; then the same of zoo for acme's things.
struct Expected {
  const char* name;
  int v, s, c, o, a;
  int foreign_v, foreign_s, foreign_c;
};
// clang-format off: one route a line
const Expected kExpected[] = {
    {"submitJob", 403, 201, 201, 201, 403, 403, 422, 422},
    {"listJobs", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getJob", 200, 200, 200, 200, 200, 404, 404, 404},
    {"getJobRequest", 403, 200, 200, 200, 403, 403, 404, 404},
    {"cancelJob", 403, 200, 200, 200, 403, 403, 404, 404},
    {"holdJob", 403, 200, 200, 200, 403, 403, 404, 404},
    {"releaseJob", 403, 200, 200, 200, 403, 403, 404, 404},
    {"approveJob", 403, 403, 409, 409, 403, 403, 403, 404},  // it needs none
    {"refuseJob", 403, 403, 409, 409, 403, 403, 403, 404},
    {"listApprovals", 200, 200, 200, 200, 200, 200, 200, 200},
    {"submitPipeline", 403, 201, 201, 201, 403, 403, 422, 422},
    {"jobSaved", 403, 200, 200, 200, 403, 403, 404, 404},
    {"reportTrial", 403, 409, 409, 409, 403, 403, 404, 404},  // it is no trial
    {"explainJob", 200, 200, 200, 200, 200, 404, 404, 404},
    {"getJobLog", 200, 200, 200, 200, 403, 404, 404, 404},
    {"getOverview", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listNodes", 200, 200, 200, 200, 200, 200, 200, 200},
    {"drainNode", 403, 403, 403, 200, 403, 403, 403, 403},
    {"nodeUp", 403, 403, 403, 200, 403, 403, 403, 403},
    {"listCapacity", 403, 403, 403, 200, 403, 403, 403, 403},
    {"sweepCapacity", 403, 403, 403, 409, 403, 403, 403, 403},  // it makes none
    {"listGpus", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listServices", 200, 200, 200, 200, 200, 200, 200, 200},
    {"gpuMinutes", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listQueues", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getBoard", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getTimeline", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getSpending", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listBudgets", 200, 200, 200, 200, 200, 200, 200, 200},
    {"putBudget", 403, 403, 403, 200, 403, 403, 403, 403},
    {"getBudget", 200, 200, 200, 200, 200, 404, 404, 404},
    {"removeBudget", 403, 403, 403, 200, 403, 403, 403, 403},
    {"listEvents", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getFindings", 403, 403, 403, 200, 200, 403, 403, 403},
    {"putFindings", 403, 403, 403, 200, 403, 403, 403, 403},
    {"decideFinding", 403, 403, 403, 200, 403, 403, 403, 403},
    {"beginAudit", 403, 403, 403, 202, 403, 403, 403, 403},
    {"listChanges", 403, 403, 403, 200, 403, 403, 403, 403},
    {"carryOutChange", 403, 403, 403, 200, 403, 403, 403, 403},
    {"takeBackChange", 403, 403, 403, 200, 403, 403, 403, 403},
    {"getBills", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getBillCsv", 200, 200, 200, 200, 200, 404, 404, 404},
    {"getAllocation", 200, 200, 200, 200, 200, 200, 200, 200},
    {"computeAllocation", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listStatements", 200, 200, 200, 200, 200, 200, 200, 200},
    {"writeStatements", 403, 403, 403, 202, 403, 403, 403, 403},
    {"getStatement", 200, 200, 200, 200, 200, 404, 404, 404},
    {"listAlerts", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listSilences", 200, 200, 200, 200, 200, 200, 200, 200},
    {"makeSilence", 403, 403, 403, 201, 403, 403, 403, 403},
    {"expireSilence", 403, 403, 403, 404, 403, 403, 403, 403},  // there is none of that id
    {"whoAmI", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listTokens", 200, 200, 200, 200, 200, 200, 200, 200},
    {"makeToken", 201, 201, 201, 201, 201, 201, 201, 201},
    {"revokeToken", 404, 404, 404, 404, 404, 404, 404, 404},  // there is none of that id
    {"enableCodes", 201, 201, 201, 201, 201, 201, 201, 201},
    {"confirmCodes", 422, 422, 422, 422, 422, 422, 422, 422},  // with no good code
    {"disableCodes", 404, 200, 404, 404, 404, 404, 404, 404},  // of the submitter, who has some until then
    {"showLogin", 200, 200, 200, 200, 200, 200, 200, 200},
    {"beginLogin", 400, 400, 400, 400, 400, 400, 400, 400},  // without the page's header
    {"endLogin", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listUsers", 403, 403, 200, 200, 200, 403, 403, 200},
    {"getUser", 403, 403, 200, 200, 200, 403, 403, 404},
    {"putUser", 403, 403, 200, 200, 403, 403, 403, 422},
    {"listClients", 200, 200, 200, 200, 200, 200, 200, 200},
    {"putClient", 403, 403, 403, 200, 403, 403, 403, 403},
    {"readAuditLog", 403, 403, 403, 403, 200, 403, 403, 403},
    {"listAuditHeads", 403, 403, 403, 403, 200, 403, 403, 403},
    {"metrics", 200, 200, 200, 200, 200, 200, 200, 200},
    {"health", 200, 200, 200, 200, 200, 200, 200, 200},
    {"ready", 200, 200, 200, 200, 200, 200, 200, 200},
    {"contract", 200, 200, 200, 200, 200, 200, 200, 200},
};
// clang-format on

TEST_F(ApiRolesTest, EveryRouteAnswersEveryRoleAsTheTableSays) {
  ASSERT_EQ(std::size(kExpected), api_routes().size());
  for (size_t i = 0; i < std::size(kExpected); ++i) {
    const ApiRoute& route = api_routes()[i];
    const Expected& expected = kExpected[i];
    ASSERT_EQ(route.name, expected.name);
    const auto status = [&](const std::string& roles) {
      // A separate job for each, so that what one did does not matter to the next; release wants one that is held.
      const std::string_view hold = route.name == "releaseJob" ? R"(,"on_hold":true)" : "";
      const std::string job = submit("submitter@acme", "acme", std::string(hold));
      const Answer answer = as(roles, std::string(route.method), path_for(route, job), body_for(route));
      if (answer.status >= 400) {
        EXPECT_EQ(answer.parsed()["status"], answer.status) << answer.body;
      }
      return answer.status;
    };
    EXPECT_EQ(status("viewer@acme"), expected.v) << route.name;
    EXPECT_EQ(status("submitter@acme"), expected.s) << route.name;
    EXPECT_EQ(status("client-admin@acme"), expected.c) << route.name;
    EXPECT_EQ(status("operator"), expected.o) << route.name;
    EXPECT_EQ(status("auditor"), expected.a) << route.name;
    EXPECT_EQ(status("viewer@zoo"), expected.foreign_v) << route.name;
    EXPECT_EQ(status("submitter@zoo"), expected.foreign_s) << route.name;
    EXPECT_EQ(status("client-admin@zoo"), expected.foreign_c) << route.name;
    const std::string path = path_for(route, "acme-1");
    const int stranger = route.needs ? 401 : 200;
    for (const char* token : {"", "stint_0", "x"})
      EXPECT_EQ(call(token, std::string(route.method), path, body_for(route)).status, stranger) << route.name;
  }
}

TEST_F(ApiRolesTest, ATokenWithoutTheScopeIsRefusedEverywhere) {
  const std::string job = submit("submitter@acme", "acme");
  for (const ApiRoute& route : api_routes()) {
    if (!route.needs) continue;
    for (int s = 0; s < kScopes; ++s) {
      const auto scope = static_cast<Scope>(s);
      const std::string token = token_of("operator,auditor", std::string(name_of(scope)));
      const int status = call(token, std::string(route.method), path_for(route, job), body_for(route)).status;
      EXPECT_EQ(status != 403, scope == scope_of(*route.needs)) << route.name << " " << name_of(scope) << " " << status;
    }
  }
}

}  // namespace
}  // namespace stint
