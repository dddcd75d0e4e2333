// Inventory in CSV: one node a row (docs/formats.md). Only `node` is required; an empty field says nothing, so that
// a later import with more columns adds to an earlier one.
#include <array>

#include "base/text.h"
#include "codec/csv_importer.h"
#include "model/bill.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 1> kInventoryRequired = {"node"};

enum Column : size_t {
  kNode,
  kResourceId,
  kProvider,
  kRegion,
  kZone,
  kInstanceType,
  kMarket,
  kGpuModel,
  kGpuCount,
  kVcpus,
  kMemoryGib,
  kRatePerHour,
  kCurrency,
  kKind,
  kCheckpointable,
  kClient,
  kProject,
  kTeam,
  kEnvironment,
  kWorkload,
  kFrom,
  kUntil,
  kColumnCount
};
constexpr std::array<std::string_view, kColumnCount> kInventoryColumns = {
    "node",      "resource_id", "provider",    "region",        "zone",     "instance_type", "market",         "gpu_model",
    "gpu_count", "vcpus",       "memory_gib",  "rate_per_hour", "currency", "kind",          "checkpointable", "client",
    "project",   "team",        "environment", "workload",      "from",     "until"};

Error wrong_in_column(Column column, std::string_view value, std::string_view expected) {
  return invalid("{}: '{}': {} expected", kInventoryColumns[column], excerpt(value), expected);
}

Result<bool> parse_yes_no(std::string_view text) {
  for (const std::string_view yes : {"yes", "true", "1", "y"})
    if (equals_ignoring_case(text, yes)) return true;
  for (const std::string_view no : {"no", "false", "0", "n"})
    if (equals_ignoring_case(text, no)) return false;
  return wrong_in_column(kCheckpointable, text, "yes or no");
}

class InventoryImporter final : public CsvImporter {
 public:
  InventoryImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, kInventoryRequired));
    for (size_t i = 0; i < kColumnCount; ++i)
      columns_[i] = header.find(kInventoryColumns[i]);
    std::string unknown;
    for (const std::string& name : header.names()) {
      bool known = name.empty();
      for (const std::string_view column : kInventoryColumns)
        known |= equals_ignoring_case(name, column);
      if (!known) unknown += fmt::format("{}{}", unknown.empty() ? "" : ", ", excerpt(name, 40));
    }
    if (!unknown.empty()) reject(record, fmt::format("unknown columns, not read: {}", excerpt(unknown, 400)));
    return {};
  }

  void read_row(const CsvRecord& record) override {
    const auto node = read_node(record);
    if (node.ok())
      sink().node(node.value());
    else
      reject(record, node.error().message);
  }

  Result<Node> read_node(const CsvRecord& r) {
    const auto text = [&](Column c) { return std::string(trim(r.at(columns_[c]))); };
    Node n;
    n.name = text(kNode);
    if (n.name.empty()) return invalid("node: no name");
    n.resource_id = text(kResourceId);
    n.provider = text(kProvider).empty() ? "" : canonical_provider(text(kProvider));
    n.region = text(kRegion);
    n.zone = text(kZone);
    n.instance_type = text(kInstanceType);
    n.gpu_model = text(kGpuModel);
    n.tenant = {text(kClient), text(kProject), text(kTeam), text(kEnvironment), text(kWorkload)};
    if (const std::string market = text(kMarket); !market.empty()) {
      const auto parsed = parse_market(market);
      if (!parsed.ok()) return wrong_in_column(kMarket, market, "on-demand, spot, reserved or owned");
      n.market = parsed.value();
    }
    if (const std::string kind = text(kKind); !kind.empty()) {
      const auto parsed = parse_workload_kind(kind);
      if (!parsed.ok())
        return wrong_in_column(kKind, kind, "training, fine-tuning, batch-inference, realtime-inference, evaluation or notebook");
      n.kind = parsed.value();
    }
    if (const std::string answer = text(kCheckpointable); !answer.empty()) {
      TRY_ASSIGN(n.checkpointable, parse_yes_no(answer));
    }
    TRY(read_sizes(r, n));
    TRY(read_rate(r, n));
    TRY(read_presence(r, n));
    return n;
  }

  Status read_sizes(const CsvRecord& r, Node& n) {
    const auto count = [&](Column c, int64_t max, int64_t& out) -> Status {
      const std::string_view text = trim(r.at(columns_[c]));
      if (text.empty()) return {};
      const auto value = parse_int(text);
      if (!value || *value < 0 || *value > max) return wrong_in_column(c, text, fmt::format("a whole number from 0 to {}", max));
      out = *value;
      return {};
    };
    TRY(count(kGpuCount, 1024, n.gpu_count));
    TRY(count(kVcpus, 65536, n.vcpus));
    if (const std::string_view text = trim(r.at(columns_[kMemoryGib])); !text.empty()) {
      const auto gib = parse_number(text);
      if (!gib || *gib < 0 || *gib > 1e6) return wrong_in_column(kMemoryGib, text, "a number of GiB from 0 to 1000000");
      n.memory = Bytes::gibi(*gib);
    }
    return {};
  }

  Status read_rate(const CsvRecord& r, Node& n) {
    const std::string_view rate = trim(r.at(columns_[kRatePerHour]));
    if (rate.empty()) return {};
    Currency currency;
    if (const std::string_view code = trim(r.at(columns_[kCurrency])); !code.empty()) {
      const auto parsed = Currency::parse(code);
      if (!parsed.ok()) return wrong_in_column(kCurrency, code, "an ISO 4217 code such as USD");
      currency = parsed.value();
    }
    const auto parsed = Rate::parse_per_hour(rate, currency);
    if (!parsed.ok() || parsed.value().per_hour().count_nanos() < 0)
      return wrong_in_column(kRatePerHour, rate, "an amount of money per hour, such as 1.624");
    n.rate = parsed.value();
    return {};
  }

  Status read_presence(const CsvRecord& r, Node& n) {
    const auto instant = [&](Column c, std::optional<Instant>& out) -> Status {
      const std::string_view text = trim(r.at(columns_[c]));
      if (text.empty()) return {};
      const auto parsed = parse_instant(text, options().zoneless);
      if (!parsed.ok()) return wrong_in_column(c, text, "a time such as 2026-10-01T00:00:00Z");
      out = parsed.value();
      return {};
    };
    TRY(instant(kFrom, n.present_from));
    TRY(instant(kUntil, n.present_until));
    if (n.present_from && n.present_until && *n.present_until <= *n.present_from)
      return invalid("until: {} is not after from {}", format_utc(*n.present_until), format_utc(*n.present_from));
    return {};
  }

  std::array<int, kColumnCount> columns_{};
};

}  // namespace

std::unique_ptr<Importer> make_inventory_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<InventoryImporter>(options, sink);
}

}  // namespace stint
