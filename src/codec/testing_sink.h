// A Sink that remembers everything: for tests, fuzz targets and benchmarks.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codec/bills/source_columns.h"
#include "codec/sink.h"

namespace stint {

class TestingSink : public Sink {
 public:
  SeriesId series(const SeriesKey& key) override {
    const auto [it, fresh] = ids.try_emplace(key, static_cast<uint32_t>(keys.size()));
    if (fresh) {
      keys.push_back(key);
      points.emplace_back();
    }
    return it->second;
  }
  void samples(SeriesId id, std::span<const Sample> batch) override {
    points[id.index()].insert(points[id.index()].end(), batch.begin(), batch.end());
  }
  void stale(SeriesId id, Instant at) override { stale_marks.emplace_back(id, at); }
  void node(const Node& n) override { nodes.push_back(n); }
  void run(const Run& r) override { runs.push_back(r); }
  void queue_record(const QueueRecord& r) override { queue_records.push_back(r); }
  void run_owner(const RunOwner& o) override { run_owners.push_back(o); }
  void partition(const PartitionNode& p) override { partitions.push_back(p); }
  /// As the History does: what is no tag goes beside the line.
  void bill_line(const BillLine& b) override {
    bill.push_back(b);
    source_columns.emplace_back();
    std::erase_if(bill.back().tags, [this](const Tag& tag) {
      if (tag.first != kSourceColumnsTag) return false;
      source_columns.back() = tag.second;
      return true;
    });
  }
  void price(const PriceRow& p) override { prices.push_back(p); }
  void exchange_rate(const ExchangeRate& r) override { exchange_rates.push_back(r); }
  void tenant_rule(const TenantRule& r) override { rules.push_back(r); }
  void note(std::string_view text) override { notes.emplace_back(text); }
  void reject(uint64_t line, std::string_view reason) override { rejected.emplace_back(line, reason); }

  [[nodiscard]] size_t sample_count() const {
    size_t n = 0;
    for (const auto& p : points)
      n += p.size();
    return n;
  }

  std::map<SeriesKey, SeriesId> ids;
  std::vector<SeriesKey> keys;
  std::vector<std::vector<Sample>> points;  // by SeriesId
  std::vector<std::pair<SeriesId, Instant>> stale_marks;
  std::vector<Node> nodes;
  std::vector<Run> runs;
  std::vector<QueueRecord> queue_records;
  std::vector<RunOwner> run_owners;
  std::vector<PartitionNode> partitions;
  std::vector<BillLine> bill;
  std::vector<std::string> source_columns;  ///< of each line: kSourceColumnsTag
  std::vector<PriceRow> prices;
  std::vector<ExchangeRate> exchange_rates;
  std::vector<TenantRule> rules;
  std::vector<std::string> notes;
  std::vector<std::pair<uint64_t, std::string>> rejected;
};

}  // namespace stint
