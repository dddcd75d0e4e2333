#include "daemon/api/page.h"

#include <gmock/gmock.h>

#include "host/http_target.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::optional<HttpReply> get(const std::string& target, std::vector<std::pair<std::string, std::string>> headers = {},
                             const std::string& method = "GET") {
  HttpRequest request;
  request.method = method;
  request.target = target;
  request.parts = *parse_http_target(target);
  request.headers = std::move(headers);
  return page_reply(request);
}

std::string header(const HttpReply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers)
    if (key == name) return value;
  return "";
}

/// The address of a file, as the index names it.
std::string address_of(std::string_view name) {
  const std::string index = get("/")->body;
  const size_t end = index.find(name);
  const size_t begin = index.rfind('"', end) + 1;
  return index.substr(begin, end + name.size() - begin);
}

TEST(Page, TheIndexNamesItsFilesByFingerprint) {
  const auto index = get("/");
  ASSERT_TRUE(index);
  EXPECT_EQ(index->content_type, "text/html; charset=utf-8");
  EXPECT_THAT(index->body, Not(HasSubstr("{{")));
  EXPECT_THAT(address_of("style.css"), StartsWith("/page/"));
  EXPECT_EQ(header(*index, "Cache-Control"), "no-cache");
}

TEST(Page, FilesAreKeptForEverUnderTheirFingerprintAndAreNowhereElse) {
  const std::string style = address_of("style.css");
  const auto file = get(style);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->content_type, "text/css; charset=utf-8");
  EXPECT_THAT(header(*file, "Cache-Control"), HasSubstr("immutable"));
  EXPECT_EQ(get(address_of("app.js"))->content_type, "text/javascript; charset=utf-8");
  for (const char* elsewhere : {"/style.css", "/page/style.css", "/page/0123456789abcdef/style.css", "/index.html", "/v1/jobs"})
    EXPECT_FALSE(get(elsewhere)) << elsewhere;
  EXPECT_FALSE(get(style + ".map"));
  EXPECT_FALSE(get(style + "/../../../etc/passwd"));
  EXPECT_FALSE(get("/", {}, "POST"));
}

TEST(Page, PackedForThoseWhoTakeIt) {
  for (const char* takes : {"gzip", "br, gzip;q=0.8", "GZIP", "gzip;q=1"}) {
    const auto reply = get("/", {{"accept-encoding", takes}});
    EXPECT_EQ(header(*reply, "Content-Encoding"), "gzip") << takes;
    EXPECT_THAT(reply->body, StartsWith("\x1f\x8b")) << takes;
  }
  for (const char* refuses : {"", "br", "gzip;q=0", "gzip; q=0.000", "gzipped"})
    EXPECT_EQ(header(*get("/", {{"accept-encoding", refuses}}), "Content-Encoding"), "") << refuses;
}

TEST(Page, WhoHasItAlreadyIsToldSo) {
  const std::string tag = header(*get("/"), "ETag");
  const auto again = get("/", {{"if-none-match", tag}});
  EXPECT_EQ(again->status, 304);
  EXPECT_EQ(again->body, "");
  EXPECT_EQ(get("/", {{"if-none-match", "\"other\""}})->status, 200);
  // The packed form is another one.
  EXPECT_EQ(get("/", {{"if-none-match", tag}, {"accept-encoding", "gzip"}})->status, 200);
}

TEST(Page, RunsItsOwnFilesAlone) {
  const std::string policy = header(*get("/"), "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_THAT(policy, HasSubstr("script-src 'self';"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace stint
