#include "clouds/cloud_failure.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

struct KnownCode {
  std::string_view code;
  CloudFailure failure;
};

// AWS: S3 API reference "Error responses", STS "Common errors", EC2 "Error codes for the Amazon EC2 API". Azure: "Blob service error codes". Google: "HTTP status and error codes".
constexpr std::array kKnownCodes = {
    KnownCode{"SlowDown", CloudFailure::kThrottled},
    KnownCode{"Throttling", CloudFailure::kThrottled},
    KnownCode{"ThrottlingException", CloudFailure::kThrottled},
    KnownCode{"RequestLimitExceeded", CloudFailure::kThrottled},
    KnownCode{"RequestThrottled", CloudFailure::kThrottled},
    KnownCode{"RequestThrottledException", CloudFailure::kThrottled},
    KnownCode{"EC2ThrottledException", CloudFailure::kThrottled},
    KnownCode{"TooManyRequests", CloudFailure::kThrottled},
    KnownCode{"rateLimitExceeded", CloudFailure::kThrottled},
    KnownCode{"userRateLimitExceeded", CloudFailure::kThrottled},
    KnownCode{"ServerBusy", CloudFailure::kThrottled},
    KnownCode{"BandwidthLimitExceeded", CloudFailure::kThrottled},
    KnownCode{"InternalError", CloudFailure::kServer},
    KnownCode{"ServiceUnavailable", CloudFailure::kServer},
    KnownCode{"OperationTimedOut", CloudFailure::kServer},
    KnownCode{"OperationAborted", CloudFailure::kServer},
    KnownCode{"ConditionalRequestConflict", CloudFailure::kServer},  // another write was under way: ask again
    KnownCode{"RequestTimeout", CloudFailure::kNetwork},
    KnownCode{"IncompleteBody", CloudFailure::kNetwork},
    KnownCode{"BadDigest", CloudFailure::kNetwork},  // what arrived is not what was sent
    KnownCode{"Md5Mismatch", CloudFailure::kNetwork},
    KnownCode{"XAmzContentSHA256Mismatch", CloudFailure::kNetwork},
    KnownCode{"RequestTimeTooSkewed", CloudFailure::kClock},
    KnownCode{"RequestExpired", CloudFailure::kClock},
    KnownCode{"InvalidAccessKeyId", CloudFailure::kCredential},
    KnownCode{"InvalidClientTokenId", CloudFailure::kCredential},
    KnownCode{"UnrecognizedClientException", CloudFailure::kCredential},
    KnownCode{"SignatureDoesNotMatch", CloudFailure::kCredential},
    KnownCode{"ExpiredToken", CloudFailure::kCredential},
    KnownCode{"ExpiredTokenException", CloudFailure::kCredential},
    KnownCode{"InvalidToken", CloudFailure::kCredential},
    KnownCode{"TokenRefreshRequired", CloudFailure::kCredential},
    KnownCode{"AuthFailure", CloudFailure::kCredential},
    KnownCode{"AuthenticationFailed", CloudFailure::kCredential},
    KnownCode{"AuthorizationFailure", CloudFailure::kCredential},  // Azurite's word for a wrong key
    KnownCode{"InvalidAuthenticationInfo", CloudFailure::kCredential},
    KnownCode{"authError", CloudFailure::kCredential},
    KnownCode{"invalid_grant", CloudFailure::kCredential},
    KnownCode{"invalid_client", CloudFailure::kCredential},
    KnownCode{"unauthorized_client", CloudFailure::kCredential},
    KnownCode{"AccessDenied", CloudFailure::kForbidden},
    KnownCode{"UnauthorizedOperation", CloudFailure::kForbidden},
    KnownCode{"AuthorizationPermissionMismatch", CloudFailure::kForbidden},
    KnownCode{"Blocked", CloudFailure::kForbidden},
    KnownCode{"OptInRequired", CloudFailure::kForbidden},
    KnownCode{"PermanentRedirect", CloudFailure::kPlace},
    KnownCode{"TemporaryRedirect", CloudFailure::kPlace},
    KnownCode{"AuthorizationHeaderMalformed", CloudFailure::kPlace},  // "the region 'a' is wrong; expecting 'b'"
    KnownCode{"IllegalLocationConstraintException", CloudFailure::kPlace},
    KnownCode{"QuotaExceeded", CloudFailure::kQuota},
    KnownCode{"VcpuLimitExceeded", CloudFailure::kQuota},
    KnownCode{"InstanceLimitExceeded", CloudFailure::kQuota},
    KnownCode{"MaxSpotInstanceCountExceeded", CloudFailure::kQuota},
    KnownCode{"VolumeLimitExceeded", CloudFailure::kQuota},
    KnownCode{"NetworkInterfaceLimitExceeded", CloudFailure::kQuota},
    KnownCode{"PendingVerification", CloudFailure::kQuota},
    // EC2 answers some of these with the status 500.
    KnownCode{"InsufficientInstanceCapacity", CloudFailure::kStockout},
    KnownCode{"InsufficientHostCapacity", CloudFailure::kStockout},
    KnownCode{"InsufficientCapacity", CloudFailure::kStockout},
    KnownCode{"InsufficientVolumeCapacity", CloudFailure::kStockout},
    KnownCode{"InsufficientFreeAddressesInSubnet", CloudFailure::kStockout},
    KnownCode{"ReservationCapacityExceeded", CloudFailure::kStockout},
    KnownCode{"UnfulfillableCapacity", CloudFailure::kStockout},
    KnownCode{"SpotMaxPriceTooLow", CloudFailure::kStockout},
    KnownCode{"InvalidInstanceID.NotFound", CloudFailure::kNotFound},
    // The token of an order was used before: for another order, or for a machine that has ended.
    KnownCode{"IdempotentParameterMismatch", CloudFailure::kConflict},
    KnownCode{"IdempotentInstanceTerminated", CloudFailure::kConflict},
    KnownCode{"PreconditionFailed", CloudFailure::kConflict},
    KnownCode{"conditionNotMet", CloudFailure::kConflict},
    KnownCode{"BlobAlreadyExists", CloudFailure::kConflict},
    KnownCode{"ConditionNotMet", CloudFailure::kConflict},
};

