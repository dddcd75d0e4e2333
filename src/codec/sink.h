// Where importers put what they read. The store implements it; tests use codec/testing_sink.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "model/bill.h"
#include "model/exchange_rate.h"
#include "model/fleet.h"
#include "model/price.h"
#include "model/queue_record.h"
#include "model/run_owner.h"
#include "model/workload.h"
#include "telemetry/rollup.h"
#include "telemetry/series.h"

namespace stint {

class Sink {
 public:
  virtual ~Sink() = default;

  /// The id of a series; the same key gives the same id. Importers cache ids, so this may be slow.
  virtual SeriesId series(const SeriesKey& key) = 0;
  /// Values are finite and in the metric's unit. Hot: once per sample or per run of samples.
  virtual void samples(SeriesId id, std::span<const Sample> samples) = 0;
  /// A stale marker: the series has no value from `at` on.
  virtual void stale(SeriesId id, Instant at) = 0;

  /// Nodes of the same name are merged field by field; the later import wins where both say something. Absences add up.
  virtual void node(const Node& node) = 0;
  virtual void run(const Run& run) = 0;
  /// Of a run that was given before. What is said later counts; what is not said then stays.
  virtual void queue_record(const QueueRecord&) {}
  virtual void partition(const PartitionNode&) {}
  virtual void bill_line(const BillLine& line) = 0;
  virtual void price(const PriceRow& price) = 0;
  /// Of two of one day and pair of currencies the later import wins.
  virtual void exchange_rate(const ExchangeRate&) {}
  virtual void tenant_rule(const TenantRule& rule) = 0;

  /// What was read and left out, or what a reader should know of the whole: one sentence, shown after the import.
  virtual void note(std::string_view) {}

  /// One row or sample is refused. @param line  1-based, 0 = not tied to a line. @param reason  says what to do.
  virtual void reject(uint64_t line, std::string_view reason) = 0;

  /// What a run of Kubernetes belongs to, and its labels; given after the run.
  virtual void run_owner(const RunOwner&) {}
};

}  // namespace stint
