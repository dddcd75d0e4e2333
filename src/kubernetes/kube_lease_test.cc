// One of several holds the Lease: who renews it keeps it, who cannot loses it before another has it.
#include "kubernetes/kube_lease.h"

#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "clouds/testing_service.h"
#include "host/scratch_dir.h"
#include "host/secret.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kAllLeases = "/apis/coordination.k8s.io/v1/namespaces/ops/leases";

/// The part of an API server that keeps one Lease: a change has to name the version that it was made from.
class LeaseServer {
 public:
  [[nodiscard]] std::string url() const { return service_.url(); }
  /// What comes with this token is refused from now on.
  void refuse(std::string token) {
    const std::scoped_lock lock(mutex_);
    refused_ = std::move(token);
  }
  [[nodiscard]] Json spec() {
    const std::scoped_lock lock(mutex_);
    return lease_.is_null() ? Json::object() : lease_["spec"];
  }
  [[nodiscard]] std::string holder() { return spec().value("holderIdentity", ""); }
  [[nodiscard]] int version() {
    const std::scoped_lock lock(mutex_);
    return version_;
  }

 private:
  HttpReply answer(const HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    const std::string* token = request.header("authorization");
    if (token != nullptr && *token == "Bearer " + refused_) return {.status = 403, .body = "{}"};
    if (request.method == "GET")
      return lease_.is_null() ? HttpReply{.status = 404, .body = "{}"} : HttpReply{.body = lease_.dump()};
    const bool creates = request.method == "POST" && request.target == kAllLeases;
    const bool replaces = request.method == "PUT" && request.target == std::string(kAllLeases) + "/stint";
    Json given = Json::parse(request.body);
    const bool is_new = creates && lease_.is_null();
    const bool is_next = replaces && !lease_.is_null() && given["metadata"]["resourceVersion"] == std::to_string(version_);
    if (!is_new && !is_next) return {.status = 409, .body = R"({"kind":"Status","message":"it has been modified"})"};
    given["metadata"]["resourceVersion"] = std::to_string(++version_);
    lease_ = std::move(given);
    return {.status = is_new ? 201 : 200, .body = lease_.dump()};
  }

  std::mutex mutex_;
  Json lease_;
  int version_ = 0;
  std::string refused_;
  TestingService service_{[this](const HttpRequest& request) { return answer(request); }};
};

class KubeLeaseTest : public ::testing::Test {
 protected:
  std::unique_ptr<KubeLease> lease(const std::string& holder, Duration duration = Duration::seconds(2)) {
    const std::string config = dir_ / (holder + ".kubeconfig");
    const Status written = write_secret(
        config, fmt::format(R"({{"current-context":"c","contexts":[{{"name":"c","context":{{"cluster":"k","user":"u"}}}}],)"
                            R"("clusters":[{{"name":"k","cluster":{{"server":"{}"}}}}],)"
                            R"("users":[{{"name":"u","user":{{"token":"{}"}}}}]}})",
                            server_.url(), holder));
    CHECK(written.ok(), "{}", written.error().message);
    KubeIdentityOptions who;
    who.kubeconfig = config;
    auto identity = KubeIdentity::find(who);
    CHECK(identity.ok(), "{}", identity.error().message);
    KubeClientOptions options;
    options.tries = 1;
    return std::make_unique<KubeLease>(std::make_shared<KubeClient>(*identity, options),
                                       KubeLeaseRules{.ns = "ops", .name = "stint", .holder = holder, .duration = duration});
  }
  /// A minute is far more than any of this takes.
  static bool comes(const std::function<bool()>& what) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!what()) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }

  ScratchDir dir_;
  LeaseServer server_;
};

TEST_F(KubeLeaseTest, TheFirstHasItRenewsItAndGivesItBack) {
  auto first = lease("one");
  ASSERT_TRUE(comes([&] { return first->holds(); }));
  EXPECT_EQ(server_.holder(), "one");
  EXPECT_EQ(server_.spec()["leaseDurationSeconds"], 2);
  EXPECT_EQ(server_.spec()["leaseTransitions"], 0);
  EXPECT_EQ(first->standing(), "");
  const std::string acquired = server_.spec().value("acquireTime", "");
  EXPECT_THAT(acquired, ::testing::MatchesRegex("[0-9-]+T[0-9:]+\\.[0-9]+Z"));
  const int before = server_.version();
  EXPECT_TRUE(comes([&] { return server_.version() > before + 2; }));
  EXPECT_EQ(server_.spec().value("acquireTime", ""), acquired) << "since when it has it";
  first.reset();
  EXPECT_EQ(server_.holder(), "");
}

TEST_F(KubeLeaseTest, AnotherWaitsUntilItIsGivenBack) {
  auto first = lease("one", Duration::minutes(10));
  ASSERT_TRUE(comes([&] { return first->holds(); }));
  auto second = lease("two");
  ASSERT_TRUE(comes([&] { return !second->standing().empty(); }));
  EXPECT_EQ(second->standing(), "held by one");
  EXPECT_FALSE(second->holds());
  first.reset();
  EXPECT_TRUE(comes([&] { return second->holds(); }));
  EXPECT_EQ(server_.holder(), "two");
  EXPECT_EQ(server_.spec()["leaseTransitions"], 1) << "from one to two";
}

TEST_F(KubeLeaseTest, WhoCannotRenewItLosesItBeforeAnotherHasIt) {
  auto first = lease("one");
  ASSERT_TRUE(comes([&] { return first->holds(); }));
  auto second = lease("two");
  server_.refuse("one");
  ASSERT_TRUE(comes([&] { return second->holds(); }));
  EXPECT_FALSE(first->holds());
  EXPECT_EQ(server_.holder(), "two");
  server_.refuse("");
  EXPECT_TRUE(comes([&] { return first->standing() == "held by two"; }));
  EXPECT_FALSE(first->holds()) << "it does not take back what it lost";
}

TEST_F(KubeLeaseTest, WhoMayNotWriteItSaysSo) {
  server_.refuse("one");
  const auto first = lease("one");
  ASSERT_TRUE(comes([&] { return !first->standing().empty(); }));
  EXPECT_THAT(first->standing(), HasSubstr("give this account a role that allows it"));
  EXPECT_FALSE(first->holds());
}

TEST(KubeLeaseState, IsReadOfTheObject) {
  const auto lease = parse_kube_lease(
      R"({"metadata":{"resourceVersion":"7"},"spec":{"holderIdentity":"a","leaseDurationSeconds":15,"leaseTransitions":3}})");
  ASSERT_TRUE(lease.ok());
  EXPECT_EQ(lease->version, "7");
  EXPECT_EQ(lease->holder, "a");
  EXPECT_EQ(lease->duration, Duration::seconds(15));
  EXPECT_EQ(lease->transitions, 3);
  const auto free = parse_kube_lease(R"({"metadata":{"resourceVersion":"8"}})");
  ASSERT_TRUE(free.ok());
  EXPECT_EQ(free->holder, "");
  EXPECT_FALSE(parse_kube_lease("[]").ok());
  EXPECT_FALSE(parse_kube_lease("{}").ok());
  const auto odd = parse_kube_lease(R"({"metadata":{},"spec":{"holderIdentity":1,"leaseDurationSeconds":-5}})");
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->duration, Duration());
}

}  // namespace
}  // namespace stint
