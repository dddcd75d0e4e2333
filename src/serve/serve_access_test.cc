#include "serve/serve_access.h"

#include <gtest/gtest.h>

#include "host/secret.h"

namespace stint::serve {
namespace {

ServeAccess access_of(std::vector<ServeToken> tokens) {
  auto made = ServeAccess::create({.tokens = std::move(tokens), .tenants = {{"vision", 1}, {"speech", 2}}});
  CHECK(made.ok(), "{}", made.error().message);
  return std::move(*made);
}

const ServeToken kVision = {.secret = "v", .rights = {Right::kInfer}, .tenant = batching::TenantId(1)};
const ServeToken kGateway = {.secret = "g", .rights = {Right::kInfer}, .names_tenant = true};
const ServeToken kControl = {.secret = "c", .rights = {Right::kControl}};
const ServeToken kMetrics = {.secret = "m", .rights = {Right::kMetrics}};

TEST(ServeAccess, TheTokenSaysTheTenantNotTheHeader) {
  const ServeAccess access = access_of({kVision, kGateway});
  EXPECT_EQ(access.who("Bearer v", "speech").tenant, batching::TenantId(1));
  EXPECT_EQ(access.who("Bearer g", "speech").tenant, batching::TenantId(2));
  EXPECT_EQ(access.who("Bearer g", "nobody").tenant, batching::TenantId(0));
  EXPECT_EQ(access.who("Bearer x", "speech").token, nullptr);
  EXPECT_EQ(access.who("v", std::nullopt).token, nullptr);
}

TEST(ServeAccess, EachTokenIsGoodForItsOwnAlone) {
  const ServeAccess access = access_of({kVision, kControl, kMetrics});
  const auto may = [&](std::string_view shown, Right right) { return access.may(access.who(shown, std::nullopt), right); };
  EXPECT_TRUE(may("Bearer v", Right::kInfer));
  EXPECT_FALSE(may("Bearer v", Right::kControl));
  EXPECT_FALSE(may("Bearer v", Right::kMetrics));
  EXPECT_TRUE(may("Bearer c", Right::kControl));
  EXPECT_FALSE(may("Bearer c", Right::kInfer));
  EXPECT_TRUE(may("Bearer v", Right::kLook));
  EXPECT_TRUE(may("Bearer c", Right::kLook));
  EXPECT_FALSE(may("Bearer m", Right::kLook));
  EXPECT_TRUE(may("Bearer m", Right::kMetrics));
  EXPECT_FALSE(may("Bearer m", Right::kControl));
  for (const Right right : {Right::kInfer, Right::kControl, Right::kMetrics})
    EXPECT_FALSE(may("Bearer x", right));
}

TEST(ServeAccess, WithoutTokensEverybodyInfersAndNobodyControls) {
  const ServeAccess access = access_of({});
  const ServeAccess::Caller nobody = access.who(std::nullopt, std::nullopt);
  EXPECT_TRUE(access.may(nobody, Right::kLook));
  EXPECT_TRUE(access.may(nobody, Right::kInfer));
  EXPECT_TRUE(access.may(nobody, Right::kMetrics));
  EXPECT_FALSE(access.may(nobody, Right::kControl));
}

TEST(ServeAccess, MetricsAreNotForTenantsWhereInferenceAsksForTokens) {
  const ServeAccess access = access_of({kVision});
  EXPECT_FALSE(access.may(access.who(std::nullopt, std::nullopt), Right::kMetrics));
  EXPECT_FALSE(access.may(access.who("Bearer v", std::nullopt), Right::kMetrics));
}

TEST(ServeAccess, ATokenOfTwoIsRefused) {
  EXPECT_FALSE(ServeAccess::create({.tokens = {kVision, {.secret = "v", .rights = {Right::kControl}}}, .tenants = {}}).ok());
  EXPECT_FALSE(ServeAccess::create({.tokens = {{.secret = "", .rights = {Right::kInfer}}}, .tenants = {}}).ok());
}

TEST(ServeAccess, AFileMayHoldTheHashOfATokenWhichIsNoToken) {
  const std::string hashed = "sha256:" + sha256_hex("v");
  const ServeAccess access =
      access_of({{.secret = hashed, .rights = {Right::kInfer}, .tenant = batching::TenantId(1)}, kControl});
  EXPECT_EQ(access.who("Bearer v", std::nullopt).tenant, batching::TenantId(1));
  EXPECT_EQ(access.who("Bearer " + hashed, std::nullopt).token, nullptr) << "who reads the file has no token";
  EXPECT_EQ(access.who("Bearer " + sha256_hex("v"), std::nullopt).token, nullptr);
  for (const char* bad : {"sha256:", "sha256:12", "sha256:zz"})
    EXPECT_FALSE(ServeAccess::create({.tokens = {{.secret = bad, .rights = {Right::kInfer}}}, .tenants = {}}).ok()) << bad;
  EXPECT_FALSE(ServeAccess::create({.tokens = {kVision, {.secret = hashed, .rights = {Right::kControl}}}, .tenants = {}}).ok())
      << "the same token, once as it is and once by its hash";
}

}  // namespace
}  // namespace stint::serve
