#include "clouds/object_url.h"

#include <gmock/gmock.h>

#include "clouds/digests.h"
#include "clouds/object_transfer.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(ObjectUrls, OfThreeProviders) {
  const auto s3 = parse_object_url("s3://my-bucket/run 7/a+b");
  ASSERT_TRUE(s3.ok());
  EXPECT_EQ(s3->provider, CloudProvider::kAws);
  EXPECT_EQ(s3->bucket, "my-bucket");
  EXPECT_EQ(s3->key, "run 7/a+b");
  EXPECT_EQ(s3->text(), "s3://my-bucket/run 7/a+b");
  const auto gs = parse_object_url("gs://b_1.example");
  ASSERT_TRUE(gs.ok());
  EXPECT_EQ(gs->key, "");
  const auto az = parse_object_url("az://account1/box/dir/");
  ASSERT_TRUE(az.ok());
  EXPECT_EQ(az->account, "account1");
  EXPECT_EQ(az->bucket, "box");
  EXPECT_EQ(az->key, "dir/");
  EXPECT_EQ(az->base(), "az://account1/box/");
}

TEST(ObjectUrls, WhatIsWrongIsNamed) {
  EXPECT_THAT(parse_object_url("http://x/y").error().message, HasSubstr("s3://bucket/key"));
  EXPECT_THAT(parse_object_url("s3://Up/x").error().message, HasSubstr("'Up' is no name of a bucket"));
  EXPECT_THAT(parse_object_url("s3:///x").error().message, HasSubstr("bucket"));
  EXPECT_THAT(parse_object_url("az://ACC/box/x").error().message, HasSubstr("storage account"));
  EXPECT_THAT(parse_object_url("az://account1").error().message, HasSubstr("container"));
  EXPECT_FALSE(parse_object_url("s3://bucket/a/../b").ok());
  EXPECT_FALSE(parse_object_url("s3://bucket/a\nb").ok());
  EXPECT_FALSE(parse_object_url("s3://bucket@evil.example/a").ok());
  EXPECT_FALSE(is_object_url("/mnt/s3://x"));
}

TEST(ObjectTransfer, PartsGrowWithTheFile) {
  constexpr int64_t kMib = int64_t{1} << 20;
  EXPECT_EQ(part_bytes_for(100 * kMib, {}), 16 * kMib);
  // 1 TiB in 9,000 parts of whole 256 KiB.
  EXPECT_EQ(part_bytes_for(kMib * kMib, {}), 116 * kMib + 3 * kMib / 4);
  EXPECT_LE((kMib * kMib) / part_bytes_for(kMib * kMib, {}), 9'000);
}

TEST(CloudDigests, OfTheRfcs) {
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");  // RFC 4648, section 10
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("\xfb\xff"), "+/8=");
  EXPECT_EQ(from_base64("+/8="), "\xfb\xff");
  EXPECT_EQ(from_base64("Zm9vYmE"), std::nullopt);
  EXPECT_EQ(from_base64("-_8="), std::nullopt);
  EXPECT_EQ(to_hex(md5_bytes("message digest")), "f96b697d7cb7938d525a2f31aaf161d0");  // RFC 1321, A.5
}

}  // namespace
}  // namespace stint
