#include "host/totp.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

// RFC 4226, appendix D, and RFC 6238, appendix B: the same secret.
const std::string kSecret = "12345678901234567890";

TEST(Totp, GivesTheValuesOfRfc4226) {
  const char* expected[] = {"755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489"};
  for (uint64_t i = 0; i < 10; ++i)
    EXPECT_EQ(hotp(kSecret, i), expected[i]);
}

TEST(Totp, GivesTheValuesOfRfc6238) {
  for (const auto& [seconds, code] : {std::pair<uint64_t, const char*>{59, "94287082"},
                                      {1111111109, "07081804"},
                                      {1111111111, "14050471"},
                                      {1234567890, "89005924"},
                                      {2000000000, "69279037"},
                                      {20000000000, "65353130"}})
    EXPECT_EQ(hotp(kSecret, seconds / 30, 8), code);
  EXPECT_EQ(totp_step(Instant::from_seconds(59)), 1U);
}

TEST(Totp, ACodeIsGoodOnceAndForAboutAMinute) {
  const Instant now = Instant::from_seconds(1'234'567'890);
  const uint64_t step = totp_step(now);
  const std::string code = hotp(kSecret, step);
  EXPECT_EQ(check_totp(kSecret, code, now, std::nullopt), step);
  EXPECT_EQ(check_totp(kSecret, code, now + kTotpStep, std::nullopt), step);
  EXPECT_EQ(check_totp(kSecret, code, now - kTotpStep, std::nullopt), step);
  EXPECT_EQ(check_totp(kSecret, code, now + kTotpStep * 2, std::nullopt), std::nullopt);
  EXPECT_EQ(check_totp(kSecret, code, now, step), std::nullopt);  // used
  EXPECT_EQ(check_totp(kSecret, "000000", now, std::nullopt), std::nullopt);
  EXPECT_EQ(check_totp(kSecret, "", now, std::nullopt), std::nullopt);
}

// RFC 4648, section 10.
TEST(Base32, GivesTheValuesOfRfc4648) {
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "MY"},
                                    {"fo", "MZXQ"},
                                    {"foo", "MZXW6"},
                                    {"foob", "MZXW6YQ"},
                                    {"fooba", "MZXW6YTB"},
                                    {"foobar", "MZXW6YTBOI"}}) {
    EXPECT_EQ(to_base32(bytes), text);
    EXPECT_EQ(*from_base32(text), bytes);
  }
  EXPECT_EQ(*from_base32("mzxw 6ytb oi======"), "foobar");
  EXPECT_FALSE(from_base32("M1").ok());
}

}  // namespace
}  // namespace stint
