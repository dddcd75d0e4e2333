// `nvidia-smi --query-gpu=… --format=csv[,nounits]`, once or in a loop. Columns: nvidia-smi --help-query-gpu.
//
// Columns are found by name; header lines may come again (loops restarted, files joined) and may differ. Times
// are local and name no zone. `[N/A]` and its relatives are no sample; anything else that is no number refuses
// the row.
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/text.h"
#include "codec/csv.h"
#include "codec/decimal.h"

namespace stint {
namespace {

enum class Role : uint8_t { kOther, kTimestamp, kIndex, kUuid, kName, kMetric, kMask, kReason };

struct ColumnName {
  std::string_view name;
  Role role;
  Metric metric = Metric::kUtilization;
  std::string_view unit;  ///< as the tool writes it
  double factor = 1;      ///< from that unit to the metric's; for kReason the bit (nvml.h, nvmlClocksEventReason…)
};

constexpr std::array kSmiColumns = {
    ColumnName{"timestamp", Role::kTimestamp},
    ColumnName{"index", Role::kIndex},
    ColumnName{"uuid", Role::kUuid},
    ColumnName{"gpu_uuid", Role::kUuid},
    ColumnName{"name", Role::kName},
    ColumnName{"gpu_name", Role::kName},
    ColumnName{"utilization.gpu", Role::kMetric, Metric::kUtilization, "%"},
    ColumnName{"utilization.memory", Role::kMetric, Metric::kMemoryBandwidth, "%"},
    ColumnName{"utilization.encoder", Role::kMetric, Metric::kEncoder, "%"},
    ColumnName{"utilization.decoder", Role::kMetric, Metric::kDecoder, "%"},
    ColumnName{"memory.total", Role::kMetric, Metric::kMemoryTotal, "MiB", kMebibyte},
    ColumnName{"memory.used", Role::kMetric, Metric::kMemoryUsed, "MiB", kMebibyte},
    ColumnName{"power.draw", Role::kMetric, Metric::kPower, "W"},
    ColumnName{"power.draw.average", Role::kMetric, Metric::kPower, "W"},
    ColumnName{"power.draw.instant", Role::kMetric, Metric::kPower, "W"},
    ColumnName{"power.limit", Role::kMetric, Metric::kPowerLimit, "W"},
    ColumnName{"enforced.power.limit", Role::kMetric, Metric::kPowerLimit, "W"},
    ColumnName{"temperature.gpu", Role::kMetric, Metric::kTemperature, "C"},
    ColumnName{"temperature.memory", Role::kMetric, Metric::kMemoryTemperature, "C"},
    ColumnName{"clocks.sm", Role::kMetric, Metric::kSmClock, "MHz"},
    ColumnName{"clocks.current.sm", Role::kMetric, Metric::kSmClock, "MHz"},
    ColumnName{"clocks.mem", Role::kMetric, Metric::kMemoryClock, "MHz"},
    ColumnName{"clocks.current.memory", Role::kMetric, Metric::kMemoryClock, "MHz"},
    ColumnName{"ecc.errors.uncorrected.volatile.total", Role::kMetric, Metric::kEccDoubleBit},
    ColumnName{"clocks_event_reasons.active", Role::kMask, Metric::kThrottleReasons},
    ColumnName{"clocks_event_reasons.gpu_idle", Role::kReason, Metric::kThrottleReasons, {}, 0x1},
    ColumnName{"clocks_event_reasons.applications_clocks_setting", Role::kReason, Metric::kThrottleReasons, {}, 0x2},
    ColumnName{"clocks_event_reasons.sw_power_cap", Role::kReason, Metric::kThrottleReasons, {}, 0x4},
    ColumnName{"clocks_event_reasons.hw_slowdown", Role::kReason, Metric::kThrottleReasons, {}, 0x8},
    ColumnName{"clocks_event_reasons.sync_boost", Role::kReason, Metric::kThrottleReasons, {}, 0x10},
    ColumnName{"clocks_event_reasons.sw_thermal_slowdown", Role::kReason, Metric::kThrottleReasons, {}, 0x20},
    ColumnName{"clocks_event_reasons.hw_thermal_slowdown", Role::kReason, Metric::kThrottleReasons, {}, 0x40},
    ColumnName{"clocks_event_reasons.hw_power_brake_slowdown", Role::kReason, Metric::kThrottleReasons, {}, 0x80},
};

/// `memory.used [MiB]` → `memory.used`, `MiB`.
struct HeaderCell {
  std::string name;
  std::string_view unit;

