// Bills as providers deliver them: again and again until final, in parts, in several exports.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <tuple>

#include "base/prng.h"
#include "host/scratch_dir.h"
#include "store/history_file.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kOctober = *parse_instant("2026-10-01T00:00:00Z");
const Instant kImported = *parse_instant("2026-11-03T09:00:00Z");

/// The charge of machine `i` on `day` of October.
BillLine charge(int i, int day, Money amount, std::string account = "1111") {
  BillLine line;
  line.provider = "aws";
  line.billing_account = std::move(account);
  line.service = "AmazonEC2";
  line.resource_id = fmt::format("i-{}", i);
  line.instance_type = "p4d.24xlarge";
  line.spend = SpendKind::kCompute;
  line.charge_period = {kOctober + kHour * (24 * (day - 1)), kOctober + kHour * (24 * day)};
  line.billing_period = month_of(kOctober);
  line.billed = line.effective = amount;
  return line;
}

/// Four machines on each day in [first, last], `amount` a charge.
std::vector<BillLine> month(int first, int last, Money amount, std::string_view invoice = "") {
  std::vector<BillLine> lines;
  for (int day = first; day <= last; ++day)
    for (int i = 0; i < 4; ++i) {
      lines.push_back(charge(i, day, amount));
      lines.back().invoice_id = invoice;
    }
  return lines;
}

class BillDelivery : public ::testing::Test {
 protected:
  BillDelivery() : file_(HistoryFile::open(dir_ / "fleet.db", OpenMode::kCreate).value()) {}

  struct File {
    std::string name;
    std::vector<BillLine> lines;
  };
  Result<ImportRecord> deliver(const std::vector<File>& files, std::string_view kind = "focus", DeliveryOptions options = {}) {
    TRY_ASSIGN(const auto import, file_.begin_import(kind, files.front().name, kImported, options));
    std::string fingerprint = fmt::format("{}", ++fingerprints_);
    for (const File& f : files) {
      import->begin_file(f.name);
      for (const BillLine& line : f.lines)
        import->bill_line(line);
    }
    TRY_ASSIGN(ImportRecord record, import->commit(fingerprint));
    replaced_ = import->replaced_bills();
    return record;
  }
  Result<ImportRecord> deliver(const std::string& name, const std::vector<BillLine>& lines, std::string_view kind = "focus",
                               DeliveryOptions options = {}) {
    return deliver({{name, lines}}, kind, std::move(options));
  }

  Money total() {
    const auto history = file_.load();
    CHECK(history.ok(), "{}", history.error().message);
    Money sum = Money::nanos(0);
    for (const BillLine& line : history->bill)
      sum += line.billed;
    return sum;
  }

  ScratchDir dir_;
  HistoryFile file_;
  int fingerprints_ = 0;
  std::vector<ReplacedBill> replaced_;
};

TEST_F(BillDelivery, ABillDeliveredAgainWithAnInvoiceIdTakesThePlaceOfTheFirst) {
  ASSERT_TRUE(deliver("october.csv", month(1, 31, Money::units(10))).ok());
  EXPECT_EQ(total(), Money::units(1240));  // 4 machines × 31 days × 10
  ASSERT_TRUE(deliver("october-final.csv", month(1, 31, Money::units(10), "INV-7")).ok());
  EXPECT_EQ(total(), Money::units(1240));
  ASSERT_THAT(replaced_, SizeIs(1));
  EXPECT_EQ(replaced_[0].import_id, 1);
  EXPECT_EQ(replaced_[0].lines, 124U);
}

TEST_F(BillDelivery, ChangedAmountsAndWithdrawnLinesCountAsLastDelivered) {
  ASSERT_TRUE(deliver("a.csv", month(1, 31, Money::units(10))).ok());
  ASSERT_TRUE(deliver("b.csv", month(1, 31, Money::units(11))).ok());
  EXPECT_EQ(total(), Money::units(1364));
  std::vector<BillLine> fewer = month(1, 30, Money::units(11));
  fewer.pop_back();
  ASSERT_TRUE(deliver("c.csv", fewer).ok());
  EXPECT_EQ(total(), Money::units(1309));  // 119 charges
}

