#include "host/http_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stint {
namespace {

using testing::HasSubstr;

constexpr uint64_t kMost = uint64_t{1} << 20;
const TakesBytes kTakesAll = [](uint64_t) { return Status(); };

HttpRequest accepting(const std::string& header) {
  HttpRequest request;
  request.headers.emplace_back("accept-encoding", header);
  return request;
}

TEST(HttpCoding, WhatWasPackedComesBack) {
  std::string text;
  for (int i = 0; i < 20'000; ++i)
    text += std::to_string(i);
  for (const ContentCoding coding : {ContentCoding::kIdentity, ContentCoding::kGzip, ContentCoding::kDeflate})
    for (const std::string& body : {std::string(), std::string("x"), text}) {
      const auto again = decoded(coding, encoded(coding, body), kMost, kTakesAll);
      ASSERT_TRUE(again.ok()) << again.error().message;
      EXPECT_EQ(*again, body);
    }
  EXPECT_LT(encoded(ContentCoding::kGzip, text).size(), text.size() / 2);
}

TEST(HttpCoding, NamesAreThoseOfHttp) {
  EXPECT_EQ(coding_of(" GZIP "), ContentCoding::kGzip);
  EXPECT_EQ(coding_of("x-gzip"), ContentCoding::kGzip);
  EXPECT_EQ(coding_of("deflate"), ContentCoding::kDeflate);
  EXPECT_EQ(coding_of("identity"), ContentCoding::kIdentity);
  EXPECT_EQ(coding_of("br"), std::nullopt);
  EXPECT_EQ(coding_of("gzip, gzip"), std::nullopt);
  EXPECT_EQ(coding_of(""), std::nullopt);
}

TEST(HttpCoding, AClientGetsWhatItTakes) {
  EXPECT_EQ(accepted_coding(HttpRequest()), ContentCoding::kIdentity);
  EXPECT_EQ(accepted_coding(accepting("deflate, gzip;q=0.5")), ContentCoding::kGzip);
  EXPECT_EQ(accepted_coding(accepting("br, deflate")), ContentCoding::kDeflate);
  EXPECT_EQ(accepted_coding(accepting("gzip;q=0, deflate;q=0.000, *")), ContentCoding::kIdentity);
  EXPECT_EQ(accepted_coding(accepting("gzip; q=0, *")), ContentCoding::kDeflate);
  EXPECT_EQ(accepted_coding(accepting("*;q=0")), ContentCoding::kIdentity);
  EXPECT_EQ(accepted_coding(accepting("")), ContentCoding::kIdentity);
  EXPECT_EQ(accepted_coding(accepting(";;,gzip")), ContentCoding::kGzip);
}

TEST(HttpCoding, NoMoreIsUnpackedThanAllowed) {
  const std::string zeros(kMost, '\0');
  const std::string packed = encoded(ContentCoding::kGzip, zeros);
  EXPECT_TRUE(decoded(ContentCoding::kGzip, packed, kMost, kTakesAll).ok());
  uint64_t taken = 0;
  const TakesBytes watched = [&](uint64_t bytes) {
    taken = bytes;
    return Status();
  };
  const auto longer = decoded(ContentCoding::kGzip, packed, kMost - 1, watched);
  ASSERT_FALSE(longer.ok());
  EXPECT_THAT(longer.error().message, HasSubstr("unpacks to more than"));
  EXPECT_LE(taken, kMost);
  const TakesBytes little = [](uint64_t bytes) { return bytes > 100'000 ? Status(invalid("no room")) : Status(); };
  const auto refused = decoded(ContentCoding::kGzip, packed, kMost, little);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "no room");
}

TEST(HttpCoding, WhatIsDamagedIsNoBody) {
  const auto why = [](ContentCoding coding, const std::string& body) {
    const auto read = decoded(coding, body, kMost, kTakesAll);
    return read.ok() ? std::string() : read.error().message;
  };
  const std::string packed = encoded(ContentCoding::kGzip, "a text that is long enough to be cut in the middle");
  EXPECT_THAT(why(ContentCoding::kGzip, ""), HasSubstr("ends early"));
  EXPECT_THAT(why(ContentCoding::kGzip, packed.substr(0, packed.size() - 1)), HasSubstr("ends early"));
  EXPECT_THAT(why(ContentCoding::kGzip, packed + "x"), HasSubstr("something follows"));
  EXPECT_THAT(why(ContentCoding::kDeflate, packed), HasSubstr("no deflate data"));
  std::string other = packed;
  other[other.size() - 6] = static_cast<char>(other[other.size() - 6] ^ 1);  // of its checksum
  EXPECT_THAT(why(ContentCoding::kGzip, other), HasSubstr("no gzip data"));
}

}  // namespace
}  // namespace stint
