// One-time passwords by time, as authenticator apps show them: RFC 6238 with SHA-1, 30 seconds, 6 digits, over RFC 4226's HOTP.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

inline constexpr Duration kTotpStep = Duration::seconds(30);

/// RFC 4648 base32 without padding, as apps take secrets.
std::string to_base32(std::string_view bytes);
/// Letters of either case; padding and blanks are passed over. @return error for other characters.
Result<std::string> from_base32(std::string_view text);

/// @param secret  its bytes. @param digits  6 … 8.
std::string hotp(std::string_view secret, uint64_t counter, int digits = 6);
/// Number of the step an instant lies in.
uint64_t totp_step(Instant t);

/// The step whose code this is: the current one, or one to either side, for clocks that differ. none: it is none of these, or of a
/// step not after `used`, which was good once already.
std::optional<uint64_t> check_totp(std::string_view secret, std::string_view code, Instant now, std::optional<uint64_t> used);

/// What an app reads as a QR code: otpauth://totp/…
std::string totp_uri(std::string_view issuer, std::string_view user, std::string_view secret);

}  // namespace stint
