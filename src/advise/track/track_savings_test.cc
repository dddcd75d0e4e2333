// Hand-made months: an hour of a machine costs 2 before and 1 after unless said otherwise, a month has 730 hours.
#include "advise/track/track_savings.h"

#include <gmock/gmock.h>

#include <functional>

#include "catalog/catalog.h"
#include "ledger/testing_books.h"
#include "telemetry/attribution.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;

constexpr int64_t kWeekHours = 168;
constexpr int64_t kCut = 4 * kWeekHours;  // the change

class Fleet {
 public:
  explicit Fleet(int64_t weeks) : made_(weeks * kWeekHours) {}

  /// Adds a machine of one GPU; call stretch() for its hours, machine by machine.
  void machine(const std::string& name) {
    node_ = made_.node(name, 1);
    device_ = made_.device(node_, 0);
    name_ = name;
  }
  /// In [from, to) it costs `per_hour`, and every `work_every`-th hour `client` works on all of it (0 = never).
  void stretch(int64_t from, int64_t to, int64_t per_hour, int64_t work_every, const std::string& client = "c",
               int64_t list = 0) {
    const TenantId tenant = made_.tenant(client);
    for (int64_t h = from; h < to; ++h) {
      if (work_every > 0 && h % work_every == 0)
        made_.hour(device_, h, {{tenant, WorkloadKind::kTraining, kWholeDevice, kWholeDevice, true}});
      else
        made_.hour(device_, h);
      BillLine& line = made_.compute(name_, Money::units(per_hour), h, h + 1);
      line.instance_type = "t";
      if (list > 0) line.list_unit_price = Rate::per_hour(Money::units(list));
    }
  }

  std::vector<TrackedSaving> track(std::vector<AppliedChange> applied) {
    const Ledger ledger =
        post(made_.history, made_.occupancy, Catalog::built_in(), {CostBasis::kEffective, made_.history.period}).value();
    return track_savings({made_.history, made_.occupancy, ledger, applied});
  }

 private:
  testing::HandMade made_;
  NodeId node_;
  DeviceId device_;
  std::string name_;
};

AppliedChange applied(int64_t number, Change change, int64_t at_hour, int64_t promised = 730) {
  AppliedChange out;
  out.number = number;
  out.proposal.changes = {std::move(change)};
  out.proposal.saving_per_month = Money::units(promised);
  out.applied_at = kStart + kHour * at_hour;
  return out;
}

const Change kSpot = SwitchMarket{{"a"}, Market::kSpot};
const Change kNights = ScheduleOff{{"a"}, WeekHours(1)};

TEST(TrackSavings, HalfThePriceForTheSameWorkKeepsThePromise) {
  Fleet fleet(8);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 2);
  fleet.stretch(kCut, 2 * kCut, 1, 2);
  AppliedChange change = applied(1, kNights, kCut);
  change.cost = Money::units(100);
  const auto tracked = fleet.track({change});
  ASSERT_EQ(tracked.size(), 1U);
  const TrackedSaving& t = tracked[0];
  ASSERT_TRUE(t.realised) << ::testing::PrintToString(t.notes);
  EXPECT_EQ(t.measure, WorkMeasure::kActive);
  EXPECT_DOUBLE_EQ(t.before.gpu_hours, 336);  // every second of 672 hours
  EXPECT_EQ(t.before.cost, Money::units(1344));
  EXPECT_EQ(t.realised->per_gpu_hour_before, Money::units(4));
  EXPECT_EQ(t.realised->per_gpu_hour_after, Money::units(2));
  EXPECT_EQ(t.realised->per_month, Money::units(730));  // (4 − 2) × 365 GPU-hours a month
  EXPECT_EQ(t.verdict, SavingVerdict::kKept);
  ASSERT_TRUE(t.on_cost);
  EXPECT_EQ(t.on_cost->saved, Money::units(672)) << "1 an hour for four weeks";
}

