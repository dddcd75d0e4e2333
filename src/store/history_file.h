// The History file: one SQLite database (WAL) that is imported into, audited, replayed and reported from.
// Schema: docs/formats.md. Every import is one transaction, so a kill at any instant leaves the file as it
// was before or after that import; the same bytes imported twice change nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "codec/sink.h"
#include "model/exchange_rate.h"
#include "model/history.h"
#include "model/proposal.h"
#include "store/bill_delivery.h"
#include "telemetry/usage.h"

namespace stint {

enum class OpenMode { kReadOnly, kReadWrite, kCreate };

struct HistoryInfo {
  int schema_version = 0;
  Interval telemetry;  ///< first to last hour with a rollup
  Interval billed;     ///< charge periods
  uint64_t nodes = 0, devices = 0, series = 0, rollup_days = 0, runs = 0, bill_lines = 0, prices = 0, exchange_rates = 0,
           imports = 0, rejected = 0;
  int64_t file_bytes = 0;
};

/// What an import touched.
struct ImportReach {
  uint64_t nodes = 0;
  uint64_t devices = 0;
};
inline constexpr size_t kFirstRejections = 10;

class HistoryFile {
 public:
  /// @param patience  how long to wait while another process writes, before an error.
  static Result<HistoryFile> open(const std::string& path, OpenMode mode, Duration patience = Duration::seconds(10));
  HistoryFile(HistoryFile&&) noexcept;
  HistoryFile& operator=(HistoryFile&&) noexcept;
  ~HistoryFile();

  /// An import in progress. Destroyed without commit() = rolled back.
  class Import : public Sink {
   public:
    /// What follows comes from this file, of several that are one import.
    virtual void begin_file(std::string_view name) = 0;
    /// @return the record as stored; accepted etc. are filled in here.
    virtual Result<ImportRecord> commit(std::string_view fingerprint) = 0;
    /// How many nodes and devices (the machines themselves not counted) were named so far.
    [[nodiscard]] virtual ImportReach reach() const = 0;
    /// The first rejections, at most kFirstRejections; all are counted in the record.
    [[nodiscard]] virtual const std::vector<RejectedRow>& first_rejections() const = 0;
    /// What the importer noted, in order (Sink::note).
    [[nodiscard]] virtual const std::vector<std::string>& notes() const = 0;
    /// After commit(): the bills whose place this one took.
    [[nodiscard]] virtual const std::vector<ReplacedBill>& replaced_bills() const = 0;
  };
  /// @param now  written into the record; the caller owns the clock.
  Result<std::unique_ptr<Import>> begin_import(std::string_view kind, std::string_view source, Instant now,
                                               DeliveryOptions delivery = {});
  /// The record of an import of the same bytes, if there was one.
  Result<std::optional<ImportRecord>> find_import(std::string_view kind, std::string_view fingerprint);

  /// All imports, ascending by id, with the bills they brought.
  Result<std::vector<ImportListing>> imports();
  /// Takes the bills of an import out again; those in whose place they counted count again.
  /// @return error when there is no such import, or it brought no bill.
  Result<DroppedImport> drop_import(int64_t id);

  /// Everything but telemetry and bills that a later delivery replaced. An empty interval = all there is. Bill lines and runs that touch the interval are included whole.
  Result<History> load(Interval period = {});
  /// For each line of load(period).bill what its bill said in columns that the line has no place for (codec/bills/source_columns.h); "" = nothing.
  Result<std::vector<std::string>> load_source_columns(Interval period = {});
  /// Bill lines that count and are billed in [begin, end) by the begin of their billing period (of their charge where they name
  /// none), in order of import. An empty interval = all.
  Result<std::vector<BillLine>> load_billed_in(Interval billing);
  /// Telemetry of `history.devices` over `history.period` (whole hours).
  Result<Usage> load_usage(const History& history);
  /// Exchange rates of days that touch the interval, ascending by day.
  Result<std::vector<ExchangeRate>> load_exchange_rates(Interval days);
  /// The currency in which amounts are shown; none = that of the bill.
  Result<std::optional<Currency>> shown_currency();
  Status show_in(Currency currency);
  /// Of bills that count, as far as the first line of each tells; ascending.
  Result<std::vector<Currency>> billed_currencies();
  Result<HistoryInfo> info();

  /// Changes that took effect, ascending by number; undone ones too.
  Result<std::vector<AppliedChange>> applied_changes();
  /// @param change  its number is given here. @return the number.
  Result<int64_t> record_change(const AppliedChange& change);
  /// The end of one. @return error when there is none of that number, it was undone already, or `at` is before it was applied.
  Status record_undo(int64_t number, Instant at);

  // For one that writes all the time and keeps so much.
  /// Joins the imports of a kind into one per UTC day: thousands of small ones are one line to a reader.
  Status fold_imports(std::string_view kind);
  /// Takes out telemetry of the UTC days before that of `cutoff`, and runs of imports of this kind that ended before it.
  Status forget_before(std::string_view kind, Instant cutoff);

  /// Integrity of the database, of every reference and of every rollup. @return the problems, empty = sound.
  Result<std::vector<std::string>> check();

  struct Impl;

 private:
  explicit HistoryFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
