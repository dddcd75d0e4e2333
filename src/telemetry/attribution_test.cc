#include "telemetry/attribution.h"

#include <gmock/gmock.h>

#include <random>

#include "base/prng.h"
#include "telemetry/attribution_claims.h"
#include "telemetry/attribution_health.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kStart = Instant::from_hour_index(490'000);
constexpr DeviceParts kHalf = kWholeDevice / 2;

/// A fleet under construction: `hours` hours from kStart.
struct Fleet {
  explicit Fleet(int64_t hours) {
    history.period = {kStart, kStart + kHour * hours};
    usage.period = history.period;
  }
  NodeId node(const std::string& name, Tenant tenant = {}) {
    Node n;
    n.name = name;
    n.tenant = std::move(tenant);
    history.nodes.push_back(n);
    return NodeId(static_cast<uint32_t>(history.nodes.size() - 1));
  }
  uint32_t device(NodeId node, int index, std::optional<MigInstance> mig = {}) {
    Device d;
    d.node = node;
    d.index = index;
    d.mig = std::move(mig);
    history.devices.push_back(d);
    usage.devices.emplace_back();
    return static_cast<uint32_t>(history.devices.size() - 1);
  }
  HolderId holder(const std::string& ns, const std::string& pod) {
    Holder h;
    h.ns = ns;
    h.pod = pod;
    history.holders.push_back(h);
    return HolderId(static_cast<uint32_t>(history.holders.size() - 1));
  }
  Run& run(const std::string& id, const std::string& client, double begin_hour, double end_hour, RunAllocation where) {
    Run r;
    r.id = id;
    r.tenant.client = client;
    r.started = kStart + Duration::from_seconds(begin_hour * 3600);
    r.ended = kStart + Duration::from_seconds(end_hour * 3600);
    r.allocations.push_back(std::move(where));
    history.runs.push_back(r);
    return history.runs.back();
  }
  /// One hour of a metric: mean, share of idle samples, seconds covered.
  void set(std::map<Metric, HourlySeries>& metrics, Metric m, size_t hour, double mean, int idle_permille = 0,
           int covered = 3600) {
    HourlySeries& s = metrics[m];
    s.hours.resize(usage.hour_count());
    s.hours[hour] = {static_cast<float>(mean), static_cast<float>(mean), static_cast<uint16_t>(covered),
                     static_cast<uint16_t>(idle_permille)};
    s.count += 60;
    s.max = std::max(s.max, mean);
  }
  void utilization(uint32_t device, size_t hour, double mean, int idle_permille = 0, int covered = 3600) {
    set(usage.devices[device].metrics, Metric::kUtilization, hour, mean, idle_permille, covered);
  }
  void held(uint32_t device, HolderId holder, size_t hour, double mean, int idle_permille = 0, int covered = 3600) {
    auto& holders = usage.devices[device].holders;
    auto it = std::find_if(holders.begin(), holders.end(), [&](const auto& h) { return h.holder == holder; });
    if (it == holders.end()) it = holders.insert(holders.end(), {holder, {}});
    set(it->metrics, Metric::kUtilization, hour, mean, idle_permille, covered);
  }
  History history;
  Usage usage;
};

/// "client held/active" of one hour, held and active in thousandths; '?' for unknown activity.
std::vector<std::string> shown(const Attribution& a, const DeviceHour& h) {
  std::vector<std::string> out;
  for (const Tenure& t : a.occupancy.of(h))
    out.push_back(fmt::format("{} {}/{}", a.occupancy.tenants[t.tenant].client, t.held / 1'000'000,
                              t.activity_known ? std::to_string(t.active / 1'000'000) : "?"));
  return out;
}

TEST(Attribution, RunThatNamesItsGpuHoldsIt) {
  Fleet f(2);
  const NodeId n = f.node("n");
  f.device(n, 0);
  const uint32_t second = f.device(n, 1);
  f.utilization(0, 0, 0, 1000);
  f.utilization(second, 0, 80, 250);
  f.run("1", "acme", 0, 0.5, {"n", {1}, 1});
  const Attribution a = attribute(f.history, f.usage);
  // Telemetry ends after the first hour, and with it the node.
  ASSERT_THAT(a.occupancy.hours, SizeIs(2));
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), IsEmpty());
  EXPECT_THAT(shown(a, a.occupancy.hours[1]), ElementsAre("acme 500/375", " 375/375"));
}

