#include "model/mig_ask.h"

#include <gtest/gtest.h>

namespace stint {
namespace {

TEST(MigAsk, IsReadAsItIsWritten) {
  const auto read = [](std::string_view text) {
    const auto asks = parse_mig_asks(text);
    return asks.ok() ? mig_text(*asks) : asks.error().message;
  };
  for (const char* text : {"", "1g.10gb", "2x1g.10gb 3g.40gb", "1g.10gb+me"})
    EXPECT_EQ(read(text), text);
  EXPECT_EQ(read(" 1x1g.10gb 3g.40gb 1g.10gb "), "2x1g.10gb 3g.40gb") << "a profile that stands twice";
  for (const char* wrong : {"x1g.10gb", "0x1g.10gb", "2x", "8g.80gb", "1001x1g.10gb", "600x1g.10gb 600x1g.10gb", "-1x1g.10gb"})
    EXPECT_FALSE(parse_mig_asks(wrong).ok()) << wrong;
}

TEST(MigAsk, IsAsMuchAsItsInstances) {
  const std::vector<MigAsk> asks = {{.profile = "1g.10gb", .count = 2}, {.profile = "3g.40gb", .count = 1}};
  EXPECT_EQ(compute_milli("A100-80GB", asks), 2 * 142 + 428) << "sevenths, rounded down each";
}

}  // namespace
}  // namespace stint
