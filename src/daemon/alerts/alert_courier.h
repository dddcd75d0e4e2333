// Tells one receiver what it has to be told, on its own thread: a slow receiver delays no other.
//
// There is no queue of messages: the book knows what the receiver has not been told, so nothing overflows and nothing is lost.
// What cannot be delivered is tried again, after one second, then two, up to a minute. A webhook gets one alert per request
// with an Idempotency-Key, the same when it is repeated; an Alertmanager gets lists, repeated before it would let go of them.
// Sources: Alertmanager API v2; the signature's form is that of GitHub's webhooks.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/alerts/alert_config.h"

namespace stint {

class SealKey;

/// How a receiver fares.
struct AlertReceiverState {
  std::string name;
  AlertReceiver::Kind kind = AlertReceiver::Kind::kWebhook;
  std::string server;      ///< scheme and host of the address: the rest may be secret
  int64_t waiting = 0;     ///< alerts it has to be told of now
  int64_t delivered = 0;   ///< requests it took, since the daemon's start
  int64_t failed = 0;      ///< requests it did not
  int64_t refused = 0;     ///< alerts it would not have, and will not be told of again
  std::string last_error;  ///< empty = the last one was taken
  std::optional<Instant> last_delivered, last_failed;
};

/// What a courier asks and reports, from its own thread.
struct AlertDelivery {
  std::function<std::vector<AlertNotice>(const AlertAudience&, size_t limit)> due;
  /// Returns when it is written down.
  std::function<void(std::vector<AlertWasTold>)> told;
  /// When something falls due by time alone.
  std::function<std::optional<Instant>(const AlertAudience&)> next_due;
};

struct AlertCourierOptions {
  Duration first_pause = Duration::seconds(1);  ///< doubled with each failure
  Duration longest_pause = Duration::minutes(1);
  Duration timeout = Duration::seconds(10);
  std::shared_ptr<const SealKey> secrets_key;  ///< of encrypted secrets; null = there is none
};

class AlertCourier {
 public:
  /// Reads the receiver's secret and token. @return error when a file cannot be read.
  static Result<std::unique_ptr<AlertCourier>> create(AlertReceiver receiver, std::string link, AlertDelivery delivery,
                                                      AlertCourierOptions options = {});
  void start();
  /// No more requests but the one that is on its way. Does not wait for it.
  void stop();
  /// Stops and waits.
  ~AlertCourier();
  AlertCourier(const AlertCourier&) = delete;
  AlertCourier& operator=(const AlertCourier&) = delete;

  [[nodiscard]] const AlertReceiver& receiver() const { return receiver_; }
  /// There may be something to tell.
  void wake();
  /// `waiting` is the book's to say.
  [[nodiscard]] AlertReceiverState state() const;

 private:
  AlertCourier(AlertReceiver receiver, std::string link, AlertDelivery delivery, AlertCourierOptions options);
  void run();
  /// @return whether all of it went well: else it is time for a pause.
  bool deliver(const std::vector<AlertNotice>& notices);
  bool tell_webhook(const AlertNotice& notice);
  bool tell_alertmanager(const std::vector<AlertNotice>& notices);
  enum class Answer : uint8_t { kTaken, kLater, kNever };
  Answer post(const std::string& url, const std::string& body, const std::string& key);
  void told(const std::vector<AlertNotice>& notices);

  const AlertReceiver receiver_;
  const std::string link_;
  const AlertDelivery delivery_;
  const AlertCourierOptions options_;
  std::string secret_, token_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  AlertReceiverState state_;  // guarded
  bool woken_ = false;        // guarded
  bool stopping_ = false;     // guarded
  int refusals_ = 0;          // of the same telling, one after the other: the thread's alone
  std::jthread thread_;
};

}  // namespace stint
