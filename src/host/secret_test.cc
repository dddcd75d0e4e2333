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

TEST(Secret, RandomNumbersAreOfTheirLengthAndDiffer) {
  EXPECT_EQ(random_hex(32).size(), 64U);
  EXPECT_NE(random_hex(32), random_hex(32));
  EXPECT_EQ(random_hex(0), "");
}

}  // namespace
}  // namespace stint
