#include "daemon/identity/second_factor.h"

#include <algorithm>

#include "base/text.h"
#include "host/secret.h"
#include "host/totp.h"

namespace stint {
namespace {

constexpr size_t kSecretBytes = 20;  // as long as SHA-1's output: RFC 4226, section 4

/// As somebody types it: blanks, dashes and capitals do not matter.
std::string plain_code(std::string_view text) {
  std::string code;
  for (const char c : to_lower(text))
    if (c != ' ' && c != '-') code += c;
  return code;
}

}  // namespace

Enrolment enrol(const std::string& user, Instant now) {
  Enrolment made;
  made.factor.user = user;
  made.factor.secret = bytes_of_hex(random_hex(kSecretBytes));
  made.factor.created = now;
  made.uri = totp_uri("Stint", user, made.factor.secret);
  made.secret = to_base32(made.factor.secret);
  for (size_t i = 0; i < kRecoveryCodes; ++i) {
    const std::string code = random_hex(8);
    made.factor.recovery.push_back(sha256_hex(code));
    made.recovery.push_back(
        fmt::format("{}-{}-{}-{}", code.substr(0, 4), code.substr(4, 4), code.substr(8, 4), code.substr(12, 4)));
  }
  return made;
}

CodeCheck check_code(const SecondFactor& factor, std::string_view text, Instant now) {
  CodeCheck check{.after = factor, .verdict = {}, .detail = ""};
  SecondFactor& after = check.after;
  if (after.locked_until && now < *after.locked_until) {
    check.verdict = invalid("too many wrong codes: no code is looked at before {}", format_utc(*after.locked_until));
    check.detail = "one-time code while locked out";
    return check;
  }
  after.locked_until.reset();
  const std::string code = plain_code(text);
  if (const auto step = check_totp(after.secret, code, now, after.used_step)) {
    after.used_step = *step;
    check.detail = "one-time code";
  } else if (const auto spare = std::ranges::find(after.recovery, sha256_hex(code)); spare != after.recovery.end()) {
    after.recovery.erase(spare);
    check.detail = fmt::format("recovery code, {} left", after.recovery.size());
  } else {
    ++after.failures;
    check.verdict = invalid("this one-time code is wrong, too old, or was used before: wait for the next one");
    check.detail = "wrong one-time code";
    if (after.failures < kMostWrongCodes) return check;
    after.failures = 0;
    after.locked_until = now + kLockedFor;
    check.detail += fmt::format(", locked out until {}", format_utc(*after.locked_until));
    return check;
  }
  after.failures = 0;
  after.confirmed = true;
  return check;
}

}  // namespace stint
