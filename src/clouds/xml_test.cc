#include "clouds/xml.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;

TEST(Xml, ElementsAndTheirText) {
  const auto xml = parse_xml("<?xml version=\"1.0\"?>\n<a:R xmlns:a=\"u\"><K> x&amp;y &#228;</K><L><K>2</K></L><K>3</K></a:R>");
  ASSERT_TRUE(xml.ok()) << xml.error().message;
  EXPECT_EQ(xml->name, "R");
  EXPECT_EQ(xml->text_of("K"), "x&y \u00e4");
  EXPECT_EQ(xml->text_of("absent"), "");
  EXPECT_EQ(xml->find("L")->text_of("K"), "2");
  EXPECT_EQ(xml->find_below("L")->children.size(), 1U);
  EXPECT_EQ(xml->find_below("nothing"), nullptr);
}

TEST(Xml, EntitiesOfADocumentsOwnAreRefused) {
  const auto bomb = parse_xml("<!DOCTYPE r [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><r>&b;</r>");
  ASSERT_FALSE(bomb.ok());
  EXPECT_THAT(bomb.error().message, HasSubstr("document type"));
  EXPECT_FALSE(parse_xml("<!DOCTYPE r SYSTEM \"file:///etc/passwd\"><r/>").ok());
}

TEST(Xml, DamagedOnesNameTheLine) {
  EXPECT_THAT(parse_xml("<a>\n<b></a>").error().message, HasSubstr("line 2"));
  EXPECT_FALSE(parse_xml("").ok());
  EXPECT_FALSE(parse_xml("{\"json\": 1}").ok());
  std::string deep;
  for (int i = 0; i < 65; ++i)
    deep += "<a>";
  EXPECT_THAT(parse_xml(deep).error().message, HasSubstr("too deep"));
}

TEST(Xml, Escapes) { EXPECT_EQ(escape_xml("<a&\"b\">"), "&lt;a&amp;&quot;b&quot;&gt;"); }

}  // namespace
}  // namespace stint