TEST_F(BillDelivery, AMonthInProgressGrows) {
  for (int day = 1; day <= 31; ++day) {
    ASSERT_TRUE(deliver(fmt::format("to-{}.csv", day), month(1, day, Money::units(10))).ok());
    EXPECT_EQ(total(), Money::units(40 * day));
  }
}

TEST_F(BillDelivery, FilesOfOneImportArePartsOfOneDelivery) {
  ASSERT_TRUE(deliver({{"1.csv", month(1, 10, Money::units(10))}, {"2.csv", month(11, 31, Money::units(10))}}).ok());
  EXPECT_EQ(total(), Money::units(1240));
  ASSERT_TRUE(deliver({{"1.csv", month(1, 16, Money::units(9))}, {"2.csv", month(17, 31, Money::units(9))}}).ok());
  EXPECT_EQ(total(), Money::units(1116));
}

TEST_F(BillDelivery, TwoDeliveriesInOneImportAreRefused) {
  const auto both = deliver({{"old.csv", month(1, 30, Money::units(10))}, {"new.csv", month(1, 31, Money::units(10))}});
  ASSERT_FALSE(both.ok());
  EXPECT_THAT(both.error().message, HasSubstr("old.csv and new.csv hold the same charges"));
  EXPECT_TRUE(total().is_zero());
}

TEST_F(BillDelivery, WhatLooksLikeAnotherPartIsRefusedUntilItIsSaidToBeOne) {
  ASSERT_TRUE(deliver("1.csv", month(1, 10, Money::units(10))).ok());
  const auto second = deliver("2.csv", month(11, 31, Money::units(10)));
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("--part"));
  EXPECT_THAT(second.error().message, HasSubstr("--replace"));
  EXPECT_EQ(total(), Money::units(400));
  ASSERT_TRUE(deliver("2.csv", month(11, 31, Money::units(10)), "focus", {.as = DeliveryAs::kPart}).ok());
  EXPECT_EQ(total(), Money::units(1240));
  // A part of the same name takes the place of that part alone.
  ASSERT_TRUE(deliver("2.csv", month(11, 31, Money::units(20)), "focus", {.as = DeliveryAs::kPart}).ok());
  EXPECT_EQ(total(), Money::units(2080));
  // The whole takes the place of all parts.
  ASSERT_TRUE(deliver("all.csv", month(1, 31, Money::units(10))).ok());
  EXPECT_EQ(total(), Money::units(1240));
  ASSERT_TRUE(deliver("ten days.csv", month(1, 3, Money::units(10)), "focus", {.as = DeliveryAs::kReplace}).ok());
  EXPECT_EQ(total(), Money::units(120));
}

TEST_F(BillDelivery, APartThatHoldsTheSameChargesIsRefused) {
  ASSERT_TRUE(deliver("1.csv", month(1, 31, Money::units(10))).ok());
  const auto again = deliver("2.csv", month(1, 31, Money::units(11)), "focus", {.as = DeliveryAs::kPart});
  ASSERT_FALSE(again.ok());
  EXPECT_THAT(again.error().message, HasSubstr("without --part"));
}

TEST_F(BillDelivery, OtherAccountsAndMonthsStay) {
  ASSERT_TRUE(deliver("1.csv", month(1, 31, Money::units(10))).ok());
  ASSERT_TRUE(deliver("2.csv", {charge(9, 4, Money::units(7), "2222")}).ok());
  BillLine november = charge(9, 33, Money::units(5));
  november.billing_period = month_of(november.charge_period.begin);
  ASSERT_TRUE(deliver("3.csv", {november}).ok());
  EXPECT_THAT(replaced_, IsEmpty());
  EXPECT_EQ(total(), Money::units(1252));
}