TEST(Attribution, CountedRunsTakeTheLowestFreeGpusAndStay) {
  Fleet f(3);
  const NodeId n = f.node("n");
  for (int i = 0; i < 3; ++i)
    f.device(n, i);
  for (uint32_t d = 0; d < 3; ++d)
    for (size_t h = 0; h < 3; ++h)
      f.utilization(d, h, 50);
  f.run("named", "a", 1, 2, {"n", {0}, 1});
  f.run("long", "b", 0, 3, {"n", {}, 1});   // GPU 0 is taken in hour 1, so it gets GPU 1 for all three
  f.run("short", "c", 0, 1, {"n", {}, 1});  // GPU 0 is free in hour 0
  const Attribution a = attribute(f.history, f.usage);
  const auto& hours = a.occupancy.hours;
  ASSERT_THAT(hours, SizeIs(9));
  EXPECT_THAT(shown(a, hours[0]), ElementsAre("c 1000/1000"));
  EXPECT_THAT(shown(a, hours[1]), ElementsAre("a 1000/1000"));
  EXPECT_THAT(shown(a, hours[3]), ElementsAre("b 1000/1000"));
  EXPECT_THAT(shown(a, hours[5]), ElementsAre("b 1000/1000"));
}

TEST(Attribution, FractionsOfOneGpuShareIt) {
  Fleet f(1);
  const NodeId n = f.node("n");
  f.device(n, 0);
  f.device(n, 1);
  f.run("1", "a", 0, 1, {"n", {}, 1}).share = GpuShare::milli(500);
  f.run("2", "b", 0, 1, {"n", {}, 1}).share = GpuShare::of(1, 3);
  f.run("3", "c", 0, 1, {"n", {}, 1}).share = GpuShare::milli(200);
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre("a 500/?", "b 333/?"));
  EXPECT_THAT(shown(a, a.occupancy.hours[1]), ElementsAre("c 200/?"));
  EXPECT_EQ(a.occupancy.hours[1].missing, kWholeDevice / 10 * 8);
}

TEST(Attribution, PodsOneAfterAnotherHoldTheirTime) {
  Fleet f(1);
  const uint32_t d = f.device(f.node("n"), 0);
  f.utilization(d, 0, 50, 100, 3600);
  f.held(d, f.holder("red", "train-0"), 0, 60, 0, 1800);
  f.held(d, f.holder("blue", "train-1"), 0, 20, 500, 900);
  const Attribution a = attribute(f.history, f.usage);
  // 0.5 + 0.25 held; device active 0.9 of the hour, of which 0.5 + 0.125 are explained.
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre("red 500/500", "blue 250/125", " 250/250"));
  EXPECT_EQ(a.occupancy.hours[0].missing, 0);
}

TEST(Attribution, TimeSlicedPodsThatRepeatTheDeviceShareItEqually) {
  Fleet f(1);
  const uint32_t d = f.device(f.node("n"), 0);
  f.utilization(d, 0, 40, 250);
  for (const char* ns : {"a", "b", "c", "d"})
    f.held(d, f.holder(ns, "p"), 0, 40, 250);
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre("a 250/187", "b 250/187", "c 250/187", "d 250/187"));
}

TEST(Attribution, SharedPodsWithTheirOwnActivitySplitByIt) {
  Fleet f(1);
  const uint32_t d = f.device(f.node("n"), 0);
  f.utilization(d, 0, 80, 0);
  f.held(d, f.holder("a", "p"), 0, 60);
  f.held(d, f.holder("b", "p"), 0, 20, 500);
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre("a 750/750", "b 250/125"));
}

TEST(Attribution, TelemetryOfARunIsNotASecondHold) {
  Fleet f(1);
  const uint32_t d = f.device(f.node("n"), 0);
  f.utilization(d, 0, 80);
  f.held(d, f.holder("ml", "trainer-0"), 0, 80, 400);
  auto& r = f.run("17", "acme", 0, 1, {"n", {0}, 1});
  r.share = GpuShare::milli(500);
  r.holder.ns = "ml";
  r.holder.pod = "trainer-0";
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_EQ(shown(a, a.occupancy.hours[0]).front(), "acme 500/300");
  for (const Tenure& t : a.occupancy.of(a.occupancy.hours[0]))
    EXPECT_NE(a.occupancy.tenants[t.tenant].client, "ml");
}

TEST(Attribution, OwnersNodeIsTheirsAlsoWhenIdle) {
  Fleet f(1);
  Tenant owner;
  owner.client = "acme";
  const uint32_t d = f.device(f.node("n", owner), 0);
  f.utilization(d, 0, 5, 800, 1800);
  const Attribution a = attribute(f.history, f.usage);
  // Known for half an hour, active a fifth of it; nothing is known of the other half.
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre("acme 500/100", "acme 500/?"));
  EXPECT_EQ(a.occupancy.hours[0].missing, 0);
}

