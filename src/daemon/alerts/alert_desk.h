// Alerts in the daemon: rules are looked at once a minute and at what happens, what they say is kept over restarts, and
// receivers are told.
//
// One thread owns evaluator and book; it makes entries durable as rows of the event log before the book has them and anybody
// is told. Where nothing can be made durable alerts are told all the same, and their rows are written when that is possible
// again: after a crash in between they would be told once more. Couriers have a thread each; questions come from any.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/alerts/alert_config.h"
#include "daemon/alerts/alert_courier.h"
#include "daemon/alerts/alert_feed.h"
#include "daemon/service.h"

namespace stint {

/// An alert as it is shown.
struct AlertView {
  BookedAlert alert;
  std::vector<int64_t> silenced_by;  ///< ids; while it fires
};

class AlertDesk {
 public:
  struct Options {
    const LiveTelemetry* live = nullptr;    ///< what the GPUs do; outlives the desk
    std::shared_ptr<FindingBook> findings;  ///< the last audit
    Instant last_at;                        ///< of the event log, before this start
    AlertCourierOptions couriers;
    size_t rows_at_least = 1'000;  ///< of the stream, before they are written anew with what is still needed of them
  };
  /// @param service  outlives the desk and is stopped after it. @param rows  of the stream kAlertStream, oldest first.
  /// @return error for rows that cannot be read, and for receivers whose secrets cannot.
  static Result<std::unique_ptr<AlertDesk>> open(Service& service, AlertConfig config, const std::vector<std::string>& rows,
                                                 Options options);
  /// Stops.
  ~AlertDesk();
  AlertDesk(const AlertDesk&) = delete;
  AlertDesk& operator=(const AlertDesk&) = delete;

  /// Takes over rules and receivers. @return why they could not be: then all is as it was.
  Status reload(AlertConfig config);
  /// Something has happened that a rule may look at. Any thread, returns at once.
  void wake();
  /// No more evaluation and telling. The service still runs.
  void stop();

  // Questions, from any thread.
  /// Those that fire, by severity and age; with `ended` those that have, newest first, behind them.
  enum class Which : uint8_t { kFiring, kAll };
  [[nodiscard]] std::vector<AlertView> alerts(Which which) const;
  /// Those that hold or will, and those over for less than a day.
  [[nodiscard]] std::vector<Silence> silences() const;
  [[nodiscard]] std::vector<AlertReceiverState> receivers() const;
  [[nodiscard]] std::vector<AlertRule> rules() const;
  /// For /metrics.
  [[nodiscard]] AlertCounters counters() const;

  // From any thread; `done` is called on the desk's thread when it is durable, or has failed.
  /// The id is given; it holds from now on where `from` is earlier.
  void silence(Silence wish, std::function<void(Result<Silence>)> done);
  void expire(int64_t silence, std::function<void(Result<Silence>)> done);

 private:
  struct Impl;
  explicit AlertDesk(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
