// Which models are on a device, and how large their batches may be, so that what they take never passes the room.
//
// Every byte is reserved before it is used: a load takes its weights, what reading them takes beside that, and a batch of one; a batch
// its measured peak. Runtimes keep
// the peak of past batches in an arena, so a model's activations count by their high-water mark until the arena is trimmed.
// Who goes when room is needed: the models whose absence costs least per byte, reload time × request rate ÷ bytes freed, fewest
// bytes of them; never one that is pinned or has batches in flight. A model that is worth less than what it would displace waits
// until its requests have gathered for `patience`: one load then answers them all.
// Source of the value: GreedyDual-Size-Frequency (Cherkasova 1998), with a decayed rate in place of the ageing term. Rates decay with
// the requests that come, too: as many as tell the models on the device apart, and no more, so that they follow who is asked for now.
//
// Pure and single-threaded. The caller loads and unloads; it says so here before it uses, and after it frees.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "batching/memory_facts.h"
#include "batching/memory_pressure.h"
#include "batching/request.h"
#include "batching/request_rate.h"

namespace stint::batching {

/// What it takes to have a model on the device.
struct LoadPlan {
  enum class Kind : uint8_t {
    kResident,  ///< it is there
    kLoad,      ///< unload `evict`, then load; commit_load() books both
    kGather,    ///< it would displace what is worth more: ask again at `until`
    kBlocked,   ///< too much is pinned or in flight: ask again when a batch has ended
  };
  Kind kind = Kind::kResident;
  std::vector<ModelId> evict;  ///< in the order of unloading, ascending by worth
  Instant until;
};

class MemoryBudget {
 public:
  static Result<MemoryBudget> create(MemoryOptions options, std::vector<ModelMemory> models);

  /// A model more, not on the device yet. @return its id: one that remove() gave back, or the next
  Result<ModelId> add(ModelMemory model);
  /// It is served no more: unloaded if need be (nothing in flight), its id free for another.
  void remove(ModelId model);

  /// A request for the model came: counts towards its rate, and from the first one on it wants to be loaded.
  void want(ModelId model, Instant now);
  /// @param device_room  that the device has beside what is on it now, where that is less than the books say; below 0: it is overfull.
  [[nodiscard]] LoadPlan plan_load(ModelId model, Instant now, Bytes device_room = Bytes::of(INT64_MAX)) const;
  /// Books a plan of kind kLoad made at the same instant. What the load itself takes stays booked until trim().
  void commit_load(ModelId model, const LoadPlan& plan);
  /// Weights as they were measured when the load was done; the difference is booked. @return error when they do not fit: unload it.
  Status measured(ModelId model, Bytes weights);
  /// The next load brings other weights, of a smaller variant, say. It is not on the device.
  void expect(ModelId model, Bytes weights);
  /// Takes a model off the device; it must have nothing in flight.
  void unload(ModelId model);

  /// Reserves a batch. @param items  1 … the largest measured. @return how many of them may run now, 0 = none: the rest waits.
  int64_t begin_batch(ModelId model, int64_t items);
  void end_batch(ModelId model, int64_t items);
  /// The runtime gave back what its arena held beyond the batches in flight. @return bytes freed
  Bytes trim(ModelId model);

  [[nodiscard]] Bytes used() const { return used_; }
  [[nodiscard]] bool resident(ModelId model) const { return state_of(model).resident; }
  [[nodiscard]] int64_t in_flight(ModelId model) const { return state_of(model).in_flight; }
  /// What its load takes: weights, and a batch of one or what reading them takes.
  [[nodiscard]] Bytes least(ModelId model) const;
  /// Of a model on the device, its largest batch as measured, no other variant. `activation` holds until models come or go.
  [[nodiscard]] PressureModel pressure(ModelId model, Instant now) const;
  /// Weights and arena of the model on the device.
  [[nodiscard]] Bytes held(ModelId model) const;
  /// Bytes brought onto the device by loads so far.
  [[nodiscard]] Bytes loaded() const { return loaded_; }

 private:
  struct State {
    ModelMemory facts;
    bool removed = false;
    RequestRate rate;
    Instant last_request;
    bool resident = false;
    bool wanted = false;
    Instant wanted_since;
    int64_t in_flight = 0;
    Bytes running;  // activations of the batches in flight
    Bytes arena;    // their high-water mark
  };
  /// Reload time × rate ÷ bytes, as a fraction: what a byte given to the model is worth.
  struct Worth {
    __extension__ using Wide = unsigned __int128;
    Wide cost = 0;
    int64_t bytes = 1;
    [[nodiscard]] bool less_than(const Worth& other) const;
  };

  MemoryBudget(MemoryOptions options, std::vector<ModelMemory> models);
  [[nodiscard]] const State& state_of(ModelId model) const;
  State& state_of(ModelId model);
  /// Of requests that came then: in it a count is halved every kAgeHalfLife.
  [[nodiscard]] Instant age_at(Instant now) const;
  [[nodiscard]] Worth worth_of(const State& state, Bytes bytes, Instant now) const;
  [[nodiscard]] std::vector<uint32_t> evictable(ModelId but, Instant now) const;

  MemoryOptions options_;
  std::vector<State> states_;
  Duration aged_;        // by the requests that came
  int64_t present_ = 0;  // models on the device
  Bytes used_;
  Bytes loaded_;
};

}  // namespace stint::batching