TEST(Attribution, EnvironmentAloneOwnsNothing) {
  Fleet f(1);
  Tenant env;
  env.environment = "prod";
  const uint32_t d = f.device(f.node("n", env), 0);
  f.utilization(d, 0, 0, 1000);
  EXPECT_THAT(attribute(f.history, f.usage).occupancy.tenures, IsEmpty());
}

TEST(Attribution, MemoryInUseIsAHoldByAnUnknownTenant) {
  Fleet f(2);
  const uint32_t d = f.device(f.node("n"), 0);
  for (const size_t h : {size_t{0}, size_t{1}})
    f.utilization(d, h, 10, 750);
  f.set(f.usage.devices[d].metrics, Metric::kMemoryUsed, 0, 24e9);
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre(" 1000/250"));
  EXPECT_THAT(shown(a, a.occupancy.hours[1]), ElementsAre(" 250/250"));
  EXPECT_DOUBLE_EQ(a.summary.unattributed_pct, 100);
}

TEST(Attribution, SilenceWithoutAHoldIsMissingAndOnlyWithinPresence) {
  Fleet f(5);
  const NodeId n = f.node("n");
  f.history.nodes[0].present_from = kStart + kHour;
  f.history.nodes[0].present_until = kStart + kHour * 3 + Duration::minutes(30);
  const uint32_t d = f.device(n, 0);
  f.utilization(d, 1, 0, 1000, 900);
  const Attribution a = attribute(f.history, f.usage);
  ASSERT_THAT(a.occupancy.hours, SizeIs(3));
  EXPECT_EQ(a.occupancy.hours[0].missing, kWholeDevice / 4 * 3);
  EXPECT_EQ(a.occupancy.hours[1].missing, kWholeDevice);
  EXPECT_EQ(a.occupancy.hours[2].present, kHalf);
  EXPECT_EQ(a.occupancy.hours[2].missing, kHalf);
  EXPECT_DOUBLE_EQ(a.summary.missing_pct, 100 * (0.75 + 1 + 0.5) / 2.5);
}

TEST(Attribution, ANodeThatWasAbsentHasNoneOfThatTime) {
  Fleet f(5);
  const NodeId n = f.node("n");
  f.history.nodes[0].absent = {{kStart + kHour, kStart + kHour * 2},
                               {kStart + kHour * 2, kStart + kHour * 3 + Duration::minutes(30)}};
  const uint32_t d = f.device(n, 0);
  f.utilization(d, 0, 50);
  f.utilization(d, 3, 50, 0, 1800);
  f.utilization(d, 4, 50);
  const Attribution a = attribute(f.history, f.usage);
  ASSERT_THAT(a.occupancy.hours, SizeIs(3));
  EXPECT_EQ(a.occupancy.hours[1].hour_index, kStart.hour_index() + 3);
  EXPECT_EQ(a.occupancy.hours[1].present, kHalf);
  EXPECT_DOUBLE_EQ(a.summary.missing_pct, 0);
}

TEST(Attribution, GpusThatTelemetryNeverSawAreInferred) {
  Fleet f(1);
  const NodeId n = f.node("n");
  f.history.nodes[0].gpu_count = 2;
  f.utilization(f.device(n, 0), 0, 50);
  f.run("1", "acme", 0, 1, {"n", {1}, 1});
  const Attribution a = attribute(f.history, f.usage);
  ASSERT_THAT(a.occupancy.inferred_hours, SizeIs(1));
  EXPECT_EQ(a.occupancy.inferred_devices[0].index, 1);
  EXPECT_THAT(shown(a, a.occupancy.inferred_hours[0]), ElementsAre("acme 1000/?"));
}

TEST(Attribution, CardCutByMigHasHoursOfItsInstancesOnly) {
  Fleet f(2);
  const NodeId n = f.node("n");
  const uint32_t card = f.device(n, 0);
  const uint32_t slice = f.device(n, 0, MigInstance{"1g.10gb", 7});
  for (const size_t h : {size_t{0}, size_t{1}})
    f.utilization(card, h, 50);
  f.held(slice, f.holder("a", "p"), 1, 70);
  const Attribution a = attribute(f.history, f.usage);
  ASSERT_THAT(a.occupancy.hours, SizeIs(2));
  EXPECT_EQ(a.occupancy.hours[0].device, DeviceId(card));  // before the cut
  EXPECT_EQ(a.occupancy.hours[0].hour_index, kStart.hour_index());
  EXPECT_EQ(a.occupancy.hours[1].device, DeviceId(slice));
  EXPECT_THAT(shown(a, a.occupancy.hours[1]), ElementsAre("a 1000/1000"));
}

