#include "ledger/allocation.h"

#include <gmock/gmock.h>

#include <random>

#include "base/prng.h"
#include "ledger/cost_statement.h"
#include "ledger/hold_ledger.h"
#include "ledger/testing_books.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using testing::HandMade;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kStart;
using testing::of_client;
using ::testing::SizeIs;

constexpr DeviceParts kHalf = kWholeDevice / 2;

/// Books in which pods hold, told by tenant and by pod.
struct PodBooks {
  explicit PodBooks(int64_t hours) : tenants(hours), pods(hours) {}

  NodeId node(const std::string& name, int64_t gpus = 0) {
    tenants.node(name, gpus);
    return pods.node(name, gpus);
  }
  DeviceId device(NodeId node, int index) {
    tenants.device(node, index);
    return pods.device(node, index);
  }

  /// A pod of `ns` on the node, from hour to hour.
  TenantId pod(const std::string& ns, const std::string& name, const std::string& controller, NodeId node, int64_t from,
               int64_t to, std::vector<Tag> labels = {}) {
    Run run;
    run.id = name;
    run.name = controller;
    run.holder.ns = ns;
    run.holder.pod = name;
    run.started = kStart + kHour * from;
    run.ended = kStart + kHour * to;
    run.cpus = 4;
    run.memory = Bytes::gibi(int64_t{2});
    run.allocations.push_back({.node = pods.history.nodes[node.index()].name, .gpu_indexes = {}, .gpu_count = 1});
    owners[{name, 0}] = {.run_id = name, .restart = 0, .kind = "Deployment", .labels = std::move(labels)};
    pods.history.runs.push_back(run);
    Tenant tenant = {.client = ns, .workload = controller};
    Hold hold = {.run = static_cast<uint32_t>(pods.history.runs.size() - 1), .holder = {}, .node = node, .tenant = tenant};
    tenant.workload += fmt::format(" {}", holds.size());
    const TenantId id = pods.occupancy.tenants.intern(tenant);
    holds.emplace(id, hold);
    return id;
  }

  /// @param tenures  of pods.
  void hour(DeviceId device, int64_t hour, std::vector<Tenure> tenures = {}) {
    pods.hour(device, hour, tenures);
    for (Tenure& t : tenures)
      t.tenant = tenants.occupancy.tenants.intern(holds.at(t.tenant).tenant);
    tenants.hour(device, hour, tenures);
  }
  void compute(const std::string& resource, Money amount, std::vector<Tag> tags = {}) {
    tenants.compute(resource, amount).tags = tags;
    pods.compute(resource, amount).tags = tags;
  }
  void other(SpendKind spend, Money amount, const std::vector<Tag>& tags = {}) {
    tenants.other(spend, amount, tags);
    pods.other(spend, amount, tags);
  }

  Ledger ledger(Interval window = {}) const {
    const auto whole = tenants.post({.period = window});
    auto by_pod = pods.post({.period = window});
    CHECK(whole.ok() && by_pod.ok(), "no ledger");
    Ledger out = ledger_of_holds(*whole, std::move(*by_pod), holds);
    CHECK(check_conservation(out).ok(), "postings do not sum to their lines");
    return out;
  }
  Allocation allocation(const std::string& by, AllocationOptions options = {}, Interval window = {}) const {
    options.by = *parse_allocation_keys(by);
    return allocate(pods.history, owners, holds, ledger(window), window.empty() ? pods.history.period : window, options);
  }

  HandMade tenants, pods;
  HoldTable holds;
  RunOwners owners;
};

Tenure active(TenantId tenant, DeviceParts held = kWholeDevice) { return {tenant, WorkloadKind::kUnknown, held, held, true}; }

std::vector<std::string> shown(const Allocation& a) {
  std::vector<std::string> out;
  for (const AllocationRow& row : a.rows)
    out.push_back(row.name + " " + row.total().to_decimal());
  return out;
}

/// Two GPUs for two hours at 80: one GPU-hour is 20.
PodBooks two_namespaces() {
  PodBooks b(2);
  const NodeId n = b.node("n1", 2);
  const DeviceId first = b.device(n, 0), second = b.device(n, 1);
  const TenantId web0 = b.pod("shop", "web-7d9f-a", "web", n, 0, 1, {{"app", "web"}, {"tier", "front"}});
  const TenantId web1 = b.pod("shop", "web-7d9f-b", "web", n, 1, 2, {{"app", "web"}, {"tier", "back"}});
  const TenantId train = b.pod("lab", "train-0", "train", n, 0, 1);
  b.hour(first, 0, {active(web0)});
  b.hour(first, 1, {{web1, {}, kWholeDevice, kHalf, true}});
  b.hour(second, 0, {active(train)});
  b.hour(second, 1);
  b.compute("n1", Money::units(80));
  return b;
}

