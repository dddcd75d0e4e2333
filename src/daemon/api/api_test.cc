// The API over HTTP, on an engine with simulated machines: what its routes do, and what they never give away (roles: api_roles_test.cc).
#include "daemon/api/api.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <thread>

#include "base/text.h"
#include "daemon/api/api_routes.h"
#include "daemon/api/testing_api.h"
#include "daemon/live/live_telemetry.h"
#include "host/totp.h"

namespace stint {
namespace {

using nlohmann::json;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class ApiTest : public ::testing::Test, protected TestingApi {};

TEST_F(ApiTest, ARefusalSaysItsFiguresForPrograms) {
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/b", R"({"queue":"acme","per_month":"3"})").status, 200);
  const std::string job = job_json("acme", R"(,"time_limit":"1h")");  // one of 8 GPUs at 16 an hour
  EXPECT_EQ(as("submitter@acme", "POST", "/v1/jobs", job).status, 201);
  const Answer refused = as("submitter@acme", "POST", "/v1/jobs", job);
  EXPECT_EQ(refused.status, 422);
  const json why = refused.parsed()["refusal"];
  EXPECT_EQ(why["by"], "budget");
  EXPECT_EQ(why["name"], "b");
  EXPECT_EQ(why["unit"], "USD");
  const auto number = [&why](const char* field) { return *parse_number(why[field].get<std::string>()); };
  EXPECT_EQ(number("limit"), 3);
  EXPECT_NEAR(number("used"), 2, 0.01);
  EXPECT_EQ(number("asked"), 2);
  // Of a budget of all, its users learn no figures.
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/all", R"({"per_month":"1"})").status, 200);
  const json other = as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo", R"(,"time_limit":"1h")")).parsed()["refusal"];
  EXPECT_EQ(other["name"], "all");
  EXPECT_TRUE(other["limit"].is_null());
  EXPECT_TRUE(other["used"].is_null());
}

TEST_F(ApiTest, ATokenShownToThePageOpensASessionThatEndsWithIt) {
  const std::string token = token_of("viewer@acme");
  const auto login = call(token, "POST", "/v1/login", "", {{"Stint-Page", "1"}});
  ASSERT_EQ(login.status, 200) << login.body;
  EXPECT_EQ(login.parsed(), json::parse(R"({"provider":null,"signed_in":true})"));
  std::string cookie;
  for (const auto& [name, value] : login.headers)
    if (equals_ignoring_case(name, "set-cookie")) cookie = value;
  // The test's tokens are good for an hour.
  EXPECT_THAT(cookie, ::testing::MatchesRegex("stint-session=[0-9a-f]{64}; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict"));
  const std::vector<HttpField> page = {{"Cookie", cookie.substr(0, cookie.find(';'))}, {"Stint-Page", "1"}};
  EXPECT_EQ(call("", "GET", "/v1/me", "", page).parsed()["user"], "viewer@acme");
  EXPECT_EQ(call("", "GET", "/v1/login", "", page).parsed()["signed_in"], true);
  // Another site's form or picture sends the cookie, but no header.
  EXPECT_EQ(call("", "GET", "/v1/me", "", {page[0]}).status, 401);
  EXPECT_EQ(call(token, "POST", "/v1/login").status, 400);
  // Who has only a cookie opens no further session.
  EXPECT_EQ(call("", "POST", "/v1/login", "", page).status, 400);
  EXPECT_THAT(as("auditor", "GET", "/v1/audit-log?limit=1000").body,
              HasSubstr("signed in to the page until 2027-01-15T09:00:00Z"));
  EXPECT_EQ(call("", "DELETE", "/v1/login", "", page).parsed()["signed_in"], false);
  EXPECT_EQ(call("", "GET", "/v1/me", "", page).status, 401);
  // Revoked, the token takes its sessions with it.
  const auto second = call(token, "POST", "/v1/login", "", {{"Stint-Page", "1"}});
  std::vector<HttpField> other = {{"Stint-Page", "1"}};
  for (const auto& [name, value] : second.headers)
    if (equals_ignoring_case(name, "set-cookie")) other.emplace_back("Cookie", value.substr(0, value.find(';')));
  const json me = call("", "GET", "/v1/me", "", other).parsed();
  EXPECT_EQ(call(token, "DELETE", "/v1/tokens/" + me["token"].get<std::string>()).status, 200);
  EXPECT_EQ(call("", "GET", "/v1/me", "", other).status, 401);
}

TEST_F(ApiTest, TrialsReportAndTheHopelessOneIsStopped) {
  std::vector<std::string> trials;
  for (int i = 0; i < 3; ++i)
    trials.push_back(submit("submitter@acme", "acme", R"(,"study":"lr","rung_last":9)"));
  const auto report = [this](const std::string& job, const std::string& body, const char* who = "submitter@acme") {
    return as(who, "POST", fmt::format("/v1/jobs/{}/trial", job), body);
  };
  EXPECT_EQ(report(trials[0], R"({"rung":0,"loss":0.5})").status, 200);
  EXPECT_EQ(report(trials[1], R"({"rung":0,"loss":0.25})").status, 200);
  EXPECT_EQ(report(trials[1], R"({"rung":0,"loss":99})").status, 200);  // again: nothing new
  // With three of them the best one goes on: 1 in 3.
  const json last = report(trials[2], R"({"rung":0,"loss":0.75})").parsed();
  EXPECT_THAT(last["state"], ::testing::AnyOf("leaving", "stopped"));
  EXPECT_EQ(last["trial"]["rungs"], json({1, 3, 9}));
  const json list = as("submitter@acme", "GET", "/v1/jobs?study=lr").parsed()["jobs"];
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[1]["id"], trials[1]);
  EXPECT_EQ(list[1]["trial"]["reports"][0]["loss"], 0.25);
  EXPECT_EQ(list[1]["trial"]["reports"][0]["reached"], 1);
  EXPECT_EQ(as("submitter@acme", "GET", "/v1/jobs?study=other").parsed()["jobs"].size(), 0U);
  EXPECT_EQ(as("submitter@zoo", "GET", "/v1/jobs?study=lr").parsed()["jobs"].size(), 0U);
  for (const char* body : {R"({"rung":3,"loss":1})", R"({"rung":-1,"loss":1})", R"({"rung":0.5,"loss":1})", R"({"rung":1})",
                           R"({"rung":1,"loss":1e13})", R"({"rung":1,"loss":"x"})", R"({"rung":1,"loss":1,"x":1})"})
    EXPECT_EQ(report(trials[1], body).status, 422) << body;
  EXPECT_EQ(report(trials[1], R"({"rung":1,"loss":1})", "submitter@zoo").status, 404);
  // One study has one set of rungs; another client's of the same name is another.
  EXPECT_EQ(as("submitter@acme", "POST", "/v1/jobs", job_json("acme", R"(,"study":"lr")")).status, 409);
  EXPECT_EQ(as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo", R"(,"study":"lr")")).status, 201);
}

TEST_F(ApiTest, ASubmitterControlsTheirOwnJobsOnly) {
  const std::string admins = submit("client-admin@acme", "acme");
  for (const char* what : {"cancel", "hold", "release"})
    EXPECT_EQ(as("submitter@acme", "POST", fmt::format("/v1/jobs/{}/{}", admins, what)).status, 403) << what;
  const std::string own = submit("submitter@acme", "acme/vision");
  const Answer cancelled = as("submitter@acme", "POST", fmt::format("/v1/jobs/{}/cancel", own));
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
}

TEST_F(ApiTest, UnknownAndForbiddenAnswerAlike) {
  const std::string job = submit("submitter@acme", "acme/vision");
  const auto normal = [](Answer answer, const std::string& id) {
    for (size_t at = answer.body.find(id); at != std::string::npos; at = answer.body.find(id))
      answer.body.replace(at, id.size(), "X");
    return fmt::format("{} {}", answer.status, answer.body);
  };
  for (const char* roles : {"viewer@zoo", "submitter@zoo", "client-admin@zoo"})
    for (const auto& [method, what] : {std::pair{"GET", ""},
                                       {"GET", "/why"},
                                       {"GET", "/logs"},
                                       {"POST", "/cancel"},
                                       {"POST", "/hold"},
                                       {"POST", "/release"}}) {
      const std::string foreign = fmt::format("/v1/jobs/{}{}", job, what);
      const std::string unknown = fmt::format("/v1/jobs/acme-777777{}", what);
      EXPECT_EQ(normal(as(roles, method, foreign), job), normal(as(roles, method, unknown), "acme-777777")) << roles << foreign;
    }
  // Queues that are there and such that are not.
  EXPECT_EQ(normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("acme/vision")), "acme/vision"),
            normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("nobody/none")), "nobody/none"));
  // Waiting for a job would tell when it ends.
  EXPECT_EQ(normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo", fmt::format(R"(,"after":["{}"])", job))), job),
            normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo", R"(,"after":["acme-777777"])")), "acme-777777"));
  // Users and their roles elsewhere.
  token_of("viewer@acme");
  EXPECT_EQ(normal(as("client-admin@zoo", "GET", "/v1/users/viewer@acme"), "viewer@acme"),
            normal(as("client-admin@zoo", "GET", "/v1/users/viewer@none"), "viewer@none"));
  const std::string theirs = governor_->by_token(token_of("viewer@acme"), kNow)->token;
  EXPECT_EQ(normal(as("client-admin@zoo", "DELETE", "/v1/tokens/" + theirs), theirs),
            normal(as("client-admin@zoo", "DELETE", "/v1/tokens/0011"), "0011"));
}

