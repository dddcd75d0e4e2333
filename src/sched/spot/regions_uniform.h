// Uniform Progress over many zones: the policies that SkyNomad (NSDI 2027) is compared with.
//
// The rule asks for spot where there is some, for on-demand while progress is behind the straight line from start to deadline,
// and else waits. UP knows the capacity of one zone. UP(S) goes to the cheapest zone that has capacity, UP(A) to the one whose
// last five samples were best, UP(AP) to the one with the most successes for its price.
// The published runs decide "behind the line" in double arithmetic, where step times meet the line exactly; so it is done here.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "sched/spot/regions.h"

namespace stint::sched {

struct UniformAnswer {
  SpotTake take = SpotTake::kIdle;
  bool weak = false;  ///< where spot is refused, wait
};

class UniformRule {
 public:
  explicit UniformRule(const RegionsTask& task) : task_(task) {}
  /// @param held  what runs.
  [[nodiscard]] UniformAnswer ask(const RegionsMoment& now, SpotTake held, bool spot_assumed) const;
  /// Work done less what the straight line asks for at `elapsed_s`, in seconds.
  [[nodiscard]] double ahead_s(const RegionsMoment& now, double elapsed_s) const;

 private:
  const RegionsTask& task_;
};

/// UP in the one zone of a task. It knows where there is capacity and needs no safety net.
class UniformOneZone : public RegionsPolicy {
 public:
  /// @param available  a byte per tick. Both outlive the policy.
  UniformOneZone(const RegionsTask& task, std::span<const uint8_t> available) : task_(task), rule_(task), available_(available) {}
  void begin_tick(const RegionsMoment& now) override;
  RegionsAct next(const RegionsMoment& now) override;
  void heard(const RegionsAct& act, bool started) override;

 private:
  const RegionsTask& task_;
  UniformRule rule_;
  std::span<const uint8_t> available_;
  SpotTake wish_ = SpotTake::kIdle;
};

/// What UP(S), UP(A) and UP(AP) share: the order of acts in a tick. They differ in the order of zones, moves and probes.
class UniformManyZones : public RegionsPolicy {
 public:
  void begin_tick(const RegionsMoment& now) final;
  RegionsAct next(const RegionsMoment& now) final;
  void heard(const RegionsAct& act, bool started) final;

 protected:
  /// @param task  outlives the policy.
  explicit UniformManyZones(const RegionsTask& task) : task_(task), rule_(task) {}
  /// Zones by their spot price, then by the task's order.
  [[nodiscard]] std::vector<size_t> by_price() const;

  virtual void observe(const RegionsMoment& /*now*/) {}
  [[nodiscard]] virtual std::vector<size_t> order(const RegionsMoment& now) const = 0;
  [[nodiscard]] virtual bool moves(const RegionsMoment& /*now*/) const { return false; }
  [[nodiscard]] virtual bool heeds_weak() const { return true; }
  /// Where on-demand starts. @param at_once  no zone was tried before.
  [[nodiscard]] virtual size_t on_demand_zone(const RegionsMoment& now, bool at_once) const;
  /// @param act  a launch on spot or a probe.
  virtual void tried(const RegionsAct& /*act*/, bool /*started*/) {}
  [[nodiscard]] virtual std::vector<size_t> probes(const RegionsMoment& /*now*/) const { return {}; }

  const RegionsTask& task_;
  int64_t tick_ = 0;
  std::optional<size_t> stopped_;  ///< zone of the machine that this tick stopped

 private:
  enum class Phase : uint8_t { kDecide, kTry, kProbe };
  RegionsAct decide(const RegionsMoment& now);
  RegionsAct try_next(const RegionsMoment& now);
  RegionsAct probe_next(const RegionsMoment& now);

  UniformRule rule_;
  Phase phase_ = Phase::kDecide;
  std::vector<size_t> queue_;  ///< zones to try or to probe, the next one last
  bool probes_listed_ = false;
  bool weak_ = false;
};

class UniformSpot final : public UniformManyZones {
 public:
  explicit UniformSpot(const RegionsTask& task) : UniformManyZones(task) {}

 private:
  void observe(const RegionsMoment& now) override;
  [[nodiscard]] std::vector<size_t> order(const RegionsMoment& now) const override;

  std::optional<uint32_t> seen_running_;  ///< region
};

/// UP(A) and UP(AP): what launches, losses, probes and signs of life said of each zone.
class UniformSampling : public UniformManyZones {
 protected:
  UniformSampling(const RegionsTask& task, int64_t sign_of_life_ticks);
  void observe(const RegionsMoment& now) override;
  void tried(const RegionsAct& act, bool started) override;
  [[nodiscard]] std::vector<size_t> order(const RegionsMoment& now) const override;
  [[nodiscard]] virtual double score(size_t zone) const = 0;
  /// Of the last `window` samples; 0 = all. 0.5 without any.
  [[nodiscard]] double share(size_t zone, size_t window) const;

  struct Samples {
    std::vector<uint8_t> seen;
    int64_t last_sign = kNever;   ///< tick of the last probe, launch or sign of life
    int64_t last_probe = kNever;  ///< tick
  };
  static constexpr int64_t kNever = -1'000'000;
  std::vector<Samples> samples_;
  int64_t sign_of_life_ticks_;

 private:
  int64_t launched_ = 0;  ///< tick
};

class UniformAvailability final : public UniformSampling {
 public:
  explicit UniformAvailability(const RegionsTask& task) : UniformSampling(task, 12) {}

 private:
  static constexpr int64_t kProbeTicks = 12;
  static constexpr size_t kWindow = 5;  ///< samples that count
  [[nodiscard]] double score(size_t zone) const override { return share(zone, kWindow); }
  [[nodiscard]] bool moves(const RegionsMoment& now) const override;
  [[nodiscard]] std::vector<size_t> probes(const RegionsMoment& now) const override;
};

class UniformAvailabilityPrice final : public UniformSampling {
 public:
  explicit UniformAvailabilityPrice(const RegionsTask& task) : UniformSampling(task, 6) {}

 private:
  [[nodiscard]] double score(size_t zone) const override;
  [[nodiscard]] bool moves(const RegionsMoment& now) const override;
  [[nodiscard]] bool heeds_weak() const override { return false; }
  [[nodiscard]] size_t on_demand_zone(const RegionsMoment& now, bool at_once) const override;
  [[nodiscard]] std::vector<size_t> probes(const RegionsMoment& now) const override;
};

}  // namespace stint::sched
