// The daemon's own launches as Jobs: what they are called, what they ask for, what cannot be, and how they are found again.
#include "backends/kubernetes/kube_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Launch kube_launch(int32_t task = 0, int32_t tasks = 1) {
  Launch launch;
  launch.key = {.job = 17, .attempt = 0, .task = task};
  launch.node = "gpu-0";
  launch.gpus = {{.index = 0, .uuid = "", .mig_uuid = ""}, {.index = 3, .uuid = "", .mig_uuid = ""}};
  launch.command = {"python", "train.py"};
  launch.image = "example.com/train:1";
  launch.environment = {{"STINT_JOB", "Acme-17_3"}, {"EPOCHS", "3"}};
  launch.owner = "Acme/anna@example.com";
  launch.cpu_milli = 4'000;
  launch.time_limit = Duration::hours(1);
  if (tasks > 1) {
    GangPlace gang;
    gang.rank = task;
    gang.world_size = tasks;
    gang.master_port = 29'500;
    launch.gang = gang;
  }
  return launch;
}
KubeJobRules job_rules() {
  KubeJobRules rules;
  rules.mark = "m1";
  rules.ns = "jobs";
  rules.of_clients = {{"Zoo", "team-zoo"}};
  return rules;
}
std::string why_refused(const Launch& launch) {
  const Status status = check_kube_launch(launch);
  return status.ok() ? "" : status.error().message;
}

TEST(KubeJobs, IsNamedAfterItsAttemptAlone) {
  const auto one = kube_job_of({kube_launch()}, job_rules());
  ASSERT_TRUE(one.ok()) << one.error().message;
  EXPECT_THAT(one->name, testing::MatchesRegex("stint-acme-17-3-[0-9a-f]+"));
  Launch again = kube_launch();
  again.node = "gpu-1";
  again.image = "example.com/other";
  EXPECT_EQ(kube_job_of({again}, job_rules())->name, one->name);
  Launch next = kube_launch();
  next.key.attempt = 1;
  EXPECT_NE(kube_job_of({next}, job_rules())->name, one->name);
  KubeJobRules other = job_rules();
  other.mark = "m2";
  EXPECT_NE(kube_job_of({kube_launch()}, other)->name, one->name) << "of another daemon";
  Launch longest = kube_launch();
  longest.environment = {{"STINT_JOB", std::string(200, 'x')}};
  // "-4095" behind it is a pod's host name, a DNS label of 63 characters at most.
  EXPECT_LE(kube_job_of({longest}, job_rules())->name.size() + 5, 63U);
}

TEST(KubeJobs, CarriesWhatTheLaunchSays) {
  const auto spec = kube_job_of({kube_launch()}, job_rules());
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->ns, "jobs");
  EXPECT_EQ(spec->gpus, 2);
  EXPECT_EQ(spec->cpu_milli, 4'000);
  EXPECT_EQ(spec->time_limit, Duration::hours(1));
  EXPECT_EQ(spec->port, 0);
  EXPECT_EQ(spec->environment.at("EPOCHS"), "3");
  EXPECT_EQ(spec->environment.at("STINT_TASK"), "0");
  EXPECT_THAT(spec->labels, testing::Contains(Tag("stint/client", "Acme")));
  EXPECT_THAT(spec->labels, testing::Contains(Tag("stint/user", "anna-example.com")));
  Launch zoo = kube_launch();
  zoo.owner = "Zoo/zed";
  EXPECT_EQ(kube_job_of({zoo}, job_rules())->ns, "team-zoo");
  EXPECT_TRUE(job_rules().makes_in("team-zoo") && job_rules().makes_in("jobs") && !job_rules().makes_in("kube-system"));
}

