// The API over HTTP, on an engine with simulated machines: what each route answers to each role, and what it never gives away.
#include "daemon/api.h"

#include <gmock/gmock.h>

#include <chrono>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/text.h"
#include "daemon/api_routes.h"
#include "daemon/testing_daemon.h"
#include "host/http_client.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr Instant kNow = Instant::from_seconds(1'800'000'000);

/// A daemon with an API: clients acme and zoo, whose users are named after their roles.
class ApiTest : public ::testing::Test {
 protected:
  ApiTest() {
    auto log = EventLog::open(dir_ / "events.db");
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(*log));
    auto engine = Engine::open(*log_, backend_, testing_fleet(), {}, kNow);
    CHECK(engine.ok(), "{}", engine.error().message);
    auto governor = Governor::open(dir_ / "govern.db");
    CHECK(governor.ok(), "{}", governor.error().message);
    governor_ = std::move(*governor);
    for (const char* client : {"acme", "zoo"})
      put(Client{client, false, {}, kNow});
    service_ = std::make_unique<Service>(std::move(*engine), backend_, EventClock(kNow));
    ApiOptions options;
    options.clock = [] { return kNow; };
    options.log_path = [this](const LaunchKey& key, LogStream stream) {
      return dir_ / (format_key(key) + (stream == LogStream::kError ? ".err" : ".out"));
    };
    options.version = "1.2.3";
    api_ = std::make_unique<Api>(*service_, *governor_, options);
    auto server = HttpServer::start(
        {}, [this](HttpRequest request, Responder responder) { api_->handle(std::move(request), std::move(responder)); });
    CHECK(server.ok(), "{}", server.error().message);
    server_.emplace(std::move(*server));
  }
  ~ApiTest() override {
    server_.reset();
    service_->stop();
  }

  void put(GovernChange change) {
    std::promise<Status> done;
    governor_->change(std::move(change), {.at = kNow, .actor = "test"},
                      [&](Status status) { done.set_value(std::move(status)); });
    const Status status = done.get_future().get();
    CHECK(status.ok(), "{}", status.error().message);
  }

  /// A token of a user with these roles, made when there is none yet: "submitter@acme", or several with commas.
  std::string token_of(const std::string& roles, const std::string& scopes = "all") {
    std::string& secret = tokens_[roles + " " + scopes];
    if (!secret.empty()) return secret;
    User user{.name = roles.substr(0, roles.find(',')), .created = kNow};
    for (const std::string_view role : split(roles, ','))
      user.grants.push_back(*parse_grant(role));
    put(user);
    const NewToken made = make_token(user.name, *parse_scopes(scopes), kNow, Duration::hours(1), "");
    put(made.token);
    secret = made.secret;
    return secret;
  }

  struct Answer {
    int status = 0;
    std::string body;
    std::vector<HttpField> headers;
    [[nodiscard]] json parsed() const { return json::parse(body); }
  };
  Answer call(const std::string& token, const std::string& method, const std::string& path, const std::string& body = "",
              std::vector<HttpField> headers = {}) {
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    const auto response =
        client_.send({.method = method, .url = server_->url() + path, .headers = std::move(headers), .body = body});
    CHECK(response.ok(), "{}", response.error().message);
    return {response->status, response->body, response->headers};
  }
  Answer as(const std::string& roles, const std::string& method, const std::string& path, const std::string& body = "") {
    return call(token_of(roles), method, path, body);
  }
  int64_t submit(const std::string& roles, const std::string& queue, const std::string& more = "") {
    const Answer answer = as(roles, "POST", "/v1/jobs", job_json(queue, more));
    CHECK(answer.status == 201, "{}", answer.body);
    return answer.parsed()["id"].get<int64_t>();
  }
  static std::string job_json(const std::string& queue, const std::string& more = "") {
    return fmt::format(R"({{"queue":"{}","command":["sleep","1000"],"gpus":1,"simulated_duration":"10h"{}}})", queue, more);
  }

  ScratchDir dir_;
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::unique_ptr<Governor> governor_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Api> api_;
  std::optional<HttpServer> server_;
  std::map<std::string, std::string> tokens_;
  HttpClient client_;
};