TEST_F(ApiTest, ANumberThatSeveralClientsHaveNamesTheJobsItMayMean) {
  submit("submitter@acme", "acme/vision");
  submit("submitter@zoo", "zoo");
  submit("submitter@zoo", "zoo");
  const Answer both = as("operator", "GET", "/v1/jobs/1/why");
  EXPECT_EQ(both.status, 404);
  EXPECT_THAT(both.body, HasSubstr("job 1 of which client? There is acme-1 and zoo-1"));
  EXPECT_THAT(as("operator", "GET", "/v1/jobs/2").body, HasSubstr("job 2 of which client? There is zoo-2"));
  EXPECT_THAT(as("operator", "GET", "/v1/jobs/3").body, HasSubstr("there is no job 3"));
  EXPECT_THAT(as("submitter@acme", "GET", "/v1/jobs/2").body, HasSubstr("there is no job 2"))
      << "nothing of what they do not see";
}

TEST_F(ApiTest, NothingOfAnotherClientIsInListsEventsOrMetrics) {
  submit("submitter@acme", "acme/vision", R"(,"name":"secret-plan","tags":{"code":"secret-tag"})");
  submit("submitter@zoo", "zoo", R"(,"name":"lions")");
  for (const char* path : {"/v1/jobs", "/v1/events", "/v1/queues", "/v1/nodes", "/v1/clients", "/v1/users", "/v1/tokens", "/v1",
                           "/metrics", "/v1/board?why=20", "/v1/timeline", "/v1/spending", "/v1/jobs?queue=acme",
                           "/v1/jobs?user=submitter@acme", "/v1/jobs?name=secret-plan"}) {
    const Answer answer = as("client-admin@zoo", "GET", path);
    EXPECT_EQ(answer.status, 200) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("acme"))) << path;
    EXPECT_THAT(answer.body, Not(HasSubstr("secret"))) << path;
  }
  const json nodes = as("viewer@zoo", "GET", "/v1/nodes").parsed()["nodes"];
  int seen = 0;
  for (const json& node : nodes) {
    EXPECT_TRUE(node["gpu_milli_held"].is_null());
    seen += static_cast<int>(node["jobs"].size());
  }
  EXPECT_LE(seen, 1);
  EXPECT_THAT(as("operator", "GET", "/v1/jobs").body, HasSubstr("secret-plan"));
}

