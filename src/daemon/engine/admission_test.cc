#include "daemon/engine/admission.h"

#include <gmock/gmock.h>

#include <simdjson.h>
#include <nlohmann/json.hpp>

#include "daemon/json_fields.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const Interval kOctober = *parse_month("2026-10");

/// 8 A100 at 16 an hour (2 a GPU-hour); 4 L4 at 4 an hour (1 a GPU-hour).
std::vector<NodeKind> kinds() {
  return {{.gpu_model = "A100-80GB",
           .gpus = 8,
           .gpu_memory = Bytes::gibi(int64_t{80}),
           .cpu_milli = 64'000,
           .region = "eu",
           .owner = "",
           .rate = Rate::per_hour(Money::units(16))},
          {.gpu_model = "L4",
           .gpus = 4,
           .gpu_memory = Bytes::gibi(int64_t{24}),
           .cpu_milli = 32'000,
           .region = "us",
           .owner = "",
           .rate = Rate::per_hour(Money::units(4))}};
}

JobRequest job(int gpus, Duration limit = sched::kUnlimited) {
  JobRequest r;
  r.queue = "agency/vision";
  r.user = "ann";
  r.command = {"train"};
  r.gpus = gpus;
  r.time_limit = limit;
  return r;
}

Money cost_of(const JobRequest& r, const GovernPolicy& policy = {}) {
  return money_of(most_cost(r, policy, "agency", kinds()).spend.nanos, Currency());
}

AdmissionFacts facts_for(const JobRequest& r, const GovernPolicy& policy) {
  AdmissionFacts facts;
  facts.client = "agency";
  facts.month = kOctober;
  facts.cost = most_cost(r, policy, "agency", kinds());
  return facts;
}

TEST(MostCost, IsTheTimeLimitOnTheDearestMachineItMayUse) {
  EXPECT_EQ(cost_of(job(4, Duration::hours(3))), Money::units(24));  // 4 × 3 h × 2
  JobRequest l4 = job(4, Duration::hours(3));
  l4.gpu_models = {"L4"};
  EXPECT_EQ(cost_of(l4), Money::units(12));
  EXPECT_EQ(cost_of(job(8, Duration::hours(1))), Money::units(16));  // fits the A100 alone
  JobRequest gang = job(2, Duration::hours(1));
  gang.tasks = 3;
  gang.array = 5;
  EXPECT_EQ(cost_of(gang), Money::units(2 * 2 * 3 * 5));
}

TEST(MostCost, WithoutATimeLimitTheAssumedOneCountsHoweverShortTheJobExpectsToBe) {
  GovernPolicy policy;
  policy.assumed_duration = Duration::hours(10);
  JobRequest r = job(1);
  r.expected = Duration::minutes(1);
  EXPECT_EQ(cost_of(r, policy), Money::units(20));
  r.expected = Duration::hours(100);
  EXPECT_EQ(cost_of(r, policy), Money::units(200));
}

TEST(MostCost, PartsOfGpusAreCountedAsTheLedgerDoes) {
  JobRequest r = job(0, Duration::hours(1));
  r.gpu_milli = 250;
  EXPECT_EQ(cost_of(r), *Money::parse("0.5"));
  r.gpu_milli = 0;
  r.gpu_memory = Bytes::gibi(int64_t{20});  // a quarter of an A100, 834 of 1000 of an L4
  EXPECT_EQ(cost_of(r), *Money::parse("0.834"));
  r.gpu_memory = {};
  r.mig_profile = "3g.40gb";  // three of seven compute slices: 428 of 1000
  EXPECT_EQ(cost_of(r), *Money::parse("0.856"));
  JobRequest cpu = job(0, Duration::hours(1));
  cpu.cpu_milli = 64'000;
  EXPECT_EQ(cost_of(cpu), Money::units(0));  // machines with GPUs are paid by GPU
}