  explicit HeaderCell(std::string_view cell) {
    cell = trim(cell);
    if (const size_t bracket = cell.find('['); bracket != std::string_view::npos && cell.ends_with(']')) {
      unit = cell.substr(bracket + 1, cell.size() - bracket - 2);
      cell = trim(cell.substr(0, bracket));
    }
    name = to_lower(cell);
    constexpr std::string_view kOldPrefix = "clocks_throttle_reasons.";  // until driver 535
    if (name.starts_with(kOldPrefix)) name.replace(0, kOldPrefix.size(), "clocks_event_reasons.");
  }
  [[nodiscard]] const ColumnName* column() const {
    for (const ColumnName& known : kSmiColumns)
      if (known.name == name) return &known;
    return nullptr;
  }
};

bool is_header(const CsvRecord& record) {
  for (const std::string_view field : record.fields)
    if (HeaderCell(field).column() != nullptr) return true;
  return false;
}

/// `[N/A]`, `[Not Supported]`, `[Unknown Error]`, `N/A`, `ERR!`: the tool says that it does not know.
bool is_absent(std::string_view cell) {
  return cell.empty() || cell.front() == '[' || cell == "N/A" || cell == "ERR!" || cell == "Unknown Error" ||
         cell == "Not Supported";
}

constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();

/// A measuring cell. @return none when it is no number in `unit`; NaN when it is absent.
std::optional<double> parse_cell(std::string_view cell, std::string_view unit) {
  double value = 0;
  // A separator follows every cell, so reading ends there.  NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage)
  const char* const end = cell.empty() ? nullptr : read_decimal(cell.data(), value);
  if (end == nullptr) return is_absent(cell) ? std::optional(kAbsent) : std::nullopt;
  const std::string_view rest = trim(cell.substr(static_cast<size_t>(end - cell.data())));
  return rest.empty() || rest == unit ? std::optional(value) : std::nullopt;
}

/// `0x0000000000000004`, or decimal.
std::optional<double> parse_mask(std::string_view cell) {
  if (is_absent(cell)) return kAbsent;
  if (!cell.starts_with("0x")) return parse_cell(cell, {});
  uint64_t mask = 0;
  for (const char c : cell.substr(2)) {
    const auto digit = std::string_view("0123456789abcdef").find(static_cast<char>(is_digit(c) ? c : c | 0x20));
    if (digit == std::string_view::npos || cell.size() > 18) return std::nullopt;
    mask = mask << 4 | digit;
  }
  return static_cast<double>(mask);
}

class NvidiaSmiImporter final : public Importer {
 public:
  NvidiaSmiImporter(const ImportOptions& options, Sink& sink)
      : options_(options), sink_(sink), reader_({.quotes = CsvQuotes::kNone, .source = options.source}) {}

  Status feed(std::string_view bytes) override {
    for (;;) {
      TRY_ASSIGN(const bool ready, reader_.next(bytes));
      if (!ready) return {};
      TRY(read_record(reader_.record()));
    }
  }

  Status finish() override {
    TRY_ASSIGN(const bool ready, reader_.finish());
    if (ready) TRY(read_record(reader_.record()));
    if (columns_.empty()) return invalid("{}: empty: a header line is expected first (nvidia-smi --format=csv)", options_.source);
    deliver();
    return {};
  }

 private:
  static constexpr size_t kBatch = 64;

  /// A GPU of this file, with a place per metric.
  struct Gpu {
    DeviceKey key;
    struct Stream {
      SeriesId id;  ///< invalid until the first value
      std::vector<Sample> batch;
    };
    std::array<Stream, kMetricCount> streams;
  };

  Status read_record(const CsvRecord& record) {
    if (columns_.empty()) return read_header(record);
    std::string problem;
    if (record.fields.size() == columns_.size()) {
      problem = read_row(record);
      if (problem.empty()) return {};
    } else {
      problem = fmt::format("{} fields where the header has {}", record.fields.size(), columns_.size());
    }
    if (is_header(record)) return read_header(record);
    sink_.reject(record.line, problem);
    return {};
  }

