#include "host/jwt.h"

#include <gmock/gmock.h>

#include "base/check.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

// RFC 7515, appendix A.3: a token signed with ES256, and its key as a set.
const std::string kEsToken =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    ".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
const std::string kEsKeys = R"({"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",)"
                            R"("y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]})";
// RFC 7515, appendix A.2: the same claims with RS256.
const std::string kRsToken =
    "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    ".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjb"
    "KBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6"
    "BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
const std::string kRsKeys =
    R"({"keys":[{"kty":"RSA","n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yR)"
    R"(T-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665)"
    R"(xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",)"
    R"("e":"AQAB"}]})";

bool holds(const std::string& token, const std::string& keys) {
  const auto jwt = parse_jwt(token);
  const auto set = KeySet::parse(keys);
  CHECK(jwt.ok() && set.ok(), "the test's own token or keys");
  return set->verifies(jwt->kid, jwt->algorithm, jwt->message, jwt->signature);
}

TEST(Jwt, HoldsTheExamplesOfRfc7515) {
  EXPECT_TRUE(holds(kEsToken, kEsKeys));
  EXPECT_TRUE(holds(kRsToken, kRsKeys));
  EXPECT_THAT(parse_jwt(kEsToken)->claims, HasSubstr("\"iss\":\"joe\""));
  EXPECT_FALSE(holds(kRsToken, kEsKeys));
}

TEST(Jwt, AnyOtherByteBreaksTheSignature) {
  for (const std::string& token : {kEsToken, kRsToken})
    for (const size_t at : {token.find('.') + 5, token.rfind('.') + 7, token.size() - 10}) {
      std::string changed = token;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      const auto jwt = parse_jwt(changed);
      if (!jwt.ok()) continue;
      EXPECT_FALSE(holds(changed, token == kEsToken ? kEsKeys : kRsKeys)) << at;
    }
}

TEST(Jwt, OnlySignaturesByPublicKeysAreTaken) {
  for (const char* header : {"eyJhbGciOiJub25lIn0", "eyJhbGciOiJIUzI1NiJ9", "e30", "bm8"})  // none, HS256, {}, no JSON
    EXPECT_FALSE(parse_jwt(std::string(header) + ".e30.").ok()) << header;
  EXPECT_FALSE(parse_jwt("a.b").ok());
  EXPECT_FALSE(parse_jwt("a.b.c.d").ok());
  EXPECT_FALSE(parse_jwt("!.e30.e30").ok());
  EXPECT_FALSE(parse_jwt("eyJhbGciOiJFUzI1NiIsImNyaXQiOlsieCJdfQ.e30.e30").ok());  // "crit"
}

TEST(KeySet, TakesWhatItCanUseAndNothingWeak) {
  EXPECT_FALSE(KeySet::parse("[]").ok());
  EXPECT_FALSE(KeySet::parse(R"({"keys":[{"kty":"oct","k":"AAAA"}]})").ok());
  EXPECT_FALSE(KeySet::parse(R"({"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]})").ok());  // 17 bits
  EXPECT_FALSE(KeySet::parse(R"({"keys":[{"kty":"EC","crv":"P-256","x":"AQ","y":"AQ"}]})").ok());
  const auto set = KeySet::parse(kEsKeys);
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->has("", "ES256"));
  EXPECT_FALSE(set->has("", "RS256"));
  EXPECT_FALSE(set->has("other", "ES256"));
}

TEST(KeySet, TakesACoordinateWhoseLeadingZeroIsLeftOut) {  // made by PyJWT 2.6: x has 31 octets
  EXPECT_TRUE(
      holds("eyJhbGciOiJFUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ.NRa0CyZdq7Qv5Za-uZxMZ1gePWNifT6bJq7Zry7kqfXI1I35Wgix"
            "FFL9JqH2nfw87RDFhcMnGTWN9-5mTsEKhw",
            R"({"keys":[{"kty":"EC","crv":"P-256","x":"LsjqSx3x9SBrxyd7aJy-MPE5Yh3LrCAk-q40UN0J0w",)"
            R"("y":"79zwZDfrq_ATVX_LmG846m0-aQA_cITqG00bqAIPG_A"}]})"));
}

TEST(Base64Url, RefusesWhatIsNotTheOneWayToWriteIt) {
  EXPECT_EQ(from_base64url("Zm9vYg"), "foob");
  EXPECT_EQ(from_base64url(""), "");
  for (const char* text : {"Zm9vYh", "Zm9vYg==", "Z", "a+b/"})
    EXPECT_EQ(from_base64url(text), std::nullopt) << text;
}

}  // namespace
}  // namespace stint
