#include "codec/bills/invoice_csv.h"

#include <gmock/gmock.h>

namespace stint {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

std::string error_of(std::string_view bytes) {
  const auto totals = read_invoices(bytes, "invoices.csv");
  return totals.ok() ? "" : totals.error().message;
}

TEST(InvoiceCsv, HasOptionalInvoiceAndCurrency) {
  const auto totals = read_invoices(
      "account,provider,month,total,currency,invoice,remark\n1111,Amazon Web "
      "Services,2026-10,-12.345,EUR,INV-7,x\n2,gcp,2026-11,3,,,\n",
      "i");
  ASSERT_TRUE(totals.ok()) << totals.error().message;
  ASSERT_THAT(*totals, SizeIs(2));
  EXPECT_EQ((*totals)[0].provider, "aws");
  EXPECT_EQ((*totals)[0].account, "1111");
  EXPECT_EQ((*totals)[0].invoice, "INV-7");
  EXPECT_EQ((*totals)[0].total, Money::nanos(-12'345'000'000, Currency::parse("EUR").value()));
  EXPECT_EQ((*totals)[1].total, Money::units(3));
  EXPECT_EQ((*totals)[1].month, parse_month("2026-11").value());
}

TEST(InvoiceCsv, ErrorsNameTheLine) {
  EXPECT_THAT(error_of("provider,account,month\n"), HasSubstr("total"));
  EXPECT_THAT(error_of("provider,account,month,total\n"), HasSubstr("no invoice in it"));
  EXPECT_THAT(error_of("provider,account,month,total\n,1,2026-10,1\n"), HasSubstr("invoices.csv:2: no provider"));
  EXPECT_THAT(error_of("provider,account,month,total\naws,1,October,1\n"), HasSubstr("write it as 2026-10"));
  EXPECT_THAT(error_of("provider,account,month,total\naws,1,2026-10,ten\n"), HasSubstr("'ten' is no amount"));
  EXPECT_THAT(error_of("provider,account,month,total,currency\naws,1,2026-10,1,euro\n"), HasSubstr("invoices.csv:2"));
}

}  // namespace
}  // namespace stint
