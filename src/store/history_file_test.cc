#include "store/history_file.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <fstream>

#include "codec/bills/source_columns.h"
#include "host/scratch_dir.h"
#include "store/run_owners.h"
#include "store/schema.h"
#include "testing/places.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const Instant kStart = *parse_instant("2026-10-01T00:00:00Z");
const Instant kNow = *parse_instant("2026-11-01T09:00:00Z");

HistoryFile create(const std::string& path) {
  auto file = HistoryFile::open(path, OpenMode::kCreate);
  CHECK(file.ok(), "{}", file.error().message);
  return std::move(file).value();
}

/// Runs `fill` as one import with its name as the fingerprint.
template <typename Fill>
ImportRecord import(HistoryFile& file, std::string_view name, const Fill& fill) {
  auto transaction = file.begin_import("test", name, kNow);
  CHECK(transaction.ok(), "{}", transaction.error().message);
  fill(**transaction);
  const auto record = (*transaction)->commit(name);
  CHECK(record.ok(), "{}", record.error().message);
  return *record;
}

SeriesKey key(std::string node, int index, Metric metric = Metric::kUtilization, Holder holder = {}) {
  SeriesKey k;
  k.device.node = std::move(node);
  k.device.index = index;
  k.device.uuid = fmt::format("GPU-{}-{}", k.device.node, index);
  k.device.model = "NVIDIA A100-SXM4-80GB";
  k.holder = std::move(holder);
  k.metric = metric;
  return k;
}

/// `count` samples a minute apart, all of `value`.
std::vector<Sample> constant(Instant from, int count, double value) {
  std::vector<Sample> samples;
  for (int i = 0; i < count; ++i)
    samples.push_back({from + Duration::minutes(i), value});
  return samples;
}

void add(Sink& sink, const SeriesKey& k, const std::vector<Sample>& samples) { sink.samples(sink.series(k), samples); }

/// Everything a user can see of the file, as text.
std::string dump(HistoryFile& file) {
  const auto history = file.load();
  CHECK(history.ok(), "{}", history.error().message);
  const auto usage = file.load_usage(*history);
  CHECK(usage.ok(), "{}", usage.error().message);
  std::string out = format_utc(history->period.begin) + ".." + format_utc(history->period.end) + "\n";
  for (const Node& n : history->nodes)
    out += fmt::format("node {} {} {}\n", n.name, n.gpu_model, n.gpu_count);
  for (const BillLine& b : history->bill)
    out += fmt::format("bill {} {}\n", b.resource_id, b.billed.to_decimal());
  for (const Run& r : history->runs)
    out += fmt::format("run {} {}\n", r.id, name_of(r.state));
  for (const ImportRecord& i : history->imports)
    out += fmt::format("import {} {} {} {}\n", i.source, i.accepted, i.rejected, i.duplicates);
  for (size_t d = 0; d < usage->devices.size(); ++d)
    for (const auto& [metric, series] : usage->devices[d].metrics)
      out += fmt::format("device {} {} count {} max {}\n", d, info_of(metric).name, series.count, series.max);
  return out;
}