constexpr Duration kLongestAskedFor = Duration::minutes(10);

}  // namespace

std::string_view name_of(CloudFailure failure) {
  switch (failure) {
    case CloudFailure::kThrottled: return "throttled";
    case CloudFailure::kServer: return "the service has trouble";
    case CloudFailure::kNetwork: return "no whole answer";
    case CloudFailure::kCredential: return "the credentials are not accepted";
    case CloudFailure::kClock: return "the clock of this machine is off";
    case CloudFailure::kPlace: return "it is in another region";
    case CloudFailure::kForbidden: return "these credentials may not do this";
    case CloudFailure::kNotFound: return "there is no such thing";
    case CloudFailure::kConflict: return "it is there already, or has changed";
    case CloudFailure::kQuota: return "the quota is used up";
    case CloudFailure::kStockout: return "out of stock";
    case CloudFailure::kRequest: return "the request is refused";
  }
  return "";
}

CloudFailure classify_failure(int status, std::string_view code) {
  const auto* known = std::find_if(kKnownCodes.begin(), kKnownCodes.end(), [&](const KnownCode& k) { return k.code == code; });
  if (known != kKnownCodes.end()) return known->failure;
  switch (status) {
    case 401: return CloudFailure::kCredential;
    case 403: return CloudFailure::kForbidden;
    case 404:
    case 410: return CloudFailure::kNotFound;
    case 408: return CloudFailure::kNetwork;
    case 409:
    case 412: return CloudFailure::kConflict;
    case 429: return CloudFailure::kThrottled;
    case 301:
    case 302:
    case 307:
    case 308: return CloudFailure::kPlace;
    default: break;
  }
  return status >= 500 ? CloudFailure::kServer : CloudFailure::kRequest;
}

bool worth_repeating(CloudFailure failure) {
  return failure == CloudFailure::kThrottled || failure == CloudFailure::kServer || failure == CloudFailure::kNetwork;
}

Duration pause_after(int tries, double draw, std::optional<Duration> asked_for) {
  if (asked_for) return *asked_for;
  constexpr int kDoublings = 7;  // 0.2 s · 2⁷ = 25.6 s
  const double most = std::min(20.0, 0.2 * static_cast<double>(1 << std::clamp(tries - 1, 0, kDoublings)));
  return Duration::from_seconds(most * draw);
}

std::optional<Duration> parse_retry_after(std::string_view header) {
  const auto seconds = parse_int(trim(header));
  if (!seconds || *seconds < 0 || *seconds > kLongestAskedFor.whole_seconds()) return std::nullopt;
  return Duration::seconds(*seconds);
}

ErrorCode error_code_of(CloudFailure failure) {
  switch (failure) {
    case CloudFailure::kNotFound: return ErrorCode::kNotFound;
    case CloudFailure::kConflict: return ErrorCode::kConflict;
    case CloudFailure::kRequest: return ErrorCode::kInvalidInput;
    default: return ErrorCode::kUnavailable;
  }
}

}  // namespace stint