TEST(Allocation, ByNamespaceControllerPodLabelAndNode) {
  const PodBooks b = two_namespaces();
  EXPECT_THAT(shown(b.allocation("namespace")), ElementsAre("__idle__ 20", "lab 20", "shop 40"));
  EXPECT_THAT(shown(b.allocation("controller")), ElementsAre("__idle__ 20", "train 20", "web 40"));
  EXPECT_THAT(shown(b.allocation("controllerKind")), ElementsAre("Deployment 60", "__idle__ 20"));
  EXPECT_THAT(shown(b.allocation("pod")), ElementsAre("__idle__ 20", "train-0 20", "web-7d9f-a 20", "web-7d9f-b 20"));
  EXPECT_THAT(shown(b.allocation("label:app")), ElementsAre("__idle__ 20", "__unallocated__ 20", "web 40"));
  EXPECT_THAT(shown(b.allocation("node")), ElementsAre("__idle__ 20", "n1 60"));
  EXPECT_THAT(shown(b.allocation("namespace,label:tier")),
              ElementsAre("__idle__ 20", "lab/__unallocated__ 20", "shop/back 20", "shop/front 20"));
}

TEST(Allocation, ARowSaysWhatAllOfItHasInCommon) {
  const Allocation a = two_namespaces().allocation("controller");
  const AllocationRow& web = a.rows.at(2);
  EXPECT_EQ(web.properties.ns, "shop");
  EXPECT_EQ(web.properties.controller, "web");
  EXPECT_EQ(web.properties.pod, "");
  EXPECT_EQ(web.properties.node, "n1");
  EXPECT_THAT(web.properties.labels, ElementsAre(Tag("app", "web")));
  EXPECT_EQ(web.when, (Interval{kStart, kStart + kHour * 2}));
  EXPECT_EQ(web.gpu, Money::units(40));
  EXPECT_EQ(web.gpu_inactive, Money::units(10));
  EXPECT_DOUBLE_EQ(web.gpu_efficiency().value(), 0.75);
  EXPECT_DOUBLE_EQ(web.gpu_hours(), 2);
  EXPECT_DOUBLE_EQ(web.cpu_core_hours, 8);
  EXPECT_DOUBLE_EQ(web.ram_byte_hours, 4.0 * (1 << 30));
  EXPECT_EQ(a.rows.at(1).when, (Interval{kStart, kStart + kHour})) << "train ran for an hour";
  EXPECT_FALSE(a.rows.at(0).gpu_efficiency().has_value() && *a.rows.at(0).gpu_efficiency() > 1);
}

TEST(Allocation, IdleMoneyIsApartOrSpreadOrLeftOut) {
  const PodBooks b = two_namespaces();
  EXPECT_EQ(b.allocation("namespace").total(), Money::units(80));
  const Allocation spread = b.allocation("namespace", {.by = {}, .idle = AllocationIdle::kSpread, .clients = {}});
  // 20 in proportion 20 : 40, by largest remainder.
  EXPECT_THAT(shown(spread), ElementsAre("lab 26.666666667", "shop 53.333333333"));
  EXPECT_THAT(shown(b.allocation("namespace", {.by = {}, .idle = AllocationIdle::kLeftOut, .clients = {}})),
              ElementsAre("lab 20", "shop 40"));
}

TEST(Allocation, AClientSeesItsOwnAlone) {
  const PodBooks b = two_namespaces();
  const AllocationOptions of_shop = {.by = {}, .idle = AllocationIdle::kSeparate, .clients = {{"shop"}}};
  EXPECT_THAT(shown(b.allocation("namespace", of_shop)), ElementsAre("shop 40"));
  // In a row that others are in, too, only what is its own, and what its own have in common.
  const Allocation by_node = b.allocation("node", of_shop);
  EXPECT_THAT(shown(by_node), ElementsAre("n1 40"));
  EXPECT_EQ(by_node.rows.at(0).properties.ns, "shop");
  EXPECT_DOUBLE_EQ(by_node.rows.at(0).gpu_hours(), 2);
  EXPECT_THAT(b.allocation("namespace", {.by = {}, .idle = AllocationIdle::kSeparate, .clients = {{"nobody"}}}).rows, IsEmpty());
}

TEST(Allocation, StorageNetworkAndCommonCostStandApart) {
  PodBooks b = two_namespaces();
  b.other(SpendKind::kStorage, Money::units(3), {{"client", "shop"}});
  b.other(SpendKind::kTransfer, Money::units(2), {{"client", "shop"}});
  b.other(SpendKind::kOther, Money::units(1), {{"client", "shop"}});
  b.other(SpendKind::kOther, Money::units(6));  // support: 20 : 40
  const Allocation a = b.allocation("namespace");
  EXPECT_THAT(shown(a), ElementsAre("__idle__ 20", "lab 22", "shop 50"));
  EXPECT_EQ(a.rows.at(2).storage, Money::units(3));
  EXPECT_EQ(a.rows.at(2).network, Money::units(2));
  EXPECT_EQ(a.rows.at(2).external, Money::units(1));
  EXPECT_EQ(a.rows.at(2).shared, Money::units(4));
  EXPECT_EQ(a.total(), Money::units(92));
}

