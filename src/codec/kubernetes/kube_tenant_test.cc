// Descriptions of clients' namespaces, and what is made of them. That an API server takes and enforces it is shown by
// tests/kubernetes/test_tenant.py.
#include "codec/kubernetes/kube_tenant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/yaml.h"

namespace stint {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

KubeTenant tenant_of(const std::string& described) {
  auto tenant = parse_kube_tenant("tenants: {acme: " + described + "}", "tenants.yaml", "acme");
  EXPECT_TRUE(tenant.ok()) << tenant.error().message;
  return tenant.ok() ? *tenant : KubeTenant();
}
std::string refusal(const std::string& described) {
  const auto tenant = parse_kube_tenant("tenants: {acme: " + described + "}", "tenants.yaml", "acme");
  EXPECT_FALSE(tenant.ok()) << described;
  return tenant.ok() ? "" : tenant.error().message;
}
std::vector<json> objects_of(const std::string& described, const std::string& kind) {
  std::vector<json> out;
  for (const KubeManifest& manifest : tenant_manifests(tenant_of(described)))
    if (json object = json::parse(manifest.json); object["kind"] == kind) out.push_back(std::move(object));
  return out;
}
json quota_of(const std::string& described) { return objects_of(described, "ResourceQuota").front()["spec"]["hard"]; }

TEST(KubeTenant, IsApartFromOthersWithoutAWord) {
  const KubeTenant tenant = tenant_of("{}");
  EXPECT_EQ(tenant.ns, "acme");
  const json ns = objects_of("{}", "Namespace").front();
  EXPECT_EQ(ns["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
  const json policy = objects_of("{}", "NetworkPolicy").front()["spec"];
  EXPECT_EQ(policy["policyTypes"], json({"Ingress", "Egress"}));
  EXPECT_EQ(policy["ingress"], json::parse(R"([{"from": [{"podSelector": {}}]}])"));
  EXPECT_EQ(policy["egress"].size(), 2U) << "its own pods, and names";
  EXPECT_EQ(objects_of("{}", "ServiceAccount").front()["automountServiceAccountToken"], false);
  EXPECT_THAT(objects_of("{}", "Role"), IsEmpty());
  EXPECT_EQ(quota_of("{}")["services.loadbalancers"], "0");
}

TEST(KubeTenant, AQuotaOfGpusLeavesNoOtherWayToOne) {
  const json hard = quota_of("{quota: {gpus: 4, other: {nvidia.com/mig-1g.10gb: 7}}}");
  EXPECT_EQ(hard["requests.nvidia.com/gpu"], "4");
  EXPECT_EQ(hard["requests.nvidia.com/mig-1g.10gb"], "7");
  EXPECT_EQ(hard["requests.nvidia.com/mig-3g.40gb"], "0");
  EXPECT_EQ(hard["requests.nvidia.com/mig-1g.10gb.me"], "0");
  EXPECT_EQ(hard["requests.nvidia.com/gpu.shared"], "0");
  EXPECT_EQ(hard["count/resourceclaims.resource.k8s.io"], "0");
  EXPECT_FALSE(quota_of("{quota: {cpu: 4}}").contains("requests.nvidia.com/mig-3g.40gb"))
      << "without a bound of GPUs there is none of slices";
}

TEST(KubeTenant, OfOthersPriorityClassesThereIsNone) {
  const auto quotas = objects_of("{priorities: {acme-urgent: {value: 1000, gpus: 2}, shared: {}}}", "ResourceQuota");
  ASSERT_EQ(quotas.size(), 3U);
  EXPECT_EQ(quotas[1]["spec"], json::parse(R"({"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [
      {"scopeName": "PriorityClass", "operator": "Exists"},
      {"scopeName": "PriorityClass", "operator": "NotIn", "values": ["acme-urgent", "shared"]}]}})"));
  EXPECT_EQ(quotas[2]["spec"]["hard"], json::parse(R"({"requests.nvidia.com/gpu": "2"})"));
  const auto classes = objects_of("{priorities: {acme-urgent: {value: 1000, gpus: 2}, shared: {}}}", "PriorityClass");
  ASSERT_EQ(classes.size(), 1U) << "one without a value is there already";
  EXPECT_EQ(classes[0]["value"], 1000);
}

TEST(KubeTenant, TheInternetHasNoPrivateAddresses) {
  const json egress =
      objects_of("{internet: true, reaches: [{to: 10.1.0.0/16, ports: [443]}]}", "NetworkPolicy").front()["spec"]["egress"];
  EXPECT_EQ(egress[2],
            json::parse(R"({"to": [{"ipBlock": {"cidr": "10.1.0.0/16"}}], "ports": [{"protocol": "TCP", "port": 443}]})"));
  EXPECT_THAT(egress[3]["to"][0]["ipBlock"]["except"], AllOf(Contains("169.254.0.0/16"), Contains("10.0.0.0/8")));
}

TEST(KubeTenant, WhoWorksThereChangesNeitherRightsNorBounds) {
  for (const json& role : objects_of("{users: [ada], viewers: [finance]}", "Role"))
    for (const json& rule : role["rules"])
      for (const json& resource : rule["resources"])
        if (resource == "resourcequotas" || resource == "limitranges" || resource == "serviceaccounts" || resource == "events")
          EXPECT_EQ(rule["verbs"], json({"get", "list", "watch"}));
        else
          EXPECT_THAT(resource.get<std::string>(),
                      Not(testing::AnyOf("networkpolicies", "roles", "rolebindings", "serviceaccounts/token")));
  const auto bindings = objects_of("{users: [ada], groups: [dev], viewers: [finance], account: stint/scheduler}", "RoleBinding");
  ASSERT_EQ(bindings.size(), 3U);
  EXPECT_EQ(bindings[0]["subjects"].size(), 2U);
  EXPECT_EQ(bindings[1]["subjects"][0]["name"], "finance");
  EXPECT_EQ(bindings[2]["roleRef"]["name"], "stint-jobs-made");
}

TEST(KubeTenant, PathsAreWhereTheObjectsLie) {
  for (const KubeManifest& manifest :
       tenant_manifests(tenant_of("{namespace: team, priorities: {high: {value: 1}}, users: [ada]}"))) {
    const json object = json::parse(manifest.json);
    const std::string name = object["metadata"]["name"];
    EXPECT_TRUE(manifest.path.ends_with("/" + name)) << manifest.path;
    EXPECT_EQ(manifest.path.find("/namespaces/team/") != std::string::npos, object["metadata"].contains("namespace"))
        << manifest.path;
  }
}

TEST(KubeTenant, AMistakeIsNamedWithItsPlaceAndRemedy) {
  EXPECT_EQ(refusal("{quota: {gpus: many}}"), "tenants.yaml: acme: quota: gpus: give a whole number from 0 to 1000000");
  EXPECT_EQ(refusal("{quota: {gpu: 4}}"), "tenants.yaml: acme: quota: there is no field 'gpu'");
  EXPECT_THAT(refusal("{quota: {memory: 4XB}}"), HasSubstr("memory: give a quantity"));
  EXPECT_THAT(refusal("{quota: {other: {nvidia.com/gpu: 4}}}"), HasSubstr("whole GPUs are `gpus`"));
  EXPECT_THAT(refusal("{namespace: kube-system}"), HasSubstr("the cluster's own"));
  EXPECT_THAT(refusal("{namespace: Team}"), HasSubstr("small letters"));
  EXPECT_THAT(refusal("{security: privileged}"), HasSubstr("restricted or baseline"));
  EXPECT_THAT(refusal("{reaches: [{to: 10.1.0.0}]}"), HasSubstr("a range of addresses"));
  EXPECT_THAT(refusal("{reaches: [{to: 10.1.0.0/33}]}"), HasSubstr("a range of addresses"));
  EXPECT_THAT(refusal("{reaches: [{to: 10.1.0.0/16, ports: [0]}]}"), HasSubstr("1 to 65535"));
  EXPECT_THAT(refusal("{priorities: {system-node-critical: {value: 1}}}"), HasSubstr("does not begin with system-"));
  EXPECT_THAT(refusal("{priorities: {high: {value: 2000000000}}}"), HasSubstr("from -1000000000 to 1000000000"));
  EXPECT_THAT(refusal("{largest: {memory: 1Mi}}"), HasSubstr("no less than"));
  EXPECT_THAT(refusal("{account: scheduler}"), HasSubstr("NAMESPACE/NAME"));
  EXPECT_THAT(refusal("{users: ada}"), HasSubstr("a list of texts"));
  EXPECT_THAT(refusal("{internet: perhaps}"), HasSubstr("true or false"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("fields with values"));
  EXPECT_THAT(parse_kube_tenant("tenants: {zoo: {}}", "t.yaml", "acme").error().message,
              HasSubstr("there is no tenant 'acme'; there are: zoo"));
  EXPECT_THAT(parse_kube_tenant("a: b", "t.yaml", "acme").error().message, StartsWith("t.yaml: tenants: give"));
  EXPECT_THAT(parse_kube_tenant("tenants: [", "t.yaml", "acme").error().message, StartsWith("t.yaml: line "));
}

// A name that a reader of YAML might take for something else stands in quotes: what is read back is what was written.
TEST(YamlText, IsReadBackAsItWas) {
  for (
      const char* text :
      {R"({})", R"([])", R"("a")", R"({"a": {"b": ["c", "d"]}, "e": []})", R"([["a", ["b"]], {"c": "d", "e": [{"f": "g"}]}])",
       R"({"true": "no", "1": "0x10", "a: b": "- c", "d": "e # f", "g": "", "h": "1e3", "i": "2026-01-01", "j": "~", "k": "a\nb"})",
       R"({"l": true, "m": null, "n": {"o": {}}, "p": [[], {}]})"}) {
    const auto yaml = yaml_of_json(text);
    ASSERT_TRUE(yaml.ok()) << text;
    const auto back = parse_yaml(*yaml);
    ASSERT_TRUE(back.ok()) << *yaml << back.error().message;
    EXPECT_EQ(*back, json::parse(text)) << *yaml;
  }
  EXPECT_EQ(*yaml_of_json(R"({"kind": "Role", "rules": [{"verbs": ["get", "list"]}], "count": 3})"),
            "kind: Role\nrules:\n- verbs:\n  - get\n  - list\ncount: 3\n");
  EXPECT_FALSE(yaml_of_json("{").ok());
}

}  // namespace
}  // namespace stint
