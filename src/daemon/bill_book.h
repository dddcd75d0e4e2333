// What each client pays for a calendar month (UTC), by queue and machine, from the postings of the event log.
//
// A run that reaches over a month's end is paid in both, in proportion to its time in each, and the parts sum to the posting
// exactly. What runs has not been posted yet: it is on the bill once it has ended, or its machine's price has changed.
// Postings are read through a connection of the book's own, on its own thread, and each once: the engine is not asked.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/money.h"
#include "store/event_log.h"

namespace stint {

struct ClientBillLine {
  std::string queue;
  std::string node;
  int64_t runs = 0;             ///< with time in this month
  int64_t micro_gpu_hours = 0;  ///< held, millionths
  Money amount;
};

struct ClientBill {
  std::string client;
  std::vector<ClientBillLine> lines;  ///< ascending by queue, then node
  /// Of its lines.
  [[nodiscard]] ClientBillLine total() const;
};

/// Postings summed by month; grows by what is new.
class BillSums {
 public:
  void add(const RunPosting& posting);
  /// Ascending by client. @param month  begins with a calendar month.
  [[nodiscard]] std::vector<ClientBill> of(Instant month) const;
  /// What tells that postings are not as the daemon wrote them, a sentence each (EventLog::check_postings(), as the book was opened).
  std::vector<std::string> problems;
  /// Those with postings of a client for which `wanted` is true, newest first.
  [[nodiscard]] std::vector<Instant> months(const std::function<bool(std::string_view)>& wanted) const;

 private:
  /// Month's beginning, client, queue, node.
  using Key = std::tuple<Instant, std::string, std::string, std::string>;
  struct Sum {
    int64_t runs = 0;
    int64_t micro_gpu_hours = 0;
    Money amount;
  };
  std::map<Key, Sum> sums_;
};

class BillBook {
 public:
  /// On the book's thread: keep it short.
  using Answer = std::function<void(const Result<const BillSums*>&)>;

  /// @param place  of the event log, as EventLog::open() takes it; opened when first asked.
  explicit BillBook(std::string place);
  /// Answers who asked before, then ends.
  ~BillBook();
  BillBook(const BillBook&) = delete;
  BillBook& operator=(const BillBook&) = delete;

  /// With all that is posted by now. From any thread.
  void ask(Answer answer);

 private:
  void run();
  Status read_on();

  std::string place_;
  // The book's thread alone.
  std::optional<EventLog> log_;
  BillSums sums_;
  int64_t read_ = 0;  ///< number of the last posting in the sums

  std::mutex lock_;
  std::condition_variable wake_;
  std::deque<Answer> asked_;  // guarded
  bool stopping_ = false;     // guarded
  std::thread thread_;
};

}  // namespace stint
