// The shapes are those of the Amazon S3 API Reference.
#include "clouds/s3_answers.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(S3Answers, AListingWithEncodedKeys) {
  const auto page = parse_s3_listing(
      "<ListBucketResult "
      "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken><Contents><Key>a+b%2Bc/"
      "%C3%A4</Key>"
      "<LastModified>2026-10-27T08:00:05.000Z</LastModified><ETag>\"x\"</ETag><Size>434234</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page.ok()) << page.error().message;
  ASSERT_EQ(page->objects.size(), 1U);
  EXPECT_EQ(page->objects[0].key, "a b+c/\u00e4");
  EXPECT_EQ(page->objects[0].size, 434'234);
  EXPECT_EQ(format_utc(page->objects[0].modified), "2026-10-27T08:00:05Z");
  EXPECT_EQ(page->next, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
}

TEST(S3Answers, KeysThatAreNotEncodedStay) {
  const auto page = parse_s3_listing(
      "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a+b%2B</Key><LastModified>2026-10-27T08:00:05Z</"
      "LastModified>"
      "<Size>0</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page->objects[0].key, "a+b%2B");
  EXPECT_EQ(page->next, "");
}

TEST(S3Answers, WhatIsNoneIsNamed) {
  EXPECT_THAT(parse_s3_listing("<html/>").error().message, HasSubstr("<html>"));
  EXPECT_THAT(parse_s3_listing("not XML").error().message, HasSubstr("cannot be read"));
  EXPECT_FALSE(parse_s3_listing("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>").ok());
  EXPECT_FALSE(parse_s3_listing("<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents></ListBucketResult>").ok());
  EXPECT_FALSE(parse_s3_upload_id("<InitiateMultipartUploadResult/>").ok());
  EXPECT_FALSE(
      parse_s3_parts("<ListPartsResult><Part><PartNumber>10001</PartNumber><Size>1</Size></Part></ListPartsResult>").ok());
}

TEST(S3Answers, PartsAndTheirCompletion) {
  const auto found = parse_s3_parts(
      "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker><Part><PartNumber>2</"
      "PartNumber>"
      "<ETag>&quot;7778aef83f66abc1fa1e8477f296d394&quot;</ETag><Size>10485760</Size></Part></ListPartsResult>");
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->next, 2);
  EXPECT_EQ(found->parts[0].digest, "7778aef83f66abc1fa1e8477f296d394");
  EXPECT_THAT(s3_completion(found->parts),
              HasSubstr("<Part><PartNumber>2</PartNumber><ETag>&quot;7778aef83f66abc1fa1e8477f296d394&quot;</ETag></Part>"));
}

TEST(S3Answers, TheRegionThatAnErrorNames) {
  EXPECT_EQ(s3_region_of_error("<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region></Error>"),
            "eu-north-1");
  EXPECT_EQ(s3_region_of_error(""), "");
}

}  // namespace
}  // namespace stint
