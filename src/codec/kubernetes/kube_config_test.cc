#include "codec/kubernetes/kube_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "codec/yaml.h"

namespace stint {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTwoClusters = R"(apiVersion: v1
kind: Config
current-context: blue
clusters:
- name: one
  cluster:
    server: https://10.0.0.1:6443/
    certificate-authority-data: QUJD
- name: two
  cluster: {server: "https://two.example", certificate-authority: ca/two.pem}
users:
- name: anna
  user:
    token: 0123456
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: get-token
      args: [--cluster, two]
      env:
      - {name: AWS_PROFILE, value: gpu}
contexts:
- name: blue
  context: {cluster: one, user: anna, namespace: train}
- name: green
  context: {cluster: two, user: plugin}
)";

std::string refusal(std::string text) {
  const auto access = parse_kube_config(text, "config", "");
  return access.ok() ? "accepted" : access.error().message;
}

std::string one_context(std::string_view cluster, std::string_view user) {
  return fmt::format(
      "current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\nclusters: [{{name: k, cluster: {{{}}}}}]\n"
      "users: [{{name: u, user: {{{}}}}}]\n",
      cluster, user);
}

TEST(KubeConfig, CurrentContextCounts) {
  const auto access = parse_kube_config(kTwoClusters, "config", "");
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_EQ(access->server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->ca_data, "QUJD");
  EXPECT_EQ(access->token, "0123456") << "a token that looks like a number stays as it is written";
  EXPECT_EQ(access->ns, "train");
  EXPECT_FALSE(access->exec);
}

TEST(KubeConfig, NamedContextCountsWithItsPlugin) {
  const auto access = parse_kube_config(kTwoClusters, "config", "green");
  ASSERT_TRUE(access.ok()) << access.error().message;
  EXPECT_EQ(access->ca_file, "ca/two.pem");
  ASSERT_TRUE(access->exec);
  EXPECT_EQ(access->exec->command, "get-token");
  EXPECT_THAT(access->exec->arguments, testing::ElementsAre("--cluster", "two"));
  EXPECT_THAT(access->exec->environment, testing::ElementsAre(testing::Pair("AWS_PROFILE", "gpu")));
}

TEST(KubeConfig, RefusalNamesWhatIsMissing) {
  EXPECT_THAT(refusal("clusters: [\n"), HasSubstr("config: line 2"));
  EXPECT_THAT(refusal("a: b"), HasSubstr("no kubeconfig"));
  EXPECT_THAT(refusal("clusters: []"), HasSubstr("no current-context"));
  EXPECT_THAT(refusal(one_context("server: 10.0.0.1", "")), HasSubstr("is no address"));
  EXPECT_EQ(refusal(one_context("server: https://a", "token: t")), "accepted");
  EXPECT_THAT(refusal(one_context("server: https://a", "client-certificate: c.pem")), HasSubstr("go together"));
  EXPECT_EQ(parse_kube_config(kTwoClusters, "config", "red").error().message, "config: there is no context 'red'");
}

TEST(KubeConfig, WhatWouldBeUnsafeOrIsNotSupportedIsRefused) {
  EXPECT_THAT(refusal(one_context("server: https://a, insecure-skip-tls-verify: true", "")),
              HasSubstr("insecure-skip-tls-verify"));
  EXPECT_THAT(refusal(one_context("server: https://a, tls-server-name: b", "")), HasSubstr("tls-server-name"));
  EXPECT_THAT(refusal(one_context("server: https://a", "auth-provider: {name: gcp}")), HasSubstr("auth-provider"));
  EXPECT_THAT(refusal(one_context("server: https://a", "as: root")), HasSubstr("acting as another user"));
}

TEST(KubeConfig, PluginAnswersWithATokenOrACertificate) {
  const auto token = parse_exec_credential(
      R"({"kind":"ExecCredential","status":{"token":"t","expirationTimestamp":"2026-10-01T00:00:00Z"}})", "get-token");
  ASSERT_TRUE(token.ok()) << token.error().message;
  EXPECT_EQ(token->token, "t");
  EXPECT_EQ(token->expires, *parse_instant("2026-10-01T00:00:00Z"));
  EXPECT_FALSE(parse_exec_credential(R"({"status":{"clientCertificateData":"pem"}})", "get-token").ok());
  EXPECT_THAT(parse_exec_credential("usage: …", "get-token").error().message, HasSubstr("get-token: what it printed"));
}

TEST(Yaml, AliasesThatMultiplyAreRefused) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 9; ++i)
    bomb += fmt::format("a{0}: &a{0} [*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1},*a{1}]\n", i, i - 1);
  const auto value = parse_yaml(bomb);
  ASSERT_FALSE(value.ok());
  EXPECT_THAT(value.error().message, HasSubstr("more than 100000 values"));
}

TEST(Yaml, NestingWithoutEndIsRefused) {
  EXPECT_FALSE(parse_yaml(std::string(60'000, '[')).ok());
  std::string lists, keys;
  for (int i = 0; i < 20'000; ++i) {
    lists += "- ";
    keys += "? ";
  }
  EXPECT_FALSE(parse_yaml(lists).ok());
  EXPECT_FALSE(parse_yaml(keys).ok());
  EXPECT_THAT(parse_yaml(std::string(100, '[') + std::string(100, ']')).error().message, HasSubstr("nested deeper than 64"));
}

TEST(Yaml, NamesThatComeTwiceAreRefused) {
  EXPECT_EQ(parse_yaml("a: 1\nb: 2\na: 3\n").error().message, "line 3: 'a' is there twice");
  EXPECT_TRUE(parse_yaml("").ok());
}

}  // namespace
}  // namespace stint
