#include "report/statement_text.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "ledger/testing_books.h"
#include "report/statement_html.h"

namespace stint {
namespace {

using testing::HandMade;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// One GPU for three hours at 10 each: "=evil,\"name\"" trains, an unnamed pod serves half an hour, the rest is free.
struct Example {
  Example() {
    const DeviceId d = books.device(books.node("n"), 0);
    books.hour(d, 0, {{books.tenant("=evil,\"name\""), WorkloadKind::kTraining, kWholeDevice, kWholeDevice / 4, true}});
    books.hour(d, 1, {{books.tenant(""), WorkloadKind::kRealtimeInference, kWholeDevice / 2, kWholeDevice / 2, true}});
    books.hour(d, 2);
    books.compute("n", *Money::parse("30.000000001"));
    ledger = *books.post();
    statement = make_statement(ledger, {});
  }
  HandMade books{3};
  Ledger ledger;
  CostStatement statement;
};

TEST(StatementTable, ShowsMoneyUseAndReconciliation) {
  const Example e;
  const std::string text = statement_table(e.statement, e.ledger, Colour::kNo);
  EXPECT_THAT(text, HasSubstr("effective (amortised) cost, USD"));
  // The sum comes first: a free hour, half a GPU that is free for one, and three quarters of the training hour.
  EXPECT_THAT(text, HasSubstr("30.00 USD in total, of it 22.50 USD idle: 15.00 USD by the causes below, 7.50 USD allocated"));
  EXPECT_LT(text.find("in total"), text.find("(not attributed)"));
  EXPECT_THAT(text, HasSubstr("(not attributed)"));
  EXPECT_THAT(text, HasSubstr("unallocated"));
  EXPECT_THAT(text, HasSubstr("25.0"));  // active %
  EXPECT_THAT(text, HasSubstr("postings sum to the bill: 30.000000001 USD = 30.000000001 USD (4 postings, 1 bill line)"));
  EXPECT_THAT(text, Not(HasSubstr("storage")));  // an empty column
}

TEST(StatementJson, IsExactAndComplete) {
  const Example e;
  const auto json = nlohmann::json::parse(statement_json(e.statement, e.ledger));
  EXPECT_EQ(json["total"], "30.000000001");
  ASSERT_THAT(json["rows"], SizeIs(2));
  EXPECT_EQ(json["rows"][0]["name"], "=evil,\"name\"");
  EXPECT_DOUBLE_EQ(json["rows"][0]["gpu_efficiency_pct"], 25);
  EXPECT_EQ(json["idle"][0]["cause"], "unallocated");
  Money sum = *Money::parse(json["idle_total"].get<std::string>());
  for (const auto& row : json["rows"])
    sum += *Money::parse(row["total"].get<std::string>());
  EXPECT_EQ(sum, *Money::parse("30.000000001"));
}

TEST(StatementCsv, QuotesNamesAndDisarmsFormulas) {
  const Example e;
  const std::string csv = statement_csv(e.statement, e.ledger);
  const auto lines = split(csv, '\n');
  ASSERT_THAT(lines, SizeIs(6));  // heading, two tenants, one cause, total, and what follows the last line end
  EXPECT_THAT(lines[0], StartsWith("line,client,training"));
  EXPECT_THAT(lines[1], StartsWith("tenant,\"'=evil,\"\"name\"\"\",10"));
  EXPECT_THAT(lines[3], StartsWith("idle,unallocated,0"));
  EXPECT_THAT(lines[4], StartsWith("total,,"));
  EXPECT_THAT(lines[4], HasSubstr("30.000000001"));
}

TEST(StatementHtml, IsOneEscapedPageThatReconciles) {
  const Example e;
  const std::string page = statement_html(e.statement, e.ledger);
  EXPECT_THAT(page, StartsWith("<!"));
  EXPECT_THAT(page, Not(HasSubstr("evil,\"name")));  // quotes are escaped
  EXPECT_THAT(page, HasSubstr("30.000000001 USD = 30.000000001 USD"));
  EXPECT_THAT(page, HasSubstr("unallocated"));
  EXPECT_THAT(page, Not(HasSubstr("http")));
}

}  // namespace
}  // namespace stint
