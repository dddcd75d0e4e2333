// Threads that carry out the orders of a Capacity, and what they have heard. Orders are begun and never waited for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/time.h"
#include "capacity/capacity.h"

namespace stint {

/// For any number of threads. What works on `begin`'s behalf is over when it is destroyed: it is the last member of its owner.
class CapacityWorkers {
 public:
  /// @param heard  called from a worker when hear() has something to tell; may be none.
  explicit CapacityWorkers(std::function<void()> heard);
  /// Waits for what is under way; what waits is not begun.
  ~CapacityWorkers();
  CapacityWorkers(const CapacityWorkers&) = delete;
  CapacityWorkers& operator=(const CapacityWorkers&) = delete;

  void begin(std::function<CapacityHeard()> work);
  /// The order's machines, each a piece of work. @param make  called by workers, with one of the order's names
  void begin_each(const CreateOrder& order,
                  std::function<CapacityAnswer(const CreateOrder& order, const std::string& machine_name)> make);
  /// What was heard since the last call.
  CapacityHeard hear();
  /// Waits until there is something to hear, or nothing is under way.
  void wait();
  [[nodiscard]] bool stopping();
  /// For workers: at most ten seconds, less when all is to end.
  void pause(Duration time);

 private:
  void work();

  const std::function<void()> heard_;
  std::mutex lock_;
  std::condition_variable work_there_, news_;
  bool stopping_ = false;                            // guarded
  std::deque<std::function<CapacityHeard()>> todo_;  // guarded
  size_t under_way_ = 0;                             // guarded
  CapacityHeard answers_;                            // guarded
  std::vector<std::thread> threads_;
};

/// Puts what `more` heard behind it.
void add_heard(CapacityHeard& all, CapacityHeard&& more);
/// Is there anything?
bool has_heard(const CapacityHeard& heard);

}  // namespace stint
