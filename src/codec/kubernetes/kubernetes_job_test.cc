// Jobs as they are asked for and as they are told of. That an API server takes them is shown by tests/kubernetes/test_jobs.py.
#include "codec/kubernetes/kubernetes_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using nlohmann::json;
using testing::HasSubstr;

KubeJobSpec job_spec() {
  KubeJobSpec spec;
  spec.ns = "acme";
  spec.name = "stint-acme-17-0";
  spec.labels = {{"stint/daemon", "m1"}};
  spec.annotations = {{"stint/attempt", "m1:17.0"}};
  spec.image = "example.com/train:1";
  spec.command = {"python", "train.py"};
  spec.scheduler = "stint";
  spec.grace = Duration::seconds(30);
  spec.keep = Duration::hours(1);
  return spec;
}
json job_of(const KubeJobSpec& spec) { return json::parse(job_json(spec)); }
json pod_spec_of(const KubeJobSpec& spec) { return job_of(spec)["spec"]["template"]["spec"]; }
json container_of(const KubeJobSpec& spec) { return pod_spec_of(spec)["containers"][0]; }

/// What the kubelet makes of a text: $$ is a dollar, $(NAME) the value of a variable that there is.
/// Source: Kubernetes API reference v1.36, "Container", `command`.
std::string expanded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[i + 1] == '$') {
      out += text[i++];
    } else if (text[i + 1] == '(' && text.find(')', i) != std::string_view::npos) {
      out += "VALUE";
      i = text.find(')', i);
    } else {
      out += text[i];
    }
  }
  return out;
}

TEST(KubernetesJob, HasAPodForEachTaskAndMakesNoneAgain) {
  KubeJobSpec spec = job_spec();
  spec.tasks = 4;
  const json job = job_of(spec);
  EXPECT_EQ(job["spec"]["parallelism"], 4);
  EXPECT_EQ(job["spec"]["completions"], 4);
  EXPECT_EQ(job["spec"]["completionMode"], "Indexed");
  EXPECT_EQ(job["spec"]["backoffLimitPerIndex"], 0);
  EXPECT_EQ(job["spec"]["ttlSecondsAfterFinished"], 3600);
  EXPECT_EQ(job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]);
  EXPECT_EQ(job["spec"]["template"]["metadata"]["annotations"]["stint/attempt"], "m1:17.0");
  EXPECT_EQ(pod_spec_of(spec)["restartPolicy"], "Never");
  EXPECT_EQ(pod_spec_of(spec)["schedulerName"], "stint");
}

TEST(KubernetesJob, AsksForWhatATaskNeeds) {
  KubeJobSpec spec = job_spec();
  spec.gpus = 2;
  spec.cpu_milli = 1'500;
  spec.memory = Bytes::gibi(int64_t{64});
  EXPECT_EQ(container_of(spec)["resources"]["requests"],
            json({{"cpu", "1500m"}, {"memory", "68719476736"}, {"nvidia.com/gpu", "2"}}));
  EXPECT_EQ(container_of(spec)["resources"]["limits"], json({{"memory", "68719476736"}, {"nvidia.com/gpu", "2"}}));
  EXPECT_EQ(pod_spec_of(spec)["tolerations"][0]["key"], "nvidia.com/gpu");
  EXPECT_TRUE(container_of(job_spec())["resources"]["requests"].empty());
  EXPECT_TRUE(pod_spec_of(job_spec())["tolerations"].empty());
}