TEST(HistoryFile, KeepsEveryFieldOfEveryRow) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  Node node;
  node.name = "n1", node.resource_id = "i-1", node.provider = "aws", node.region = "us-east-1", node.zone = "us-east-1a";
  node.instance_type = "p4d.24xlarge", node.market = Market::kSpot, node.gpu_model = "A100-40GB", node.gpu_count = 8,
  node.vcpus = 96;
  node.memory = Bytes::gibi(int64_t{1152}), node.rate = Rate::per_hour(Money::nanos(21'957'642'000, *Currency::parse("EUR")));
  node.tenant = {"acme", "search", "ml", "prod", "rank"}, node.kind = WorkloadKind::kTraining, node.checkpointable = true;
  node.present_from = kStart, node.present_until = kNow;
  BillLine line;
  line.provider = "aws", line.billing_account = "1", line.sub_account = "2", line.service = "EC2",
  line.service_category = "Compute";
  line.description = "d", line.region = "r", line.zone = "z", line.resource_id = "i-1", line.resource_name = "n",
  line.resource_type = "t";
  line.instance_type = "p4d.24xlarge", line.sku = "s", line.invoice_id = "v", line.category = ChargeCategory::kCredit;
  line.spend = SpendKind::kTransfer, line.market = Market::kReserved, line.commitment_id = "c", line.commitment_unused = true;
  line.correction = true, line.charge_period = {kStart, kStart + kHour}, line.billing_period = month_of(kStart);
  line.billed = Money::nanos(-1), line.effective = Money::nanos(INT64_MAX, *Currency::parse("JPY")), line.list = Money::nanos(3);
  line.list_unit_price = Rate::per_hour(Money::nanos(1'624'000'000)), line.pricing_unit = "Hrs", line.quantity = "1.000";
  line.tags = {{"Client", "acme \"1\""}, {"π", "\xff"}};
  stint::Run run;
  run.id = "77", run.restart = 2, run.name = "train", run.holder = {"ns", "pod", "box", "77", "p", "u", "acc"};
  run.tenant.client = "acme", run.kind = WorkloadKind::kFineTuning, run.state = RunState::kTimeout;
  run.submitted = kStart, run.started = kStart + kHour, run.ended = kStart + kHour * 3, run.time_limit = kHour * 2;
  run.gpus_requested = 4, run.share = GpuShare::of(3, 7), run.cpus = 12, run.memory = Bytes::mebi(5);
  run.allocations = {{"n1", {0, 3}, 2}, {"n2", {}, 2}}, run.checkpointable = false;
  const RunOwner owner = {.run_id = "77", .restart = 2, .kind = "PyTorchJob", .labels = {{"app", "x \"y\""}, {"tier", ""}}};
  PriceRow price;
  price.provider = "gcp", price.region = "eu", price.instance_type = "a2", price.market = Market::kReserved;
  price.term = CommitmentTerm::kThreeYears, price.payment = PaymentOption::kAllUpfront,
  price.rate = Rate::per_hour(Money::nanos(7));
  price.estimated = true, price.source = "list", price.as_of = kStart;
  import(file, "a", [&](Sink& sink) {
    sink.node(node);
    sink.bill_line(line);
    sink.run(run);
    sink.run_owner(owner);
    sink.price(price);
    sink.tenant_rule({"namespace/a*", {"acme", "p", "t", "e", "w"}});
    sink.reject(12, "no price");
  });

  const auto history = file.load();
  ASSERT_TRUE(history.ok()) << history.error().message;
  ASSERT_THAT(history->nodes, SizeIs(1));
  const Node& n = history->nodes[0];
  EXPECT_EQ(std::tie(n.name, n.resource_id, n.provider, n.region, n.zone, n.instance_type, n.market, n.gpu_model, n.gpu_count),
            std::tie(node.name, node.resource_id, node.provider, node.region, node.zone, node.instance_type, node.market,
                     node.gpu_model, node.gpu_count));
  EXPECT_EQ(std::tie(n.vcpus, n.memory, n.rate, n.tenant, n.kind, n.checkpointable, n.present_from, n.present_until),
            std::tie(node.vcpus, node.memory, node.rate, node.tenant, node.kind, node.checkpointable, node.present_from,
                     node.present_until));
  ASSERT_THAT(history->bill, SizeIs(1));
  const BillLine& b = history->bill[0];
  EXPECT_EQ(
      std::tie(b.provider, b.billing_account, b.sub_account, b.service, b.service_category, b.description, b.region, b.zone),
      std::tie(line.provider, line.billing_account, line.sub_account, line.service, line.service_category, line.description,
               line.region, line.zone));
  EXPECT_EQ(std::tie(b.resource_id, b.resource_name, b.resource_type, b.instance_type, b.sku, b.invoice_id, b.category, b.spend,
                     b.market),
            std::tie(line.resource_id, line.resource_name, line.resource_type, line.instance_type, line.sku, line.invoice_id,
                     line.category, line.spend, line.market));
  EXPECT_EQ(
      std::tie(b.commitment_id, b.commitment_unused, b.correction, b.charge_period, b.billing_period, b.pricing_unit, b.quantity),
      std::tie(line.commitment_id, line.commitment_unused, line.correction, line.charge_period, line.billing_period,
               line.pricing_unit, line.quantity));
  EXPECT_EQ(b.billed, line.billed);
  EXPECT_EQ(b.effective, line.effective);
  EXPECT_EQ(b.list, line.list);
  EXPECT_FALSE(b.contracted.has_value());
  EXPECT_EQ(b.list_unit_price, line.list_unit_price);
  EXPECT_THAT(b.tags, ::testing::ElementsAre(Tag("Client", "acme \"1\""), Tag("π", "\xef\xbf\xbd")));
  ASSERT_THAT(history->runs, SizeIs(1));
  const stint::Run& r = history->runs[0];
  EXPECT_EQ(std::tie(r.id, r.restart, r.name, r.holder, r.tenant, r.kind, r.state, r.submitted, r.started, r.ended),
            std::tie(run.id, run.restart, run.name, run.holder, run.tenant, run.kind, run.state, run.submitted, run.started,
                     run.ended));
  EXPECT_EQ(std::tie(r.time_limit, r.gpus_requested, r.share, r.cpus, r.memory, r.checkpointable),
            std::tie(run.time_limit, run.gpus_requested, run.share, run.cpus, run.memory, run.checkpointable));
  const auto owners = read_run_owners(dir / "fleet.db");
  ASSERT_TRUE(owners.ok()) << owners.error().message;
  EXPECT_EQ(owners->at({"77", 2}).kind, owner.kind);
  EXPECT_EQ(owners->at({"77", 2}).labels, owner.labels);
  ASSERT_THAT(r.allocations, SizeIs(2));
  EXPECT_EQ(r.allocations[0].gpu_indexes, (std::vector<int>{0, 3}));
  EXPECT_EQ(r.allocations[1].gpu_count, 2);
  ASSERT_THAT(history->prices, SizeIs(1));
  EXPECT_EQ(history->prices[0].rate, price.rate);
  EXPECT_EQ(history->prices[0].payment, price.payment);
  EXPECT_TRUE(history->prices[0].estimated);
  ASSERT_THAT(history->tenant_rules, SizeIs(1));
  EXPECT_EQ(history->tenant_rules[0].tenant.client, "acme");
  ASSERT_THAT(history->rejected, SizeIs(1));
  EXPECT_EQ(history->rejected[0].line, 12U);
  EXPECT_EQ(history->rejected[0].reason, "no price");
  EXPECT_THAT(*file.check(), IsEmpty());
}

TEST(HistoryFile, SamplesComeBackAsHoursOfTheirDevice) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const ImportRecord record = import(file, "a", [&](Sink& sink) {
    // Node b comes first, so that loading has to sort.
    add(sink, key("b", 1), constant(kStart, 120, 50));
    add(sink, key("b", 0), constant(kStart + kHour, 60, 10));
    add(sink, key("a", 0), constant(kStart + kHour * 30, 60, 90));
  });
  EXPECT_EQ(record.accepted, 240U);
  const auto history = file.load();
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->period, (Interval{kStart, kStart + kHour * 31}));
  ASSERT_THAT(history->devices, SizeIs(3));
  EXPECT_EQ(history->nodes[0].name, "a");
  EXPECT_EQ(history->nodes[1].gpu_count, 2) << "as many as were seen";
  EXPECT_EQ(history->nodes[1].gpu_model, "A100-80GB");
  EXPECT_EQ(history->devices[1].index, 0);
  EXPECT_EQ(history->devices[2].index, 1);

  const auto usage = file.load_usage(*history);
  ASSERT_TRUE(usage.ok());
  const HourlySeries* b1 = usage->devices[2].find(Metric::kUtilization);
  ASSERT_NE(b1, nullptr);
  ASSERT_THAT(b1->hours, SizeIs(31));
  EXPECT_EQ(b1->count, 120U);
  EXPECT_FLOAT_EQ(b1->hours[0].mean, 50);
  EXPECT_EQ(b1->hours[1].covered_s, 3600 - 60 + 60);
  EXPECT_EQ(b1->hours[2].covered_s, 0) << "missing is not zero";
  EXPECT_FLOAT_EQ(usage->devices[0].find(Metric::kUtilization)->hours[30].mean, 90);
}

TEST(HistoryFile, OnlyTheAskedPeriodIsLoaded) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "a", [&](Sink& sink) {
    add(sink, key("a", 0), constant(kStart, 48 * 60, 50));
    for (int h = 0; h < 48; ++h) {
      BillLine line;
      line.resource_id = fmt::format("{}", h);
      line.charge_period = {kStart + kHour * h, kStart + kHour * (h + 1)};
      sink.bill_line(line);
    }
  });
  const auto history = file.load({kStart + Duration::minutes(90), kStart + kHour * 4});
  ASSERT_TRUE(history.ok());
  EXPECT_EQ(history->period, (Interval{kStart + kHour, kStart + kHour * 4}));
  EXPECT_THAT(history->bill, SizeIs(3));
  const auto usage = file.load_usage(*history);
  ASSERT_TRUE(usage.ok());
  EXPECT_EQ(usage->devices[0].find(Metric::kUtilization)->count, 180U);
}