TEST(Attribution, BrokenDeviceIsUnhealthyUntilItWorksAgain) {
  Fleet f(5);
  const uint32_t d = f.device(f.node("n"), 0);
  const double busy[] = {50, 50, 0, 60, 0};
  const double xid[] = {0, 79, 79, 79, 79};
  for (size_t h = 0; h < 5; ++h) {
    f.utilization(d, h, busy[h], busy[h] > 0 ? 0 : 1000);
    f.set(f.usage.devices[d].metrics, Metric::kXid, h, xid[h]);
  }
  const Attribution a = attribute(f.history, f.usage);
  ASSERT_THAT(a.occupancy.hours, SizeIs(5));
  std::vector<DeviceParts> unhealthy;
  for (const DeviceHour& h : a.occupancy.hours)
    unhealthy.push_back(h.unhealthy);
  // Hour 1: it fell off the bus. Hour 3: it works again, so the code that stays in hour 4 is old.
  EXPECT_THAT(unhealthy, ElementsAre(0, kWholeDevice, kWholeDevice, 0, 0));
}

TEST(Attribution, GrowthOfDoubleBitErrorsIsUnhealthy) {
  Fleet f(3);
  const uint32_t d = f.device(f.node("n"), 0);
  const double ecc[] = {4, 4, 5};
  for (size_t h = 0; h < 3; ++h) {
    f.utilization(d, h, 0, 1000);
    f.set(f.usage.devices[d].metrics, Metric::kEccDoubleBit, h, ecc[h]);
  }
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_EQ(a.occupancy.hours[1].unhealthy, 0);
  EXPECT_EQ(a.occupancy.hours[2].unhealthy, kWholeDevice);
}

TEST(Attribution, RulesBeatTheNodeAndTheNodeBeatsGuesses) {
  Fleet f(1);
  Tenant owner;
  owner.client = "acme";
  const uint32_t d = f.device(f.node("n", owner), 0);
  f.utilization(d, 0, 50);
  f.held(d, f.holder("default", "trainer-0"), 0, 50, 0, 1800);
  f.held(d, f.holder("globex", "server-0"), 0, 50, 0, 1800);
  Tenant ruled;
  ruled.client = "globex-corp";
  f.history.tenant_rules.push_back({"namespace/globex", ruled});
  const Attribution a = attribute(f.history, f.usage);
  EXPECT_THAT(shown(a, a.occupancy.hours[0]), ElementsAre("acme 500/500", "globex-corp 500/500"));
}

TEST(Claims, IdlePodsShareWhatTheBusyOneLeaves) {
  std::vector<Claim> claims = {{TenantId(0), {}, kWholeDevice / 4, true, 0, 90},
                               {TenantId(1), {}, kWholeDevice, true, 1000, 0},
                               {TenantId(2), {}, kWholeDevice, true, 1000, 0}};
  share_out(claims, kWholeDevice);
  EXPECT_EQ(claims[0].held, kWholeDevice / 4);
  EXPECT_EQ(claims[1].held, kWholeDevice / 8 * 3);
  EXPECT_EQ(claims[2].held, kWholeDevice / 8 * 3);
}

TEST(Claims, SharingFillsTheDeviceAndGrowsNoClaim) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Prng prng(seed);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Claim> claims(1 + prng.below(8));
    DeviceParts asked = 0;
    for (Claim& c : claims) {
      c.held = static_cast<DeviceParts>(prng.below(static_cast<uint64_t>(kWholeDevice) + 1));
      c.activity_known = prng.below(4) != 0;
      c.mean_pct = static_cast<double>(prng.below(3)) * 40.0;
      asked += c.held;
    }
    const std::vector<Claim> before = claims;
    const auto capacity = static_cast<DeviceParts>(prng.below(static_cast<uint64_t>(kWholeDevice)));
    share_out(claims, capacity);
    DeviceParts given = 0;
    for (size_t i = 0; i < claims.size(); ++i) {
      ASSERT_GE(claims[i].held, 0);
      ASSERT_LE(claims[i].held, before[i].held);
      given += claims[i].held;
    }
    ASSERT_EQ(given, std::min(asked, capacity));
  }
}

TEST(Health, CriticalCodesAreThoseThatNeedARepair) {
  for (const int code : {48, 63, 64, 74, 79, 94, 95, 119, 120})
    EXPECT_TRUE(is_critical_xid(code)) << code;
  for (const int code : {0, 13, 31, 43, 45})
    EXPECT_FALSE(is_critical_xid(code)) << code;  // the application's own faults
}

}  // namespace
}  // namespace stint