TEST_F(ApiTest, AnExpensiveJobIsApprovedBySomebodyElseOfItsClient) {
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/b", R"({"queue":"acme","per_month":"1","at_limit":"approve"})").status, 200);
  const std::string job = submit("client-admin@acme", "acme");
  const std::string approve = fmt::format("/v1/jobs/{}/approve", job);
  EXPECT_EQ(as("submitter@acme", "GET", fmt::format("/v1/jobs/{}", job)).parsed()["state"], "needs-approval");
  EXPECT_EQ(as("client-admin@acme", "GET", "/v1/approvals").parsed()["jobs"].size(), 1U);
  EXPECT_EQ(as("client-admin@zoo", "GET", "/v1/approvals").parsed()["jobs"].size(), 0U);
  EXPECT_THAT(as("client-admin@acme", "POST", approve).body, HasSubstr("you cannot approve your own job"));
  // On behalf of another it is still their own asking.
  const std::string behalf = submit("client-admin@acme", "acme", R"(,"user":"someone")");
  EXPECT_EQ(as("client-admin@acme", "POST", fmt::format("/v1/jobs/{}/approve", behalf)).status, 403);
  EXPECT_EQ(as("client-admin@zoo", "POST", approve).status, 404);
  EXPECT_EQ(as("client-admin@acme", "POST", fmt::format("/v1/jobs/{}/release", job)).parsed()["state"], "needs-approval");
  put(User{.name = "eve", .grants = {*parse_grant("client-admin@acme")}, .created = kNow});
  const NewToken eve = make_token("eve", Scopes::all(), kNow, Duration::hours(1), "");
  put(eve.token);
  const json answer = call(eve.secret, "POST", approve).parsed();
  EXPECT_EQ(answer["approval"]["by"], "eve") << answer;
  EXPECT_EQ(answer["state"], "running");
  const Answer refused = call(eve.secret, "POST", fmt::format("/v1/jobs/{}/refuse", behalf), R"({"reason":"too dear"})");
  EXPECT_EQ(refused.parsed()["state"], "refused") << refused.body;
  EXPECT_EQ(refused.parsed()["approval"]["reason"], "too dear");
}

TEST_F(ApiTest, BudgetsOfOthersAreNotThere) {
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/secret", R"({"queue":"acme/vision","per_month":"777"})").status, 200);
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/everybody", R"({"per_month":"999999"})").status, 200);
  submit("submitter@acme", "acme/vision", R"(,"time_limit":"1h")");
  for (const char* path : {"/v1/budgets", "/v1/budgets/secret", "/v1/budgets/everybody", "/v1/events", "/v1/approvals"}) {
    const Answer answer = as("client-admin@zoo", "GET", path);
    for (const char* told : {"777", "999999", "acme"})
      EXPECT_THAT(answer.body, Not(HasSubstr(told))) << path;
  }
  EXPECT_EQ(as("client-admin@zoo", "GET", "/v1/budgets").parsed()["budgets"].size(), 0U);
  EXPECT_EQ(as("viewer@acme", "GET", "/v1/budgets").parsed()["budgets"].size(), 1U);
  EXPECT_EQ(as("auditor", "GET", "/v1/budgets").parsed()["budgets"].size(), 2U);
  EXPECT_EQ(as("client-admin@zoo", "GET", "/v1/budgets/secret").body.find("no budget secret") != std::string::npos,
            as("client-admin@zoo", "GET", "/v1/budgets/none").body.find("no budget none") != std::string::npos);
  // A budget of all, overrun: no client learns by how much.
  EXPECT_EQ(as("operator", "PUT", "/v1/budgets/everybody", R"({"per_month":"3"})").status, 200);
  const Answer refused = as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("budget everybody of the whole fleet"));
  EXPECT_THAT(refused.body, Not(HasSubstr("spent")));
}