/// The route's path with something for each of its {…}: `job` for jobs.
std::string path_for(const ApiRoute& route, int64_t job) {
  std::string path(route.path);
  const auto replace = [&path](std::string_view what, const std::string& with) {
    if (const size_t at = path.find(what); at != std::string::npos) path.replace(at, what.size(), with);
  };
  if (path.starts_with("/v1/jobs")) replace("{id}", std::to_string(job));
  replace("{id}", "0123456789abcdef");
  if (path.starts_with("/v1/nodes")) replace("{name}", "n0");
  if (path.starts_with("/v1/users")) replace("{name}", "submitter@acme");
  replace("{name}", "acme");
  return path;
}

std::string body_for(const ApiRoute& route) {
  if (route.request == "JobRequest") return R"({"queue":"acme","command":["true"],"gpus":1})";
  if (route.request == "UserWish") return R"({"roles":["submitter@acme"]})";
  return route.method == "GET" || route.request.empty() ? "" : "{}";
}

// What the answer must be, by hand: route → role → status, where the role is in acme and the thing is acme's.
// v viewer, s submitter (of their own), c client-admin, o operator, a auditor; then the same of zoo for acme's things.
struct Expected {
  const char* name;
  int v, s, c, o, a;
  int foreign_v, foreign_s, foreign_c;
};
const Expected kExpected[] = {
    {"submitJob", 403, 201, 201, 201, 403, 403, 422, 422},
    {"listJobs", 200, 200, 200, 200, 200, 200, 200, 200},
    {"getJob", 200, 200, 200, 200, 200, 404, 404, 404},
    {"cancelJob", 403, 200, 200, 200, 403, 403, 404, 404},
    {"holdJob", 403, 200, 200, 200, 403, 403, 404, 404},
    {"releaseJob", 403, 200, 200, 200, 403, 403, 404, 404},
    {"explainJob", 200, 200, 200, 200, 200, 404, 404, 404},
    {"getJobLog", 200, 200, 200, 200, 403, 404, 404, 404},
    {"getOverview", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listNodes", 200, 200, 200, 200, 200, 200, 200, 200},
    {"drainNode", 403, 403, 403, 200, 403, 403, 403, 403},
    {"nodeUp", 403, 403, 403, 200, 403, 403, 403, 403},
    {"listQueues", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listEvents", 200, 200, 200, 200, 200, 200, 200, 200},
    {"whoAmI", 200, 200, 200, 200, 200, 200, 200, 200},
    {"listTokens", 200, 200, 200, 200, 200, 200, 200, 200},
    {"makeToken", 201, 201, 201, 201, 201, 201, 201, 201},
    {"revokeToken", 404, 404, 404, 404, 404, 404, 404, 404},  // there is none of that id
    {"listUsers", 403, 403, 200, 200, 200, 403, 403, 200},
    {"getUser", 403, 403, 200, 200, 200, 403, 403, 404},
    {"putUser", 403, 403, 200, 200, 403, 403, 403, 422},
    {"listClients", 200, 200, 200, 200, 200, 200, 200, 200},
    {"putClient", 403, 403, 403, 200, 403, 403, 403, 403},
    {"readAuditLog", 403, 403, 403, 403, 200, 403, 403, 403},
    {"metrics", 200, 200, 200, 200, 200, 200, 200, 200},
    {"health", 200, 200, 200, 200, 200, 200, 200, 200},
    {"ready", 200, 200, 200, 200, 200, 200, 200, 200},
    {"contract", 200, 200, 200, 200, 200, 200, 200, 200},
};

TEST_F(ApiTest, EveryRouteAnswersEveryRoleAsTheTableSays) {
  ASSERT_EQ(std::size(kExpected), api_routes().size());
  for (size_t i = 0; i < std::size(kExpected); ++i) {
    const ApiRoute& route = api_routes()[i];
    const Expected& expected = kExpected[i];
    ASSERT_EQ(route.name, expected.name);
    const auto status = [&](const std::string& roles) {
      // A job of its own for each, so that what one did does not matter to the next; release wants one that is held.
      const std::string_view hold = route.name == "releaseJob" ? R"(,"on_hold":true)" : "";
      const int64_t job = submit("submitter@acme", "acme", std::string(hold));
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
    const std::string path = path_for(route, 1);
    const int stranger = route.needs ? 401 : 200;
    for (const char* token : {"", "stint_0", "x"})
      EXPECT_EQ(call(token, std::string(route.method), path, body_for(route)).status, stranger) << route.name;
  }
}

TEST_F(ApiTest, ATokenWithoutTheScopeIsRefusedEverywhere) {
  const int64_t job = submit("submitter@acme", "acme");
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

TEST_F(ApiTest, ASubmitterControlsTheirOwnJobsOnly) {
  const int64_t admins = submit("client-admin@acme", "acme");
  for (const char* what : {"cancel", "hold", "release"})
    EXPECT_EQ(as("submitter@acme", "POST", fmt::format("/v1/jobs/{}/{}", admins, what)).status, 403) << what;
  const int64_t own = submit("submitter@acme", "acme/vision");
  const Answer cancelled = as("submitter@acme", "POST", fmt::format("/v1/jobs/{}/cancel", own));
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
}

TEST_F(ApiTest, UnknownAndForbiddenAnswerAlike) {
  const int64_t job = submit("submitter@acme", "acme/vision");
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
      const std::string unknown = fmt::format("/v1/jobs/777777{}", what);
      EXPECT_EQ(normal(as(roles, method, foreign), std::to_string(job)), normal(as(roles, method, unknown), "777777"))
          << roles << foreign;
    }
  // Queues that are there and such that are not.
  EXPECT_EQ(normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("acme/vision")), "acme/vision"),
            normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("nobody/none")), "nobody/none"));
  // Waiting for a job would tell when it ends.
  EXPECT_EQ(
      normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo", fmt::format(R"(,"after":[{}])", job))), std::to_string(job)),
      normal(as("submitter@zoo", "POST", "/v1/jobs", job_json("zoo", R"(,"after":[777777])")), "777777"));
  // Users and their roles elsewhere.
  token_of("viewer@acme");
  EXPECT_EQ(normal(as("client-admin@zoo", "GET", "/v1/users/viewer@acme"), "viewer@acme"),
            normal(as("client-admin@zoo", "GET", "/v1/users/viewer@none"), "viewer@none"));
  const std::string theirs = governor_->by_token(token_of("viewer@acme"), kNow)->token;
  EXPECT_EQ(normal(as("client-admin@zoo", "DELETE", "/v1/tokens/" + theirs), theirs),
            normal(as("client-admin@zoo", "DELETE", "/v1/tokens/0011"), "0011"));
}