TEST(TrackSavings, AFallInDemandIsNoSaving) {
  Fleet fleet(8);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 2);
  fleet.stretch(kCut, 2 * kCut, 1, 4);
  const auto tracked = fleet.track({applied(1, kNights, kCut)});
  ASSERT_TRUE(tracked[0].realised) << ::testing::PrintToString(tracked[0].notes);
  EXPECT_EQ(tracked[0].realised->per_month, Money());
  EXPECT_EQ(tracked[0].realised->bill_falls_per_month, Money::units(730));
  EXPECT_EQ(tracked[0].verdict, SavingVerdict::kNone);
  EXPECT_THAT(tracked[0].notes, ::testing::Contains(HasSubstr("demand fell by 50 %")));
}

TEST(TrackSavings, AChangeOfPriceIsHeldAgainstThePriceOfAnHour) {
  // Twice the work on a machine that was there anyway and costs what it did: the move to spot saved nothing.
  Fleet busier(8);
  busier.machine("a");
  busier.stretch(0, kCut, 2, 4);
  busier.stretch(kCut, 2 * kCut, 2, 2);
  const auto nothing = busier.track({applied(1, kSpot, kCut)});
  ASSERT_TRUE(nothing[0].realised);
  EXPECT_EQ(nothing[0].measure, WorkMeasure::kBought);
  EXPECT_EQ(nothing[0].realised->per_month, Money());
  EXPECT_EQ(nothing[0].verdict, SavingVerdict::kNone);
  // Half the work at half the price of an hour: all of it is the move's.
  Fleet cheaper(8);
  cheaper.machine("a");
  cheaper.stretch(0, kCut, 2, 2);
  cheaper.stretch(kCut, 2 * kCut, 1, 4);
  EXPECT_EQ(cheaper.track({applied(1, kSpot, kCut)})[0].realised.value().per_month, Money::units(730));
}

TEST(TrackSavings, APriceThatFellForAllIsNoSaving) {
  Fleet fleet(8);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 2, "c", 2);
  fleet.stretch(kCut, 2 * kCut, 1, 2, "c", 1);
  const auto tracked = fleet.track({applied(1, kSpot, kCut)});
  ASSERT_TRUE(tracked[0].realised);
  EXPECT_DOUBLE_EQ(tracked[0].price_index, 0.5);
  EXPECT_EQ(tracked[0].realised->per_month, Money());
}

TEST(TrackSavings, AMachineThatCameForTheSameClientTakesThePlaceOfTheOld) {
  Fleet fleet(8);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 2);
  fleet.machine("b");  // of another client, the whole time
  fleet.stretch(0, 2 * kCut, 5, 2, "other");
  fleet.machine("new-spot");
  fleet.stretch(kCut, 2 * kCut, 1, 2);
  const auto tracked = fleet.track({applied(1, kSpot, kCut)});
  EXPECT_THAT(tracked[0].nodes, ElementsAre("a", "new-spot"));
  ASSERT_TRUE(tracked[0].realised);
  EXPECT_EQ(tracked[0].realised->per_month, Money::units(730));
}

TEST(TrackSavings, WorkThatMovedToAnotherMachineIsFollowed) {
  Fleet fleet(8);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 4);
  fleet.machine("b");
  fleet.stretch(0, kCut, 2, 4);
  fleet.stretch(kCut, 2 * kCut, 2, 2);  // the work of both
  const auto tracked = fleet.track({applied(1, StopNodes{{"a"}}, kCut, 1460)});
  EXPECT_TRUE(tracked[0].all_of_tenants);
  EXPECT_THAT(tracked[0].nodes, ElementsAre("a", "b"));
  ASSERT_TRUE(tracked[0].realised);
  EXPECT_EQ(tracked[0].realised->per_month, Money::units(1460)) << "2 an hour less for the same work";
  EXPECT_EQ(tracked[0].verdict, SavingVerdict::kKept);
}