TEST_F(ApiTest, WhoHasOneTimeCodesIsAskedForThem) {
  const std::string token = token_of("client-admin@acme");
  const auto make = [&](const std::string& secret, const std::string& code) {
    return call(secret, "POST", "/v1/tokens", "{}",
                code.empty() ? std::vector<HttpField>{} : std::vector<HttpField>{{"Stint-Code", code}});
  };
  const json begun = call(token, "POST", "/v1/codes").parsed();
  const std::string secret = *from_base32(begun["secret"].get<std::string>());
  EXPECT_EQ(make(token, "").status, 201);  // not confirmed yet
  const auto code_in = [&](int64_t steps) {
    return hotp(secret, static_cast<uint64_t>(static_cast<int64_t>(totp_step(kNow)) + steps));
  };
  EXPECT_EQ(call(token, "POST", "/v1/codes/confirm", R"({"code":"no"})").status, 422);
  const Answer confirmed = call(token, "POST", "/v1/codes/confirm", fmt::format(R"({{"code":"{}"}})", code_in(0)));
  EXPECT_EQ(confirmed.status, 200) << confirmed.body;
  EXPECT_EQ(call(token, "POST", "/v1/codes").status, 409);
  EXPECT_EQ(call(token, "GET", "/v1/me").parsed()["codes"], true);
  EXPECT_EQ(call(token, "GET", "/v1/jobs").status, 200);
  EXPECT_EQ(make(token, "").parsed()["type"], "urn:stint:code-wanted");
  EXPECT_EQ(make(token, code_in(0)).status, 403);  // it has been used
  const Answer other = make(token, code_in(1));
  ASSERT_EQ(other.status, 201) << other.body;
  EXPECT_EQ(make(token, "").status, 403);  // a code is good for one token
  const std::string second = other.parsed()["secret"].get<std::string>();
  EXPECT_EQ(make(second, code_in(1)).status, 403);
  EXPECT_EQ(make(second, begun["recovery_codes"][0].get<std::string>()).status, 201);
  // For each user a code.
  const auto recovery = [&](size_t number) {
    return std::vector<HttpField>{{"Stint-Code", begun["recovery_codes"][number].get<std::string>()}};
  };
  const char* const bob = R"({"roles":["viewer@acme"]})";
  EXPECT_EQ(call(token, "PUT", "/v1/users/bob", bob).status, 403);
  EXPECT_EQ(call(token, "PUT", "/v1/users/bob", bob, recovery(1)).status, 200);
  EXPECT_EQ(call(token, "PUT", "/v1/users/bob", bob).status, 403);
  // Only an operator takes them away besides.
  const std::string path = "/v1/users/client-admin@acme/codes";
  EXPECT_EQ(as("client-admin@zoo", "DELETE", path).status, 404);
  EXPECT_EQ(as("operator", "DELETE", path).status, 200);
  EXPECT_EQ(call(token, "GET", "/v1/me").parsed()["codes"], false);
  const std::string log = as("auditor", "GET", "/v1/audit-log?limit=1000").body;
  for (const char* what : {"wrong one-time code", "recovery code, 9 left", "no more one-time codes for client-admin@acme"})
    EXPECT_THAT(log, HasSubstr(what));
}

/// What takes a machine away from all takes a code, and that opens nothing else.
TEST_F(ApiTest, ACodeIsGoodForOneOperation) {
  const std::string token = token_of("operator");
  const json begun = call(token, "POST", "/v1/codes").parsed();
  const std::string secret = *from_base32(begun["secret"].get<std::string>());
  ASSERT_EQ(call(token, "POST", "/v1/codes/confirm", fmt::format(R"({{"code":"{}"}})", hotp(secret, totp_step(kNow)))).status,
            200);
  EXPECT_EQ(call(token, "POST", "/v1/nodes/n0/drain").parsed()["type"], "urn:stint:code-wanted");
  const std::vector<HttpField> shown = {{"Stint-Code", begun["recovery_codes"][0].get<std::string>()}};
  EXPECT_EQ(call(token, "POST", "/v1/nodes/n0/drain", "", shown).status, 200);
  EXPECT_EQ(call(token, "POST", "/v1/nodes/n0/drain").status, 200) << "the same again, a moment later";
  EXPECT_EQ(call(token, "POST", "/v1/nodes/n0/up").status, 403);
  EXPECT_EQ(call(token, "POST", "/v1/tokens", "{}").status, 403);
}