TEST_F(ApiTest, NothingOfAnotherClientIsInListsEventsOrMetrics) {
  submit("submitter@acme", "acme/vision", R"(,"name":"secret-plan","tags":{"code":"secret-tag"})");
  submit("submitter@zoo", "zoo", R"(,"name":"lions")");
  for (const char* path : {"/v1/jobs", "/v1/events", "/v1/queues", "/v1/nodes", "/v1/clients", "/v1/users", "/v1/tokens", "/v1",
                           "/metrics", "/v1/jobs?queue=acme", "/v1/jobs?user=submitter@acme", "/v1/jobs?name=secret-plan"}) {
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

TEST_F(ApiTest, WhyNamesNoJobOfAnotherClient) {
  const auto ask = [this](const std::string& roles, const std::string& queue, const std::string& limit) {
    const Answer answer =
        as(roles, "POST", "/v1/jobs",
           fmt::format(R"({{"queue":"{}","command":["x"],"gpus":8,"time_limit":"{}","simulated_duration":"9h"}})", queue, limit));
    CHECK(answer.status == 201, "{}", answer.body);
    return answer.parsed()["id"].get<int64_t>();
  };
  for (int i = 0; i < 2; ++i)
    ask("operator", "acme/vision", "20h");
  const int64_t waits = ask("submitter@zoo", "zoo", "1h");
  const Answer mine = as("submitter@zoo", "GET", fmt::format("/v1/jobs/{}/why", waits));
  EXPECT_EQ(mine.status, 200) << mine.body;
  EXPECT_THAT(mine.body, Not(HasSubstr("acme")));
  for (const char* other : {"job 1", "job 2", "\"1\"", "\"2\""})
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
  EXPECT_NE(other.parsed()["id"], first.parsed()["id"]);
  EXPECT_EQ(call(token, "POST", "/v1/jobs", job_json("acme"), {{"Idempotency-Key", std::string(129, 'k')}}).status, 400);
}

TEST_F(ApiTest, PagesFollowEachOtherWithoutGapOrOverlap) {
  std::vector<int64_t> all;
  for (int i = 0; i < 7; ++i) {
    all.insert(all.begin(), submit("submitter@acme", i % 2 == 0 ? "acme" : "acme/vision"));
    submit("submitter@zoo", "zoo");
  }
  const auto walk = [&](const std::string& roles) {
    std::vector<int64_t> seen;
    for (std::string cursor;;) {
      const json page = as(roles, "GET", "/v1/jobs?limit=3&queue=acme" + cursor).parsed();
      for (const json& job : page["jobs"])
        seen.push_back(job["id"].get<int64_t>());
      if (page["next"].is_null()) return seen;
      cursor = "&cursor=" + page["next"].get<std::string>();
    }
  };
  EXPECT_EQ(walk("viewer@acme"), all);
  EXPECT_EQ(walk("operator"), all);
  EXPECT_EQ(walk("viewer@acme,viewer@zoo"), all);
  for (const char* bad : {"limit=0", "limit=1001", "limit=x", "cursor=0", "cursor=-1", "state=asleep", "colour=red"})
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
  EXPECT_THAT(as("submitter@acme", "POST", "/v1/jobs", job_json("acme")).body, HasSubstr("'project'"));
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
  const int64_t job = submit("submitter@acme", "acme");
  const std::string path = fmt::format("/v1/jobs/{}/logs", job);
  for (int i = 0; i < 500 && as("operator", "GET", fmt::format("/v1/jobs/{}", job)).parsed()["placed"].empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(as("viewer@acme", "GET", path).body, "");
  const int attempt = as("operator", "GET", fmt::format("/v1/jobs/{}", job)).parsed()["placed"][0]["attempt"].get<int>();
  put_file(dir_ / (format_key({job, attempt, 0}) + ".out"), "0123456789");
  EXPECT_EQ(as("viewer@acme", "GET", path).body, "0123456789");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?offset=3&limit=4").body, "3456");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?offset=-2").body, "89");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?offset=99").body, "");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?stream=error").body, "");
  EXPECT_EQ(as("viewer@acme", "GET", path + "?stream=both").status, 422);
  const int64_t own_file = submit("submitter@acme", "acme", R"(,"output_path":"/etc/passwd")");
  EXPECT_EQ(as("operator", "GET", fmt::format("/v1/jobs/{}/logs", own_file)).status, 404);
}

TEST_F(ApiTest, TheAuditLogHoldsWhatWasDoneAndByWhom) {
  const int64_t job = submit("submitter@acme", "acme");
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
        client.follow({.url = server_->url() + "/v1/events?after=0",
                       .headers = {{"Authorization", "Bearer " + tokens_["submitter@zoo all"]}, {"Accept", "text/event-stream"}}},
                      [&](std::string_view piece) {
                        if (got.empty()) listening.set_value();
                        got += piece;
                        return got.find("\"job\":3") == std::string::npos;
                      });
    EXPECT_TRUE(done.ok()) << done.error().message;
  });
  listening.get_future().wait();
  submit("submitter@acme", "acme", R"(,"name":"hidden")");
  submit("submitter@zoo", "zoo");
  reader.join();
  EXPECT_THAT(got, StartsWith("id: 1\nevent: job.submitted\ndata: {"));
  EXPECT_THAT(got, Not(HasSubstr("acme")));
  EXPECT_THAT(got, Not(HasSubstr("\"job\":2")));
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
