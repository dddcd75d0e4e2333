#include "host/secret.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Secret, HashesAsTheStandardSays) {  // FIPS 180-4, and the example messages of NIST's validation suite
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Secret, SignsAsTheStandardSays) {  // RFC 4231, test cases 2 and 6
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Secret, RandomNumbersAreOfTheirLengthAndDiffer) {
  EXPECT_EQ(random_hex(32).size(), 64U);
  EXPECT_NE(random_hex(32), random_hex(32));
  EXPECT_EQ(random_hex(0), "");
}

}  // namespace
}  // namespace stint
