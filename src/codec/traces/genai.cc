// Alibaba's GenAI serving trace (alibaba/clusterdata, cluster-trace-v2026-GenAI): per container and minute the
// GPU's duty cycle in percent, or the GPU memory in bytes; columns value, timestamp_anon, container_ip in any
// order. The archives of the publisher hold one CSV each.
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "codec/csv_importer.h"
#include "codec/decimal.h"

namespace stint {
namespace {

class GenaiImporter final : public CsvImporter {
 public:
  GenaiImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) {
    if (contains_ignoring_case(options.source, "memory"))
      metric_ = Metric::kMemoryUsed;
    else if (contains_ignoring_case(options.source, "duty"))
      metric_ = Metric::kUtilization;
  }

 protected:
  Status read_header(const CsvRecord& record) override {
    constexpr std::array<std::string_view, 3> kRequired = {"value", "timestamp_anon", "container_ip"};
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, kRequired));
    value_ = header.find(kRequired[0]);
    time_ = header.find(kRequired[1]);
    container_ = header.find(kRequired[2]);
    return {};
  }

  void read_row(const CsvRecord& record) override {
    const auto value = parse_number(trim(record.at(value_)));
    const auto at = parse_unix_time(trim(record.at(time_)));
    const std::string_view container = trim(record.at(container_));
    if (!value) return reject(record, fmt::format("'{}' is no value", excerpt(record.at(value_))));
    if (!at) return reject(record, fmt::format("'{}' is no time in seconds since 1970", excerpt(record.at(time_))));
    if (container.empty()) return reject(record, "container_ip is empty: the row has no owner");
    if (const Metric metric = metric_.value_or(Metric::kMemoryUsed); !is_plausible(metric, *value))
      return reject(record, implausible(metric, *value));
    const size_t index = container_index(container);
    if (metric_) return take(index, {*at, *value});
    undecided_.push_back({index, {*at, *value}});
    // A duty cycle ends at 100; thousands of values and none above are no bytes of GPU memory.
    if (*value > 100)
      decide(Metric::kMemoryUsed);
    else if (undecided_.size() == 4096)
      decide(Metric::kUtilization);
  }

  void end_rows() override {
    if (!metric_) decide(Metric::kUtilization);
  }

 private:
  struct Container {
    std::string ip;
    SeriesId id;
  };

  void decide(Metric metric) {
    metric_ = metric;
    for (const auto& [index, sample] : undecided_)
      take(index, sample);
    undecided_ = {};
  }

  size_t container_index(std::string_view ip) {
    const auto [it, fresh] = index_by_ip_.try_emplace(std::string(ip), containers_.size());
    if (fresh) containers_.push_back({std::string(ip), {}});
    return it->second;
  }

  void take(size_t index, Sample sample) {
    Container& container = containers_[index];
    if (!container.id.valid()) {
      SeriesKey key;
      key.device.node = "pod-" + container.ip.substr(0, 8);
      key.device.uuid = container.ip;  // eight characters can be those of two containers
      key.device.index = 0;
      key.holder.pod = container.ip;
      key.metric = *metric_;
      container.id = sink().series(key);
    }
    sink().samples(container.id, std::span(&sample, 1));
  }

  int value_ = -1;
  int time_ = -1;
  int container_ = -1;
  std::optional<Metric> metric_;  ///< none: to be told from the values
  std::vector<std::pair<size_t, Sample>> undecided_;
  std::vector<Container> containers_;
  std::unordered_map<std::string, size_t> index_by_ip_;
};

}  // namespace

std::unique_ptr<Importer> make_genai_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<GenaiImporter>(options, sink);
}

}  // namespace stint
