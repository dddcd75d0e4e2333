// What went wrong in a cloud, by what to do about it; and how long to wait before the next try. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

enum class CloudFailure : uint8_t {
  kThrottled,   ///< too many requests: later
  kServer,      ///< the service has trouble: later
  kNetwork,     ///< no whole answer came; whether it was done is not known
  kCredential,  ///< key, token or signature is not accepted: with new ones, once
  kClock,       ///< the clock here is off: with the service's time, once
  kPlace,       ///< another region's or address': there, once
  kForbidden,   ///< they are accepted, but may not do this
  kNotFound,
  kConflict,  ///< a condition does not hold: it is there already, or changed
  kQuota,     ///< no more of it is allowed
  kStockout,  ///< the place has none at present, whatever is allowed
  kRequest,   ///< the request makes no sense
};

/// What to call it in a message: `throttled`.
std::string_view name_of(CloudFailure failure);

/// @param status  of the answer. @param code  of the provider: `SlowDown`, `AuthorizationFailure`; "" = none.
CloudFailure classify_failure(int status, std::string_view code);

/// May the same request be sent again as it is?
bool worth_repeating(CloudFailure failure);

/// Doubles from 0.2 s to at most 20 s, of which `draw` in [0, 1) takes a part ("full jitter"), or what the service asked for.
/// @param tries  made so far, ≥ 1.
Duration pause_after(int tries, double draw, std::optional<Duration> asked_for);

/// `Retry-After: 3`; none for anything but a number of seconds up to ten minutes.
std::optional<Duration> parse_retry_after(std::string_view header);

ErrorCode error_code_of(CloudFailure failure);

}  // namespace stint
