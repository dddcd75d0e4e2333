#include "batching/tuner.h"
#include "base/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stint::batching {
namespace {

constexpr double kKeptShare = 1;  // of the simulated runs: 20 of 20 are kept with even odds only at 96.6 % and above
constexpr double kBrokenShare = 0.1;
constexpr int64_t kQuickRuns = 3;
constexpr size_t kFinalists = 2;
constexpr int64_t kWaitPart = 4;  // of the slack that a batch of the largest size leaves
constexpr double kHeadroomStep = 0.05;
constexpr double kMostHeadroom = 16;  // times the load

double to_ms(Duration d) { return d.to_seconds() * 1e3; }

/// Requests per second that the connections' thread lets through.
double front_capacity(const DeviceProfile& profile) {
  return profile.front ? kFrontShare / profile.front->to_seconds() : std::numeric_limits<double>::infinity();
}

/// Requests per second that full batches of `batch` do.
double capacity(const DeviceProfile& profile, int64_t batch) {
  return std::min(static_cast<double>(profile.instances * batch) / profile.latency.mean(batch).to_seconds(),
                  front_capacity(profile));
}

class DeviceTuner {
 public:
  DeviceTuner(const DeviceProfile& profile, const TuneOptions& options) : profile_(profile), options_(options) { list_setups(); }

  DeviceTuning tune() {
    DeviceTuning tuning;
    if (setups_.empty()) {
      tuning.reason = fmt::format(
          "one request alone takes {:.3g} ms at that quantile: no queue, no batch and no number of replicas makes "
          "it faster; a faster device, a smaller model or a promise above that would",
          to_ms(profile_.latency.quantile(1, quantile())));
      return tuning;
    }
    int64_t replicas = fewest_by_capacity();
    while (replicas <= options_.most_replicas && !likely(replicas))
      replicas = std::max(replicas + 1, replicas + replicas / 4);
    // The steps grow, so the fewest lie between the last two.
    int64_t fewest = fewest_by_capacity();
    int64_t enough = std::min(replicas, options_.most_replicas);
    while (fewest < enough) {
      const int64_t middle = fewest + (enough - fewest) / 2;
      if (likely(middle))
        enough = middle;
      else
        fewest = middle + 1;
    }
    tuning.answer = fewest_confirmed(fewest);
    if (!tuning.answer) {
      tuning.reason = why_not();
      return tuning;
    }
    tuning.neighbour = nearest_broken(tuning.answer->replicas);
    price(tuning);
    tuning.most_per_second = most_load(*tuning.answer);
    return tuning;
  }

  [[nodiscard]] std::optional<ServingSetup> best_of_one() const {
    if (setups_.empty()) return {};
    const std::vector<Tried> tried = try_setups(1);
    return tried.empty() ? most_capable() : tried.front().setup;
  }

 private:
  [[nodiscard]] double quantile() const { return static_cast<double>(options_.promise.permille) / 1000; }

  /// Batches of each measured size that could be in time at all, with waits that are parts of what the promise leaves.
  void list_setups() {
    for (const int64_t batch : profile_.latency.measured_sizes()) {
      if (options_.most_batch && batch > *options_.most_batch) break;
      const Duration slack = options_.promise.limit - profile_.latency.quantile(batch, quantile());
      if (slack < Duration()) break;
      setups_.push_back({batch, Duration(), profile_.instances});
      if (batch > 1) setups_.push_back({batch, Duration::nanoseconds(slack.count_ns() / kWaitPart), profile_.instances});
    }
  }

