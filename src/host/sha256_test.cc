#include "host/sha256.h"

#include <gtest/gtest.h>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

// FIPS 180-2, appendix B: "abc", and a million times "a".
TEST(Sha256, AgreesWithTheStandardHoweverTheBytesCome) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update("bc");
  EXPECT_EQ(hash.digest(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const ScratchDir dir;
  put_file(dir / "a", std::string(1'000'000, 'a'));
  EXPECT_EQ(sha256_of_file(dir / "a").value(), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_of_file(dir / "none").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace stint
