#include "codec/bills/revenue_csv.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string error_of(std::string_view bytes) {
  const auto rows = read_revenue(bytes, "revenue.csv");
  return rows.ok() ? "" : rows.error().message;
}

TEST(Revenue, HasOptionalProjectCurrencyAndBudget) {
  const auto rows = read_revenue(
      "month,client,revenue,project,currency,budget,remark\n2026-10,acme,\"12500.50\",shop,EUR,9000,x\n2026-10,acme,3,,,,\n",
      "r");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_THAT(*rows, SizeIs(2));
  EXPECT_EQ((*rows)[0].project, "shop");
  EXPECT_EQ((*rows)[0].revenue.to_text(), "12,500.50 EUR");
  EXPECT_EQ((*rows)[0].cost_budget->to_text(), "9,000.00 EUR");
  EXPECT_EQ((*rows)[0].month.length(), Duration::hours(31 * 24));
  EXPECT_EQ((*rows)[1].revenue.to_text(), "3.00 USD");
  EXPECT_FALSE((*rows)[1].cost_budget);
}

TEST(Revenue, ErrorsNameTheLine) {
  EXPECT_THAT(error_of("client,revenue\n"), HasSubstr("month"));
  EXPECT_THAT(error_of("client,month,revenue\n"), HasSubstr("no row"));
  EXPECT_THAT(error_of("client,month,revenue\n,2026-10,1\n"), HasSubstr("revenue.csv:2: no client"));
  EXPECT_THAT(error_of("client,month,revenue\na,October,1\n"), HasSubstr("write it as 2026-10"));
  EXPECT_THAT(error_of("client,month,revenue\na,2026-10,ten\n"), HasSubstr("'ten' is no amount"));
  EXPECT_THAT(error_of("client,month,revenue,budget\na,2026-10,1,-1\n"), HasSubstr("budget '-1'"));
  EXPECT_THAT(error_of("client,month,revenue\na,2026-10,1\na,2026-10,2\n"),
              HasSubstr("revenue.csv:3: client 'a' has a row of this month already"));
  EXPECT_THAT(error_of("client,month,revenue\na,2026-10,5e9\n"), HasSubstr("four billion"));
}

}  // namespace
}  // namespace stint
