#include "codec/bills/budget_csv.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(BudgetCsv, ReadsBudgetsOfAMonthAndOfEveryMonth) {
  const auto rows = read_budgets("month,client,budget,currency,note\n2026-10,blue,1200.50,EUR,x\n,*,9000,,\n", "b.csv");
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  ASSERT_THAT(*rows, SizeIs(2));
  EXPECT_EQ((*rows)[0].client, "blue");
  EXPECT_EQ((*rows)[0].month, parse_month("2026-10").value());
  EXPECT_EQ((*rows)[0].budget.to_text(), "1,200.50 EUR");
  EXPECT_EQ((*rows)[1].client, kWholeBill);
  EXPECT_FALSE((*rows)[1].month);
}

TEST(BudgetCsv, NamesTheLineThatIsWrong) {
  for (const auto& [text, message] : {std::pair("client,budget\n,5\n", "no client"),
                                      {"client,budget\nblue,0\n", "no amount above zero"},
                                      {"client,budget\nblue,-5\n", "no amount above zero"},
                                      {"client,budget,month\nblue,5,October\n", "October"},
                                      {"client,budget,currency\nblue,5,euro\n", "euro"},
                                      {"client,budget\nblue,5\nblue,6\n", "already"}}) {
    const auto rows = read_budgets(text, "b.csv");
    ASSERT_FALSE(rows.ok()) << text;
    EXPECT_THAT(rows.error().message, HasSubstr(message));
    EXPECT_THAT(rows.error().message, HasSubstr("b.csv"));
  }
  EXPECT_FALSE(read_budgets("client,budget\n", "b.csv").ok());
  EXPECT_FALSE(read_budgets("client,month\n", "b.csv").ok());
}

}  // namespace
}  // namespace stint
