// From a History file to the values that the ledger and the advisor work on.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "catalog/catalog.h"
#include "model/physical_gpu.h"
#include "store/history_impl.h"
#include "store/kept_columns.h"
#include "store/schema.h"

namespace stint {
namespace {

/// Metrics of the machine rather than of one of its GPUs.
bool is_machine_metric(Metric m) { return m == Metric::kHostCpu || m == Metric::kRequestRate || m == Metric::kLatencyP99; }

Interval whole_hours(Interval i) {
  if (i.empty()) return {};
  const Instant end = i.end.hour_start();
  return {i.begin.hour_start(), end == i.end ? end : end + kHour};
}

Interval hull(Interval a, Interval b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

/// When a run ended; of one that runs still, when a source that watches last said so. Over run JOIN import.
const std::string kRunUntil = "coalesce(run.ended, CASE WHEN import.kind IN ('daemon', 'slurm') THEN import.imported_at END)";

/// A purchase may cover years: it says what was bought, not what the History is about.
Result<Interval> billed_times(Database& database) {
  TRY_ASSIGN(const std::string extents, bill_extents(database));
  TRY_ASSIGN(const std::string counted, lines_that_count(database, "bill_extent"));
  return interval_of(database,
                     fmt::format("SELECT min(charged_from), max(charged_until) FROM {} WHERE NOT purchase{}", extents, counted));
}

/// All there is: what telemetry and bills cover; what runs cover where there is neither.
Result<Interval> whole_period(Database& database) {
  TRY_ASSIGN(const Interval telemetry, interval_of(database, "SELECT min(telemetry_begin), max(telemetry_end) FROM import"));
  TRY_ASSIGN(const Interval billed, billed_times(database));
  if (const Interval both = hull(telemetry, billed); !both.empty()) return whole_hours(both);
  TRY_ASSIGN(const Interval runs, interval_of(database, "SELECT min(started), max(coalesce(ended, started)) FROM run"));
  return whole_hours(runs);
}

/// First to last sign of runs. Those that still run, which are few or none, are looked up in their imports.
Result<Interval> ran(Database& database) {
  TRY_ASSIGN(Statement all, database.prepare("SELECT min(started), max(ended), count(*) > count(ended) FROM run"));
  TRY_ASSIGN(const bool row, all.step());
  if (!row || all.is_null(0)) return Interval{};
  const Instant begin = Instant::from_ns(all.integer(0));
  const Instant end = all.is_null(1) ? begin : Instant::from_ns(all.integer(1));
  if (all.integer(2) == 0) return Interval{begin, end};
  TRY_ASSIGN(Statement running,
             database.prepare("SELECT max(coalesce(" + kRunUntil +
                              ", started)) FROM run JOIN import ON import.id = run.import_id WHERE ended IS NULL"));
  TRY_ASSIGN(const bool some, running.step());
  if (!some || running.is_null(0)) return Interval{begin, end};
  return Interval{begin, std::max(end, Instant::from_ns(running.integer(0)))};
}

/// First to last sign of anything.
Result<Interval> happened(Database& database) {
  TRY_ASSIGN(const Interval telemetry, interval_of(database, "SELECT min(telemetry_begin), max(telemetry_end) FROM import"));
  TRY_ASSIGN(const Interval billed, billed_times(database));
  TRY_ASSIGN(const Interval runs, ran(database));
  return hull(hull(telemetry, billed), runs);
}

/// Of one that still ran when it was last told of: a source that watches says until when that is known, by when it told.
/// A file says it itself, or not at all: then it ran while there are other signs.
/// @param from  a run that ended before it is left out; none = all stay.
void end_running(History& history, const std::vector<std::optional<Instant>>& known_until, std::optional<Instant> from) {
  for (size_t i = 0; i < history.runs.size(); ++i) {
    Run& run = history.runs[i];
    if (run.ended || !run.started) continue;
    run.ended = std::max(*run.started, known_until[i].value_or(history.happened.end));
  }
  if (from) std::erase_if(history.runs, [&](const Run& run) { return run.ended && run.started && *run.ended <= *from; });
}

Status load_billing(Database& database, History& history) {
  TRY_ASSIGN(const std::string extents, bill_extents(database));
  TRY_ASSIGN(const std::string counted, lines_that_count(database, "bill_extent"));
  TRY_ASSIGN(Statement coverage,
             database.prepare(fmt::format("SELECT provider, min(charged_from), max(charged_until) FROM {} WHERE compute AND NOT "
                                          "purchase{} GROUP BY provider ORDER BY provider",
                                          extents, counted)));
  for (;;) {
    TRY_ASSIGN(const bool row, coverage.step());
    if (!row) break;
    history.bill_coverage.push_back(
        {std::string(coverage.bytes(0)), {Instant::from_ns(coverage.integer(1)), Instant::from_ns(coverage.integer(2))}});
  }
  TRY_ASSIGN(Statement resources,
             database.prepare(fmt::format("SELECT DISTINCT provider, resource_id, resource_name, instance_type FROM {} WHERE "
                                          "compute{} ORDER BY 1, 2, 3, 4",
                                          extents, counted)));
  for (;;) {
    TRY_ASSIGN(const bool row, resources.step());
    if (!row) return {};
    history.billed_resources.push_back({std::string(resources.bytes(0)), std::string(resources.bytes(1)),
                                        std::string(resources.bytes(2)), std::string(resources.bytes(3))});
  }
}

/// What tells devices apart in a History: node name, UUID, index, MIG instance (-1 = whole).
using DeviceIdentity = std::tuple<std::string, std::string, int, int>;

struct StoredDevice {
  DeviceIdentity identity;
  std::string model;
  std::string mig_profile;
  bool is_machine = false;  ///< stands for the machine: only machine metrics, no UUID, no index
};

/// By stored id.
Result<std::map<int64_t, StoredDevice>> read_devices(Database& database) {
  TRY_ASSIGN(Statement statement,
             database.prepare("SELECT device.id, node.name, uuid, gpu_index, mig_instance, model, mig_profile FROM device "
                              "JOIN node ON node.id = node_id"));
  std::map<int64_t, StoredDevice> devices;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) break;
    StoredDevice& device = devices[statement.integer(0)];
    device.identity = {std::string(statement.bytes(1)), std::string(statement.bytes(2)), static_cast<int>(statement.integer(3)),
                       static_cast<int>(statement.integer(4))};
    device.model = statement.bytes(5);
    device.mig_profile = statement.bytes(6);
    device.is_machine = std::get<1>(device.identity).empty() && std::get<2>(device.identity) < 0;
  }
  TRY_ASSIGN(Statement metrics, database.prepare("SELECT DISTINCT device_id, metric FROM series"));
  for (;;) {
    TRY_ASSIGN(const bool row, metrics.step());
    if (!row) break;
    const auto it = devices.find(metrics.integer(0));
    if (it != devices.end() && !is_machine_metric(static_cast<Metric>(metrics.integer(1)))) it->second.is_machine = false;
  }
  return devices;
}

DeviceIdentity identity_of(const Device& device, const std::vector<Node>& nodes) {
  return {nodes[device.node.index()].name, device.uuid, device.index, device.mig ? device.mig->instance_id : -1};
}

Status load_devices(Database& database, History& history) {
  TRY_ASSIGN(const auto stored, read_devices(database));
  std::map<std::string_view, uint32_t> node_ids;
  for (uint32_t n = 0; n < history.nodes.size(); ++n)
    node_ids[history.nodes[n].name] = n;
  for (const auto& [id, s] : stored) {
    if (s.is_machine) continue;
    const auto& [node, uuid, index, mig_instance] = s.identity;
    Device& device = history.devices.emplace_back();
    device.node = NodeId(node_ids.at(node));
    device.uuid = uuid;
    device.index = index;
    if (mig_instance >= 0) device.mig = MigInstance{s.mig_profile, mig_instance};
    const GpuFacts* facts = s.model.empty() ? nullptr : Catalog::built_in().find_gpu(s.model);
    device.model = facts == nullptr ? s.model : facts->model;
    if (facts != nullptr && !device.mig) device.memory = facts->memory;
  }
  std::sort(history.devices.begin(), history.devices.end(), [](const Device& a, const Device& b) {
    return std::tie(a.node, a.index, a.uuid, a.mig) < std::tie(b.node, b.index, b.uuid, b.mig);
  });
  return {};
}

/// What telemetry and the instance type tell about a node where the inventory is silent.
/// Those that touch or overlap are one.
Status load_absences(Database& database, History& history) {
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kAbsencesSince) return {};
  TRY_ASSIGN(const auto absences,
             read_rows<NodeAbsence>(database, fmt::format("SELECT {} FROM {} ORDER BY node, absent_from",
                                                          column_list<NodeAbsence>(), RowFields<NodeAbsence>::table)));
  for (const NodeAbsence& absence : absences) {
    const auto node = std::ranges::lower_bound(history.nodes, absence.node, {}, &Node::name);
    if (node == history.nodes.end() || node->name != absence.node || absence.when.empty()) continue;
    if (node->absent.empty() || node->absent.back().end < absence.when.begin)
      node->absent.push_back(absence.when);
    else
      node->absent.back().end = std::max(node->absent.back().end, absence.when.end);
  }
  return {};
}