TEST_F(BillDelivery, TwoExportsOfOneAccountAreRefusedUntilOneIsPreferred) {
  ASSERT_TRUE(deliver("focus.csv", month(1, 31, Money::units(10))).ok());
  const auto second = deliver("cur.csv", month(1, 31, Money::units(10)), "cur");
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.error().message, HasSubstr("--prefer cur"));
  EXPECT_THAT(second.error().message, HasSubstr("--prefer focus"));
  EXPECT_EQ(total(), Money::units(1240));
  // Kept beside, not counted.
  ASSERT_TRUE(deliver("cur.csv", month(1, 31, Money::units(12)), "cur", {.prefer = "focus"}).ok());
  EXPECT_EQ(total(), Money::units(1240));
  // A new delivery of what counts already goes on counting; one of the other does not without a word.
  ASSERT_TRUE(deliver("focus2.csv", month(1, 31, Money::units(11))).ok());
  EXPECT_EQ(total(), Money::units(1364));
  EXPECT_FALSE(deliver("cur3.csv", month(1, 31, Money::units(13)), "cur").ok());
  ASSERT_TRUE(deliver("cur3.csv", month(1, 31, Money::units(13)), "cur", {.prefer = "cur"}).ok());
  EXPECT_EQ(total(), Money::units(1612));
}

TEST_F(BillDelivery, AnExportThatNamesNoAccountOverlapsEveryAccountOfItsProvider) {
  ASSERT_TRUE(deliver("cur.csv", month(1, 31, Money::units(10)), "cur").ok());
  std::vector<BillLine> lines = month(1, 31, Money::units(10));
  for (BillLine& line : lines)
    line.billing_account.clear();
  EXPECT_FALSE(deliver("focus.csv", lines).ok());
}

TEST_F(BillDelivery, DroppingADeliveryBringsBackTheOneBefore) {
  for (const int amount : {10, 11, 12})
    ASSERT_TRUE(deliver("october.csv", month(1, 31, Money::units(amount))).ok());
  const auto imports = file_.imports();
  ASSERT_TRUE(imports.ok()) << imports.error().message;
  ASSERT_THAT(*imports, SizeIs(3));
  ASSERT_THAT((*imports)[0].bills, SizeIs(1));
  EXPECT_EQ((*imports)[0].bills[0].superseded_by, 2);
  EXPECT_EQ((*imports)[1].bills[0].superseded_by, 3);
  EXPECT_EQ((*imports)[2].bills[0].superseded_by, std::nullopt);
  EXPECT_EQ((*imports)[2].bills[0].billed, Money::units(1488));
  EXPECT_EQ((*imports)[2].bills[0].lines, 124U);
  EXPECT_EQ((*imports)[2].bills[0].charged, month_of(kOctober));
  // One in the middle changes nothing that counts.
  ASSERT_TRUE(file_.drop_import(2).ok());
  EXPECT_EQ(total(), Money::units(1488));
  EXPECT_EQ((*file_.imports())[0].bills[0].superseded_by, 3);
  const auto dropped = file_.drop_import(3);
  ASSERT_TRUE(dropped.ok()) << dropped.error().message;
  EXPECT_THAT(dropped->brought_back, ::testing::ElementsAre(1));
  EXPECT_EQ(total(), Money::units(1240));
  EXPECT_THAT(*file_.check(), IsEmpty());
  ASSERT_TRUE(file_.drop_import(1).ok());
  EXPECT_TRUE(total().is_zero());
  EXPECT_THAT(file_.drop_import(1).error().message, HasSubstr("no import 1"));
}

TEST_F(BillDelivery, DroppingTheExportThatCountsBringsBackOneDeliveryOfTheOther) {
  ASSERT_TRUE(deliver("focus.csv", month(1, 31, Money::units(10))).ok());
  ASSERT_TRUE(deliver("cur.csv", month(1, 31, Money::units(20)), "cur", {.prefer = "cur"}).ok());
  ASSERT_TRUE(deliver("focus2.csv", month(1, 31, Money::units(11)), "focus", {.prefer = "cur"}).ok());
  EXPECT_EQ(total(), Money::units(2480));
  ASSERT_TRUE(file_.drop_import(2).ok());
  EXPECT_EQ(total(), Money::units(1364));
}