TEST(HistoryFile, ColumnsThatALineHasNoPlaceForAreKeptBesideIt) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "a", [&](Sink& sink) {
    for (int h = 0; h < 4; ++h) {
      BillLine line;
      line.resource_id = fmt::format("{}", h);
      line.charge_period = {kStart + kHour * h, kStart + kHour * (h + 1)};
      line.tags = {{"team", "nlp"}};
      if (h % 2 == 1) line.tags.emplace_back(kSourceColumnsTag, fmt::format(R"({{"SkuPriceId":"{}"}})", h));
      sink.bill_line(line);
    }
  });
  for (const Interval period : {Interval{}, Interval{kStart + kHour, kStart + kHour * 3}}) {
    const auto history = file.load(period);
    const auto columns = file.load_source_columns(period);
    ASSERT_TRUE(history.ok() && columns.ok());
    ASSERT_EQ(columns->size(), history->bill.size());
    for (size_t i = 0; i < columns->size(); ++i) {
      const std::string& hour = history->bill[i].resource_id;
      EXPECT_EQ((*columns)[i], hour == "1" || hour == "3" ? R"({"SkuPriceId":")" + hour + R"("})" : "");
      EXPECT_EQ(history->bill[i].tags, (std::vector<Tag>{{"team", "nlp"}}));
    }
  }
}

