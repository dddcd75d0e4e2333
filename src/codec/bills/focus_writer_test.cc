#include "codec/bills/focus_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/prng.h"
#include "codec/csv.h"
#include "codec/importer.h"
#include "codec/testing_sink.h"
#include "testing/places.h"

namespace stint {
namespace {

BillLine instance_line(Money billed, Money effective) {
  BillLine line;
  line.provider = "aws";
  line.service = "Amazon Elastic Compute Cloud";
  line.service_category = "Compute";
  line.description = "$1.624 per On Demand Linux g5.4xlarge Instance Hour, \"quoted\"";
  line.region = "us-east-1";
  line.resource_id = "i-1";
  line.instance_type = "g5.4xlarge";
  line.spend = SpendKind::kCompute;
  line.market = Market::kOnDemand;
  line.charge_period = {Instant::from_hour_index(495'000), Instant::from_hour_index(495'001)};
  line.billing_period = month_of(line.charge_period.begin);
  line.billed = billed;
  line.effective = effective;
  line.list = billed;
  line.list_unit_price = Rate::per_hour(Money::nanos(1'624'000'000));
  line.pricing_unit = "Hours";
  line.quantity = "1";
  line.tags = {{"stage", "prod"}};
  return line;
}

/// A ledger of `lines`, each divided at random over tenants and causes.
Ledger random_ledger(const std::vector<BillLine>& lines, Prng& random) {
  Ledger ledger;
  const TenantId no_tenant = ledger.tenants.intern({});
  const TenantId acme =
      ledger.tenants.intern({.client = "Acme, \"Ltd\"", .project = "chat", .team = "", .environment = "", .workload = "bert"});
  const TenantId lab = ledger.tenants.intern({.client = "lab", .project = "", .team = "nlp", .environment = "", .workload = ""});
  for (const BillLine& line : lines) {
    const auto index = static_cast<uint32_t>(ledger.lines.size());
    std::vector<int64_t> weights(1 + random.below(4), 1);
    for (int64_t& w : weights)
      w += static_cast<int64_t>(random.below(1000));
    for (const Money part : split_by_largest_remainder(line.effective, weights)) {
      Posting posting;
      posting.bill_line = index;
      posting.tenant = std::array{no_tenant, acme, lab}[random.below(3)];
      posting.cause = posting.tenant == no_tenant ? IdleCause::kUnallocated : IdleCause::kNone;
      posting.spend = line.spend;
      posting.amount = part;
      ledger.postings.push_back(posting);
    }
    ledger.lines.push_back(line);
    ledger.synthesised.push_back(false);
    ledger.line_amounts.push_back(line.effective);
    ledger.line_nodes.push_back(NodeId(0));
  }
  return ledger;
}

std::string written(const Ledger& ledger) {
  const std::vector<Node> nodes = {{.name = "n1", .gpu_model = "A10G"}};
  std::string text;
  write_focus_ledger(ledger, nodes, [&](std::string_view piece) { text += piece; });
  return text;
}

TestingSink import(const std::string& text) {
  TestingSink sink;
  const auto importer = make_focus_importer({.source = "out.csv"}, sink);
  EXPECT_TRUE(importer->feed(text).ok());
  EXPECT_TRUE(importer->finish().ok());
  for (const auto& [line, reason] : sink.rejected)
    ADD_FAILURE() << line << ": " << reason;
  return sink;
}

/// The sum of a column of CSV text.
Money sum_of_column(const std::string& csv, std::string_view name) {
  Money sum = Money::nanos(0);
  int column = -1;
  CsvReader reader({});
  for (std::string_view rest = csv; reader.next(rest).value();) {
    const CsvRecord& record = reader.record();
    if (column < 0)
      column = CsvHeader::create(record, {}).value().find(name);
    else
      sum += Money::parse(record.at(column)).value();
  }
  return sum;
}

TEST(FocusWriter, LinesOfNoAmountOnTheBasisAreRowsToo) {
  // An instance, a fee paid at once and amortised, and what a commitment covered: invoiced 20.52 in all, used 21.
  const std::vector<BillLine> lines = {instance_line(*Money::parse("13.04"), *Money::parse("13.04")),
                                       instance_line(*Money::parse("7.48"), Money::nanos(0)),
                                       instance_line(Money::nanos(0), *Money::parse("7.96"))};
  Ledger ledger;
  const TenantId lab = ledger.tenants.intern({.client = "lab", .project = "", .team = "", .environment = "", .workload = ""});
  for (const BillLine& line : lines) {
    const auto index = static_cast<uint32_t>(ledger.lines.size());
    ledger.lines.push_back(line);
    ledger.synthesised.push_back(false);
    ledger.line_amounts.push_back(line.effective);
    ledger.line_nodes.push_back(NodeId(0));
    // As the ledger posts: nothing for a line that is nothing on its basis.
    if (line.effective.is_zero()) continue;
    Posting posting;
    posting.bill_line = index;
    posting.tenant = lab;
    posting.amount = line.effective;
    ledger.postings.push_back(posting);
  }
  const std::string csv = written(ledger);
  EXPECT_EQ(sum_of_column(csv, "BilledCost"), *Money::parse("20.52"));
  EXPECT_EQ(sum_of_column(csv, "EffectiveCost"), *Money::parse("21"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4);
}

TEST(FocusWriter, CostsAreThoseOfTheBillWherePostingsAreInAnotherCurrency) {
  const Currency euro = Currency::parse("EUR").value();
  Ledger ledger;
  const TenantId lab = ledger.tenants.intern({.client = "lab", .project = "", .team = "", .environment = "", .workload = ""});
  ledger.lines.push_back(instance_line(*Money::parse("13.05"), *Money::parse("13.05")));
  ledger.synthesised.push_back(false);
  ledger.line_amounts.push_back(*Money::parse("12", euro));
  ledger.line_nodes.push_back(NodeId(0));
  for (const std::string_view part : {"4", "8"}) {
    Posting posting;
    posting.tenant = lab;
    posting.amount = *Money::parse(part, euro);
    ledger.postings.push_back(posting);
  }
  const TestingSink out = import(written(ledger));
  ASSERT_EQ(out.bill.size(), 2U);
  EXPECT_EQ(out.bill[0].effective, *Money::parse("4.35"));
  EXPECT_EQ(out.bill[1].effective, *Money::parse("8.7"));
  EXPECT_EQ(out.bill[0].billed + out.bill[1].billed, *Money::parse("13.05"));
}

/// Every line of a file, as one posting each.
Ledger ledger_of(const TestingSink& sink) {
  std::vector<BillLine> lines = sink.bill;
  for (size_t i = 0; i < lines.size(); ++i)
    if (!sink.source_columns[i].empty()) lines[i].tags.emplace_back(kSourceColumnsTag, sink.source_columns[i]);
  Ledger ledger;
  const TenantId no_tenant = ledger.tenants.intern({});
  for (const BillLine& line : lines) {
    Posting posting;
    posting.bill_line = static_cast<uint32_t>(ledger.lines.size());
    posting.tenant = no_tenant;
    posting.spend = line.spend;
    posting.amount = line.effective;
    ledger.postings.push_back(posting);
    ledger.lines.push_back(line);
    ledger.synthesised.push_back(false);
    ledger.line_amounts.push_back(line.effective);
    ledger.line_nodes.push_back(NodeId(0));
  }
  return ledger;
}

std::vector<Tag> in_order(std::vector<Tag> tags) {
  std::ranges::sort(tags);
  return tags;
}

TEST(FocusWriter, WhatABillSaidComesBackFromWhatWasWritten) {
  size_t seen = 0;
  for (const std::string format : {"focus", "cur", "azure", "azure-actual", "gcp"}) {
    const auto folder = std::filesystem::path(STINT_SOURCE_DIR) / "fuzz" / "seeds" / format;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      SCOPED_TRACE(file.path().string());
      std::ifstream in(file.path(), std::ios::binary);
      const std::string bytes((std::istreambuf_iterator<char>(in)), {});
      TestingSink bill;
      const auto importer = find_import_format(format)->create({.source = "in"}, bill);
      ASSERT_TRUE(importer->feed(bytes).ok());
      ASSERT_TRUE(importer->finish().ok());
      const TestingSink back = import(written(ledger_of(bill)));
      ASSERT_EQ(back.bill.size(), bill.bill.size());
      for (size_t i = 0; i < bill.bill.size(); ++i) {
        const BillLine &a = bill.bill[i], &b = back.bill[i];
        ++seen;
        const auto texts = [](const BillLine& l) {
          return std::tie(l.provider, l.billing_account, l.sub_account, l.service, l.service_category, l.description, l.region,
                          l.zone, l.resource_id, l.resource_name, l.resource_type, l.instance_type, l.sku, l.invoice_id,
                          l.commitment_id, l.pricing_unit, l.quantity);
        };
        EXPECT_EQ(texts(a), texts(b));
        EXPECT_EQ(a.billed, b.billed);
        EXPECT_EQ(a.effective, b.effective);
        EXPECT_EQ(a.list, b.list);
        EXPECT_EQ(a.contracted, b.contracted);
        EXPECT_EQ(a.list_unit_price.has_value(), b.list_unit_price.has_value());
        EXPECT_EQ(a.category, b.category);
        EXPECT_EQ(a.spend, b.spend);
        EXPECT_EQ(a.market, b.market);
        EXPECT_EQ(a.correction, b.correction);
        EXPECT_EQ(a.commitment_unused, b.commitment_unused);
        EXPECT_EQ(a.charge_period, b.charge_period);
        EXPECT_EQ(a.billing_period, b.billing_period);
        EXPECT_EQ(in_order(a.tags), in_order(b.tags));
        EXPECT_EQ(bill.source_columns[i], back.source_columns[i]);
      }
    }
  }
  EXPECT_GT(seen, 20U);
}

TEST(FocusWriter, ColumnsThatALineHasNoPlaceForComeBack) {
  const std::string header =
      "BilledCost,EffectiveCost,BillingCurrency,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,ProviderName,PublisherName,"
      "SkuPriceId,"
      "BillingAccountName,ConsumedQuantity,ConsumedUnit,PricingCategory,ListUnitPrice,PricingUnit,x_Weather\n";
  const std::string row =
      "1,1,USD,Usage,2026-10-01T00:00:00Z,2026-10-01T01:00:00Z,Amazon Web Services,Amazon Web "
      "Services,P1,Acme,3600,Seconds,Other,2.5,GB,"
      "\"rain, \"\"heavy\"\" \\ \"\n";
  const TestingSink first = import(header + row);
  // Two tenants: the quantity is divided, names and prices stand.
  Ledger ledger = ledger_of(first);
  Posting half = ledger.postings[0];
  half.amount = Money::nanos(500'000'000);
  ledger.postings = {half, half};
  const std::string csv = written(ledger);
  EXPECT_EQ(sum_of_column(csv, "ConsumedQuantity"), Money::units(3600));
  for (const char* part : {",P1,", ",Acme,", "Amazon Web Services", ",Seconds,", ",Other,", ",2.5,"})
    EXPECT_THAT(csv, testing::HasSubstr(part));
  // Nothing is lost or added on the way through once more.
  const TestingSink second = import(csv);
  ASSERT_EQ(second.bill.size(), 2U);
  EXPECT_EQ(second.source_columns[0], first.source_columns[0]);
  EXPECT_THAT(first.source_columns[0], testing::HasSubstr(R"("x_Weather":"rain, \"heavy\" \\")"));
}

TEST(FocusWriter, WhatABillDidNotGiveIsMarkedAsAssumed) {
  BillLine line = instance_line(*Money::parse("3"), *Money::parse("2"));
  line.provider = line.billing_account = "";
  line.list.reset();
  TestingSink sink;
  sink.bill_line(line);
  const std::string csv = written(ledger_of(sink));
  EXPECT_THAT(csv, testing::HasSubstr("BillingAccountId ContractedCost ProviderName ListCost"));
  EXPECT_EQ(sum_of_column(csv, "ContractedCost"), *Money::parse("2"));
  EXPECT_EQ(sum_of_column(csv, "ListCost"), *Money::parse("2"));
}

TEST(FocusWriter, RowsOfALineSumToItInEveryCostAndKeepItsDimensions) {
  const uint64_t seed = 77;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Prng random(seed);
  std::vector<BillLine> lines;
  for (int i = 0; i < 200; ++i) {
    const auto billed = static_cast<int64_t>(random.below(5'000'000'000));
    const auto effective = i % 7 == 0 ? 0 : static_cast<int64_t>(random.below(5'000'000'000));
    lines.push_back(
        instance_line(Money::nanos(i % 5 == 0 ? -billed : billed), Money::nanos(i % 3 == 0 ? -effective : effective)));
  }
  const Ledger ledger = random_ledger(lines, random);
  const TestingSink back = import(written(ledger));
  ASSERT_EQ(back.bill.size(), ledger.postings.size());

  std::vector<Money> billed(lines.size()), effective(lines.size()), list(lines.size()), quantity(lines.size());
  for (size_t i = 0; i < back.bill.size(); ++i) {
    const size_t origin = ledger.postings[i].bill_line;
    const BillLine& row = back.bill[i];
    billed[origin] += row.billed;
    effective[origin] += row.effective;
    list[origin] += *row.list;
    quantity[origin] += Money::parse(row.quantity).value();
    EXPECT_EQ(row.effective, ledger.postings[i].amount);
    EXPECT_EQ(row.provider, "aws");
    EXPECT_EQ(row.description, lines[origin].description);
    EXPECT_EQ(row.instance_type, "g5.4xlarge");
    EXPECT_EQ(row.resource_id, "i-1");
    EXPECT_EQ(row.market, Market::kOnDemand);
    EXPECT_EQ(row.list_unit_price, lines[origin].list_unit_price);
    EXPECT_EQ(row.charge_period, lines[origin].charge_period);
    EXPECT_EQ(row.billing_period, lines[origin].billing_period);
    const Tenant& tenant = ledger.tenants[ledger.postings[i].tenant];
    EXPECT_EQ(tenant_from_tags(row.tags).client, tenant.client);
    EXPECT_EQ(tenant_from_tags(row.tags).team, tenant.team);
  }
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(billed[i], lines[i].billed) << i;
    EXPECT_EQ(effective[i], lines[i].effective) << i;
    EXPECT_EQ(list[i], *lines[i].list) << i;
    EXPECT_EQ(quantity[i], Money::units(1)) << i;
  }
}

TEST(FocusWriter, NamesGpuCauseAndTenantInItsOwnColumns) {
  Ledger ledger;
  const TenantId acme = ledger.tenants.intern({.client = "acme", .project = "p", .team = "", .environment = "", .workload = "w"});
  ledger.lines.push_back(instance_line(Money::units(3), Money::units(2)));
  ledger.line_nodes.push_back(NodeId(0));
  Posting posting;
  posting.tenant = acme;
  posting.cause = IdleCause::kInactive;
  posting.kind = WorkloadKind::kTraining;
  posting.amount = Money::units(2);
  ledger.postings.push_back(posting);

  const std::string text = written(ledger);
  CsvReader reader({.source = "out.csv"});
  std::string_view rest = text;
  ASSERT_TRUE(reader.next(rest).value());
  const CsvHeader header = CsvHeader::create(reader.record(), {}).value();
  ASSERT_TRUE(reader.next(rest).value());
  const auto value = [&](std::string_view column) { return std::string(reader.record().at(header.find(column))); };
  EXPECT_EQ(value("x_GpuModel"), "A10G");
  EXPECT_EQ(value("x_IdleCause"), "inactive");
  EXPECT_EQ(value("x_Client"), "acme");
  EXPECT_EQ(value("x_WorkloadKind"), "training");
  EXPECT_EQ(value("AllocatedResourceId"), "acme/p/w");
  EXPECT_EQ(value("AllocatedResourceName"), "w");
  EXPECT_EQ(value("AllocatedTags"), R"({"client":"acme","project":"p","workload":"w"})");
  EXPECT_EQ(value("BilledCost"), "3");
  EXPECT_EQ(value("EffectiveCost"), "2");
  EXPECT_EQ(value("ServiceProviderName"), "AWS");
}

TEST(FocusWriter, TheBasisIsThePostedCost) {
  Ledger ledger;
  ledger.basis = CostBasis::kBilled;
  const TenantId no_tenant = ledger.tenants.intern({});
  ledger.lines.push_back(instance_line(Money::units(3), Money::units(1)));
  ledger.line_nodes.push_back(NodeId());
  for (const int64_t units : {1, 2}) {
    Posting posting;
    posting.tenant = no_tenant;
    posting.amount = Money::units(units);
    ledger.postings.push_back(posting);
  }
  const TestingSink back = import(written(ledger));
  ASSERT_EQ(back.bill.size(), 2U);
  EXPECT_EQ(back.bill[0].billed, Money::units(1));
  EXPECT_EQ(back.bill[1].billed, Money::units(2));
  EXPECT_EQ(back.bill[0].effective, Money::nanos(333'333'333));
  EXPECT_EQ(back.bill[1].effective, Money::nanos(666'666'667));
}

TEST(FocusWriter, AnEmptyLedgerIsAHeader) {
  const TestingSink back = import(written(Ledger{}));
  EXPECT_TRUE(back.bill.empty());
}

}  // namespace
}  // namespace stint