TEST_F(ApiTest, APipelineIsSubmittedWhole) {
  const Answer answer = as("submitter@acme", "POST", "/v1/pipelines", R"({"queue":"acme","jobs":[
    {"name":"train","command":["t"],"gpus":1,"after":["clean"]},{"name":"clean","command":["c"],"gpus":1}]})");
  ASSERT_EQ(answer.status, 201) << answer.body;
  const json jobs = answer.parsed()["jobs"];
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0]["name"], "clean");
  EXPECT_EQ(jobs[1]["after"][0], jobs[0]["id"]);
  const Answer half = as("submitter@acme", "POST", "/v1/pipelines", R"({"queue":"acme","jobs":[
    {"name":"a","command":["t"]},{"name":"b","command":["c"],"queue":"zoo"}]})");
  EXPECT_EQ(half.status, 422) << half.body;
  EXPECT_EQ(as("operator", "GET", "/v1/jobs?name=a").parsed()["jobs"].size(), 0U);
}

TEST_F(ApiTest, WhatAGpuDoesIsSeenByThoseWhoseJobsAloneHoldIt) {
  const auto job_on = [](int64_t id, const std::string& client, int gpu, Instant since) {
    JobView job;
    job.id = id;
    job.name = client + "-plan";
    job.queue = job.client = client;
    job.placed = {{.task = 0, .attempt = 0, .node = "n0", .gpus = {gpu}, .gpu_milli = gpu == 2 ? 500 : 0, .started = since}};
    return job;
  };
  // GPU 0 is acme's, GPU 1 zoo's, GPU 2 is shared by both, GPU 3 is free.
  const Instant began = kNow - Duration::minutes(3);
  live_.put_work({.nodes = service_->get([](const Engine& e) { return e.nodes(); }).get(),
                  .running = {job_on(1, "acme", 0, began), job_on(2, "zoo", 1, began), job_on(1, "acme", 2, began),
                              job_on(2, "zoo", 2, began)}});
  const size_t source = live_.add_source(LiveSourceKind::kNvml, "NVML");
  for (int gpu = 0; gpu < 4; ++gpu) {
    const size_t position = *live_.gpu({.node = "n0", .index = gpu});
    for (int minute = 10; minute > 0; --minute)
      live_.put(source, position, Metric::kUtilization, kNow - Duration::minutes(minute), 71);
    live_.put(source, position, Metric::kUtilization, kNow, 71);
    live_.put_processes(position, kNow,
                        {{.pid = 4711, .command = "train", .job = gpu == 1 ? 2 : 1}, {.pid = 4712, .command = "miner"}});
  }
  const auto gpus = [&](const std::string& roles) { return as(roles, "GET", "/v1/gpus").parsed(); };
  const json all = gpus("operator");
  for (size_t gpu = 0; gpu < 4; ++gpu) {
    EXPECT_EQ(all["gpus"][gpu]["id"], fmt::format("n0:{}", gpu));
    EXPECT_EQ(all["gpus"][gpu]["values"]["utilization"], 71);
    EXPECT_EQ(all["gpus"][gpu]["processes"].size(), 2u);
  }
  EXPECT_EQ(all["gpus"][2]["holders"].size(), 2u);
  EXPECT_EQ(all["sources"].size(), 1u);
  const json acme = gpus("client-admin@acme");
  EXPECT_EQ(acme["sources"].size(), 0u);
  EXPECT_EQ(acme["gpus"][0]["values"]["utilization"], 71);
  EXPECT_EQ(acme["gpus"][0]["processes"].size(), 1u) << "a process without an owner is the operator's matter";
  for (const size_t gpu : {size_t{1}, size_t{2}, size_t{3}}) {
    EXPECT_TRUE(acme["gpus"][gpu]["values"].empty()) << gpu;
    EXPECT_TRUE(acme["gpus"][gpu]["seen"].is_null()) << gpu;
    EXPECT_TRUE(acme["gpus"][gpu]["processes"].is_null()) << gpu;
  }
  EXPECT_EQ(acme["gpus"][2]["holders"].size(), 1u);
  EXPECT_THAT(acme.dump(), Not(HasSubstr("zoo")));
  const auto minutes = [&](const std::string& roles, int gpu) {
    return as(roles, "GET", fmt::format("/v1/gpus/n0:{}/minutes?metric=utilization", gpu)).parsed()["minutes"].size();
  };
  EXPECT_EQ(minutes("operator", 0), 10u);
  EXPECT_EQ(minutes("viewer@acme", 0), 3u) << "since its job began: before, others may have had it";
  EXPECT_EQ(minutes("viewer@acme", 1), 0u);
  EXPECT_EQ(minutes("viewer@acme", 2), 0u);
  const std::string metrics = as("viewer@acme", "GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("stint_gpu_utilization{Hostname=\"n0\",gpu=\"0\""));
  EXPECT_THAT(metrics, Not(HasSubstr("gpu=\"1\"")));
  EXPECT_THAT(metrics, Not(HasSubstr("gpu=\"2\"")));
  EXPECT_THAT(metrics, Not(HasSubstr("zoo")));
  EXPECT_EQ(as("operator", "GET", "/v1/gpus/n9:9/minutes").status, 404);
  EXPECT_EQ(as("operator", "GET", "/v1/gpus/n0:0/minutes?metric=speed").status, 422);
  EXPECT_EQ(as("operator", "GET", "/v1/gpus/n0:0/minutes?from=soon").status, 422);
}

