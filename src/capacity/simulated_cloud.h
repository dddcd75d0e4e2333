// A cloud that only pretends, for trying out and for tests: stock that comes and goes, quotas, slow starts, interruptions, throttling,
// answers that are lost, orders that are carried out twice, and a list that is behind.
//
// Time is what it is told. What happens is drawn from the seed, the pool or the machine, and the time: the same orders at the same
// instants have the same fate. Nothing is kept: whoever restarts says what was there (restore).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capacity/capacity.h"

namespace stint {

struct SimulatedCloudOptions {
  uint64_t seed = 1;
  Duration answer_after = Duration::seconds(2);
  Duration start_mean = Duration::minutes(2);   ///< until a machine is ready: half of it at least, exponential beyond
  double never_ready = 0;                       ///< part of the machines that never are
  Duration list_lag = Duration();               ///< the list does not show what was made within it
  Duration stock_for = Duration::hours(1);      ///< a pool has stock, or has none, for so long at a time
  double stockout = 0;                          ///< part of those times in which it has none
  std::map<std::string, int32_t> stock = {};    ///< of a pool at once, at most; others have any number
  std::optional<int32_t> quota = {};            ///< machines of the account at once
  Duration spot_life = Duration::hours(8);      ///< mean of a spot machine's; exponential. 0 = for ever
  Duration spot_notice = Duration::minutes(2);  ///< before it is taken back; 0 = none
  double price_swing = 0;   ///< spot costs so much more or less than its pool's rate, by the hour: 0.2 = ± 20 %
  double lost_answers = 0;  ///< part of the orders that are carried out and not answered
  double lost_orders = 0;   ///< part of the orders that are neither
  double late_orders = 0;   ///< part of the orders to make one that are carried out `late_by` later, without an answer
  Duration late_by = Duration::seconds(20);
  double twice = 0;      ///< part of the orders to make one that make two
  double throttled = 0;  ///< part of the orders that are refused as too many
};

class SimulatedCloud final : public Capacity {
 public:
  /// @param pools  what it sells; prices as they are there.
  SimulatedCloud(SimulatedCloudOptions options, std::vector<CapacityPool> pools);

  [[nodiscard]] std::string_view name() const override { return "simulated cloud"; }
  void offer(Instant now) override;
  void create(const CreateOrder& order, Instant now) override;
  void destroy(const DestroyOrder& order, Instant now) override;
  void list(int64_t call, Instant now) override;
  CapacityHeard hear(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_at() const override;

  /// It was made before this object, and is ready.
  void restore(const std::string& name, const std::string& pool, const std::string& owner, const std::string& id, Instant made);
  /// What was asked is not answered any more, as who asked is gone. What was ordered happens.
  void forget_callers() { answers_.clear(); }
  /// From now on.
  void change_options(SimulatedCloudOptions options) { options_ = std::move(options); }
  void change(SimulatedCloudOptions options, std::vector<CapacityPool> pools) {
    options_ = std::move(options);
    pools_ = std::move(pools);
  }

  struct Instance {
    std::string id, name, owner, pool;
    Instant made;
    std::optional<Instant> ready;  ///< none: never
    std::optional<Instant> taken;  ///< spot: it is taken back then
    std::optional<Instant> ends;   ///< by itself, whatever became of its owner
    bool noticed = false;
  };
  /// All that are there, by id.
  [[nodiscard]] const std::map<std::string, Instance>& there() const { return there_; }
  [[nodiscard]] int64_t made() const { return made_; }
  [[nodiscard]] bool has_stock(const std::string& pool, Instant at) const;
  /// Orders to make one, by pool, with their instants: for who checks that a pool was left alone.
  struct Tried {
    std::string pool;
    Instant at;
    CapacityOutcome outcome = CapacityOutcome::kMade;
  };
  [[nodiscard]] const std::vector<Tried>& tried() const { return tried_; }

 private:
  [[nodiscard]] double chance(std::string_view what, std::string_view whom, Instant at) const;
  [[nodiscard]] Rate price(const CapacityPool& pool, Instant at) const;
  CapacityOutcome make(const CreateOrder& order, const std::string& name, Instant now, std::string& detail);
  void add(const CreateOrder& order, const std::string& name, Instant now);
  void pass_time(Instant now);
  using There = std::map<std::string, Instance>;
  void put(Instance instance);
  There::iterator remove(There::iterator instance);
  void end(const std::string& name, const std::string& id);
  [[nodiscard]] const CapacityPool* pool_of(std::string_view name) const;

  SimulatedCloudOptions options_;
  std::vector<CapacityPool> pools_;
  There there_;
  std::map<std::string, int32_t> of_pool_;
  std::multiset<std::string> names_;
  std::multimap<Instant, CapacityHeard> answers_;
  std::multimap<Instant, CreateOrder> late_;
  std::vector<CapacityNotice> notices_;
  std::vector<Tried> tried_;
  int64_t made_ = 0;
  int64_t orders_ = 0;
};

}  // namespace stint
