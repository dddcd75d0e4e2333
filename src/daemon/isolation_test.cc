// A user of one client learns nothing of another: what acme's users are answered, byte by byte, is the same whether zoo's users are
// busy meanwhile or not. Only times, what follows from them (money spent so far), and random ids of tokens are left out; zoo's jobs
// run on a machine that acme's have no use for, so that no job waits because of them.
#include <gmock/gmock.h>

#include <regex>

#include "daemon/api/testing_api.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Leaves {
  const char* what;
  const char* with;
};
/// Times, and what grows with them; where the test's own connection comes from; ids drawn by lot.
constexpr Leaves kLeaves[] = {
    {R"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z)", "TIME"},
    {R"([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+ UTC)", "TIME"},  // in texts for people
    {R"re("amount":"[0-9.]+")re", "\"amount\":MONEY"},
    {R"re("cost":"[0-9.]+")re", "\"cost\":MONEY"},
    {R"re((gpu_hours"):[0-9.e-]+)re", "$1:HOURS"},
    {R"re((stint_queue_cost_total\{[^}]*\}) [0-9.]+)re", "$1 MONEY"},
    {R"re((stint_job_wait_seconds_sum\{[^}]*\}) [0-9.e-]+)re", "$1 SECONDS"},
    {R"re(127\.0\.0\.1(:[0-9]+)?)re", "PEER"},
    {R"re(\b[0-9a-f]{16}\b)re", "RANDOM"},
};

std::string without_times(std::string text) {
  for (const Leaves& leaves : kLeaves)
    text = std::regex_replace(text, std::regex(leaves.what), leaves.with);
  return text;
}

class Watched : public TestingApi {
 public:
  /// When an alert is noticed is a matter of time: none fires.
  Watched() : TestingApi(1'000'000) {}

  /// acme's day. @return all that its users are answered.
  std::vector<std::string> day(bool zoo_is_busy) {
    busy_ = zoo_is_busy;
    for (const char* roles : {"submitter@acme", "client-admin@acme", "auditor@acme", "submitter@zoo", "operator"})
      token_of(roles);
    meanwhile();
    submit_one(R"(,"name":"first")");
    submit_one(R"(,"name":"many","array":3)");
    submit_one(R"(,"name":"later","after":["acme-1","2"])");
    submit_one(R"(,"name":"held","on_hold":true)");
    submit_one(R"(,"after":["zoo-1"])");
    ask("submitter@acme", "POST", "/v1/pipelines",
        R"({"queue":"acme","jobs":[{"name":"a","command":["t"],"on_hold":true},{"name":"b","command":["t"],"after":["a"]}]})");
    for (const char* what : {"", "/why", "/logs"})
      for (const char* job : {"acme-1", "2", "acme-5", "acme-6", "acme-99", "zoo-1", "zoo-99", "nobody-1", "x"})
        ask("submitter@acme", "GET", fmt::format("/v1/jobs/{}{}", job, what));
    for (const char* verb : {"hold", "release", "cancel", "checkpoint", "approve"})
      for (const char* job : {"acme-6", "zoo-1", "zoo-99"})
        ask("client-admin@acme", "POST", fmt::format("/v1/jobs/{}/{}", job, verb));
    for (const char* path : {"/v1",
                             "/v1/jobs",
                             "/v1/jobs?limit=2",
                             "/v1/jobs?limit=2&cursor=acme-4",
                             "/v1/jobs?cursor=zoo-1",
                             "/v1/approvals",
                             "/v1/nodes",
                             "/v1/gpus",
                             "/v1/gpus/n1:0/minutes",
                             "/v1/services",
                             "/v1/queues",
                             "/v1/board?why=20",
                             "/v1/timeline",
                             "/v1/spending",
                             "/v1/budgets",
                             "/v1/events",
                             "/v1/events?limit=3",
                             "/v1/events?after=acme-3",
                             "/v1/events?last=4",
                             "/v1/events?after=zoo-1",
                             "/v1/events?after=fleet~1",
                             "/v1/events?after=machines~1",
                             "/v1/findings",
                             "/v1/alerts?state=all",
                             "/v1/silences",
                             "/v1/me",
                             "/v1/tokens",
                             "/v1/users",
                             "/v1/clients",
                             "/v1/audit-log",
                             "/metrics"})
      for (const char* roles : {"submitter@acme", "client-admin@acme"})
        ask(roles, "GET", path);
    ask("auditor@acme", "GET", "/v1/audit-log?client=acme&limit=7");
    ask("auditor@acme", "GET", "/v1/audit-log?client=acme&after=5&limit=7");
    ask("auditor@acme", "GET", "/v1/audit-log?client=zoo");
    submit_one(R"(,"name":"last","on_hold":true)");
    return std::move(said_);
  }

 private:
  void ask(const std::string& roles, const std::string& method, const std::string& path, const std::string& body = "") {
    meanwhile();
    const Answer answer = as(roles, method, path, body);
    said_.push_back(without_times(fmt::format("{} {} {} -> {} {}", roles, method, path, answer.status, answer.body)));
  }
  void submit_one(const std::string& more) {
    ask("submitter@acme", "POST", "/v1/jobs",
        R"({"queue":"acme","command":["x"],"gpus":1,"simulated_duration":"10h")" + more + "}");
  }
  /// zoo submits, holds, is refused, and spends; operators look after it.
  void meanwhile() {
    if (!busy_) return;
    ++rounds_;
    const std::string job = R"({"queue":"zoo","command":["x"],"gpu_models":["H100"],"simulated_duration":"10h")";
    as("submitter@zoo", "POST", "/v1/jobs", job + R"(,"gpus":1})");
    as("submitter@zoo", "POST", "/v1/jobs", job + R"(,"array":5,"on_hold":true})");
    as("submitter@zoo", "POST", fmt::format("/v1/jobs/zoo-{}/cancel", rounds_));
    as("submitter@zoo", "POST", "/v1/jobs", "no job");
    as("submitter@zoo", "GET", "/v1/events");
    if (rounds_ % 20 == 1) {
      as("operator", "PUT", fmt::format("/v1/budgets/b{}", rounds_), R"({"queue":"zoo","per_month":"9"})");
      as("operator", "POST", "/v1/silences", R"({"matchers":["client=zoo"],"for":"1h"})");
      as("operator", "PUT", "/v1/clients/zoo", R"({"mandatory_tags":[]})");
      as("operator", "POST", "/v1/tokens", R"({"user":"submitter@zoo","note":"n"})");
    }
  }

  bool busy_ = false;
  int rounds_ = 0;
  std::vector<std::string> said_;
};

TEST(Isolation, WhatAClientIsAnsweredIsTheSameWhateverAnotherDoes) {
  Watched quiet, busy;
  const std::vector<std::string> alone = quiet.day(false);
  const std::vector<std::string> beside = busy.day(true);
  ASSERT_EQ(alone.size(), beside.size());
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_EQ(alone[i], beside[i]);
  for (const std::string& answer : beside)
    EXPECT_THAT(answer.substr(answer.find(" -> ")), Not(HasSubstr("submitter@zoo")));
  EXPECT_THAT(alone.back(), HasSubstr("acme-9"));
}

}  // namespace
}  // namespace stint