TEST(HistoryFile, TagsBesideSuchColumnsAreFoundWhereverTheyStand) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const Tag columns(kSourceColumnsTag, R"({"a":"\"],[\"","b":"]]"})"), team("team", R"("],["]])");
  const std::vector<std::vector<Tag>> told = {{columns}, {columns, team}, {team, columns}, {team}, {}};
  import(file, "a", [&](Sink& sink) {
    for (size_t i = 0; i < told.size(); ++i) {
      BillLine line;
      line.resource_id = fmt::format("{}", i);
      line.charge_period = {kStart, kStart + kHour};
      line.tags = told[i];
      sink.bill_line(line);
    }
  });
  const auto history = file.load();
  ASSERT_EQ(history->bill.size(), told.size());
  for (size_t i = 0; i < told.size(); ++i)
    EXPECT_EQ(history->bill[i].tags, std::ranges::count(told[i], team) > 0 ? std::vector<Tag>{team} : std::vector<Tag>{}) << i;
}

TEST(HistoryFile, SameBytesAreFoundAgain) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  EXPECT_FALSE(file.find_import("test", "a")->has_value());
  import(file, "a", [&](Sink& sink) { add(sink, key("a", 0), constant(kStart, 60, 50)); });
  const auto found = file.find_import("test", "a");
  ASSERT_TRUE(found->has_value());
  EXPECT_EQ((*found)->accepted, 60U);
  EXPECT_EQ((*found)->imported_at, kNow);
  // Who does not look first is refused at the end.
  const std::string before = dump(file);
  {
    auto again = file.begin_import("test", "a", kNow);
    ASSERT_TRUE(again.ok());
    add(**again, key("zzz", 0), constant(kStart, 60, 50));
    const auto record = (*again)->commit("a");
    ASSERT_FALSE(record.ok());
    EXPECT_EQ(record.error().code, ErrorCode::kConflict);
  }
  EXPECT_EQ(dump(file), before);
}

TEST(HistoryFile, OverlappingTelemetryCountsOnce) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "first", [&](Sink& sink) { add(sink, key("a", 0), constant(kStart, 150, 50)); });
  // From 02:00 on, where the first ends at 02:30, to 04:00.
  const ImportRecord record =
      import(file, "second", [&](Sink& sink) { add(sink, key("a", 0), constant(kStart + kHour * 2, 120, 50)); });
  EXPECT_EQ(record.accepted, 120U) << "the hour that covers more replaces the half";
  const ImportRecord third = import(file, "third", [&](Sink& sink) { add(sink, key("a", 0), constant(kStart, 60, 50)); });
  EXPECT_EQ(third.accepted, 0U);
  EXPECT_EQ(third.duplicates, 60U);
  const auto history = file.load();
  const auto usage = file.load_usage(*history);
  EXPECT_EQ(usage->devices[0].find(Metric::kUtilization)->count, 240U);
  EXPECT_THAT(*file.check(), IsEmpty());
}

TEST(HistoryFile, AnHourInTwoHalvesFromTwoImportsIsWhole) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "first", [&](Sink& sink) { add(sink, key("a", 0), constant(kStart, 30, 0)); });
  import(file, "second", [&](Sink& sink) { add(sink, key("a", 0), constant(kStart + Duration::minutes(35), 25, 100)); });
  const auto history = file.load();
  const auto usage = file.load_usage(*history);
  const HourlySeries* series = usage->devices[0].find(Metric::kUtilization);
  EXPECT_EQ(series->count, 55U);
  EXPECT_NEAR(series->hours[0].mean, 100.0 * 25 / 55, 0.01);
}

TEST(HistoryFile, BillLinesOfARepeatedExportCountOnce) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  BillLine first, second;
  first.resource_id = "i-1", first.billed = Money::units(5);
  second.resource_id = "i-2", second.billed = Money::units(7);
  // Two equal lines in one export are two charges.
  import(file, "to the 10th", [&](Sink& sink) { sink.bill_line(first), sink.bill_line(first); });
  const ImportRecord record =
      import(file, "to the 20th", [&](Sink& sink) { sink.bill_line(first), sink.bill_line(first), sink.bill_line(second); });
  EXPECT_EQ(record.accepted, 3U);
  EXPECT_THAT(file.load()->bill, SizeIs(3));
}