TEST_F(ApiTest, WhyNamesNoJobOfAnotherClient) {
  const auto ask = [this](const std::string& roles, const std::string& queue, const std::string& limit) {
    const Answer answer =
        as(roles, "POST", "/v1/jobs",
           fmt::format(R"({{"queue":"{}","command":["x"],"gpus":8,"time_limit":"{}","simulated_duration":"9h"}})", queue, limit));
    CHECK(answer.status == 201, "{}", answer.body);
    return answer.parsed()["id"].get<std::string>();
  };
  for (int i = 0; i < 2; ++i)
    ask("operator", "acme/vision", "20h");
  const std::string waits = ask("submitter@zoo", "zoo", "1h");
  const Answer mine = as("submitter@zoo", "GET", fmt::format("/v1/jobs/{}/why", waits));
  EXPECT_EQ(mine.status, 200) << mine.body;
  EXPECT_THAT(mine.body, Not(HasSubstr("acme")));
  for (const char* other : {"acme", "job 1", "job 2", "\"1\"", "\"2\""})
    EXPECT_THAT(mine.body, Not(HasSubstr(other)));
}

TEST_F(ApiTest, AnIdempotencyKeyCountsOncePerUser) {
  const std::vector<HttpField> key = {{"Idempotency-Key", "k1"}};
  const std::string token = token_of("submitter@acme");
  const Answer first = call(token, "POST", "/v1/jobs", job_json("acme"), key);
  const Answer again = call(token, "POST", "/v1/jobs", job_json("acme"), key);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(first.parsed()["id"], again.parsed()["id"]);
  EXPECT_EQ(call(token, "POST", "/v1/jobs", job_json("acme", R"(,"priority":7)"), key).status, 409);
  const Answer other = call(token_of("submitter@zoo"), "POST", "/v1/jobs", job_json("zoo"), key);
  EXPECT_EQ(other.status, 201) << other.body;
  EXPECT_EQ(first.parsed()["id"], "acme-1");
  EXPECT_EQ(other.parsed()["id"], "zoo-1");
  EXPECT_EQ(call(token, "POST", "/v1/jobs", job_json("acme"), {{"Idempotency-Key", std::string(129, 'k')}}).status, 400);
}

TEST_F(ApiTest, PagesFollowEachOtherWithoutGapOrOverlap) {
  std::vector<std::string> all;
  for (int i = 0; i < 7; ++i) {
    all.insert(all.begin(), submit("submitter@acme", i % 2 == 0 ? "acme" : "acme/vision"));
    submit("submitter@zoo", "zoo");
  }
  const auto walk = [&](const std::string& roles) {
    std::vector<std::string> seen;
    for (std::string cursor;;) {
      const json page = as(roles, "GET", "/v1/jobs?limit=3&queue=acme" + cursor).parsed();
      for (const json& job : page["jobs"])
        seen.push_back(job["id"].get<std::string>());
      if (page["next"].is_null()) return seen;
      cursor = "&cursor=" + page["next"].get<std::string>();
    }
  };
  EXPECT_EQ(walk("viewer@acme"), all);
  EXPECT_EQ(walk("operator"), all);
  EXPECT_EQ(walk("viewer@acme,viewer@zoo"), all);
  for (const char* bad :
       {"limit=0", "limit=1001", "limit=x", "cursor=0", "cursor=acme-99", "cursor=none-1", "state=asleep", "colour=red"})
    EXPECT_EQ(as("viewer@acme", "GET", fmt::format("/v1/jobs?{}", bad)).status, 422) << bad;
}

TEST_F(ApiTest, MalformedBodiesAreRefusedWithAReason) {
  for (const char* body :
       {"", "x", "[]", "{}", R"({"queue":"acme"})", R"({"queue":"acme","command":["a"],"colour":1})",
        R"({"queue":7,"command":["a"]})", R"({"queue":"acme","command":["a"],"gpus":-1})", "{\"queue\":\"\xff\"}"}) {
    const Answer answer = as("submitter@acme", "POST", "/v1/jobs", body);
    EXPECT_EQ(answer.status, 422) << body << answer.body;
    EXPECT_FALSE(answer.parsed()["detail"].get<std::string>().empty());
  }
  EXPECT_EQ(as("operator", "PUT", "/v1/users/a%20b", R"({})").status, 422);
  EXPECT_EQ(as("operator", "PUT", "/v1/users/ann", R"({"roles":"viewer"})").status, 422);
  EXPECT_EQ(as("operator", "PUT", "/v1/users/ann", R"({"roles":["viewer@nobody"]})").status, 422);
  EXPECT_EQ(as("operator", "PUT", "/v1/clients/acme", R"({"mandatory_tags":[1]})").status, 422);
  EXPECT_EQ(as("operator", "POST", "/v1/tokens", R"({"life":"9999d"})").status, 422);
  EXPECT_EQ(as("operator", "GET", "/v1/nowhere").status, 404);
  EXPECT_EQ(as("operator", "PATCH", "/v1/jobs").status, 405);
}

