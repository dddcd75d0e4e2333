// An operator's program as a Capacity: it starts and stops machines by their names.
//
//   PROGRAM… start NAME…   has them started; prints `NAME: why` for each that cannot be had
//   PROGRAM… stop NAME…    has them stopped; one that is not there is no error
//   PROGRAM… list          prints `NAME STATE` for each of its machines that is not off: coming, ready or going
//
// It exits with 0 when it has done so; told twice it does no harm. After any other exit, or none in time, an order may have been carried
// out or not. A program without `list` has started a machine when its start ends: the machine can be used then.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "capacity/capacity.h"

namespace stint {

struct CapacityProgram {
  std::vector<std::string> command;  ///< the program and its first arguments
  std::string start = "start", stop = "stop";
  bool lists = false;                         ///< it knows `list`
  bool one_by_one = false;                    ///< it takes one name at a time
  Duration patience = Duration::minutes(10);  ///< for each call
  /// It gets what processors others leave, as do those it starts, and is ended with this object. If not, it is waited for.
  bool in_background = true;
  bool operator==(const CapacityProgram&) const = default;
};

class ProgramCapacity final : public Capacity {
 public:
  /// @param heard  called from another thread when hear() has something to tell; may be none.
  ProgramCapacity(CapacityProgram program, std::string owner, std::function<void()> heard = {});
  /// Ends programs that run.
  ~ProgramCapacity() override;
  ProgramCapacity(const ProgramCapacity&) = delete;
  ProgramCapacity& operator=(const ProgramCapacity&) = delete;

  [[nodiscard]] std::string_view name() const override { return "program"; }
  void offer(Instant) override {}
  void create(const CreateOrder& order, Instant now) override;
  void destroy(const DestroyOrder& order, Instant now) override;
  void list(int64_t call, Instant now) override;
  CapacityHeard hear(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_at() const override { return {}; }
  /// Waits until there is something to hear, or no program runs. For who has nothing else to do.
  void wait();

 private:
  /// One run of the program, on a thread of its own.
  struct Run {
    std::thread thread;
    bool has_ended = false;  // guarded
  };
  void begin(std::vector<std::string> arguments, std::function<CapacityHeard(const Result<std::string>&)> read);

  CapacityProgram program_;
  std::string owner_;
  std::function<void()> heard_;
  std::atomic<bool> stopping_ = false;
  std::mutex lock_;
  std::condition_variable news_;
  CapacityHeard answers_;  // guarded
  std::list<Run> runs_;    // the caller's
};

/// What the program printed for `start`: the names that cannot be had, and why.
std::vector<std::pair<std::string, std::string>> read_refusals(std::string_view output, const std::vector<std::string>& names);
/// What it printed for `list`. @return error with the line that is none.
Result<std::vector<ListedMachine>> read_program_list(std::string_view output, std::string_view owner);

}  // namespace stint