/// Those that say nothing new are left out.
Status load_rates(Database& database, History& history) {
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kNodeRatesSince) return {};
  TRY_ASSIGN(const auto rates, read_rows<NodeRate>(database, fmt::format("SELECT {} FROM {} ORDER BY node, paid_from",
                                                                         column_list<NodeRate>(), RowFields<NodeRate>::table)));
  for (const NodeRate& rate : rates) {
    const auto node = std::ranges::lower_bound(history.nodes, rate.node, {}, &Node::name);
    if (node == history.nodes.end() || node->name != rate.node) continue;
    if (node->rates.empty() || node->rates.back().rate != rate.of.rate) node->rates.push_back(rate.of);
  }
  return {};
}

void complete_nodes(History& history) {
  std::map<NodeId, int64_t> seen;
  for (const PhysicalGpu& gpu : physical_gpus(history.devices))
    ++seen[gpu.node];
  for (const Device& device : history.devices)
    if (Node& node = history.nodes[device.node.index()]; node.gpu_model.empty()) node.gpu_model = device.model;
  for (uint32_t n = 0; n < history.nodes.size(); ++n) {
    Node& node = history.nodes[n];
    if (const GpuFacts* facts = node.gpu_model.empty() ? nullptr : Catalog::built_in().find_gpu(node.gpu_model); facts != nullptr)
      node.gpu_model = facts->model;
    if (node.gpu_count == 0 && !node.instance_type.empty()) {
      const InstanceType* type = node.provider.empty() ? Catalog::built_in().find_instance(node.instance_type)
                                                       : Catalog::built_in().find_instance(node.provider, node.instance_type);
      if (type != nullptr) node.gpu_count = type->whole_gpus();
      if (type != nullptr && node.gpu_model.empty()) node.gpu_model = type->gpu_model;
    }
    if (node.gpu_count == 0) node.gpu_count = seen[NodeId(n)];
  }
}