  [[nodiscard]] ServingSetup most_capable() const {
    return *std::max_element(setups_.begin(), setups_.end(), [&](const ServingSetup& a, const ServingSetup& b) {
      return capacity(profile_, a.max_batch) < capacity(profile_, b.max_batch);
    });
  }
  [[nodiscard]] int64_t fewest_by_capacity() const {
    const double most = capacity(profile_, most_capable().max_batch);
    return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(options_.per_second / most)));
  }

  [[nodiscard]] ServingRun run(const ServingSetup& setup, double per_second, int64_t replicas, int64_t requests,
                               int64_t number) const {
    const uint64_t seed = Prng(options_.seed).fork(static_cast<uint64_t>(number)).next();
    return simulate_serving(profile_.latency, setup, {per_second, replicas}, options_.promise,
                            {requests, seed, options_.arrivals});
  }

  /// Long runs decide: a start that passed the short ones by luck costs a step up, one that failed them by bad luck a step down.
  [[nodiscard]] std::optional<TunedSetup> fewest_confirmed(int64_t start) const {
    std::optional<TunedSetup> found;
    int64_t replicas = start;
    for (; !found && replicas <= options_.most_replicas; ++replicas)
      if (const auto tuned = confirmed(replicas); tuned && tuned->kept_share >= kKeptShare) found = tuned;
    while (found && found->replicas == start && start > 1) {
      const auto fewer = confirmed(--start);
      if (!fewer || fewer->kept_share < kKeptShare) break;
      found = fewer;
    }
    return found;
  }

  /// The most replicas below `answer` at which the promise is broken for sure.
  [[nodiscard]] std::optional<TunedSetup> nearest_broken(int64_t answer) const {
    for (int64_t replicas = answer - 1; replicas >= 1; --replicas) {
      const auto tuned = confirmed(replicas);
      // Beyond every setup's capacity: the one that bears most stands for them.
      if (!tuned) return measure(most_capable(), replicas);
      if (tuned->kept_share <= kBrokenShare) return tuned;
    }
    return {};
  }

  struct Tried {
    ServingSetup setup;
    int64_t kept = 0;     // of the short runs
    Duration at_promise;  // summed over them
  };

  /// Setups that can bear the load at so many replicas, the best in short runs first.
  [[nodiscard]] std::vector<Tried> try_setups(int64_t replicas) const {
    std::vector<Tried> tried;
    for (const ServingSetup& setup : setups_) {
      if (capacity(profile_, setup.max_batch) * static_cast<double>(replicas) < options_.per_second) continue;
      Tried t{setup, 0, {}};
      for (int64_t number = 0; number < kQuickRuns; ++number) {
        const ServingRun r = run(setup, options_.per_second, replicas, options_.requests / 4, number);
        t.kept += r.kept ? 1 : 0;
        t.at_promise += std::min(r.at_promise, Duration::seconds(1'000'000));
      }
      tried.push_back(t);
    }
    std::stable_sort(tried.begin(), tried.end(), [](const Tried& a, const Tried& b) {
      return a.kept != b.kept ? a.kept > b.kept : a.at_promise < b.at_promise;
    });
    return tried;
  }
  [[nodiscard]] bool likely(int64_t replicas) const {
    const std::vector<Tried> tried = try_setups(replicas);
    return !tried.empty() && tried.front().kept == kQuickRuns;
  }

  /// In long runs: the best setup at so many replicas, whether it keeps the promise or not; none when the load is beyond them all.
  [[nodiscard]] std::optional<TunedSetup> confirmed(int64_t replicas) const {
    std::optional<TunedSetup> best;
    std::vector<Tried> finalists = try_setups(replicas);
    if (finalists.size() > kFinalists) finalists.resize(kFinalists);
    for (const Tried& finalist : finalists) {
      const TunedSetup tuned = measure(finalist.setup, replicas);
      if (!best || tuned.kept_share > best->kept_share) best = tuned;
      if (best->kept_share >= kKeptShare) break;
    }
    return best;
  }

  [[nodiscard]] TunedSetup measure(const ServingSetup& setup, int64_t replicas) const {
    TunedSetup tuned{setup, replicas, {}, 0, 0, 0};
    int64_t kept = 0;
    const auto runs = static_cast<double>(options_.runs);
    for (int64_t number = 0; number < options_.runs; ++number) {
      const ServingRun r = run(setup, options_.per_second, replicas, options_.requests, kQuickRuns + number);
      kept += r.kept ? 1 : 0;
      tuned.at_promise += Duration::nanoseconds(r.at_promise.count_ns() / options_.runs);
      tuned.mean_batch += r.mean_batch / runs;
      tuned.busy += r.busy / runs;
    }
    tuned.kept_share = static_cast<double>(kept) / runs;
    return tuned;
  }

  /// What bounds a replica's capacity.
  [[nodiscard]] std::string bound_of(int64_t batch) const {
    if (capacity(profile_, batch) == front_capacity(profile_))
      return fmt::format("HTTP and copies take {:.3g} us each", profile_.front->to_seconds() * 1e6);
    return fmt::format("batches of {}, {:.3g} ms each", batch, to_ms(profile_.latency.mean(batch)));
  }

  [[nodiscard]] std::string why_not() const {
    const ServingSetup fastest = most_capable();
    const int64_t least = fewest_by_capacity();
    if (least > options_.most_replicas)
      return fmt::format(
          "a replica answers at most {:.4g} requests/s ({}), so {:.6g}/s need {} even if they never rest; {} allowed",
          capacity(profile_, fastest.max_batch), bound_of(fastest.max_batch), options_.per_second, counted(least, "replica"),
          counted(options_.most_replicas, "is", "are"));
    const Duration alone = profile_.latency.quantile(1, quantile());
    return fmt::format(
        "{} could bear the load, but not in time: one request alone takes {:.3g} ms at that quantile, which leaves "
        "{:.3g} ms for waiting and company, and with {} no batch and no wait is within the promise",
        counted(least, "replica"), to_ms(alone), to_ms(options_.promise.limit - alone),
        counted(options_.most_replicas, "replica"));
  }

  void price(DeviceTuning& tuning) const {
    const Money hour = profile_.price.per_hour();
    tuning.cost = Rate::per_hour(scale(hour, tuning.answer->replicas, 1));
    tuning.per_million =
        Money::estimate(tuning.cost.per_hour().to_double() / (options_.per_second * 3600) * 1e6, hour.currency());
  }

  /// By bisection in short runs.
  [[nodiscard]] double most_load(const TunedSetup& tuned) const {
    double kept = options_.per_second;
    double broken = kept * kMostHeadroom;
    while (broken > kept * (1 + kHeadroomStep)) {
      const double middle = std::sqrt(kept * broken);
      bool holds = capacity(profile_, tuned.setup.max_batch) * static_cast<double>(tuned.replicas) >= middle;
      for (int64_t number = 0; holds && number < kQuickRuns; ++number)
        holds = run(tuned.setup, middle, tuned.replicas, options_.requests / 4, number).kept;
      (holds ? kept : broken) = middle;
    }
    return kept;
  }

  const DeviceProfile& profile_;
  const TuneOptions& options_;
  std::vector<ServingSetup> setups_;
};