TEST(MostCost, AnUnpayableSumIsStillANumber) {
  JobRequest r = job(8, Duration::hours(24) * 36'500);
  r.tasks = kMostTasks;
  r.array = kMostOfArray;
  EXPECT_GT(most_cost(r, {}, "agency", kinds()).spend.nanos, 0);
}

TEST(MayUse, ADedicatedMachineIsItsClientsAlone) {
  GovernPolicy policy;
  policy.clients = {{.client = "agency", .dedicated_nodes = {"n1"}, .only_dedicated = true},
                    {.client = "studio", .regions = {"eu"}}};
  NodeKind own = kinds()[0];
  own.owner = "agency";
  EXPECT_TRUE(may_use(policy, "agency", own));
  EXPECT_FALSE(may_use(policy, "other", own));
  EXPECT_FALSE(may_use(policy, "agency", kinds()[0]));  // only its own
  EXPECT_TRUE(may_use(policy, "studio", kinds()[0]));
  EXPECT_FALSE(may_use(policy, "studio", kinds()[1]));  // in the US
  policy.clients[1].regions = {"e*"};
  EXPECT_TRUE(may_use(policy, "studio", kinds()[0]));
  EXPECT_FALSE(may_use(policy, "studio", kinds()[1]));
  EXPECT_TRUE(may_use(policy, "other", kinds()[1]));
  EXPECT_TRUE(restricts(policy, "other"));  // n1 is not for it
  EXPECT_FALSE(restricts(GovernPolicy(), "other"));
}

TEST(Admit, ABudgetRefusesWhatCouldOverrunIt) {
  GovernPolicy policy;
  const BudgetRule rule{.name = "vision", .queue = "agency/vision", .per_month = Money::units(100)};
  const JobRequest r = job(8, Duration::hours(2));  // 32
  AdmissionFacts facts = facts_for(r, policy);
  facts.budgets = {{.rule = &rule, .spent = Money::units(40).count_nanos(), .promised = Money::units(28).count_nanos()}};
  EXPECT_TRUE(admit(r, facts, policy).ok());  // 100 exactly
  facts.budgets[0].promised += 1;
  const auto refused = admit(r, facts, policy);
  ASSERT_FALSE(refused.ok());
  for (const char* told :
       {"budget vision", "2026-10", "100.00 USD", "40.00 USD", "28.00 USD", "32.00 USD", "2026-11-01", "raise"})
    EXPECT_THAT(refused.error().message, HasSubstr(told));
}

TEST(Admit, ABudgetThatAsksLetsItWaitAndOneThatWarnsLetsItIn) {
  GovernPolicy policy;
  BudgetRule rule{.name = "vision", .queue = "agency", .per_month = Money::units(1), .at_limit = AtLimit::kApprove};
  const JobRequest r = job(8, Duration::hours(2));
  AdmissionFacts facts = facts_for(r, policy);
  facts.budgets = {{.rule = &rule}};
  EXPECT_THAT(admit(r, facts, policy)->needs_approval, HasSubstr("budget vision"));
  rule.at_limit = AtLimit::kWarn;
  EXPECT_EQ(admit(r, facts, policy)->needs_approval, "");
}

TEST(Admit, WhatCostsNothingIsNotHeldAgainstASpentBudget) {
  const BudgetRule rule{.name = "b", .queue = "agency", .per_month = Money::units(1)};
  JobRequest r = job(0);
  r.cpu_milli = 1'000;
  AdmissionFacts facts = facts_for(r, {});
  facts.budgets = {{.rule = &rule, .spent = Money::units(2).count_nanos()}};
  EXPECT_TRUE(admit(r, facts, {}).ok());
}

TEST(Admit, ABudgetOfAllTellsNoClientWhatOthersSpent) {
  const BudgetRule rule{.name = "fleet", .per_month = Money::units(100)};
  const JobRequest r = job(8, Duration::hours(2));
  AdmissionFacts facts = facts_for(r, {});
  facts.budgets = {{.rule = &rule, .spent = Money::units(97).count_nanos()}};
  const auto refused = admit(r, facts, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, ::testing::Not(HasSubstr("97")));
}

TEST(Admit, AbovePriceSomebodyMustApprove) {
  GovernPolicy policy;
  policy.approval_above = Money::units(30);
  const JobRequest dear = job(8, Duration::hours(2));  // 32
  const JobRequest cheap = job(8, Duration::hours(1));
  EXPECT_THAT(admit(dear, facts_for(dear, policy), policy)->needs_approval, HasSubstr("32.00 USD"));
  EXPECT_EQ(admit(cheap, facts_for(cheap, policy), policy)->needs_approval, "");
  policy.clients = {{.client = "agency", .approval_above = Money::units(10)}};  // its own rule comes first
  EXPECT_NE(admit(cheap, facts_for(cheap, policy), policy)->needs_approval, "");
}

TEST(Admit, QuotasNameLimitFigureAndRemedy) {
  GovernPolicy policy;
  policy.clients = {{.client = "agency",
                     .quota = {.gpus = 16, .gpu_hours_per_month = 100, .jobs_waiting = 3},
                     .user_quota = {.gpus = 8, .gpu_hours_per_month = {}, .jobs_waiting = {}}}};
  const JobRequest r = job(4, Duration::hours(5));  // 20 GPU-hours
  AdmissionFacts facts = facts_for(r, policy);
  facts.client_use = {.gpu_milli = 12'000, .micro_gpu_hours = 80'000'000, .waiting = 2};
  facts.user_use = {.gpu_milli = 4'000};
  EXPECT_TRUE(admit(r, facts, policy).ok());
  const auto refusal = [&](const QuotaUse& client, const QuotaUse& user) {
    facts.client_use = client;
    facts.user_use = user;
    const auto verdict = admit(r, facts, policy);
    return verdict.ok() ? std::string() : verdict.error().message;
  };
  EXPECT_THAT(refusal({.gpu_milli = 12'001}, {}),
              ::testing::AllOf(HasSubstr("client agency"), HasSubstr("16"), HasSubstr("max_gpus")));
  EXPECT_THAT(refusal({.micro_gpu_hours = 80'000'001}, {}),
              ::testing::AllOf(HasSubstr("100 GPU-hours"), HasSubstr("20.0"), HasSubstr("2026-11-01")));
  EXPECT_THAT(refusal({.waiting = 3}, {}), HasSubstr("may have 3 jobs waiting: there are 3, this adds 1: "));
  EXPECT_THAT(refusal({}, {.gpu_milli = 4'001}), HasSubstr("user ann"));
}

TEST(Backlog, IsLimitedWhereTheConfigurationSetsNoLimit) {
  JobRequest job;
  job.user = "eve";
  AdmissionRefusal why;
  EXPECT_TRUE(check_backlog(job, "acme", kMostWaitingOfUser - 1, kMostWaitingOfClient - 1, nullptr, &why).ok());
  const Status user = check_backlog(job, "acme", kMostWaitingOfUser, 20'000, nullptr, &why);
  ASSERT_FALSE(user.ok());
  EXPECT_THAT(user.error().message,
              AllOf(HasSubstr("user eve in client acme may have 20000 jobs waiting"), HasSubstr("user_max_waiting")));
  EXPECT_EQ(why.of, "user");
  job.array = 10'000;
  const Status client = check_backlog(job, "acme", 0, 40'001, nullptr, &why);
  ASSERT_FALSE(client.ok());
  EXPECT_THAT(client.error().message, HasSubstr("client acme may have 50000 jobs waiting: there are 40001, this adds 10000"));
  EXPECT_EQ(why.of, "client");
  ClientRules rules;
  rules.user_quota.jobs_waiting = 1'000'000;
  EXPECT_TRUE(check_backlog(job, "acme", 39'000, 40'000, &rules, nullptr).ok())
      << "admit() holds it to what the configuration says";
  rules.quota.jobs_waiting = 1'000'000;
  EXPECT_TRUE(check_backlog(job, "acme", 500'000, 500'000, &rules, nullptr).ok());
}

TEST(Admit, AClientWithoutAMachineForTheJobIsTold) {
  GovernPolicy policy;
  policy.clients = {{.client = "agency", .regions = {"eu"}}};
  JobRequest r = job(1);
  r.gpu_models = {"L4"};  // in the US alone
  const auto refused = admit(r, facts_for(r, policy), policy);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("its regions (eu)"));
}

TEST(SpendBook, CountsAMonthOnly) {
  SpendBook book;
  const uint32_t account = book.account(0, "ann", "x");
  EXPECT_EQ(book.account(0, "ann", "x"), account);
  EXPECT_NE(book.account(0, "ann", "y"), account);
  const Instant end = kOctober.begin + Duration::hours(1);
  book.advance(end);
  book.post(account, {kOctober.begin - Duration::hours(3), end}, {.nanos = 400, .micro_gpu_hours = 8});
  EXPECT_EQ(book[account].spent, (Spend{.nanos = 100, .micro_gpu_hours = 2}));  // one hour of four
  book.advance(kOctober.end);
  EXPECT_EQ(book[account].spent, Spend());
}

TEST(GovernPolicy, IsReadAsItIsWritten) {
  const std::string text =
      R"({"assumed_duration":7200.0,"approval_above":"50","budgets":[{"name":"b","queue":"agency","project":"p",)"
      R"("per_month":"10.5","thresholds":[50,90],"at_limit":"approve"}],"clients":[{"name":"agency",)"
      R"("approval_above":"20","max_gpus":8,"gpu_hours_per_month":100,"max_waiting":5,"user_max_gpus":2,)"
      R"("regions":["eu"],"dedicated_nodes":["n0"],"only_dedicated":true}]})";
  JsonParser parser;
  const auto policy = read_policy(*parser.parse(text, "govern"), "govern", Currency());
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  JsonParser again;
  const std::string written = to_json(*policy).dump();
  const auto second = read_policy(*again.parse(written, "govern"), "govern", Currency());
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(*second, *policy);
  EXPECT_EQ(policy->budgets[0].per_month, *Money::parse("10.5"));
  EXPECT_EQ(policy->owner_of("n0"), "agency");
}

TEST(GovernPolicy, SaysWhatIsWrongWithIt) {
  const auto error = [](const std::string& text) {
    JsonParser parser;
    const auto policy = read_policy(*parser.parse(text, "govern"), "fleet.json: govern", Currency());
    return policy.ok() ? std::string("none") : policy.error().message;
  };
  EXPECT_THAT(error(R"({"budgets":[{"name":"b","per_month":5}]})"),
              HasSubstr("fleet.json: govern: budgets 1: field 'per_month'"));
  EXPECT_THAT(error(R"({"budgets":[{"name":"b","per_month":"0"}]})"), HasSubstr("above 0"));
  EXPECT_THAT(error(R"({"budgets":[{"name":"b","per_month":"1"},{"name":"b","per_month":"1"}]})"), HasSubstr("twice"));
  EXPECT_THAT(error(R"({"budgets":[{"name":"b","per_month":"1","at_limit":"shout"}]})"), HasSubstr("refuse, approve or warn"));
  EXPECT_THAT(error(R"({"clients":[{"name":"a","max_gpu":1}]})"), HasSubstr("unknown field 'max_gpu'"));
  EXPECT_THAT(error(R"({"clients":[{"name":"a","dedicated_nodes":["n"]},{"name":"b","dedicated_nodes":["n"]}]})"),
              HasSubstr("is a's already"));
  EXPECT_THAT(error(R"({"clients":[{"name":"a","only_dedicated":true}]})"), HasSubstr("dedicated_nodes"));
  GovernPolicy policy;
  policy.clients = {{.client = "agency/vision"}};
  EXPECT_FALSE(check_policy(policy, {"agency", "agency/vision"}, {}, "f").ok());
  policy.clients = {{.client = "agency", .dedicated_nodes = {"n9"}}};
  EXPECT_FALSE(check_policy(policy, {"agency"}, {"n1"}, "f").ok());
}

std::string impossible(const JobRequest& r, const GovernPolicy& policy = {}) {
  std::vector<NodeKind> fleet = kinds();
  fleet[0].machines = 2;
  fleet[0].memory = fleet[1].memory = Bytes::gibi(int64_t{256});
  const Status status = check_possible(r, policy, "agency", fleet);
  return status.ok() ? "" : status.error().message;
}

TEST(Possible, WhatAMachineHasIs) {
  EXPECT_EQ(impossible(job(8)), "");
  EXPECT_EQ(impossible(job(0)), "");
  JobRequest gang = job(8);
  gang.tasks = 2;
  EXPECT_EQ(impossible(gang), "");
}

TEST(Possible, MoreGpusThanAnyMachineHasAreNot) {
  EXPECT_THAT(impossible(job(16)),
              HasSubstr("no machine has 16 GPUs: the fleet has 2 machines with 8 × A100-80GB, 1 machine with 4 × L4"));
  JobRequest l4 = job(8);
  l4.gpu_models = {"L4"};
  EXPECT_THAT(impossible(l4), HasSubstr("no machine has 8 GPUs of model L4"));
}

TEST(Possible, AModelThatIsNotThereIsNamedWithThoseThatAre) {
  JobRequest r = job(1);
  r.gpu_models = {"H200"};
  EXPECT_THAT(impossible(r), HasSubstr("no machine has a GPU of model H200: the fleet has 2 machines with 8 × A100-80GB"));
}

TEST(Possible, OneOfTheNamedModelsWillDo) {
  JobRequest r = job(1);
  r.gpu_models = {"H200", "L4"};
  EXPECT_EQ(impossible(r), "");
}

TEST(Possible, AMachineThatIsCutIntoPartsHasNoWholeGpu) {
  std::vector<NodeKind> fleet = kinds();
  fleet[0].whole_gpus = fleet[1].whole_gpus = false;
  EXPECT_FALSE(check_possible(job(1), {}, "agency", fleet).ok());
  JobRequest part = job(0);
  part.gpu_milli = 250;
  EXPECT_TRUE(check_possible(part, {}, "agency", fleet).ok());
}

TEST(Possible, AMachineHoldsNoMoreTasksThanItIsConfiguredFor) {
  std::vector<NodeKind> fleet = kinds();
  fleet[0].max_tasks = 1;
  JobRequest pair = job(4);
  pair.gpu_models = {"A100-80GB"};
  pair.tasks = 2;  // 2 × 4 GPUs on the one machine with 8
  EXPECT_FALSE(check_possible(pair, {}, "agency", fleet).ok());
  fleet[0].max_tasks = 2;
  EXPECT_TRUE(check_possible(pair, {}, "agency", fleet).ok());
}

TEST(Possible, AGangLargerThanTheFleetIsNot) {
  JobRequest gang = job(8);
  gang.tasks = 3;
  EXPECT_THAT(impossible(gang), HasSubstr("3 tasks with 8 GPUs each together: the whole fleet has room for 2"));
  gang.min_tasks = 2;  // elastic: two will do
  EXPECT_EQ(impossible(gang), "");
}

TEST(Possible, MoreHostMemoryOrCpusThanAnyMachineHasAreNot) {
  JobRequest r = job(1);
  r.memory = Bytes::gibi(int64_t{512});
  EXPECT_THAT(impossible(r), HasSubstr("512 GiB of memory for a task: they have up to 64 CPUs, and up to 256 GiB"));
  r.memory = {};
  r.cpu_milli = 65'000;
  EXPECT_THAT(impossible(r), HasSubstr("65 CPUs"));
}

TEST(Possible, MachinesOfOthersAreNotSpokenOf) {
  GovernPolicy policy;
  policy.clients = {{.client = "agency", .regions = {"us"}}};
  EXPECT_THAT(impossible(job(8), policy), HasSubstr("the fleet has 1 machine with 4 × L4"));
}

}  // namespace
}  // namespace stint