TEST(HistoryFile, LaterImportsCompleteANodeAndReplaceARun) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  stint::Run run;
  run.id = "1", run.state = RunState::kRunning, run.started = kStart;
  import(file, "telemetry", [&](Sink& sink) {
    add(sink, key("n1", 0), constant(kStart, 60, 50));
    sink.run(run);
  });
  import(file, "inventory", [&](Sink& sink) {
    Node node;
    node.name = "n1", node.provider = "aws", node.gpu_count = 4, node.rate = Rate::per_hour(Money::units(3));
    sink.node(node);
    run.state = RunState::kCompleted, run.ended = kStart + kHour;
    sink.run(run);
  });
  import(file, "tags", [&](Sink& sink) {
    Node node;
    node.name = "n1", node.tenant.client = "acme";
    sink.node(node);
  });
  const auto history = file.load();
  ASSERT_THAT(history->nodes, SizeIs(1));
  EXPECT_EQ(history->nodes[0].provider, "aws");
  EXPECT_EQ(history->nodes[0].gpu_count, 4);
  EXPECT_EQ(history->nodes[0].rate, Rate::per_hour(Money::units(3)));
  EXPECT_EQ(history->nodes[0].tenant.client, "acme");
  ASSERT_THAT(history->runs, SizeIs(1));
  EXPECT_EQ(history->runs[0].state, RunState::kCompleted);
}

TEST(HistoryFile, ADeviceKnownByPlaceAndByUuidIsOne) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  SeriesKey by_place = key("n1", 0);
  by_place.device.uuid.clear();
  SeriesKey by_uuid = key("n1", 0);
  by_uuid.device.index = -1;
  import(file, "place", [&](Sink& sink) { add(sink, by_place, constant(kStart, 60, 50)); });
  import(file, "both", [&](Sink& sink) { add(sink, key("n1", 0), constant(kStart + kHour, 60, 50)); });
  import(file, "uuid", [&](Sink& sink) { add(sink, by_uuid, constant(kStart + kHour * 2, 60, 50)); });
  import(file, "place again", [&](Sink& sink) { add(sink, by_place, constant(kStart + kHour * 3, 60, 50)); });
  const auto history = file.load();
  ASSERT_THAT(history->devices, SizeIs(1));
  EXPECT_EQ(history->devices[0].uuid, "GPU-n1-0");
  EXPECT_EQ(file.load_usage(*history)->devices[0].find(Metric::kUtilization)->count, 240U);
}

TEST(HistoryFile, MetricsOfTheMachineAreNoDevice) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "a", [&](Sink& sink) {
    SeriesKey cpu;
    cpu.device.node = "n1";
    cpu.metric = Metric::kHostCpu;
    add(sink, cpu, constant(kStart, 60, 12));
    add(sink, key("n1", 0), constant(kStart, 60, 50));
  });
  const auto history = file.load();
  ASSERT_THAT(history->devices, SizeIs(1));
  const auto usage = file.load_usage(*history);
  EXPECT_EQ(usage->nodes.at(NodeId(0)).at(Metric::kHostCpu).count, 60U);
}

TEST(HistoryFile, HoldersKeepTheirOwnSeries) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  Holder a, b;
  a.pod = "a", b.pod = "b";
  import(file, "a", [&](Sink& sink) {
    add(sink, key("n1", 0, Metric::kUtilization, b), constant(kStart, 60, 20));
    add(sink, key("n1", 0, Metric::kUtilization, a), constant(kStart, 60, 50));
  });
  const auto history = file.load();
  ASSERT_THAT(history->holders, SizeIs(2));
  const auto usage = file.load_usage(*history);
  ASSERT_THAT(usage->devices[0].holders, SizeIs(2));
  const auto& [first, second] = std::tie(usage->devices[0].holders[0], usage->devices[0].holders[1]);
  EXPECT_LT(first.holder, second.holder);
  EXPECT_EQ(history->holders[first.holder.index()].pod, "b");
  EXPECT_FLOAT_EQ(first.metrics.at(Metric::kUtilization).hours[0].mean, 20);
  EXPECT_FLOAT_EQ(usage->devices[0].find(Metric::kUtilization)->hours[0].mean, 50) << "the device shows the busiest";
}

TEST(HistoryFile, RejectionsAreAllCountedAndTheFirstThousandKept) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const ImportRecord record = import(file, "a", [&](Sink& sink) {
    for (uint64_t i = 1; i <= 1500; ++i)
      sink.reject(i, "bad");
  });
  EXPECT_EQ(record.rejected, 1500U);
  EXPECT_THAT(file.load()->rejected, SizeIs(1000));
  EXPECT_EQ(file.info()->rejected, 1500U);
}

TEST(HistoryFile, SamplesOfABrokenClockAreRefusedWithTheirReason) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const ImportRecord record = import(file, "a", [&](Sink& sink) {
    add(sink, key("n1", 0), constant(Instant::from_seconds(-7200), 10, 50));
    add(sink, key("n1", 1), constant(kStart, 10, 50));
  });
  EXPECT_EQ(record.accepted, 10U);
  EXPECT_EQ(record.rejected, 10U);
  EXPECT_THAT(file.load()->rejected[0].reason, HasSubstr("clock"));
}

