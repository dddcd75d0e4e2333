// The second factor: one-time codes of an authenticator app (RFC 6238) beside the token, for what a stolen token must not do.
//
// A code is good once, for a step of 30 s and its neighbours. Who guesses is locked out after five wrong codes in a row, for five
// minutes, whatever they show then. Recovery codes stand in for a lost app, each once; they are kept as hashes.
// Values in, values out: the governor keeps them and sees to it that two requests do not use one code.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/govern_store.h"

namespace stint {

inline constexpr int kMostWrongCodes = 5;
inline constexpr Duration kLockedFor = Duration::minutes(5);
inline constexpr size_t kRecoveryCodes = 10;

/// What is shown once, when somebody begins to use it.
struct Enrolment {
  SecondFactor factor;                ///< not confirmed yet
  std::string uri;                    ///< otpauth://…, for the app
  std::string secret;                 ///< the same for typing, in base32
  std::vector<std::string> recovery;  ///< "1f3a-99b0-…"
};
Enrolment enrol(const std::string& user, Instant now);

struct CodeCheck {
  SecondFactor after;  ///< what is to be kept
  Status verdict;      ///< error: not good, or locked
  std::string detail;  ///< for the audit log
};
/// The first good code confirms it.
CodeCheck check_code(const SecondFactor& factor, std::string_view code, Instant now);

}  // namespace stint
