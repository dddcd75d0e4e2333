#include "daemon/identity/second_factor.h"

#include <gmock/gmock.h>

#include "host/totp.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

constexpr Instant kNow = Instant::from_seconds(1'800'000'000);

std::string code_at(const SecondFactor& factor, Instant t) { return hotp(factor.secret, totp_step(t)); }

TEST(SecondFactor, ACodeIsGoodOnceAndConfirms) {
  const Enrolment made = enrol("ann", kNow);
  EXPECT_FALSE(made.factor.confirmed);
  EXPECT_EQ(*from_base32(made.secret), made.factor.secret);
  EXPECT_EQ(made.uri, "otpauth://totp/Stint:ann?secret=" + made.secret + "&issuer=Stint");
  const std::string code = code_at(made.factor, kNow);
  const CodeCheck first = check_code(made.factor, code.substr(0, 3) + " " + code.substr(3), kNow);
  EXPECT_TRUE(first.verdict.ok());
  EXPECT_TRUE(first.after.confirmed);
  EXPECT_FALSE(check_code(first.after, code, kNow).verdict.ok());
  // An older one neither, though it was never shown.
  EXPECT_FALSE(check_code(first.after, code_at(made.factor, kNow - kTotpStep), kNow).verdict.ok());
  EXPECT_TRUE(check_code(first.after, code_at(made.factor, kNow + kTotpStep), kNow).verdict.ok());
}

TEST(SecondFactor, RecoveryCodesAreGoodOnceEach) {
  const Enrolment made = enrol("ann", kNow);
  ASSERT_EQ(made.recovery.size(), kRecoveryCodes);
  for (const std::string& kept : made.factor.recovery)
    EXPECT_EQ(std::ranges::count(made.recovery, kept), 0) << "kept as it is";
  const CodeCheck first = check_code(made.factor, made.recovery[3], kNow);
  EXPECT_TRUE(first.verdict.ok());
  EXPECT_EQ(first.detail, "recovery code, 9 left");
  EXPECT_FALSE(check_code(first.after, made.recovery[3], kNow).verdict.ok());
  EXPECT_TRUE(check_code(first.after, made.recovery[4], kNow).verdict.ok());
}

TEST(SecondFactor, WhoGuessesIsLockedOutForAWhile) {
  SecondFactor factor = enrol("ann", kNow).factor;
  const std::string good = code_at(factor, kNow);
  const std::string wrong = good == "000000" ? "000001" : "000000";
  for (int i = 0; i < kMostWrongCodes; ++i)
    factor = check_code(factor, wrong, kNow).after;
  const CodeCheck locked = check_code(factor, good, kNow);
  EXPECT_THAT(locked.verdict.error().message, HasSubstr("too many wrong codes"));
  const Instant later = kNow + kLockedFor;
  EXPECT_TRUE(check_code(factor, code_at(factor, later), later).verdict.ok());
  // What is right in between begins the count anew.
  SecondFactor careful = enrol("bob", kNow).factor;
  for (int i = 0; i < 3 * kMostWrongCodes; ++i) {
    const Instant t = kNow + kTotpStep * i;
    careful = check_code(check_code(careful, "nonsense", t).after, code_at(careful, t), t).after;
    EXPECT_FALSE(careful.locked_until);
  }
}

}  // namespace
}  // namespace stint