TEST(KubernetesJob, LeavesWithGraceAndAtItsLimitRoundedUp) {
  KubeJobSpec spec = job_spec();
  EXPECT_FALSE(pod_spec_of(spec).contains("activeDeadlineSeconds"));
  spec.grace = Duration::milliseconds(1'500);
  spec.time_limit = Duration::milliseconds(10);
  EXPECT_EQ(pod_spec_of(spec)["terminationGracePeriodSeconds"], 2);
  EXPECT_EQ(pod_spec_of(spec)["activeDeadlineSeconds"], 1);
  spec.time_limit = Duration::hours(1'000'000);
  EXPECT_EQ(pod_spec_of(spec)["activeDeadlineSeconds"], 2'147'483'647) << "the API's own limit";
}

TEST(KubernetesJob, TellsTheTasksOfAGangTheirRanksAndWhereTheFirstIs) {
  KubeJobSpec spec = job_spec();
  EXPECT_FALSE(pod_spec_of(spec).contains("subdomain"));
  spec.tasks = 3;
  spec.port = 29'500;
  spec.environment = {{"MASTER_PORT", "29501"}};
  const json container = container_of(spec);
  std::map<std::string, json> found;
  for (const json& one : container["env"]) {
    EXPECT_FALSE(found.contains(one["name"])) << one["name"] << " stands twice";
    found[one["name"]] = one.contains("value") ? one["value"] : one["valueFrom"]["fieldRef"]["fieldPath"];
  }
  EXPECT_EQ(found["WORLD_SIZE"], "3");
  EXPECT_EQ(found["RANK"], "metadata.annotations['batch.kubernetes.io/job-completion-index']");
  EXPECT_EQ(found["MASTER_ADDR"], "stint-acme-17-0-0.stint-acme-17-0");
  EXPECT_EQ(found["MASTER_PORT"], "29501") << "what the job says itself counts";
  EXPECT_EQ(found["STINT_NODE"], "spec.nodeName");
  EXPECT_EQ(pod_spec_of(spec)["subdomain"], spec.name);
  const json service = json::parse(service_json(spec, "u1"));
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["selector"]["batch.kubernetes.io/job-name"], spec.name);
  EXPECT_EQ(service["metadata"]["ownerReferences"][0]["uid"], "u1");
  EXPECT_EQ(service["metadata"]["name"], spec.name);
}

TEST(KubernetesJob, KeepsTextsAsTheyAre) {
  for (const std::string_view text : {"$(HOME)", "$$", "$HOME", "a$", "$$(X)", "cost: $5", "$($(X))", ""})
    EXPECT_EQ(expanded(kube_literal(text)), text);
  KubeJobSpec spec = job_spec();
  spec.command = {"sh", "-c", "echo $(date)"};
  spec.environment = {{"A", "$(B)"}};
  EXPECT_EQ(container_of(spec)["command"][2], "echo $$(date)");
  EXPECT_EQ(container_of(spec)["env"][0]["value"], "$$(B)");
}

TEST(KubernetesJob, RunsAsNoRootWhereItIsRestricted) {
  KubeJobSpec spec = job_spec();
  EXPECT_EQ(container_of(spec)["securityContext"]["allowPrivilegeEscalation"], false);
  EXPECT_FALSE(container_of(spec)["securityContext"].contains("runAsNonRoot"));
  EXPECT_EQ(pod_spec_of(spec)["automountServiceAccountToken"], false);
  spec.restricted = true;
  EXPECT_EQ(container_of(spec)["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(container_of(spec)["securityContext"]["capabilities"]["drop"], json::array({"ALL"}));
}

TEST(KubernetesJob, ReadsTolerationsAsTaintsAreWritten) {
  const auto is = [](std::string_view text, std::string_view key, std::string_view value, std::string_view effect, bool exists) {
    const KubeToleration one = parse_kube_toleration(text);
    EXPECT_TRUE(one.key == key && one.value == value && one.effect == effect && one.exists == exists) << text;
  };
  is("team=vision:NoSchedule", "team", "vision", "NoSchedule", false);
  is("team:NoSchedule", "team", "", "NoSchedule", true);
  is("team", "team", "", "", true);
}

TEST(KubernetesJob, MakesValuesOfLabels) {
  EXPECT_EQ(kube_label_value("anna@example.com"), "anna-example.com");
  EXPECT_EQ(kube_label_value("_x_"), "x");
  EXPECT_EQ(kube_label_value("@@"), "");
  EXPECT_EQ(kube_label_value(std::string(100, 'a')), std::string(63, 'a'));
}

TEST(KubernetesJob, ReadsWhatTheServerTells) {
  KubeMadeJobDecoder decoder;
  const std::string text =
      R"({"metadata":{"name":"j","namespace":"a","uid":"u","annotations":{"stint/attempt":"m1:1.0","x":"y"}},)"
      R"("status":{"conditions":[{"type":"Complete","status":"True"}]}})";
  const auto job = decoder.decode(text);
  ASSERT_TRUE(job.ok()) << job.error().message;
  EXPECT_EQ(job->annotation("stint/attempt"), "m1:1.0");
  EXPECT_EQ(job->annotations.size(), 1U);
  EXPECT_TRUE(job->finished);
  EXPECT_FALSE(job->deleting);
  const auto event = decoder.decode_event(
      R"({"type":"MODIFIED","object":{"metadata":{"name":"j","uid":"u","deletionTimestamp":"2026-09-01T00:00:00Z","resourceVersion":"7"},)"
      R"("status":{"conditions":[{"type":"Failed","status":"False"}]}}})");
  ASSERT_TRUE(event.ok() && event->job) << (event.ok() ? event->event.message : event.error().message);
  EXPECT_TRUE(event->job->deleting);
  EXPECT_FALSE(event->job->finished);
  EXPECT_THAT(decoder.decode(R"({"metadata":{"name":"j","annotations":7}})").error().message, HasSubstr("Job"));
}

TEST(KubernetesJob, FindsTheLastWarning) {
  KubeMadeJobDecoder decoder;
  const auto said = decoder.last_warning(
      R"({"items":[{"type":"Warning","reason":"FailedCreate","message":"new","lastTimestamp":"2026-09-01T00:00:02Z"},)"
      R"({"type":"Normal","reason":"SuccessfulCreate","message":"x","lastTimestamp":"2026-09-01T00:00:03Z"},)"
      R"({"type":"Warning","reason":"FailedCreate","message":"old","lastTimestamp":"2026-09-01T00:00:01Z"}]})");
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(*said, "FailedCreate: new");
  EXPECT_EQ(*decoder.last_warning("{}"), "");
  EXPECT_FALSE(decoder.last_warning("[]").ok());
}

}  // namespace
}  // namespace stint