TEST(TrackSavings, AnIdleMachineSavesWhatItCost) {
  Fleet fleet(8);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 0);
  fleet.machine("b");  // the bill goes on
  fleet.stretch(0, 2 * kCut, 2, 2);
  const auto tracked = fleet.track({applied(1, StopNodes{{"a"}}, kCut, 1460)});
  ASSERT_TRUE(tracked[0].realised) << ::testing::PrintToString(tracked[0].notes);
  EXPECT_TRUE(tracked[0].realised->idle_before);
  EXPECT_EQ(tracked[0].realised->per_month, Money::units(1460));
}

TEST(TrackSavings, SaysUntilWhenToWaitForABill) {
  Fleet fleet(4);
  fleet.machine("a");
  fleet.stretch(0, kCut, 2, 2);
  const auto tracked = fleet.track({applied(1, kSpot, kCut - 72)});
  EXPECT_FALSE(tracked[0].realised);
  EXPECT_FALSE(tracked[0].verdict);
  EXPECT_THAT(tracked[0].notes,
              ElementsAre(HasSubstr("reach until " + format_utc(kStart + kHour * kCut) + "; import what reaches " +
                                    format_utc(kStart + kHour * (kCut - 72 + kWeekHours)))));
}

TEST(TrackSavings, ChangesOfOneWeekAreMeasuredTogetherAndLaterOnesApart) {
  Fleet fleet(12);
  fleet.machine("a");
  fleet.stretch(0, kCut, 4, 2);
  fleet.stretch(kCut, 2 * kCut, 2, 2);
  fleet.stretch(2 * kCut, 3 * kCut, 1, 2);
  WeekHours night;
  night.set(1);
  const auto tracked = fleet.track({applied(1, kSpot, kCut - 24, 700), applied(2, ScheduleOff{{"a"}, night}, kCut, 760),
                                    applied(3, MoveRegion{{"a"}, "r"}, 2 * kCut, 730)});
  ASSERT_EQ(tracked.size(), 2U);
  EXPECT_THAT(tracked[0].numbers, ElementsAre(1, 2));
  EXPECT_EQ(tracked[0].promised_per_month, Money::units(1460));
  ASSERT_TRUE(tracked[0].realised);
  EXPECT_EQ(tracked[0].after_period.end, kStart + kHour * 2 * kCut) << "until the third";
  EXPECT_EQ(tracked[0].realised->per_month, Money::units(1460));
  EXPECT_EQ(tracked[1].realised.value().per_month, Money::units(730));
}

/// A machine of one GPU on all day, and after the change from eight to twenty alone, in which it works an hour more of ten.
struct NightsOff {
  NightsOff() {
    history.period = {kStart, kStart + kHour * (2 * kCut)};
    usage.period = history.period;
    Node node;
    node.name = "a";
    history.nodes = {node};
    Device device;
    device.node = NodeId(0);
    device.index = 0;
    history.devices = {device};
    usage.devices.resize(1);
    for (int64_t h = 0; h < 2 * kCut; ++h)
      if (h < kCut || is_day(h)) hour(h);
  }
  static bool is_day(int64_t h) { return h % 24 >= 8 && h % 24 < 20; }
  /// Ten hours of work a day before, eleven after.
  static bool works(int64_t h) { return h % 24 >= 8 && h % 24 < (h < kCut ? 18 : 19); }

  void hour(int64_t h) {
    add(usage.devices[0].metrics, h);
    BillLine line;
    line.provider = "aws";
    line.resource_id = "a";
    line.spend = SpendKind::kCompute;
    line.charge_period = {kStart + kHour * h, kStart + kHour * (h + 1)};
    line.billed = line.effective = Money::units(2);
    history.bill.push_back(line);
  }
  void add(std::map<Metric, HourlySeries>& metrics, int64_t h) const {
    HourlySeries& s = metrics[Metric::kUtilization];
    s.hours.resize(usage.hour_count());
    s.hours[static_cast<size_t>(h)] = {works(h) ? 80.0F : 0.0F, works(h) ? 80.0F : 0.0F, 3600,
                                       static_cast<uint16_t>(works(h) ? 0 : 1000)};
    s.count += 60;
    s.max = 80;
  }