Result<std::vector<ImportRecord>> read_imports(Database& database) {
  TRY_ASSIGN(Statement statement,
             database.prepare("SELECT kind, source, fingerprint, imported_at, accepted, rejected, duplicates "
                              "FROM import ORDER BY id"));
  std::vector<ImportRecord> records;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return records;
    records.push_back({.kind = std::string(statement.bytes(0)),
                       .source = std::string(statement.bytes(1)),
                       .fingerprint = std::string(statement.bytes(2)),
                       .imported_at = Instant::from_ns(statement.integer(3)),
                       .accepted = static_cast<uint64_t>(statement.integer(4)),
                       .rejected = static_cast<uint64_t>(statement.integer(5)),
                       .duplicates = static_cast<uint64_t>(statement.integer(6))});
  }
}

Result<std::vector<RejectedRow>> read_rejected(Database& database) {
  TRY_ASSIGN(Statement statement,
             database.prepare("SELECT source, line, reason FROM rejection JOIN import ON import.id = import_id "
                              "ORDER BY rejection.id"));
  std::vector<RejectedRow> rows;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return rows;
    rows.push_back(
        {std::string(statement.bytes(0)), static_cast<uint64_t>(statement.integer(1)), std::string(statement.bytes(2))});
  }
}

std::string runs_within(bool bounded) {
  return fmt::format("{} ORDER BY run.started, run.run_id, run.restart, run.origin",
                     bounded ? "WHERE (run.ended IS NULL OR run.ended > ?1) AND (run.started IS NULL OR run.started < ?2)" : "");
}

