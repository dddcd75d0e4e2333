#include "clouds/azure_answers.h"

#include <gtest/gtest.h>

#include "clouds/digests.h"

namespace stint {
namespace {

TEST(AzureAnswers, AListing) {
  const auto listing = parse_azure_listing(
      "\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults ContainerName=\"c\"><Blobs><Blob><Name>a/b "
      "&amp; c</Name>"
      "<Properties><Last-Modified>Wed, 09 Sep 2026 09:20:02 GMT</Last-Modified><Etag>0x8CBFF45D8A29A19</Etag>"
      "<Content-Length>100</Content-Length></Properties></Blob></Blobs><NextMarker>more</NextMarker></EnumerationResults>");
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), 1U);
  EXPECT_EQ(listing->objects[0].key, "a/b & c");
  EXPECT_EQ(listing->objects[0].size, 100);
  EXPECT_EQ(listing->objects[0].tag, "0x8CBFF45D8A29A19");
  EXPECT_EQ(format_utc(listing->objects[0].modified), "2026-09-09T09:20:02Z");
  EXPECT_EQ(listing->next, "more");
  EXPECT_TRUE(parse_azure_listing("<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>")->next.empty());
}

TEST(AzureAnswers, WhatIsNone) {
  for (const char* text :
       {"", "{}", "<Other/>", "<EnumerationResults><Blobs><Blob><Name>a</Name><Properties/></Blob></Blobs></EnumerationResults>"})
    EXPECT_FALSE(parse_azure_listing(text).ok()) << text;
}

TEST(AzureAnswers, BlocksSayWhichPartTheyAre) {
  const std::string digest = "0123456789abcdef0123456789abcdef";
  const std::string id = azure_block_id(7, digest);
  EXPECT_EQ(id.size(), azure_block_id(49'999, digest).size()) << "Azure wants all of one length";
  const auto parts =
      parse_azure_blocks("<BlockList><UncommittedBlocks><Block><Name>" + id + "</Name><Size>5</Size></Block><Block><Name>" +
                         to_base64("another's") + "</Name><Size>5</Size></Block></UncommittedBlocks></BlockList>");
  ASSERT_TRUE(parts.ok()) << parts.error().message;
  ASSERT_EQ(parts->size(), 1U) << "blocks of others are none of ours";
  EXPECT_EQ((*parts)[0].number, 7);
  EXPECT_EQ((*parts)[0].size, 5);
  EXPECT_EQ((*parts)[0].digest, digest);
  EXPECT_NE(azure_block_list(*parts).find("<Uncommitted>" + id + "</Uncommitted>"), std::string::npos);
}

TEST(AzureAnswers, Errors) {
  const CloudFault there = parse_azure_error(409, "BlobAlreadyExists", "");
  EXPECT_EQ(there.failure, CloudFailure::kConflict);
  const CloudFault busy = parse_azure_error(
      503, "", "<?xml version=\"1.0\"?><Error><Code>ServerBusy</Code><Message>Busy.\nRequestId:1\nTime:2</Message></Error>");
  EXPECT_EQ(busy.failure, CloudFailure::kThrottled);
  EXPECT_EQ(busy.message, "Busy.") << "without the request's numbers";
  EXPECT_EQ(parse_azure_error(404, "", "").failure, CloudFailure::kNotFound);
}

}  // namespace
}  // namespace stint