Status check_options(const std::vector<DeviceProfile>& profiles, const TuneOptions& o) {
  if (profiles.empty()) return invalid("nothing is measured: a latency profile is needed");
  if (!(o.per_second > 0) || o.per_second > 1e9) return invalid("{} requests per second: it must be above 0", o.per_second);
  if (o.promise.limit <= Duration()) return invalid("a promise of {} ms: it must be above 0", to_ms(o.promise.limit));
  if (o.promise.permille < 1 || o.promise.permille > 999)
    return invalid("a promise at {} ‰: 1 to 999 are possible", o.promise.permille);
  if (o.most_replicas < 1 || o.most_replicas > 100'000) return invalid("{} replicas: 1 to 100,000 are possible", o.most_replicas);
  if (o.most_batch && *o.most_batch < 1) return invalid("batches of at most {}: it must be 1 or more", *o.most_batch);
  // A promise at 99.9 % says nothing about fewer than a few thousand requests.
  if (o.runs < 1 || o.requests < 400 || o.requests / 4 * (1000 - o.promise.permille) < 10'000)
    return invalid("{} runs of {} requests are too few to see a promise at {} ‰: {} requests are the least", o.runs, o.requests,
                   o.promise.permille, std::max<int64_t>(400, 40'000 / (1000 - o.promise.permille) + 4));
  return check_arrivals(o.arrivals);
}

}  // namespace

std::optional<ServingSetup> best_setup(const DeviceProfile& profile, const TuneOptions& options) {
  CHECK(check_options({profile}, options).ok(), "{}", check_options({profile}, options).error().message);
  return DeviceTuner(profile, options).best_of_one();
}

Result<Tuning> tune(const std::vector<DeviceProfile>& profiles, const TuneOptions& options) {
  TRY(check_options(profiles, options));
  for (const DeviceProfile& profile : profiles)
    if (profile.price.per_hour().currency() != profiles.front().price.per_hour().currency())
      return invalid("the devices' prices are in {} and {}: give them in one currency",
                     profile.price.per_hour().currency().code(), profiles.front().price.per_hour().currency().code());
  Tuning tuning;
  for (size_t p = 0; p < profiles.size(); ++p) {
    tuning.devices.push_back(DeviceTuner(profiles[p], options).tune());
    DeviceTuning& device = tuning.devices.back();
    device.profile = p;
    if (!device.answer) continue;
    const auto rank = [&](const DeviceTuning& d) { return std::pair(d.cost, d.answer->replicas); };
    if (!tuning.best || rank(device) < rank(tuning.devices[*tuning.best])) tuning.best = p;
  }
  return tuning;
}

}  // namespace stint::batching