TEST(HistoryFile, DroppedImportLeavesNothing) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "a", [&](Sink& sink) { add(sink, key("n1", 0), constant(kStart, 60, 50)); });
  const std::string before = dump(file);
  {
    auto transaction = file.begin_import("test", "dropped", kNow);
    add(**transaction, key("n2", 0), constant(kStart, 60, 50));
    (*transaction)->node({.name = "n3"});
  }
  EXPECT_EQ(dump(file), before);
  EXPECT_THAT(*file.check(), IsEmpty());
}

TEST(HistoryFile, ExchangeRatesAreThoseOfTheDaysAskedForAndALaterImportWins) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const Currency euro = Currency::parse("EUR").value();
  const auto rate = [&](int64_t day, int64_t units) {
    return ExchangeRate{kStart + kHour * (24 * day), euro, Money::units(units)};
  };
  import(file, "a", [&](Sink& sink) {
    for (int64_t day = 0; day < 4; ++day)
      sink.exchange_rate(rate(day, day + 1));
  });
  import(file, "b", [&](Sink& sink) { sink.exchange_rate(rate(2, 30)); });
  EXPECT_EQ(*file.load_exchange_rates({kStart + kHour * 24, kStart + kHour * 72}), (std::vector{rate(1, 2), rate(2, 30)}));
  EXPECT_EQ(file.info()->exchange_rates, 4U);
  EXPECT_THAT(*file.check(), IsEmpty());
}

TEST(HistoryFile, TheCurrencyToShowIsKept) {
  const ScratchDir dir;
  {
    HistoryFile file = create(dir / "fleet.db");
    EXPECT_EQ(*file.shown_currency(), std::nullopt);
    ASSERT_TRUE(file.show_in(Currency::parse("EUR").value()).ok());
    ASSERT_TRUE(file.show_in(Currency::parse("JPY").value()).ok());
  }
  EXPECT_EQ(*HistoryFile::open(dir / "fleet.db", OpenMode::kReadOnly)->shown_currency(), Currency::parse("JPY").value());
}

TEST(HistoryFile, InfoCountsWhatIsThere) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  import(file, "a", [&](Sink& sink) { add(sink, key("n1", 0), constant(kStart, 25 * 60, 50)); });
  const auto info = file.info();
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->schema_version, kSchemaVersion);
  EXPECT_EQ(info->telemetry, (Interval{kStart, kStart + kHour * 25}));
  EXPECT_EQ(info->rollup_days, 2U);
  EXPECT_EQ(info->series, 1U);
  EXPECT_GT(info->file_bytes, 0);
  EXPECT_TRUE(info->billed.empty());
}

// ── What can be wrong with a file ──

void execute(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  CHECK(sqlite3_open(path.c_str(), &db) == SQLITE_OK, "open");
  char* message = nullptr;
  CHECK(sqlite3_exec(db, sql, nullptr, nullptr, &message) == SQLITE_OK, "{}: {}", sql, message);
  sqlite3_close(db);
}

std::string open_error(const std::string& path, OpenMode mode = OpenMode::kReadOnly) {
  const auto file = HistoryFile::open(path, mode);
  return file.ok() ? "opened" : file.error().message;
}

TEST(HistoryFile, AbsencesAddUpAndGrow) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const auto absent = [&](const char* fingerprint, std::vector<Interval> when) {
    Node node;
    node.name = "n1", node.absent = std::move(when);
    import(file, fingerprint, [&](Sink& sink) { sink.node(node); });
  };
  absent("a", {{kStart, kStart + kHour}, {kStart + kHour * 5, kStart + kHour * 6}});
  absent("b", {{kStart + kHour * 5, kStart + kHour * 8}, {kStart + kHour * 8, kStart + kHour * 9}});
  absent("c", {{kStart, kStart + Duration::minutes(1)}, {kStart + kHour * 2, kStart + kHour * 3}});
  const auto history = file.load();
  ASSERT_TRUE(history.ok()) << history.error().message;
  ASSERT_THAT(history->nodes, SizeIs(1));
  EXPECT_THAT(history->nodes[0].absent,
              ::testing::ElementsAre(Interval{kStart, kStart + kHour}, Interval{kStart + kHour * 2, kStart + kHour * 3},
                                     Interval{kStart + kHour * 5, kStart + kHour * 9}));
  EXPECT_THAT(*file.check(), IsEmpty());
}