/// Of the same runs in the same order, kRunUntil.
Result<std::vector<std::optional<Instant>>> read_known_until(Database& database, Interval bound) {
  TRY_ASSIGN(Statement statement, database.prepare(fmt::format("SELECT {} FROM run JOIN import ON import.id = run.import_id {}",
                                                               kRunUntil, runs_within(!bound.empty()))));
  if (!bound.empty()) {
    statement.bind(1, bound.begin.ns());
    statement.bind(2, bound.end.ns());
  }
  std::vector<std::optional<Instant>> out;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return out;
    out.push_back(statement.is_null(0) ? std::nullopt : std::optional(Instant::from_ns(statement.integer(0))));
  }
}

/// ` AND …` for a WHERE over bill_line: only lines of deliveries one of whose extents holds `condition`, which spares reading the others.
Result<std::string> deliveries_with(Database& database, std::string_view condition) {
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kBillExtentsSince) return std::string();
  return fmt::format(" AND (import_id, billing_begin) IN (SELECT import_id, billing_begin FROM bill_extent WHERE {})", condition);
}

/// Whole hours of what was asked for. Nothing is known of what comes after the last sign: it is no part of the period.
Interval known_part(Interval asked, Interval happened) {
  Interval period = whole_hours(asked);
  const Instant last = whole_hours(happened).end;
  if (last > period.begin) period.end = std::min(period.end, last);
  return period;
}

/// The lines that count, in their order. @param bounded  those that touch the interval ?1 to ?2.
Result<std::string> bill_rows(Database& database, bool bounded) {
  TRY_ASSIGN(const std::string counted, lines_that_count(database));
  if (!bounded) return fmt::format("bill_line WHERE true{} ORDER BY id", counted);
  TRY_ASSIGN(const std::string within, deliveries_with(database, "charged_until > ?1 AND charged_from < ?2"));
  return fmt::format("bill_line WHERE charge_end > ?1 AND charge_begin < ?2{}{} ORDER BY id", within, counted);
}

}  // namespace

Result<std::vector<std::string>> HistoryFile::load_source_columns(Interval period) {
  Database& database = impl_->database;
  TRY_ASSIGN(const Interval known, happened(database));
  if (!period.empty()) period = known_part(period, known);
  TRY_ASSIGN(const std::string which, bill_rows(database, !period.empty()));
  TRY_ASSIGN(Statement statement, database.prepare("SELECT id, tags FROM " + which));
  if (!period.empty()) {
    statement.bind(1, period.begin.ns());
    statement.bind(2, period.end.ns());
  }
  TRY_ASSIGN(const int version, schema_version(database));
  std::optional<KeptColumnsReader> blocks;
  if (version >= kBillSourcesSince) {
    TRY_ASSIGN(blocks, KeptColumnsReader::prepare(database));
  }
  std::vector<std::string> out;
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) return out;
    out.push_back(Column<std::vector<Tag>>::source_columns(statement.bytes(1)));  // of lines from before there were blocks
    if (blocks && out.back().empty()) {
      TRY_ASSIGN(out.back(), blocks->of_line(statement.integer(0)));
    }
  }
}

