#include "sim/story_trace.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/prng.h"

namespace stint {
namespace {

constexpr int kBareMemoryMib = 4;  // what the driver holds on an idle GPU
constexpr int kReservedMemoryMib = 620;

/// Utilisation before steering, one value per step.
using Loads = std::vector<float>;

struct HourOfWeek {
  double hour = 0;  ///< of the day, UTC, with fraction
  bool weekend = false;
};

HourOfWeek hour_of(const Story& story, int64_t step) {
  const Instant t = story.at(step);
  const CivilTime c = to_civil(t);
  return {c.hour + c.minute / 60.0, weekday(t) >= 5};
}

/// The load of one hold, step by step. Keeps the state that makes neighbouring steps alike.
class HoldLoad {
 public:
  HoldLoad(const Story& story, const StoryHold& hold, Prng prng)
      : story_(story), hold_(hold), work_(story.works[hold.work]), prng_(prng) {}

  double at(int64_t step) {
    drift_ = 0.8 * drift_ + 0.6 * prng_.normal();  // stationary, standard deviation 1
    if (step >= hold_.busy_until) return 0;
    switch (work_.rhythm) {
      case Rhythm::kSteady: return steady(step - hold_.begin);
      case Rhythm::kDaily: return daily(hour_of(story_, step));
      case Rhythm::kNightly: return nightly(hour_of(story_, step));
      case Rhythm::kInteractive: return interactive(hour_of(story_, step));
    }
    return 0;
  }

 private:
  double steady(int64_t elapsed) {
    constexpr int64_t kStartUp = 3, kBetweenDips = 36, kDip = 2;
    if (elapsed < kStartUp) return 4;
    if (elapsed % kBetweenDips < kDip) return 0.2 * work_.busy_pct;
    return std::max(1.0, work_.busy_pct * hold_.level + 5 * drift_);
  }
  double daily(HourOfWeek now) const {
    const double phase = 2 * std::numbers::pi * (now.hour - work_.peak_hour_utc) / 24;
    const double users = (1 + std::cos(phase)) / 2 * (now.weekend ? 0.6 : 1.0);
    const double level = work_.quiet_pct + (work_.busy_pct - work_.quiet_pct) * users;
    return std::max(0.0, level * (1 + 0.15 * drift_));
  }
  double nightly(HourOfWeek now) const {
    const bool night = now.hour >= 22 || now.hour < 6;
    return night ? std::max(1.0, work_.busy_pct + 6 * drift_) : 0;
  }
  double interactive(HourOfWeek now) {
    if (burst_ > 0) {
      --burst_;
      return std::max(1.0, work_.busy_pct + 10 * drift_);
    }
    const bool working = !now.weekend && now.hour >= 8 && now.hour < 18;
    if (working && prng_.below(100) < 7) burst_ = 1 + static_cast<int>(prng_.below(5));
    return 0;
  }