  Status read_header(const CsvRecord& record) {
    std::vector<const ColumnName*> columns;
    bool has_gpu = false;
    bool has_metric = false;
    bool has_mask = false;
    std::array<bool, kMetricCount> taken{};
    has_time_ = false;
    for (const std::string_view field : record.fields) {
      const HeaderCell cell(field);
      const ColumnName* column = cell.column();
      if (column != nullptr) {
        const ColumnName& known = *column;
        if (!cell.unit.empty() && cell.unit != known.unit)
          return invalid("{}:{}: {} is in {}, {} is expected", options_.source, record.line, cell.name, excerpt(cell.unit),
                         known.unit);
        has_time_ |= known.role == Role::kTimestamp;
        has_gpu |= known.role == Role::kIndex || known.role == Role::kUuid;
        has_mask |= known.role == Role::kMask;
        has_metric |= known.role >= Role::kMetric;
        // Of two columns for one metric (power.draw, power.draw.instant) the first counts.
        if (known.role == Role::kMetric && std::exchange(taken[static_cast<size_t>(known.metric)], true)) column = nullptr;
      }
      columns.push_back(column);
    }
    if (!has_metric)
      return invalid(
          "{}:{}: no column Stint knows: a header such as 'timestamp, index, uuid, utilization.gpu [%]' is expected "
          "(nvidia-smi --format=csv, without noheader)",
          options_.source, record.line);
    if (!has_gpu)
      return invalid("{}:{}: add uuid or index to --query-gpu: the rows do not say which GPU they are of", options_.source,
                     record.line);
    if (options_.node.empty()) return invalid("{}: the file does not name its machine: pass --node NAME", options_.source);
    if (!has_time_ && !options_.at)
      return invalid("{}:{}: the rows have no time: add timestamp to --query-gpu or pass --at TIME", options_.source,
                     record.line);
    // The mask says all that the reasons one by one do.
    for (const ColumnName*& column : columns)
      if (has_mask && column != nullptr && column->role == Role::kReason) column = nullptr;
    columns_ = std::move(columns);
    return {};
  }

  /// @return what is wrong with the row, "" = nothing.
  std::string read_row(const CsvRecord& record) {
    std::array<double, kMetricCount> values;
    values.fill(kAbsent);
    std::array<bool, kMetricCount> listed{};
    std::string_view index;
    std::string_view uuid;
    std::string_view name;
    Instant at = options_.at.value_or(Instant());
    for (size_t i = 0; i < columns_.size(); ++i) {
      const ColumnName* const known = columns_[i];
      if (known == nullptr) continue;
      const std::string_view cell = trim(record.fields[i]);
      const auto slot = static_cast<size_t>(known->metric);
      std::optional<double> value = kAbsent;
      switch (known->role) {
        case Role::kTimestamp:
          if (const auto time = parse_time(cell))
            at = *time;
          else
            return fmt::format("'{}' is no time", excerpt(cell));
          continue;
        case Role::kIndex: index = cell; continue;
        case Role::kUuid: uuid = cell; continue;
        case Role::kName: name = cell; continue;
        case Role::kMetric:
          value = parse_cell(cell, known->unit);
          if (value) *value *= known->factor;
          break;
        case Role::kMask: value = parse_mask(cell); break;
        case Role::kReason:
          if (cell == "Active" || cell == "Not Active") {
            value = (std::isnan(values[slot]) ? 0 : values[slot]) + (cell == "Active" ? known->factor : 0);
          } else {
            value = is_absent(cell) ? std::optional(values[slot]) : std::nullopt;
          }
          break;
        case Role::kOther: continue;
      }
      if (!value)
        return fmt::format("'{}' is no value of {}{}{}", excerpt(cell), known->name, known->unit.empty() ? "" : " in ",
                           known->unit);
      values[slot] = *value;
      listed[slot] = true;
    }
    if (!is_absent(index) && !parse_int(index)) return fmt::format("'{}' is no GPU index", excerpt(index));
    if (is_absent(index) && is_absent(uuid)) return "the row does not say which GPU it is of";
    for (size_t slot = 0; slot < kMetricCount; ++slot) {
      const auto metric = static_cast<Metric>(slot);
      if (listed[slot] && !std::isnan(values[slot]) && !is_plausible(metric, values[slot]))
        return implausible(metric, values[slot]);
    }
    Gpu& gpu = find_gpu(index, uuid, name);
    for (size_t slot = 0; slot < kMetricCount; ++slot)
      if (listed[slot]) take(gpu, static_cast<Metric>(slot), at, values[slot]);
    return {};
  }

