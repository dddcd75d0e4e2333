#include "clouds/cloud_failure.h"

#include <gtest/gtest.h>

#include "clouds/cloud_http.h"

namespace stint {
namespace {

TEST(CloudFailures, ByCodeBeforeStatus) {
  EXPECT_EQ(classify_failure(503, "SlowDown"), CloudFailure::kThrottled);
  EXPECT_EQ(classify_failure(503, ""), CloudFailure::kServer);
  EXPECT_EQ(classify_failure(403, "SignatureDoesNotMatch"), CloudFailure::kCredential);
  EXPECT_EQ(classify_failure(403, "RequestTimeTooSkewed"), CloudFailure::kClock);
  EXPECT_EQ(classify_failure(403, "AccessDenied"), CloudFailure::kForbidden);
  EXPECT_EQ(classify_failure(400, "ExpiredToken"), CloudFailure::kCredential);
  EXPECT_EQ(classify_failure(400, "AuthorizationHeaderMalformed"), CloudFailure::kPlace);
  EXPECT_EQ(classify_failure(409, "BlobAlreadyExists"), CloudFailure::kConflict);
  EXPECT_EQ(classify_failure(409, "ConditionalRequestConflict"), CloudFailure::kServer);
  EXPECT_EQ(classify_failure(412, ""), CloudFailure::kConflict);
  EXPECT_EQ(classify_failure(404, "NoSuchKey"), CloudFailure::kNotFound);
  EXPECT_EQ(classify_failure(400, "InvalidArgument"), CloudFailure::kRequest);
  EXPECT_EQ(classify_failure(429, ""), CloudFailure::kThrottled);
}

TEST(CloudFailures, AStockoutIsNeitherTroubleNorAQuota) {
  EXPECT_EQ(classify_failure(500, "InsufficientInstanceCapacity"), CloudFailure::kStockout);
  EXPECT_EQ(classify_failure(400, "SpotMaxPriceTooLow"), CloudFailure::kStockout);
  EXPECT_EQ(classify_failure(400, "VcpuLimitExceeded"), CloudFailure::kQuota);
  EXPECT_EQ(classify_failure(400, "MaxSpotInstanceCountExceeded"), CloudFailure::kQuota);
  EXPECT_EQ(classify_failure(503, "RequestLimitExceeded"), CloudFailure::kThrottled);
  EXPECT_EQ(classify_failure(400, "InvalidInstanceID.NotFound"), CloudFailure::kNotFound);
  EXPECT_EQ(classify_failure(400, "InvalidAMIID.NotFound"), CloudFailure::kRequest);
  EXPECT_FALSE(worth_repeating(CloudFailure::kStockout));
}

TEST(CloudFailures, OnlyWhatMayPassIsRepeated) {
  EXPECT_TRUE(worth_repeating(CloudFailure::kThrottled));
  EXPECT_TRUE(worth_repeating(CloudFailure::kNetwork));
  EXPECT_FALSE(worth_repeating(CloudFailure::kCredential));
  EXPECT_FALSE(worth_repeating(CloudFailure::kConflict));
  EXPECT_FALSE(worth_repeating(CloudFailure::kQuota));
}

TEST(CloudFailures, PausesDoubleToALimit) {
  EXPECT_EQ(pause_after(1, 0.5, std::nullopt), Duration::milliseconds(100));
  EXPECT_EQ(pause_after(3, 0.5, std::nullopt), Duration::milliseconds(400));
  EXPECT_EQ(pause_after(50, 0.5, std::nullopt), Duration::seconds(10));
  EXPECT_EQ(pause_after(1, 0.5, Duration::seconds(7)), Duration::seconds(7));
  EXPECT_EQ(parse_retry_after(" 3 "), Duration::seconds(3));
  EXPECT_EQ(parse_retry_after("99999"), std::nullopt);
  EXPECT_EQ(parse_retry_after("Fri, 24 May 2013 00:00:00 GMT"), std::nullopt);
}

TEST(CloudFailures, HttpDates) {
  const Instant at = parse_instant("2026-10-27T08:22:05Z").value();
  EXPECT_EQ(format_http_date(at), "Tue, 27 Oct 2026 08:22:05 GMT");
  EXPECT_EQ(parse_http_date("Tue, 27 Oct 2026 08:22:05 GMT"), at);
  EXPECT_EQ(parse_http_date("yesterday"), std::nullopt);
}

}  // namespace
}  // namespace stint