TEST_F(BillDelivery, OnlyBillsCanBeTakenOut) {
  const auto import = file_.begin_import("inventory", "nodes.csv", kImported);
  Node node;
  node.name = "n1";
  (*import)->node(node);
  ASSERT_TRUE((*import)->commit("x").ok());
  EXPECT_THAT(file_.drop_import(1).error().message, HasSubstr("bill"));
}

TEST_F(BillDelivery, WhatWasReplacedCanBeDeliveredOnceMore) {
  ASSERT_TRUE(deliver("a.csv", month(1, 31, Money::units(10))).ok());
  ASSERT_TRUE(file_.find_import("focus", "1")->has_value());
  ASSERT_TRUE(deliver("b.csv", month(1, 31, Money::units(11))).ok());
  // Its bytes count no more: they are not known any more, and importing them is a delivery.
  EXPECT_FALSE(file_.find_import("focus", "1")->has_value());
  ASSERT_TRUE(file_.drop_import(2).ok());
  EXPECT_TRUE(file_.find_import("focus", "1")->has_value());
}

/// 10,000 deliveries: random accounts, months and currencies, each bill whole or split over three files, with charges changed and
/// withdrawn. What counts is what each provider said last, to the nano-unit.
TEST_F(BillDelivery, RandomDeliveriesSplitsAndCurrenciesSumToTheInvoices) {
  constexpr uint64_t kSeed = 20261101;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  Prng random(kSeed);
  const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<uint64_t>(n))); };
  const Currency currencies[] = {*Currency::parse("USD"), *Currency::parse("EUR"), *Currency::parse("JPY")};
  constexpr Duration kPeriod = kHour * (24 * 30);
  std::map<std::pair<int, int>, Money> invoices;  // by account and period: what the last delivery said
  int deliveries = 0;
  for (int n = 0; deliveries < 10'000; ++n) {
    std::vector<File> files = {
        {fmt::format("{}-0.csv", n), {}}, {fmt::format("{}-1.csv", n), {}}, {fmt::format("{}-2.csv", n), {}}};
    for (int account = 0; account < 20; ++account)
      for (int period = 0; period < 12; ++period) {
        if (below(2) == 0) continue;
        ++deliveries;
        const Currency currency = currencies[account % 3];
        const int parts = 1 + below(3);
        const int withdrawn = below(7);
        Money sum = Money::nanos(0, currency);
        for (int i = 0; i < 6; ++i) {
          if (i == withdrawn) continue;
          BillLine line = charge(i, 1, Money::nanos(below(1'000'000'000) - 200'000'000, currency), fmt::format("{}", account));
          line.billing_period = {kOctober + kPeriod * period, kOctober + kPeriod * (period + 1)};
          line.charge_period = line.billing_period;
          line.invoice_id = fmt::format("INV-{}", n);
          sum += line.billed;
          files[static_cast<size_t>(below(parts))].lines.push_back(std::move(line));
        }
        invoices.insert_or_assign({account, period}, sum);
      }
    const auto record = deliver(files);
    ASSERT_TRUE(record.ok()) << record.error().message;
  }
  std::map<std::pair<int, int>, Money> counted;
  const auto history = file_.load();
  ASSERT_TRUE(history.ok()) << history.error().message;
  for (const BillLine& line : history->bill) {
    const std::pair key(std::stoi(line.billing_account),
                        static_cast<int>((line.billing_period.begin - kOctober).count_ns() / kPeriod.count_ns()));
    counted.try_emplace(key, Money::nanos(0, line.billed.currency())).first->second += line.billed;
  }
  EXPECT_EQ(counted, invoices);
  EXPECT_THAT(*file_.check(), IsEmpty());
}

TEST_F(BillDelivery, WhatIsBilledInAMonthHasItsCorrectionsOfOthers) {
  const Interval november = month_of(kOctober + kHour * (24 * 31));
  std::vector<BillLine> lines = {charge(0, 1, Money::units(10))};
  lines.back().billing_period = november;
  ASSERT_TRUE(deliver("october.csv", month(1, 31, Money::units(10))).ok());
  ASSERT_TRUE(deliver("november.csv", lines).ok());
  EXPECT_THAT(file_.load_billed_in(month_of(kOctober)).value(), SizeIs(124));
  EXPECT_THAT(file_.load_billed_in(november).value(), SizeIs(1));
  EXPECT_THAT(file_.load_billed_in({}).value(), SizeIs(125));
  EXPECT_EQ(file_.load(november)->bill.size(), 0U);  // by charge it is October's
}

TEST_F(BillDelivery, APeriodHoldsTheLinesThatTouchItHoweverTheyWereDelivered) {
  Prng random(20261123);
  const auto hours = [&](int n) { return kHour * static_cast<int64_t>(random.below(static_cast<uint64_t>(n))); };
  for (int n = 0; n < 40; ++n) {
    std::vector<BillLine> lines;
    for (int i = 0; i < 8; ++i) {
      BillLine line = charge(static_cast<int>(random.below(5)), 1, Money::units(1), fmt::format("{}", random.below(3)));
      line.charge_period.begin = kOctober + hours(24 * 200);
      line.charge_period.end = line.charge_period.begin + hours(24 * 60);  // some are an instant
      line.billing_period = random.below(4) == 0 ? Interval{} : month_of(line.charge_period.begin);
      line.category = random.below(5) == 0 ? ChargeCategory::kPurchase : ChargeCategory::kUsage;
      line.spend = random.below(3) == 0 ? SpendKind::kStorage : SpendKind::kCompute;
      lines.push_back(std::move(line));
    }
    (void)deliver(fmt::format("{}.csv", n), lines, "focus", {.as = DeliveryAs::kReplace}).value();
  }
  const std::vector<BillLine> all = file_.load()->bill;
  ASSERT_GT(all.size(), 20U);
  const auto begins = [](const std::vector<BillLine>& of) {
    std::vector<std::pair<int64_t, int64_t>> out;
    for (const BillLine& line : of)
      out.emplace_back(line.charge_period.begin.ns(), line.charge_period.end.ns());
    return out;
  };
  for (int turn = 0; turn < 100; ++turn) {
    const Interval asked = {kOctober + hours(24 * 100), kOctober + kHour * (24 * 100 + 1) + hours(24 * 100)};
    std::vector<BillLine> touching, billed_in;
    for (const BillLine& line : all) {
      if (line.charge_period.end > asked.begin && line.charge_period.begin < asked.end) touching.push_back(line);
      const Instant billed = line.billing_period.empty() ? line.charge_period.begin : line.billing_period.begin;
      if (billed >= asked.begin && billed < asked.end) billed_in.push_back(line);
    }
    ASSERT_EQ(begins(file_.load(asked)->bill), begins(touching));
    ASSERT_EQ(begins(file_.load_billed_in(asked).value()), begins(billed_in));
  }
  EXPECT_THAT(*file_.check(), IsEmpty());
}

TEST_F(BillDelivery, WhatIsDroppedLeavesNoTimesBehind) {
  ASSERT_TRUE(deliver("a.csv", month(1, 10, Money::units(10))).ok());
  ASSERT_TRUE(deliver("b.csv", month(1, 31, Money::units(10))).ok());
  EXPECT_EQ(file_.load()->happened, month_of(kOctober));
  ASSERT_TRUE(file_.drop_import(2).ok());
  EXPECT_EQ(file_.load()->happened, (Interval{kOctober, kOctober + kHour * 240}));
  EXPECT_THAT(file_.load()->bill_coverage, SizeIs(1));
  EXPECT_THAT(file_.load()->billed_resources, SizeIs(4));
  EXPECT_THAT(*file_.check(), IsEmpty());
}

/// October of one machine by Azure: 31 days under a reservation that cost 620, 10 of which nothing used, and a disk for 3.
std::vector<BillLine> azure_view(bool amortised) {
  std::vector<BillLine> lines;
  const auto add = [&](int day, std::string_view resource, ChargeCategory category, Money billed, Money effective,
                       std::string_view reservation) -> BillLine& {
    BillLine line = charge(0, day, billed, "profile");
    line.provider = "azure";
    line.resource_id = resource;
    line.category = category;
    line.effective = effective;
    line.commitment_id = reservation;
    return lines.emplace_back(std::move(line));
  };
  const Money none = Money::nanos(0), day_price = Money::units(20);
  for (int day = 1; day <= 31; ++day) {
    const bool used = day > 10;
    if (amortised || used)
      add(day, used ? "gpu-a" : "", ChargeCategory::kUsage, none, amortised ? day_price : none, "r-1").commitment_unused = !used;
    add(day, "disk", ChargeCategory::kUsage, Money::units(3), Money::units(3), "");
  }
  if (!amortised) add(1, "", ChargeCategory::kPurchase, Money::units(620), Money::units(620), "r-1");
  return lines;
}

class AzureViews : public BillDelivery {
 protected:
  struct Sums {
    Money billed = Money::nanos(0), effective = Money::nanos(0);
    bool operator==(const Sums&) const = default;
  };
  Sums sums(Interval period = {}) {
    Sums out;
    const auto history = file_.load(period);
    for (const BillLine& line : history->bill)
      out.billed += line.billed, out.effective += line.effective;
    return out;
  }
  // 31 × 3 for the disk and 620 for the reservation, by either view.
  const Sums both_ = {Money::units(713), Money::units(713)};
};

TEST_F(AzureViews, TheTwoExportsOfAMonthAreOneBillInEitherOrder) {
  ASSERT_TRUE(deliver("amortized.csv", azure_view(true), "azure").ok());
  EXPECT_EQ(sums(), (Sums{Money::units(93), Money::units(713)}));  // what was paid for the reservation is in the other one
  ASSERT_TRUE(deliver("actual.csv", azure_view(false), "azure-actual").ok());
  EXPECT_EQ(sums(), both_);
  EXPECT_EQ(file_.load()->bill.size(), 63U);  // 62 of the amortised, and the purchase
  const auto invoiced = file_.load_billed_in(month_of(kOctober));
  ASSERT_THAT(*invoiced, SizeIs(63));
  EXPECT_EQ(file_.info()->bill_lines, 63U);

  ASSERT_TRUE(file_.drop_import(1).ok());
  EXPECT_EQ(sums(), both_);
  EXPECT_EQ(file_.load()->bill.size(), 53U);
  ASSERT_TRUE(deliver("amortized.csv", azure_view(true), "azure").ok());
  EXPECT_EQ(sums(), both_);
  EXPECT_EQ(file_.load()->bill.size(), 63U);
  const auto listed = file_.imports();
  EXPECT_TRUE(listed->front().bills[0].purchases_count);
  EXPECT_FALSE(listed->back().bills[0].superseded_by);
  EXPECT_THAT(*file_.check(), IsEmpty());
}

TEST_F(AzureViews, EachIsReplacedByItsOwnNextDelivery) {
  ASSERT_TRUE(deliver("amortized.csv", azure_view(true), "azure").ok());
  ASSERT_TRUE(deliver("actual.csv", azure_view(false), "azure-actual").ok());
  ASSERT_TRUE(deliver("amortized-2.csv", azure_view(true), "azure").ok());
  EXPECT_EQ(sums(), both_);
  std::vector<BillLine> corrected = azure_view(false);
  corrected.back().billed = corrected.back().effective = Money::units(600);
  ASSERT_TRUE(deliver("actual-2.csv", corrected, "azure-actual").ok());
  EXPECT_EQ(sums(), (Sums{Money::units(693), Money::units(713)}));
  ASSERT_TRUE(file_.drop_import(4).ok());
  EXPECT_EQ(sums(), both_);
  // A third export of another kind counts alone.
  ASSERT_TRUE(deliver("focus.csv", azure_view(true), "focus", {.prefer = "focus"}).ok());
  EXPECT_EQ(sums(), (Sums{Money::units(93), Money::units(713)}));
}

/// `total` as random charges that sum to it, on random machines and days of October.
std::vector<BillLine> random_bill(Prng& random, Money total, const std::string& account, Interval billing) {
  std::vector<BillLine> lines;
  const uint64_t parts = 1 + random.below(6);
  Money left = total;
  for (uint64_t i = 1; i <= parts; ++i) {
    const Money part =
        i == parts ? left : Money::nanos(static_cast<int64_t>(random.below(100'000'000'001)) - 30'000'000'000, total.currency());
    left -= part;
    lines.push_back(charge(static_cast<int>(random.below(20)), 1 + static_cast<int>(random.below(31)), part, account));
    lines.back().billing_period = billing;
    lines.back().invoice_id = fmt::format("{}", random.below(3));
  }
  return lines;
}

/// STINT_REDELIVERIES, else 500.
int deliveries_to_try() {
  const char* count = std::getenv("STINT_REDELIVERIES");
  return count == nullptr ? 500 : std::atoi(count);
}

// That many deliveries (books.redeliveries: 10,000) of bills of two accounts, two currencies and two billing months, each split anew into files and lines: what counts
// is the last delivery of each, to the nano-unit.
TEST(BillDeliveryProperty, AnyReDeliverySumsToTheLastInvoices) {
  constexpr uint64_t kSeed = 17;
  SCOPED_TRACE(kSeed);
  Prng random(kSeed);
  using Invoice = std::tuple<std::string, int64_t>;
  const std::map<std::string, Currency> accounts = {{"1111", Currency()}, {"2222", Currency::parse("EUR").value()}};
  const Interval months[] = {month_of(kOctober), month_of(kOctober + kHour * (24 * 31))};
  for (int history = 0; history < deliveries_to_try() / 50; ++history) {
    ScratchDir dir;
    HistoryFile file = HistoryFile::open(dir / "fleet.db", OpenMode::kCreate).value();
    std::map<Invoice, Money> invoices;
    for (int delivery = 0; delivery < 50; ++delivery) {
      const auto import = file.begin_import("focus", "bill", kImported, {.as = DeliveryAs::kReplace, .prefer = ""}).value();
      for (const auto& [account, currency] : accounts)
        for (const Interval& billing : months) {
          if (random.below(3) > 0) continue;
          const Money total = Money::nanos(static_cast<int64_t>(random.below(1'000'000'000'001)), currency);
          invoices.insert_or_assign({account, billing.begin.ns()}, total);
          const std::vector<BillLine> lines = random_bill(random, total, account, billing);
          for (const int part : {0, 1}) {  // machines of even and of odd numbers
            import->begin_file(fmt::format("{}-{}-{}", account, billing.begin.ns(), part));
            for (const BillLine& line : lines)
              if (line.resource_id.back() % 2 == part) import->bill_line(line);
          }
        }
      const auto done = import->commit(fmt::format("{}", delivery));
      ASSERT_TRUE(done.ok()) << history << " " << delivery << ": " << done.error().message;
      if (delivery % 10 != 9) continue;
      std::map<Invoice, Money> counted;
      const auto billed = file.load_billed_in({});
      ASSERT_TRUE(billed.ok()) << billed.error().message;
      for (const BillLine& line : *billed) {
        const auto [at, fresh] = counted.try_emplace({line.billing_account, line.billing_period.begin.ns()}, line.billed);
        if (!fresh) at->second += line.billed;
      }
      ASSERT_EQ(counted.size(), invoices.size()) << history << " " << delivery;
      for (const auto& [invoice, total] : invoices)
        ASSERT_EQ(counted.at(invoice), total) << history << " " << delivery;
    }
  }
}

}  // namespace
}  // namespace stint
