// Switches machines on and off by demand: what sched/scaling decides of a pool is carried out by a program of the operator's.
//
// The program is told "up NODE" or "down NODE", as Slurm tells its ResumeProgram and SuspendProgram, and exits with 0 when that
// is so; told twice it does no harm. A machine is drained before it is told to go, so no work is lost, and takes work only when
// its "up" has ended well. Which machines are off by our own doing is kept in the event log: those an operator drained, and
// those that broke, are left alone. The same scaler decides in replays (sim/world_pools.cc).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/off_machines.h"
#include "daemon/power_config.h"
#include "daemon/service.h"

namespace stint {

/// The side stream of the log with "off NODE" and "on NODE".
inline constexpr std::string_view kPowerStream = "power";

class NodePower {
 public:
  /// @param service  outlives it and is stopped after it. @param off  is told what is off; outlives it. @param rows  of kPowerStream,
  ///   oldest first.
  NodePower(Service& service, OffMachines& off, PowerConfig config, const std::vector<std::string>& rows);
  /// Ends programs that run.
  ~NodePower();
  NodePower(const NodePower&) = delete;
  NodePower& operator=(const NodePower&) = delete;

  /// From any thread. What runs goes on.
  void reconfigure(PowerConfig config);
  /// Somebody wants the machine. One that is not on by our own doing is switched on, and takes work once it can be used.
  /// @param heard  whether that is so, from another thread; if not, nothing is done.
  void want(std::string node, std::function<void(bool comes)> heard);

 private:
  enum class Doing : uint8_t { kNothing, kUp, kDown };
  /// One that is not on by our own doing.
  struct Switched {
    Doing doing = Doing::kNothing;
    bool is_off = false;     ///< its "down" ended well
    bool wanted = false;     ///< whatever the pool needs
    bool has_ended = false;  ///< the program, with `failure`
    std::string failure;     ///< empty = it went well
    Instant not_before;      ///< after a failure
    std::thread program;
  };
  struct Pool {
    PowerPool config;
    sched::Scaler scaler;
    int32_t gpus_of_node = 1;
  };
  struct Wish {
    std::string node;
    std::function<void(bool comes)> heard;
  };
  /// What the engine knows.
  struct World {
    std::map<std::string, NodeView> nodes;
    int64_t waiting_gpus = 0;
  };

  void run();
  void take_over(PowerConfig config);
  void hear(std::vector<Wish> wishes);
  void tell_off(Instant now);
  [[nodiscard]] World look();
  void settle(const World& world, Instant now);
  void scale(Pool& pool, const World& world, Instant now, int64_t& waiting);
  int32_t switch_on(const Pool& pool, const World& world, int32_t count, Instant now);
  void switch_off(const Pool& pool, const World& world, int32_t count);
  void begin(const std::string& node, Switched& machine, Doing what);
  bool give_back(const std::string& node);
  Status note(const std::string& node, std::string_view state, std::string_view kind, std::string detail);

  Service& service_;
  OffMachines& off_;
  std::vector<Pool> pools_;                   // the thread's own
  std::map<std::string, Switched> machines_;  // guarded where programs end: has_ended, failure
  PowerConfig config_;                        // the thread's own
  size_t rows_there_ = 0;                     // of the stream
  std::atomic<bool> stopping_ = false;
  std::mutex lock_;
  std::condition_variable wake_;
  std::optional<PowerConfig> next_;  // guarded
  std::vector<Wish> wishes_;         // guarded
  bool ended_ = false;               // guarded: a program has
  std::thread thread_;
};

}  // namespace stint
