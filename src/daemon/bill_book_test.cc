#include "daemon/bill_book.h"

#include <gmock/gmock.h>

#include <future>

#include "host/scratch_dir.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

const Instant kOctober = from_civil({.year = 2026, .month = 10});
const Instant kNovember = from_civil({.year = 2026, .month = 11});

/// Of one GPU.
RunPosting posting(int64_t job, std::string client, Instant begin, Duration length, Money amount) {
  return {.job = job,
          .client = client,
          .queue = client + "/vision",
          .node = "n0",
          .when = {begin, begin + length},
          .gpu_milli = 1000,
          .amount = amount};
}

TEST(BillSums, ARunOverTheMonthsEndIsPaidInBothAndTheSumIsThePosting) {
  BillSums sums;
  // Three hours, one of them in November; 10 nano-units cannot be cut in three.
  sums.add(posting(1, "acme", kNovember - Duration::hours(2), Duration::hours(3), Money::nanos(10)));
  const auto october = sums.of(kOctober), november = sums.of(kNovember);
  ASSERT_THAT(october, SizeIs(1));
  ASSERT_THAT(november, SizeIs(1));
  EXPECT_EQ(october[0].total().amount, Money::nanos(6));
  EXPECT_EQ(november[0].total().amount, Money::nanos(4));
  EXPECT_EQ(october[0].total().micro_gpu_hours, 2'000'000);
  EXPECT_EQ(november[0].total().micro_gpu_hours, 1'000'000);
  EXPECT_THAT(sums.months([](std::string_view) { return true; }), ElementsAre(kNovember, kOctober));
  EXPECT_THAT(sums.months([](std::string_view client) { return client == "zoo"; }), SizeIs(0));
}

TEST(BillSums, LinesAreSumsPerQueueAndMachine) {
  BillSums sums;
  for (int64_t job = 1; job <= 3; ++job)
    sums.add(posting(job, job == 2 ? "zoo" : "acme", kOctober, kHour, Money::units(job)));
  RunPosting other = posting(4, "acme", kOctober, kHour, Money::units(5));
  other.node = "n1";
  sums.add(other);
  const auto bills = sums.of(kOctober);
  ASSERT_THAT(bills, SizeIs(2));
  EXPECT_EQ(bills[0].client, "acme");
  ASSERT_THAT(bills[0].lines, SizeIs(2));
  EXPECT_EQ(bills[0].lines[0].runs, 2);
  EXPECT_EQ(bills[0].lines[0].amount, Money::units(4));
  EXPECT_EQ(bills[0].lines[1].node, "n1");
  EXPECT_EQ(bills[0].total().amount, Money::units(9));
  EXPECT_EQ(bills[1].total().amount, Money::units(2));
}

TEST(BillBook, ReadsWhatIsPostedWhileTheLogIsWritten) {
  const ScratchDir dir;
  auto log = EventLog::open(dir / "events.db");
  ASSERT_TRUE(log.ok());
  BillBook book(dir / "events.db");
  const auto total = [&] {
    std::promise<Money> answer;
    book.ask([&](const Result<const BillSums*>& sums) {
      const auto bills = sums.ok() ? (*sums)->of(kOctober) : std::vector<ClientBill>();
      answer.set_value(bills.empty() ? Money() : bills[0].total().amount);
    });
    return answer.get_future().get();
  };
  for (int64_t job = 1; job <= 3; ++job) {
    LogStep step;
    step.at = kOctober + Duration::hours(job);
    step.records = {{.kind = 90, .payload = "{}"}};
    step.postings = {posting(job, "acme", kOctober, kHour, Money::units(1))};
    ASSERT_TRUE(log->append(step).ok());
    EXPECT_EQ(total(), Money::units(job));
  }
}

}  // namespace
}  // namespace stint