  const Story& story_;
  const StoryHold& hold_;
  const StoryWork& work_;
  Prng prng_;
  double drift_ = 0;
  int burst_ = 0;
};

int64_t memory_held(const StoryWork& work, const StoryHold& hold, int64_t step, uint16_t noise) {
  if (work.rhythm == Rhythm::kSteady && step == hold.begin) return work.memory_mib / 3;  // still loading
  return work.memory_mib + noise % (work.memory_mib / 50 + 1);
}

/// Which steps of a node were recorded: it was there, its exporter lived, and the scrape arrived.
std::vector<bool> recorded_steps(const Story& story, const StoryNode& node, Prng prng) {
  std::vector<bool> recorded(static_cast<size_t>(story.steps()), false);
  for (const Interval present : node.present)
    for (int64_t step = story.step_of(present.begin); step < story.step_of(present.end); ++step)
      recorded[static_cast<size_t>(step)] = true;
  int64_t lost = 0;
  for (int64_t step = 0; step < story.steps(); ++step) {
    if (prng.below(1000) < 2) lost = 1 + static_cast<int64_t>(prng.below(4));
    if (lost > 0 || node.silent.contains(story.at(step))) recorded[static_cast<size_t>(step)] = false;
    lost = std::max<int64_t>(0, lost - 1);
  }
  return recorded;
}

Loads fill_gpu(const Story& story, const StoryGpu& gpu, Prng prng, std::vector<StoryReading>& readings) {
  Loads loads(readings.size(), 0.0F);
  for (StoryReading& reading : readings) {
    reading.noise = static_cast<uint16_t>(prng.next() >> 48);
    reading.memory_mib = kBareMemoryMib;
  }
  for (size_t h = 0; h < gpu.holds.size(); ++h) {
    const StoryHold& hold = gpu.holds[h];
    HoldLoad load(story, hold, prng.fork(h));
    for (int64_t step = hold.begin; step < hold.end; ++step) {
      const auto at = static_cast<size_t>(step);
      loads[at] = static_cast<float>(load.at(step));
      readings[at].hold = static_cast<int32_t>(h);
      readings[at].memory_mib = static_cast<int32_t>(memory_held(story.works[hold.work], hold, step, readings[at].noise));
    }
  }
  return loads;
}

int to_percent(double load, double steering) { return static_cast<int>(std::lround(std::clamp(load * steering, 0.0, 100.0))); }

/// The factor that brings the mean of `loads`, as whole percents, to `target`. The mean rises with the factor.
double steer(const std::vector<float>& loads, double target) {
  double low = 0.1, high = 5;
  for (int i = 0; i < 25; ++i) {
    const double middle = (low + high) / 2;
    int64_t sum = 0;
    for (const float load : loads)
      sum += to_percent(load, middle);
    (static_cast<double>(sum) < target * static_cast<double>(loads.size()) ? low : high) = middle;
  }
  return (low + high) / 2;
}

void set_utilization(std::vector<StoryReading>& readings, const Loads& loads, double steering) {
  double heat = 0;
  for (size_t i = 0; i < readings.size(); ++i) {
    const int percent = to_percent(loads[i], steering);
    heat = 0.5 * heat + 0.5 * percent;
    readings[i].utilization = static_cast<uint8_t>(percent);
    readings[i].heat = static_cast<uint8_t>(std::lround(heat));
  }
}

/// −1 … 1 from the reading's noise, another one for every `salt`.
double jitter(const StoryReading& reading, uint32_t salt) {
  const uint32_t mixed = (reading.noise + 1U) * (0x9E3779B1U + 2 * salt) >> 16;
  return static_cast<double>(mixed) / 32768.0 - 1;
}

}  // namespace

StoryTrace::StoryTrace(const Story& story, uint64_t seed) {
  std::vector<Loads> loads;
  std::vector<float> steered;
  for (size_t n = 0; n < story.nodes.size(); ++n) {
    const StoryNode& node = story.nodes[n];
    const Prng node_prng = Prng(seed).fork(n + 1);
    const std::vector<bool> recorded = recorded_steps(story, node, node_prng.fork(999));
    first_gpu_.push_back(gpus_.size());
    for (size_t g = 0; g < node.gpus.size(); ++g) {
      std::vector<StoryReading>& readings = gpus_.emplace_back(static_cast<size_t>(story.steps()));
      loads.push_back(fill_gpu(story, node.gpus[g], node_prng.fork(g), readings));
      for (size_t step = 0; step < readings.size(); ++step) {
        readings[step].present = recorded[step];
        if (recorded[step] && node.steered) steered.push_back(loads.back()[step]);
      }
    }
  }
  steering_ = steer(steered, story.steer_to_pct);
  for (size_t n = 0; n < story.nodes.size(); ++n)
    for (size_t g = 0; g < story.nodes[n].gpus.size(); ++g)
      set_utilization(gpus_[first_gpu_[n] + g], loads[first_gpu_[n] + g], story.nodes[n].steered ? steering_ : 1.0);
}

double mean_utilization_pct(const Story& story, const StoryTrace& trace, StoryNodes which) {
  double sum = 0;
  int64_t count = 0;
  for (size_t n = 0; n < story.nodes.size(); ++n) {
    if (which == StoryNodes::kSteered && !story.nodes[n].steered) continue;
    for (size_t g = 0; g < story.nodes[n].gpus.size(); ++g)
      for (const StoryReading& reading : trace.of(n, g))
        if (reading.present) sum += reading.utilization, ++count;
  }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

StoryMetrics metrics_of(const Story& story, const StoryNode& node, const StoryGpu& gpu, const StoryReading& reading) {
  static const StoryWork kNothing;
  const StoryWork& work = reading.hold < 0 ? kNothing : story.works[gpu.holds[static_cast<size_t>(reading.hold)].work];
  const double idle_w = 0.14 * node.tdp_w;  // an idle A100 SXM draws about 55 of 400 W
  const double active = reading.utilization / 100.0;
  StoryMetrics m;
  m.power_w = idle_w + (node.tdp_w - idle_w) * 0.85 * reading.heat / 100.0 + 1.5 * jitter(reading, 1);
  m.temperature_c = static_cast<int>(std::lround(30 + 0.38 * reading.heat + 1.2 * jitter(reading, 2)));
  m.memory_free_mib = node.memory_mib - kReservedMemoryMib - reading.memory_mib;
  m.sm_active = active * 0.7 * (1 + 0.1 * jitter(reading, 3));
  m.dram_active = active * work.dram_per_util * (1 + 0.1 * jitter(reading, 4));
  m.tensor_active = active * work.tensor_per_util * (1 + 0.1 * jitter(reading, 5));
  return m;
}

}  // namespace stint