TEST_F(ApiTest, AClientsRulesHoldForNewJobs) {
  EXPECT_EQ(as("operator", "PUT", "/v1/clients/acme", R"({"mandatory_tags":["project"]})").status, 200);
  EXPECT_THAT(as("submitter@acme", "POST", "/v1/jobs", job_json("acme")).body, HasSubstr("missing here: project"));
  EXPECT_EQ(as("submitter@acme", "POST", "/v1/jobs", job_json("acme", R"(,"tags":{"project":"x"})")).status, 201);
  EXPECT_EQ(as("operator", "PUT", "/v1/clients/acme", R"({"disabled":true})").status, 200);
  EXPECT_EQ(as("submitter@acme", "POST", "/v1/jobs", job_json("acme", R"(,"tags":{"project":"x"})")).status, 422);
}

TEST_F(ApiTest, OnlyAnAdminSubmitsForOthers) {
  EXPECT_EQ(as("submitter@acme", "POST", "/v1/jobs", job_json("acme", R"(,"user":"bob")")).status, 422);
  const Answer job = as("client-admin@acme", "POST", "/v1/jobs", job_json("acme", R"(,"user":"bob")"));
  EXPECT_EQ(job.parsed()["user"], "bob");
}

TEST_F(ApiTest, AnAdminSetsRolesInTheirClientAndLeavesTheOthersAlone) {
  EXPECT_EQ(as("operator", "PUT", "/v1/users/ann", R"({"roles":["viewer@acme","submitter@zoo"]})").status, 200);
  const Answer changed = as("client-admin@zoo", "PUT", "/v1/users/ann", R"({"roles":["viewer@zoo"]})");
  EXPECT_EQ(changed.parsed()["roles"], json::parse(R"(["viewer@zoo"])")) << changed.body;
  EXPECT_EQ(governor_->user("ann")->grants, (std::vector<Grant>{{Role::kViewer, "acme"}, {Role::kViewer, "zoo"}}));
  for (const char* not_theirs : {"viewer@acme", "operator", "auditor", "viewer"})
    EXPECT_EQ(as("client-admin@zoo", "PUT", "/v1/users/ann", fmt::format(R"({{"roles":["{}"]}})", not_theirs)).status, 422)
        << not_theirs;
  EXPECT_EQ(as("client-admin@zoo", "PUT", "/v1/users/ann", R"({"disabled":true})").status, 422);
}

TEST_F(ApiTest, ATokenMakesNoMoreThanItself) {
  const std::string narrow = token_of("operator", "read,manage");
  EXPECT_EQ(call(narrow, "POST", "/v1/tokens", R"({"scopes":"submit"})").status, 422);
  const Answer made = call(narrow, "POST", "/v1/tokens", R"({"life":"1h","note":"for a script"})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.parsed()["scopes"], "read,manage");
  const std::string secret = made.parsed()["secret"].get<std::string>();
  EXPECT_EQ(call(secret, "GET", "/v1/me").parsed()["user"], "operator");
  EXPECT_THAT(call(secret, "GET", "/v1/tokens").body, Not(HasSubstr(secret)));
  EXPECT_EQ(call(secret, "DELETE", "/v1/tokens/" + made.parsed()["id"].get<std::string>()).status, 200);
  EXPECT_EQ(call(secret, "GET", "/v1/me").status, 401);
  EXPECT_EQ(as("viewer@acme", "POST", "/v1/tokens", R"({"user":"operator"})").status, 403);
}

TEST_F(ApiTest, LogsAreReadInPieces) {
  const std::string job = submit("submitter@acme", "acme");
  const std::string path = fmt::format("/v1/jobs/{}/logs", job);
  for (int i = 0; i < 500 && as("operator", "GET", fmt::format("/v1/jobs/{}", job)).parsed()["placed"].empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(as("viewer@acme", "GET", path).body, "");
  const int attempt = as("operator", "GET", fmt::format("/v1/jobs/{}", job)).parsed()["placed"][0]["attempt"].get<int>();
  put_file(dir_ / (format_key({1, attempt, 0}) + ".out"), "0123456789");
  EXPECT_EQ(as("viewer@acme", "GET", path).body, "0123456789");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?offset=3&limit=4").body, "3456");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?offset=-2").body, "89");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?offset=99").body, "");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?stream=error").body, "");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?stream=all").status, 422);
  put_file(dir_ / (format_key({1, attempt, 0}) + ".err"), "in the middle\n");
  put_file(dir_ / (format_key({1, attempt, 0}) + ".order"),
           "0000000000000004 0000000000000000\n0000000000000004 000000000000000e\n000000000000000a 000000000000000e\n");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?stream=both").body, "0123in the middle\n456789");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?stream=both&offset=2&limit=4").body, "23in");
  const std::string own_file = submit("submitter@acme", "acme", R"(,"output_path":"/etc/passwd")");
  EXPECT_EQ(as("operator", "GET", fmt::format("/v1/jobs/{}/logs", own_file)).status, 404);
}

