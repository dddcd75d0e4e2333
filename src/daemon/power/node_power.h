// Machines by demand: how many a pool is to have is decided by sched/scaling, which they are by a CapacityBook, and they are switched,
// or made, by a Capacity: a program of the operator's, clouds, or a simulated cloud.
//
// Machines of the configuration are switched by their names. Those that are made are told to the engine as they come, are taken back
// and are gone. A machine is drained before it goes, so no work is lost, and takes work only when it can be used. The book's rows are
// a side stream of the event log, durable before any order. Machines that an operator drained, and those that broke, are left alone.
// The same scaler decides in replays (sim/world_pools.cc).
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "capacity/capacity_book.h"
#include "daemon/power/handed_machines.h"
#include "daemon/power/off_machines.h"
#include "daemon/power/power_config.h"
#include "daemon/power/power_view.h"
#include "daemon/service.h"

namespace stint {

/// The side stream of the log with the book's rows (capacity_rows.cc) and the owner's mark (power_rows.h).
inline constexpr std::string_view kPowerStream = "power";

/// Names of machines that were made and handed over, by the rows: they are there, whatever the engine's backend knows of.
/// @return error for rows that cannot be read: what was made would be taken for unknown, and ended.
Result<std::set<std::string>> machines_in_power_rows(const std::vector<std::string>& rows);

class NodePower {
 public:
  /// @param service  outlives it and is stopped after it. @param off  is told what is off; outlives it. @param rows  of kPowerStream,
  ///   oldest first; machines_in_power_rows() can read them.
  /// @param resting  as of rest().
  NodePower(Service& service, OffMachines& off, PowerConfig config, const std::vector<std::string>& rows,
            std::set<std::string> resting = {});
  /// Ends programs that run.
  ~NodePower();
  NodePower(const NodePower&) = delete;
  NodePower& operator=(const NodePower&) = delete;

  // From any thread.

  /// What runs goes on.
  void reconfigure(PowerConfig config);
  /// Somebody wants the machine. One that is not on by our own doing is switched on, and takes work once it can be used.
  /// @param heard  whether that is so, from another thread; if not, nothing is done.
  void want(std::string node, std::function<void(bool comes)> heard);
  /// All machines that are to rest, in place of those told before: of the pools' each that takes no work is switched off once it is empty,
  /// and on again when somebody wants it, not because jobs wait.
  void rest(std::set<std::string> machines);
  /// As of the last look.
  [[nodiscard]] PowerView view() const;
  /// Has all listed that there is, ends what is not known, and answers, from another thread, when that was ordered.
  void sweep(std::function<void(const Result<PowerView>&)> heard);

 private:
  struct Pool {
    PowerPool config;
    sched::Scaler scaler;
    int32_t gpus_of_machine = 1;
    int32_t missing = 0;  ///< at the last step
  };
  struct Wish {
    std::string node;
    std::function<void(bool comes)> heard;
  };
  struct Sweep {
    std::function<void(const Result<PowerView>&)> heard;
    bool asked = false;
  };
  /// What the engine knows.
  struct World {
    std::map<std::string, NodeView> nodes;
    int64_t waiting_gpus = 0;
    [[nodiscard]] const NodeView* node(const std::string& name) const;
  };

  void run();
  void take_over(PowerConfig config);
  void make_capacity(const PowerConfig& config);
  void adopt_switched(const World& world);
  void hear(std::vector<Wish> wishes);
  /// @return when to look again, should nothing happen before.
  std::optional<Instant> pass(Instant now);
  [[nodiscard]] World look();
  void look_after_leaving(const World& world, CapacityAsk& ask);
  void scale(Pool& pool, const World& world, Instant now, int64_t& waiting, CapacityAsk& ask);
  void drain_idle(const Pool& pool, const World& world, int32_t count, CapacityAsk& ask);
  bool give(CapacityStep& step, Instant now);
  void tell(const CapacityStep& step);
  void report(std::vector<MachineReport> reports);
  Status write(const CapacityStep& step);
  void show(const CapacityStep& step, Instant now);
  void answer_sweeps(const CapacityHeard& heard, const CapacityStep& step);
  [[nodiscard]] bool is_switched(const std::string& machine) const;
  [[nodiscard]] bool rests(const std::string& machine) const;
  void wake_up();

  Service& service_;
  OffMachines& off_;
  // The thread's own:
  PowerConfig config_;
  std::string owner_;       ///< the mark on what is made: one a log, so that no daemon takes another's machines for its own
  bool is_marked_ = false;  ///< the log says so
  std::vector<std::string> old_off_;  ///< by an older log
  CapacityBook book_;
  std::unique_ptr<Capacity> capacity_;
  HandedMachines handed_;
  std::vector<Pool> pools_;
  std::set<std::string> switched_;      ///< machines of the configuration that are in a pool
  std::set<std::string> wanted_;        ///< of them, whatever the pool needs
  std::set<std::string> resting_;       ///< of all, whatever the pool needs
  size_t rows_there_ = 0;               ///< of the stream
  std::vector<UnreadProvider> unread_;  ///< by the last list
  bool at_once_ = false;                ///< look again without waiting
  std::vector<Sweep> sweeping_;

  mutable std::mutex lock_;
  std::condition_variable wake_;
  bool stopping_ = false;                      // guarded
  std::optional<PowerConfig> next_;            // guarded
  std::vector<Wish> wishes_;                   // guarded
  std::optional<std::set<std::string>> rest_;  // guarded: the next
  std::vector<Sweep> sweeps_;                  // guarded
  bool news_ = false;                          // guarded: the Capacity has some
  PowerView view_;                             // guarded
  std::thread thread_;
};

}  // namespace stint