TEST(Allocation, AMachineWithoutGpusIsCpuCost) {
  PodBooks b(1);
  b.node("web-1");
  b.compute("web-1", Money::units(2), {{"client", "shop"}});
  const Allocation a = b.allocation("namespace");
  ASSERT_THAT(a.rows, SizeIs(1));
  EXPECT_EQ(a.rows[0].name, "shop");
  EXPECT_EQ(a.rows[0].cpu, Money::units(2));
  EXPECT_TRUE(a.rows[0].gpu.is_zero());
}

TEST(Allocation, KeysAreReadAndWritten) {
  for (const char* text : {"namespace", "controllerKind,controller", "label:app.kubernetes.io/name", "label:a:b,node,client"})
    EXPECT_EQ(text_of(*parse_allocation_keys(text)), text);
  for (const char* wrong : {"", "cluster", "namespace,", ",pod", "label:", "annotation:a", "service", "Namespace"})
    EXPECT_THAT(parse_allocation_keys(wrong).error().message, HasSubstr("give namespace, controller")) << wrong;
  EXPECT_THAT(parse_allocation_keys("pod,pod,pod,pod,pod,pod,pod,pod,pod").error().message, HasSubstr("8 things at most"));
}

TEST(Allocation, StepsAreOfOneLengthButTheLast) {
  const Interval day = {kStart, kStart + kHour * 24};
  EXPECT_THAT(*allocation_steps(day, std::nullopt), ElementsAre(day));
  const auto steps = allocation_steps(day, kHour * 10);
  ASSERT_THAT(*steps, SizeIs(3));
  EXPECT_EQ(steps->back(), (Interval{kStart + kHour * 20, kStart + kHour * 24}));
  EXPECT_FALSE(allocation_steps(day, Duration::seconds(59)).ok());
  EXPECT_FALSE(allocation_steps(day, Duration::minutes(1)).ok()) << "1,440 of them";
  EXPECT_TRUE(allocation_steps(day, Duration::nanoseconds(INT64_MAX)).ok());
}

/// Who held what, and what it cost, drawn from the seed.
PodBooks random_books(uint64_t seed) {
  constexpr int64_t kHours = 5;
  PodBooks books(kHours);
  Prng random(seed);
  const auto below = [&](int64_t n) { return static_cast<int64_t>(random.below(static_cast<uint64_t>(n))); };
  for (int n = 0; n < 3; ++n) {
    const NodeId node = books.node(fmt::format("n{}", n), 2);
    for (int g = 0; g < 2; ++g) {
      const DeviceId device = books.device(node, g);
      for (int64_t hour = 0; hour < kHours; ++hour) {
        std::vector<Tenure> tenures;
        DeviceParts left = kWholeDevice;
        while (below(4) != 0 && left > 1000) {
          const DeviceParts held = 1 + below(left), used = below(held + 1);
          const std::string name = fmt::format("p{}", books.holds.size());
          tenures.push_back({books.pod(fmt::format("ns{}", below(3)), name, "w", node, hour, hour + 1), {}, held, used, true});
          left -= held;
        }
        books.hour(device, hour, tenures);
      }
    }
    books.compute(fmt::format("n{}", n), Money::nanos(1 + below(below(2) == 0 ? 20 : 1'000'000'007)));
  }
  books.other(SpendKind::kOther, Money::nanos(below(1'000'003) - 1000));  // a credit, at times
  return books;
}

TEST(Allocation, PodsOfATenantSumToItToTheNanoUnitAndStepsToTheWindow) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const PodBooks books = random_books(seed);
    const auto whole = books.tenants.post();
    const Allocation by_ns = books.allocation("namespace");
    EXPECT_EQ(by_ns.total(), whole->total());
    for (const AllocationRow& row : by_ns.rows)
      if (row.name != kIdleAllocation && row.name != kUnallocated) {
        EXPECT_EQ(row.total(), of_client(*whole, row.name)) << row.name;
      }
    const CostStatement a = make_statement(*whole, {}), b = make_statement(books.ledger(), {});
    EXPECT_EQ(a.idle_total, b.idle_total);
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (size_t r = 0; r < a.rows.size(); ++r) {
      EXPECT_EQ(a.rows[r].name, b.rows[r].name);
      EXPECT_EQ(a.rows[r].total, b.rows[r].total);
      EXPECT_EQ(a.rows[r].inactive, b.rows[r].inactive);
    }
    Money all;
    const auto steps = allocation_steps(books.pods.history.period, Duration::minutes(47));
    for (const Interval step : *steps)
      all += books.allocation("pod", {}, step).total();
    EXPECT_EQ(all, whole->total());
  }
}

}  // namespace
}  // namespace stint