TEST(HistoryFile, KeepsWhatAMachineCostWhenUntilOneRateIsSaidForAllTimes) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  const auto costs = [&](const char* fingerprint, const std::vector<std::pair<Duration, int64_t>>& rates, int64_t now) {
    Node node;
    node.name = "n1", node.rate = Rate::per_hour(Money::units(now));
    for (const auto& [after, rate] : rates)
      node.rates.push_back({kStart + after, Rate::per_hour(Money::units(rate))});
    import(file, fingerprint, [&](Sink& sink) { sink.node(node); });
  };
  const auto spans = [&] {
    std::vector<std::pair<int64_t, std::string>> all;
    const History history = file.load().value();
    for (const RatePoint& point : history.nodes[0].rates)
      all.emplace_back((point.from - kStart).to_hours(), point.rate.per_hour().to_decimal());
    return all;
  };
  costs("a", {{{}, 3}, {kHour, 5}}, 5);
  costs("b", {{kHour, 5}, {kHour * 2, 5}, {kHour * 3, 4}}, 4);  // told again, nothing new at 2, and another
  EXPECT_THAT(spans(), ::testing::ElementsAre(std::pair(0, "3"), std::pair(1, "5"), std::pair(3, "4")));
  EXPECT_THAT(*file.check(), IsEmpty());
  costs("c", {}, 9);
  EXPECT_THAT(spans(), IsEmpty());
  EXPECT_EQ(file.load()->nodes[0].rate, Rate::per_hour(Money::units(9)));
}

