#include "model/identity.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(Identity, GrantsReadBackAsWritten) {
  for (const char* text :
       {"viewer@agency", "submitter@a.b-c_1", "client-admin@x", "operator", "auditor", "auditor@agency", "viewer"}) {
    const auto grant = parse_grant(text);
    ASSERT_TRUE(grant.ok()) << text;
    EXPECT_EQ(format_grant(*grant), text);
  }
  for (const char* bad : {"", "root", "viewer@", "viewer@a/b", "viewer@ a", "operator@agency", "@agency", "Viewer"})
    EXPECT_FALSE(parse_grant(bad).ok()) << bad;
}

TEST(Identity, ScopesReadBackAsWritten) {
  EXPECT_EQ(format_scopes(*parse_scopes("submit, read")), "read,submit");
  EXPECT_EQ(*parse_scopes("read,submit,control,manage,audit"), Scopes::all());
  EXPECT_EQ(format_scopes(Scopes::all()), "all");
  for (const char* bad : {"", "write", "read,", "all,read"})
    EXPECT_FALSE(parse_scopes(bad).ok()) << bad;
  EXPECT_TRUE(Scopes::all().cover(*parse_scopes("audit")));
  EXPECT_FALSE(parse_scopes("read")->cover(*parse_scopes("read,audit")));
}

TEST(Identity, NamesAreOfPlainCharacters) {
  EXPECT_TRUE(is_plain_name("agency-1.b_c"));
  EXPECT_TRUE(is_user_name("ann@example.com"));
  EXPECT_FALSE(is_plain_name("ann@example.com"));
  for (const char* bad : {"", ".", "-a", "a b", "a/b", "a\n", "ä"})
    EXPECT_FALSE(is_user_name(bad)) << bad;
  EXPECT_TRUE(is_plain_name(std::string(64, 'a')));
  EXPECT_FALSE(is_plain_name(std::string(65, 'a')));
}

}  // namespace
}  // namespace stint