  /// Rows of one second differ in the last digits only: the minute is worked out once.
  std::optional<Instant> parse_time(std::string_view cell) {
    constexpr size_t kToMinute = 17;  // "2020/11/12 13:48:"
    if (minute_text_.size() == kToMinute && cell.size() >= kToMinute + 2 && cell.starts_with(minute_text_) &&
        cell.size() <= kToMinute + 12) {
      const char* const seconds = cell.data() + kToMinute;
      Digits digits;
      const char* const end = read_digits(seconds, digits);
      if (end == cell.data() + cell.size() && digits.count - digits.decimals == 2 && digits.decimals <= 9 &&
          (digits.decimals > 0 || cell.size() == kToMinute + 2)) {
        uint64_t ns = digits.all;
        for (int i = digits.decimals; i < 9; ++i)
          ns *= 10;
        if (ns < 60'000'000'000) return minute_ + Duration::nanoseconds(static_cast<int64_t>(ns));
      }
    }
    const auto time = parse_instant(cell, options_.zoneless);
    if (!time.ok()) return std::nullopt;
    if (cell.size() >= kToMinute) {
      const std::string minute(cell.substr(0, kToMinute));
      const auto start = parse_instant(minute + "00", options_.zoneless);
      if (start.ok() && minute.back() == ':') {
        minute_text_ = minute;
        minute_ = *start;
      }
    }
    return *time;
  }

  Gpu& find_gpu(std::string_view index, std::string_view uuid, std::string_view name) {
    identity_.assign(index).append(1, '\0').append(uuid).append(1, '\0').append(name);
    const auto [it, fresh] = gpus_.try_emplace(identity_, nullptr);
    if (fresh) {
      it->second = std::make_unique<Gpu>();
      order_.push_back(it->second.get());
      DeviceKey& key = it->second->key;
      key.node = options_.node;
      if (!is_absent(uuid)) key.uuid = uuid;
      if (const auto number = parse_int(index); number && *number >= 0 && *number < 1'000'000)
        key.index = static_cast<int>(*number);
      if (!is_absent(name)) key.model = name;
    }
    return *it->second;
  }

  /// @param value  NaN: the series has none at that time.
  void take(Gpu& gpu, Metric metric, Instant at, double value) {
    Gpu::Stream& stream = gpu.streams[static_cast<size_t>(metric)];
    if (std::isnan(value)) {
      if (!stream.id.valid()) return;
      deliver(stream);
      sink_.stale(stream.id, at);
      return;
    }
    if (!stream.id.valid()) {
      stream.id = sink_.series({.device = gpu.key, .holder = {}, .metric = metric});
      stream.batch.reserve(kBatch);
    }
    stream.batch.push_back({at, value});
    if (stream.batch.size() == kBatch) deliver(stream);
  }

  void deliver(Gpu::Stream& stream) {
    if (!stream.batch.empty()) sink_.samples(stream.id, stream.batch);
    stream.batch.clear();
  }

  void deliver() {
    for (Gpu* const gpu : order_)
      for (Gpu::Stream& stream : gpu->streams)
        deliver(stream);
  }

  ImportOptions options_;
  Sink& sink_;
  CsvReader reader_;
  std::vector<const ColumnName*> columns_;  ///< of the header in force, null = not used; empty = none seen
  bool has_time_ = false;
  std::string minute_text_;  ///< the cell's first 17 characters
  Instant minute_;           ///< what they stand for
  std::string identity_;
  std::unordered_map<std::string, std::unique_ptr<Gpu>> gpus_;  ///< by index, uuid and name as written
  std::vector<Gpu*> order_;                                     ///< as first seen
};

}  // namespace

std::unique_ptr<Importer> make_nvidia_smi_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<NvidiaSmiImporter>(options, sink);
}

}  // namespace stint