TEST(HistoryFile, SaysWhatIsWrongWithAFile) {
  const ScratchDir dir;
  EXPECT_THAT(open_error(dir / "absent.db"), HasSubstr("no such file"));
  EXPECT_THAT(open_error(dir / "no/folder/fleet.db", OpenMode::kCreate), HasSubstr("cannot be opened"));
  std::filesystem::create_directory(dir / "folder");
  EXPECT_THAT(open_error(dir / "folder"), HasSubstr("is a folder"));
  std::ofstream(dir / "text.db") << std::string(10'000, 'x');
  EXPECT_THAT(open_error(dir / "text.db", OpenMode::kCreate), HasSubstr("no database: name a History file"));
  execute(dir / "foreign.db", "CREATE TABLE song (title TEXT)");
  EXPECT_THAT(open_error(dir / "foreign.db", OpenMode::kCreate), HasSubstr("another program"));
  std::ofstream(dir / "empty.db").close();
  EXPECT_THAT(open_error(dir / "empty.db"), HasSubstr("empty"));
  create(dir / "newer.db");
  const int newer = kSchemaVersion + 1;
  execute(dir / "newer.db", fmt::format("UPDATE meta SET value = '{}'", newer).c_str());
  EXPECT_THAT(open_error(dir / "newer.db"),
              HasSubstr(fmt::format("newer Stint (schema {}, this one knows up to {})", newer, kSchemaVersion)));
}

// ── An older version ──

/// A file that schema 1's program wrote.
std::string old_history(const ScratchDir& dir) {
  std::ifstream text(STINT_SOURCE_DIR "/tests/upgrade/history-schema-1.sql");
  const std::string sql((std::istreambuf_iterator<char>(text)), {});
  CHECK(!sql.empty(), "the fixture is not there");
  execute(dir / "old.db", sql.c_str());
  return dir / "old.db";
}

TEST(HistoryFile, OfOwnersTheLaterImportCountsAndAnOlderFileHasNone) {
  const ScratchDir dir;
  HistoryFile file = create(dir / "fleet.db");
  EXPECT_THAT(*read_run_owners(dir / "fleet.db"), IsEmpty());
  for (const char* kind : {"Job", "CronJob"})
    import(file, kind,
           [&](Sink& sink) { sink.run_owner({.run_id = "1", .restart = 0, .kind = kind, .labels = {{"app", kind}}}); });
  const auto owners = read_run_owners(dir / "fleet.db");
  ASSERT_THAT(*owners, SizeIs(1));
  EXPECT_EQ(owners->at({"1", 0}).kind, "CronJob");
  EXPECT_EQ(owners->at({"1", 0}).labels[0].second, "CronJob");
  EXPECT_THAT(*file.check(), IsEmpty());
  execute(dir / "fleet.db", "UPDATE run_owner SET labels = 'x'");
  EXPECT_FALSE(read_run_owners(dir / "fleet.db").ok());
  EXPECT_THAT(*file.check(), SizeIs(1));
  EXPECT_THAT(*read_run_owners(old_history(dir)), IsEmpty());
}

TEST(HistoryFile, AnOlderVersionIsReadAsItIs) {
  const ScratchDir dir;
  const std::string path = old_history(dir);
  auto file = HistoryFile::open(path, OpenMode::kReadOnly);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->info()->schema_version, 1);
  EXPECT_EQ(file->info()->runs, 3U);
  EXPECT_THAT(*file->check(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(copy_before_upgrade(path, 1)));
}

TEST(HistoryFile, AnOlderVersionIsBroughtUpToDateAndKeptBesideIt) {
  const ScratchDir dir;
  const std::string path = old_history(dir);
  auto old = HistoryFile::open(path, OpenMode::kReadOnly);
  ASSERT_TRUE(old.ok());
  const std::string before = dump(*old);
  {
    auto file = HistoryFile::open(path, OpenMode::kReadWrite);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_EQ(file->info()->schema_version, kSchemaVersion);
    EXPECT_THAT(*file->check(), IsEmpty());
    EXPECT_EQ(dump(*file), before);
  }
  auto copy = HistoryFile::open(copy_before_upgrade(path, 1), OpenMode::kReadOnly);
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ(copy->info()->schema_version, 1);
  EXPECT_EQ(dump(*copy), before);
  EXPECT_THAT(*copy->check(), IsEmpty());
}

TEST(HistoryFile, AnUpgradeThatFailsChangesNothing) {
  const ScratchDir dir;
  const std::string path = old_history(dir);
  // The step to schema 2 makes this table.
  execute(path, "CREATE TABLE applied_change (number INTEGER PRIMARY KEY)");
  EXPECT_THAT(open_error(path, OpenMode::kReadWrite), HasSubstr("applied_change"));
  EXPECT_EQ(HistoryFile::open(path, OpenMode::kReadOnly)->info()->schema_version, 1);
  // Nor one for whose copy there is no place.
  execute(path, "DROP TABLE applied_change");
  std::filesystem::remove(copy_before_upgrade(path, 1));
  std::filesystem::create_directories(copy_before_upgrade(path, 1) + "/in the way");
  EXPECT_THAT(open_error(path, OpenMode::kReadWrite), HasSubstr("cannot be kept"));
  EXPECT_EQ(HistoryFile::open(path, OpenMode::kReadOnly)->info()->schema_version, 1);
}

TEST(HistoryFile, CheckFindsDamage) {
  const ScratchDir dir;
  const auto problems_after = [&](const char* sql) {
    const std::string path = dir / "damaged.db";
    std::filesystem::remove(path);
    {
      HistoryFile file = create(path);
      import(file, "a", [&](Sink& sink) {
        add(sink, key("n1", 0), constant(kStart, 60, 50));
        sink.bill_line({});
      });
    }
    execute(path, sql);
    auto file = HistoryFile::open(path, OpenMode::kReadOnly);
    CHECK(file.ok(), "{}", file.error().message);
    std::string all;
    const auto problems = file->check();
    CHECK(problems.ok(), "{}", problems.error().message);
    for (const std::string& problem : *problems)
      all += problem + "\n";
    return all;
  };
  EXPECT_EQ(problems_after("SELECT 1"), "");
  EXPECT_THAT(problems_after("UPDATE rollup_day SET data = substr(data, 1, 20)"), HasSubstr("damaged"));
  EXPECT_THAT(problems_after("DELETE FROM rollup_day"), HasSubstr("0 stored, 1 imported"));
  EXPECT_THAT(problems_after("DELETE FROM series"), HasSubstr("does not exist"));
  EXPECT_THAT(problems_after("DELETE FROM device"), HasSubstr("refers to a row of device"));
  EXPECT_THAT(problems_after("UPDATE node SET market = 'stolen'"), HasSubstr("node.market"));
  EXPECT_THAT(problems_after("UPDATE import SET accepted = 0"), HasSubstr("more bill lines stored"));
}

TEST(HistoryFile, AReadOnlyFolderCanBeRead) {
  const ScratchDir dir;
  std::filesystem::create_directory(dir / "archive");
  const std::string path = dir / "archive/fleet.db";
  {
    HistoryFile file = create(path);
    import(file, "a", [&](Sink& sink) { add(sink, key("n1", 0), constant(kStart, 60, 50)); });
  }
  chmod((dir / "archive").c_str(), 0555);
  auto file = HistoryFile::open(path, OpenMode::kReadOnly);
  EXPECT_TRUE(file.ok()) << (file.ok() ? "" : file.error().message);
  if (file.ok()) {
    EXPECT_EQ(file->info()->nodes, 1U);
  }
  chmod((dir / "archive").c_str(), 0755);
}

TEST(HistoryFile, AReaderDoesNotWriteAndOneImportAtATime) {
  const ScratchDir dir;
  HistoryFile writer = create(dir / "fleet.db");
  auto reader = HistoryFile::open(dir / "fleet.db", OpenMode::kReadOnly);
  ASSERT_TRUE(reader.ok());
  EXPECT_THAT(reader->begin_import("test", "a", kNow).error().message, HasSubstr("reading only"));
  auto first = writer.begin_import("test", "a", kNow);
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(writer.begin_import("test", "b", kNow).error().message, HasSubstr("in progress"));
  EXPECT_TRUE(reader->load().ok()) << "a reader does not wait for a writer";
}

}  // namespace
}  // namespace stint