TEST(KubeJobs, GivesAGangOnePodForEachTaskInOrderOfRank) {
  const auto spec = kube_job_of({kube_launch(0, 2), kube_launch(4, 2)}, job_rules());
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(spec->tasks, 2);
  EXPECT_EQ(spec->port, 29'500);
  KubeMadeJobDecoder decoder;
  const auto job = decoder.decode(job_json(*spec));
  ASSERT_TRUE(job.ok());
  const auto whose = attempt_of_job(*job, "m1");
  ASSERT_TRUE(whose);
  EXPECT_EQ(whose->attempt, (AttemptKey{.job = 17, .attempt = 0}));
  EXPECT_THAT(whose->tasks, ElementsAre(0, 4));
  EXPECT_FALSE(attempt_of_job(*job, "m2")) << "another daemon's";
}

TEST(KubeJobs, RefusesWhatAPodCannotDoAndSaysWhatWorks) {
  EXPECT_EQ(why_refused(kube_launch()), "");
  Launch launch = kube_launch();
  launch.image.clear();
  EXPECT_THAT(why_refused(launch), HasSubstr("--image"));
  launch = kube_launch();
  launch.tenancy = Tenancy::kShared;
  EXPECT_THAT(why_refused(launch), HasSubstr("--gpus in place of"));
  launch = kube_launch();
  launch.output_path = "/data/out";
  EXPECT_THAT(why_refused(launch), HasSubstr("stint logs"));
  launch = kube_launch();
  launch.folder = "work";
  EXPECT_THAT(why_refused(launch), HasSubstr("begins with /"));
  launch = kube_launch();
  launch.environment = {{"A B", "1"}};
  EXPECT_THAT(why_refused(launch), HasSubstr("A B"));
  EXPECT_FALSE(kube_job_of({launch}, job_rules()).ok());
}

KubePlacingPod made_pod(const std::string& annotations, const std::string& labels, const std::string& status = "{}") {
  KubePlacingDecoder decoder;
  auto object = decoder.decode(fmt::format(R"({{"metadata":{{"name":"p","namespace":"jobs","uid":"u","annotations":{{{}}},)"
                                           R"("labels":{{{}}}}},"spec":{{"containers":[]}},"status":{}}})",
                                           annotations, labels, status),
                               "Pod");
  EXPECT_TRUE(object.ok()) << (object.ok() ? "" : object.error().message);
  return object.ok() ? std::get<KubePlacingPod>(std::move(*object)) : KubePlacingPod();
}

TEST(KubeJobs, FindsPodsByAttemptAndIndex) {
  const std::string index = R"("batch.kubernetes.io/job-completion-index":"3")";
  const auto whose = attempt_of_pod(made_pod(R"("stint/attempt":"m1:17.2")", index), "m1");
  ASSERT_TRUE(whose);
  EXPECT_EQ(whose->attempt, (AttemptKey{.job = 17, .attempt = 2}));
  EXPECT_EQ(whose->index, 3);
  EXPECT_FALSE(attempt_of_pod(made_pod(R"("stint/attempt":"m1:17.2")", index), "m2"));
  EXPECT_FALSE(attempt_of_pod(made_pod(R"("stint/attempt":"m1:17.2")", ""), "m1"));
  EXPECT_FALSE(attempt_of_pod(made_pod("", index), "m1"));
}

TEST(KubeJobs, SaysWhyContainersDoNotBegin) {
  const auto pod = [](const std::string& waiting) {
    return made_pod("", "", R"({"phase":"Pending","containerStatuses":[{"name":"main","state":{"waiting":)" + waiting + "}}]}");
  };
  EXPECT_EQ(why_not_begun(pod(R"({"reason":"ContainerCreating"})")), "");
  EXPECT_EQ(why_not_begun(pod(R"({"reason":"ImagePullBackOff","message":"no such image"})")), "ImagePullBackOff: no such image");
  EXPECT_FALSE(is_hopeless(pod(R"({"reason":"ImagePullBackOff"})")));
  EXPECT_TRUE(is_hopeless(pod(R"({"reason":"InvalidImageName"})")));
  EXPECT_EQ(why_not_begun(made_pod("", "", R"({"phase":"Running"})")), "");
}

TEST(KubeJobs, KnowsTheJobsThatAreThere) {
  KubeMadeJobs made;
  const auto job = [](const std::string& uid) { return R"({"metadata":{"name":"j","namespace":"a","uid":")" + uid + R"("}})"; };
  made.begin_list();
  made.take(job("u1"));
  made.take(job("u2"));
  made.end_list();
  EXPECT_EQ(made.jobs.size(), 2U);
  ASSERT_TRUE(made.event(R"({"type":"DELETED","object":)" + job("u1") + "}").ok());
  ASSERT_TRUE(made.event(R"({"type":"ADDED","object":)" + job("u3") + "}").ok());
  EXPECT_TRUE(!made.jobs.contains("u1") && made.jobs.contains("u3"));
  made.begin_list();
  made.take(job("u3"));
  made.end_list();
  EXPECT_EQ(made.jobs.size(), 1U) << "a new list is all there is";
}

}  // namespace
}  // namespace stint
