// The memory budget at work: which models are loaded, by a thread that loads and unloads, and who may run a batch now.
//
// batching/memory_budget decides; this keeps its books under one lock and does what it says. A model that is needed and not there
// is loaded once there is room; until then its batches wait where they are.
//
// Books are not all there is: others use the device too, runtimes take more than they say, and memory leaks. So the keeper looks at
// what is really in use now and then, and climbs the ladder of batching/memory_pressure when that is too much (memory_relief.cc).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "batching/memory_budget.h"
#include "batching/memory_pressure.h"
#include "host/memory_use.h"

namespace stint::serve {

/// What of a model is loaded.
enum class Variant : uint8_t {
  kWhole,
  kSmall,  ///< its smaller variant
  kHost,   ///< the whole, on the host's processor, while others run on a GPU
};
constexpr size_t kVariants = 3;

/// A model as the keeper handles it. Called on the keeper's thread, no two at a time.
class Resident {
 public:
  virtual ~Resident() = default;
  /// Its room is booked.
  virtual Status load(Variant variant) = 0;
  /// Nothing of it runs, nor will before the next load.
  virtual void unload() = 0;
  /// Its batches may begin; or why it cannot be loaded.
  virtual void settled(const Status& status) = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  /// Hands back what its runtime holds beyond what runs. Batches may run.
  virtual void trim() = 0;
};

/// How what is really in use is watched.
struct WatchOptions {
  std::function<std::optional<MemoryUse>()> read;  ///< of the device; null: not watched
  Duration every = Duration::seconds(2);
  Duration calm = Duration::minutes(1);  ///< without pressure until what was made smaller may grow again
  batching::LeakDetector::Options leaks;
  std::function<Bytes()> beside;                 ///< what is kept there on purpose that no model has; null: nothing
  std::function<void(const std::string&)> tell;  ///< a line for what is given up, what comes back, and leaks; with `read`
  Bytes host_room;                               ///< where the device is a GPU: what models moved off it may take on the host
};

/// What may stand in for a model while memory is short; none: there is no such.
struct StandIns {
  std::optional<Bytes> small;  ///< weights of its smaller variant
  std::optional<Bytes> host;   ///< all that it takes of the host's memory while it runs there
};

class MemoryKeeper {
 public:
  static Result<std::unique_ptr<MemoryKeeper>> create(batching::MemoryOptions options, WatchOptions watch);
  MemoryKeeper(const MemoryKeeper&) = delete;
  MemoryKeeper& operator=(const MemoryKeeper&) = delete;
  ~MemoryKeeper();
  /// Loads and unloads nothing any more; what waits for a load goes on waiting.
  void stop();

  Result<batching::ModelId> add(batching::ModelMemory facts, std::weak_ptr<Resident> model, const StandIns& stand_ins);
  /// Nothing of the model runs any more.
  void remove(batching::ModelId model);

  /// A request for it came.
  void want(batching::ModelId model, Instant now);
  /// Load it when there is room, if it is not there, then say settled().
  void need(batching::ModelId model);
  /// Reserves memory for a batch; waits while other batches of the model hold what it needs.
  /// @return how many of the items may run; none: the model is not loaded, see need().
  std::optional<int64_t> begin(batching::ModelId model, int64_t items);
  void end(batching::ModelId model, int64_t items);

  /// The device is full and nothing more can be given up.
  [[nodiscard]] bool refusing() const { return refusing_.load(std::memory_order_relaxed); }

  struct Figures {
    Bytes room, used, loaded;
    int64_t loads = 0, evictions = 0;
    std::optional<MemoryUse> device;                                   ///< as it was seen last
    std::array<int64_t, batching::ReliefStep::kKinds> relief_steps{};  ///< taken so far, by kind
    Bytes leaked;                                                      ///< growth that no model accounts for, so far
    Bytes on_host;                                                     ///< what models moved there take
  };
  [[nodiscard]] Figures figures() const;
  /// What of it is loaded; none: nothing.
  [[nodiscard]] std::optional<Variant> loaded(batching::ModelId model) const;

 private:
  struct Known {
    std::weak_ptr<Resident> model;
    Bytes weights;  ///< of the model as it is
    StandIns stand_ins;
    bool ready = false;
    bool needed = false;
    Variant variant = Variant::kWhole;  ///< that is loaded, or will be
    int64_t running_on_host = 0;        ///< batches: the budget knows nothing of them
    std::optional<int64_t> most_items;  ///< of a batch, while memory is short
  };
  MemoryKeeper(batching::MemoryOptions options, WatchOptions watch, batching::MemoryBudget budget);
  void work();
  /// One pass over what is needed. @return when to look again; kNoDeadline: when something changes
  Instant serve_needs(std::unique_lock<std::mutex>& lock);
  void load(std::unique_lock<std::mutex>& lock, batching::ModelId id, const batching::LoadPlan& plan);
  void load_on_host(std::unique_lock<std::mutex>& lock, batching::ModelId id);
  void settle(std::unique_lock<std::mutex>& lock, batching::ModelId id, const Status& status);
  static void release(std::unique_lock<std::mutex>& lock, std::shared_ptr<Resident>& model);

  void watch(std::unique_lock<std::mutex>& lock);
  [[nodiscard]] std::vector<batching::ReliefStep> plan(Instant now) const;
  void take(std::unique_lock<std::mutex>& lock, const batching::ReliefStep& step);
  void unload(std::unique_lock<std::mutex>& lock, batching::ModelId id, Resident& model);
  void reopen(std::unique_lock<std::mutex>& lock, batching::ModelId id, Resident& model, Variant variant);
  void grow_back(std::unique_lock<std::mutex>& lock);
  /// There is room for the model as it is, where a stand-in runs now.
  [[nodiscard]] bool whole_fits(batching::ModelId id) const;
  [[nodiscard]] int64_t in_flight(batching::ModelId id) const;
  [[nodiscard]] batching::PressureOptions pressure() const;
  /// Until the next look the device is taken to hold as much more, or less, as the books.
  void booked_since(Bytes before);
  /// Of the device, once the model is loaded so.
  [[nodiscard]] Bytes used_after(batching::ModelId id, const batching::LoadPlan& plan) const;
  /// Up to where loads may fill the device.
  [[nodiscard]] Bytes device_room() const;
  /// As the budget has it, but that the device must not come into pressure: others leave it for that, too.
  /// @return none: there is no room and none that could be made
  [[nodiscard]] std::optional<batching::LoadPlan> plan_load(batching::ModelId id, Instant now) const;

  const Bytes room_;
  const WatchOptions watch_;
  mutable std::mutex mutex_;
  std::condition_variable needs_, freed_;
  batching::MemoryBudget budget_;
  std::vector<Known> known_;  // by ModelId
  int64_t loads_ = 0, evictions_ = 0;
  std::optional<MemoryUse> device_;
  std::array<int64_t, batching::ReliefStep::kKinds> relief_steps_{};
  batching::LeakDetector leaks_;
  Bytes leaked_;
  Bytes on_host_;
  Instant next_look_;
  Instant calm_since_;
  std::atomic<bool> refusing_ = false;
  bool changed_ = false;  // something that may be needed, or let what is needed go on
  bool blocked_ = false;  // a load waits for a batch to end
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace stint::serve