Result<History> HistoryFile::load(Interval period) {
  Database& database = impl_->database;
  History history;
  TRY_ASSIGN(history.happened, happened(database));
  if (period.empty()) {
    TRY_ASSIGN(history.period, whole_period(database));
  } else {
    history.period = known_part(period, history.happened);
  }
  const auto select = [](std::string_view columns, std::string_view rest) {
    return fmt::format("SELECT {} FROM {}", columns, rest);
  };
  const bool bounded = !period.empty();
  TRY_ASSIGN(history.nodes, read_rows<Node>(database, select(column_list<Node>(), "node ORDER BY name")));
  TRY(load_absences(database, history));
  TRY(load_rates(database, history));
  TRY_ASSIGN(history.holders, read_rows<Holder>(database, select(column_list<Holder>(), "holder WHERE id <> 0 ORDER BY id")));
  TRY_ASSIGN(history.tenant_rules, read_rows<TenantRule>(database, select(column_list<TenantRule>(), "tenant_rule ORDER BY id")));
  TRY_ASSIGN(history.prices, read_rows<PriceRow>(database, select(column_list<PriceRow>(), "price ORDER BY id")));
  TRY_ASSIGN(history.runs, read_rows<Run>(database, select(column_list<Run>(), "run " + runs_within(bounded)),
                                          bounded ? history.period : Interval{}));
  std::vector<std::optional<Instant>> known_until;
  if (std::ranges::any_of(history.runs, [](const Run& run) { return run.started && !run.ended; })) {
    TRY_ASSIGN(known_until, read_known_until(database, bounded ? history.period : Interval{}));
  }
  end_running(history, known_until, bounded ? std::optional(history.period.begin) : std::nullopt);
  TRY_ASSIGN(const std::string which, bill_rows(database, bounded));
  TRY_ASSIGN(const std::string line_columns, counted_line_columns(database));
  TRY_ASSIGN(history.bill, read_rows<BillLine>(database, select(line_columns, which), bounded ? history.period : Interval{}));
  TRY_ASSIGN(history.imports, read_imports(database));
  TRY_ASSIGN(history.rejected, read_rejected(database));
  TRY(load_billing(database, history));
  TRY(load_devices(database, history));
  complete_nodes(history);
  return history;
}

Result<std::vector<BillLine>> HistoryFile::load_billed_in(Interval billing) {
  Database& database = impl_->database;
  TRY_ASSIGN(const std::string counted, lines_that_count(database));
  constexpr std::string_view kBilledAt = "CASE WHEN billing_end > billing_begin THEN billing_begin ELSE charge_begin END";
  std::string when = "true";
  if (!billing.empty()) {
    TRY_ASSIGN(
        const std::string within,
        deliveries_with(database, "(billing_begin >= ?1 AND billing_begin < ?2) OR (charged_until >= ?1 AND charged_from < ?2)"));
    when = fmt::format("{0} >= ?1 AND {0} < ?2{1}", kBilledAt, within);
  }
  TRY_ASSIGN(const std::string columns, counted_line_columns(database));
  return read_rows<BillLine>(database, fmt::format("SELECT {} FROM bill_line WHERE {}{} ORDER BY id", columns, when, counted),
                             billing);
}

Result<std::vector<ExchangeRate>> HistoryFile::load_exchange_rates(Interval days) {
  Database& database = impl_->database;
  TRY_ASSIGN(const int version, schema_version(database));
  if (version < kExchangeRatesSince || days.empty()) return std::vector<ExchangeRate>();
  return read_rows<ExchangeRate>(
      database,
      fmt::format("SELECT {} FROM exchange_rate WHERE day >= ?1 AND day < ?2 ORDER BY day, base", column_list<ExchangeRate>()),
      days);
}