TEST_F(ApiTest, AJobThatDidNotSucceedShowsItsLastLines) {
  const std::string job = submit("submitter@acme", "acme");
  const std::string path = fmt::format("/v1/jobs/{}", job);
  for (int i = 0; i < 500 && as("operator", "GET", path).parsed()["placed"].empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const int attempt = as("operator", "GET", path).parsed()["placed"][0]["attempt"].get<int>();
  std::string lines;
  for (int i = 1; i <= 30; ++i)
    lines += fmt::format("line {}\n", i);
  put_file(dir_ / (format_key({1, attempt, 0}) + ".out"), lines + "no end");
  EXPECT_FALSE(as("viewer@acme", "GET", path).parsed().contains("last_output")) << "it runs";
  EXPECT_EQ(as("submitter@acme", "POST", path + "/cancel").status, 200);
  for (int i = 0; i < 500 && as("operator", "GET", path).parsed()["state"] != "cancelled"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  const std::string shown = as("viewer@acme", "GET", path).parsed()["last_output"];
  EXPECT_THAT(shown, StartsWith("line 12\nline 13\n"));  // 20 lines
  EXPECT_THAT(shown, EndsWith("line 30\nno end\n"));
  EXPECT_FALSE(as("auditor", "GET", path).body.find("last_output") != std::string::npos) << "whose role does not show logs";
}

TEST_F(ApiTest, TheAuditLogHoldsWhatWasDoneAndByWhom) {
  const std::string job = submit("submitter@acme", "acme");
  as("viewer@zoo", "GET", fmt::format("/v1/jobs/{}", job));
  call("wrong", "GET", "/v1/jobs");
  AuditVerifier verifier;
  std::string all;
  for (int64_t after = 0;;) {
    const json page = as("auditor", "GET", fmt::format("/v1/audit-log?limit=5&after={}", after)).parsed();
    if (page["records"].empty()) break;
    for (const json& row : page["records"]) {
      const Status checked = verifier.check({row["sequence"], "", row["record"], row["hash"]});
      ASSERT_TRUE(checked.ok()) << checked.error().message;
      all += row["record"].get<std::string>() + "\n";
    }
    after = page["next"].get<int64_t>();
    if (verifier.rows() > 60) break;  // reading it is written down, too
  }
  EXPECT_THAT(all, HasSubstr(fmt::format(R"("detail":"job {}")", job)));
  EXPECT_THAT(all, HasSubstr(R"("actor":"viewer@zoo")"));
  EXPECT_THAT(all, HasSubstr(R"("status":401)"));
  EXPECT_THAT(all, Not(HasSubstr("stint_")));  // no secret
  const json own = as("auditor@zoo", "GET", "/v1/audit-log?client=zoo").parsed();
  EXPECT_TRUE(own["records"].empty()) << own;
  EXPECT_EQ(as("auditor@zoo", "GET", "/v1/audit-log").status, 403);
  EXPECT_EQ(as("auditor@zoo", "GET", "/v1/audit-log?client=acme").status, 403);
}

TEST_F(ApiTest, EventsStreamToThoseWhoMaySeeThem) {
  submit("submitter@zoo", "zoo", R"(,"name":"before")");
  std::promise<void> listening;
  std::string got;
  std::thread reader([&] {
    HttpClient client;
    const auto done =
        client.follow({.url = server_->url() + "/v1/events?last=1000",
                       .headers = {{"Authorization", "Bearer " + tokens_["submitter@zoo all"]}, {"Accept", "text/event-stream"}}},
                      [&](std::string_view piece) {
                        if (got.empty()) listening.set_value();
                        got += piece;
                        return got.find("\"job\":\"zoo-2\"") == std::string::npos;
                      });
    EXPECT_TRUE(done.ok()) << done.error().message;
  });
  listening.get_future().wait();
  submit("submitter@acme", "acme", R"(,"name":"hidden")");
  submit("submitter@zoo", "zoo");
  reader.join();
  EXPECT_THAT(got, StartsWith("id: zoo-1\nevent: job.submitted\ndata: {"));
  EXPECT_THAT(got, Not(HasSubstr("acme")));
}

TEST_F(ApiTest, TheContractNamesEveryRoute) {
  const json document = call("", "GET", "/openapi.json").parsed();
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  for (const ApiRoute& route : api_routes()) {
    const json& operation = document["paths"][std::string(route.path)][to_lower(route.method)];
    EXPECT_EQ(operation["operationId"], route.name);
    for (const std::string_view schema : {route.request, route.response})
      EXPECT_TRUE(schema.empty() || document["components"]["schemas"].contains(std::string(schema))) << schema;
  }
}

TEST_F(ApiTest, MetricsAreInPrometheusFormat) {
  submit("submitter@acme", "acme");
  const std::string text = as("operator", "GET", "/metrics").body;
  EXPECT_THAT(text, HasSubstr("# TYPE stint_jobs_accepted_total counter\nstint_jobs_accepted_total 1\n"));
  EXPECT_THAT(text, HasSubstr("stint_gpus 16\n"));
  EXPECT_THAT(text, HasSubstr("stint_build_info{version=\"1.2.3\"} 1\n"));
  EXPECT_THAT(as("viewer@zoo", "GET", "/metrics").body, StartsWith("# HELP stint_queue_jobs_waiting"));
}

}  // namespace
}  // namespace stint