  [[nodiscard]] TrackedSaving track() const {
    const Attribution who = attribute(history, usage);
    const Ledger ledger = post(history, who.occupancy, Catalog::built_in(), {CostBasis::kEffective, history.period}).value();
    const std::vector<AppliedChange> changes = {applied(1, kNights, kCut)};
    return track_savings({history, who.occupancy, ledger, changes}).front();
  }

  History history;
  Usage usage;
};

// 48 a day for ten hours of work, then 24 for eleven: at the demand of before 48 − 24 × 10/11 a day. Whoever says whose the work is, the tenth that
// it grew by is not lost; an inventory says it of nights, too, in which the machine is off.
TEST(TrackSavings, WhoeverNamesTheClientDemandThatGrewIsCounted) {
  const auto owned = [](NightsOff& fleet) { fleet.history.nodes[0].tenant.client = "acme"; };
  const auto dated = [&](NightsOff& fleet) {
    owned(fleet);
    fleet.history.nodes[0].present_from = fleet.history.period.begin;
    fleet.history.nodes[0].present_until = fleet.history.period.end;
  };
  const auto tagged = [](NightsOff& fleet) {
    for (BillLine& line : fleet.history.bill)
      line.tags = {{"client", "acme"}};
  };
  const auto podded = [](NightsOff& fleet) {
    Holder holder;
    holder.ns = "acme";
    holder.pod = "trainer";
    fleet.history.holders = {holder};
    DeviceUsage::Held& held = fleet.usage.devices[0].holders.emplace_back();
    held.holder = HolderId(0);
    for (int64_t h = 0; h < 2 * kCut; ++h)
      if (NightsOff::works(h)) fleet.add(held.metrics, h);
  };
  const auto recorded = [](NightsOff& fleet) {
    for (int64_t day = 0; day * 24 < 2 * kCut; ++day) {
      stint::Run run;
      run.id = fmt::format("{:03}", day);
      run.tenant.client = "acme";
      run.started = kStart + kHour * (day * 24 + 8);
      run.ended = kStart + kHour * (day * 24 + (day * 24 < kCut ? 18 : 19));
      run.allocations = {{"a", {0}, 1}};
      fleet.history.runs.push_back(run);
    }
  };
  const std::vector<std::pair<std::string, std::function<void(NightsOff&)>>> sources = {
      {"nothing", [](NightsOff&) {}}, {"an inventory", owned}, {"an inventory with dates", dated},
      {"tags of the bill", tagged},   {"pods", podded},        {"jobs", recorded}};
  for (const auto& [source, name_client] : sources) {
    NightsOff fleet;
    name_client(fleet);
    const TrackedSaving t = fleet.track();
    ASSERT_TRUE(t.realised) << source << ": " << ::testing::PrintToString(t.notes);
    EXPECT_EQ(t.measure, WorkMeasure::kActive) << source;
    EXPECT_DOUBLE_EQ(t.before.gpu_hours / t.before.length.to_hours(), 10.0 / 24) << source;
    EXPECT_DOUBLE_EQ(t.after.gpu_hours / t.after.length.to_hours(), 11.0 / 24) << source;
    EXPECT_NEAR(t.realised->per_month.to_double(), (48 - 24.0 * 10 / 11) * 730 / 24, 0.01) << source;
  }
}

TEST(TrackSavings, NothingAppliedIsNothingTracked) { EXPECT_THAT(Fleet(1).track({}), IsEmpty()); }

}  // namespace
}  // namespace stint