namespace {

/// Where a stored series goes in Usage.
struct Target {
  int64_t series_id = 0;
  Metric metric = Metric::kUtilization;
  bool machine = false;
  uint32_t index = 0;  ///< NodeId or DeviceId
  HolderId holder;     ///< invalid = the device itself
};

Result<std::vector<Target>> read_targets(Database& database, const History& history) {
  TRY_ASSIGN(const auto stored, read_devices(database));
  std::map<DeviceIdentity, uint32_t> device_ids;
  for (uint32_t d = 0; d < history.devices.size(); ++d)
    device_ids[identity_of(history.devices[d], history.nodes)] = d;
  std::map<std::string_view, uint32_t> node_ids;
  for (uint32_t n = 0; n < history.nodes.size(); ++n)
    node_ids[history.nodes[n].name] = n;
  std::map<Holder, uint32_t> holder_ids;
  for (uint32_t h = 0; h < history.holders.size(); ++h)
    holder_ids[history.holders[h]] = h;

  std::map<int64_t, HolderId> holders = {{kNoHolder, HolderId()}};
  TRY_ASSIGN(Statement statement, database.prepare("SELECT " + column_list<Holder>() + ", id FROM holder WHERE id <> 0"));
  for (;;) {
    TRY_ASSIGN(const bool row, statement.step());
    if (!row) break;
    TRY_ASSIGN(const Holder holder, read_row<Holder>(statement, 0, database.path()));
    if (const auto it = holder_ids.find(holder); it != holder_ids.end()) holders[statement.integer(7)] = HolderId(it->second);
  }

  std::vector<Target> targets;
  TRY_ASSIGN(Statement series, database.prepare("SELECT id, device_id, holder_id, metric FROM series ORDER BY id"));
  for (;;) {
    TRY_ASSIGN(const bool row, series.step());
    if (!row) return targets;
    const auto device = stored.find(series.integer(1));
    const auto holder = holders.find(series.integer(2));
    const int64_t metric = series.integer(3);
    // A holder or device that came after `history` was loaded is not part of it.
    if (device == stored.end() || holder == holders.end()) continue;
    if (metric < 0 || metric >= static_cast<int64_t>(kMetricCount))
      return invalid("{}: damaged: series {} has metric {}", database.path(), series.integer(0), metric);
    Target target{series.integer(0), static_cast<Metric>(metric), device->second.is_machine, 0, holder->second};
    if (target.machine) {
      const auto node = node_ids.find(std::get<0>(device->second.identity));
      if (node == node_ids.end()) continue;
      target.index = node->second;
    } else {
      const auto known = device_ids.find(device->second.identity);
      if (known == device_ids.end()) continue;
      target.index = known->second;
    }
    targets.push_back(target);
  }
}

void place(Usage& usage, const Target& target, HourlySeries&& series) {
  if (target.machine) {
    usage.nodes[NodeId(target.index)].try_emplace(target.metric, std::move(series));
    return;
  }
  DeviceUsage& device = usage.devices[target.index];
  if (!target.holder.valid()) {
    device.metrics.try_emplace(target.metric, std::move(series));
    return;
  }
  const auto at = std::lower_bound(device.holders.begin(), device.holders.end(), target.holder,
                                   [](const DeviceUsage::Held& held, HolderId id) { return held.holder < id; });
  const auto held =
      at != device.holders.end() && at->holder == target.holder ? at : device.holders.insert(at, {target.holder, {}});
  held->metrics.try_emplace(target.metric, std::move(series));
}

/// Series read together: their builders stay in the cache while the days go by.
constexpr size_t kSeriesPerPass = 128;

}  // namespace

Result<Usage> HistoryFile::load_usage(const History& history) {
  Database& database = impl_->database;
  Usage usage;
  usage.period = history.period;
  usage.devices.resize(history.devices.size());
  if (usage.period.empty()) return usage;
  TRY_ASSIGN(const std::vector<Target> targets, read_targets(database, history));
  TRY_ASSIGN(Statement days, database.prepare("SELECT key, data FROM rollup_day WHERE key BETWEEN ? AND ?"));
  const int64_t first_day = usage.period.begin.hour_index() / 24;
  const int64_t last_day = (usage.period.end.hour_index() - 1) / 24;

  for (size_t begin = 0; begin < targets.size(); begin += kSeriesPerPass) {
    const auto pass = std::span(targets).subspan(begin, std::min(kSeriesPerPass, targets.size() - begin));
    std::vector<HourlySeriesBuilder> builders;
    for (const Target& target : pass)
      builders.emplace_back(target.metric, usage.period);
    for (int64_t day = first_day; day <= last_day; ++day) {
      days.bind(1, rollup_key(day, pass.front().series_id));
      days.bind(2, rollup_key(day, pass.back().series_id));
      size_t at = 0;  // both the rows and the targets ascend by series
      for (;;) {
        TRY_ASSIGN(const bool row, days.step());
        if (!row) break;
        const int64_t series_id = series_of_rollup_key(days.integer(0));
        while (at < pass.size() && pass[at].series_id < series_id)
          ++at;
        if (at == pass.size() || pass[at].series_id != series_id) continue;
        if (const Status added = builders[at].add_day(day, days.bytes(1)); !added.ok())
          return invalid("{}: series {}: {}", database.path(), series_id, added.error().message);
      }
      days.reset();
    }
    for (size_t i = 0; i < pass.size(); ++i)
      if (HourlySeries series = builders[i].take(); !series.empty()) place(usage, pass[i], std::move(series));
  }
  for (DeviceUsage& device : usage.devices)
    fill_device_series_from_holders(device);
  return usage;
}

}  // namespace stint
