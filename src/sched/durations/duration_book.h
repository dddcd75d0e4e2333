// How long jobs run, learnt from those that have ended: per user, name, script and size, online, mergeable.
//
// A job is looked up under keys from the widest to the closest: all jobs, its size, its user, user and size, user and name, user,
// name and size, user and script. What a key knows is mixed with what the wider ones say as if that were a few jobs more
// (shrinkage), so one job alone does not decide, and thirty do. Wide keys keep a histogram whose counts halve every four weeks;
// close ones keep their last sixteen runs, the newer half counting twice, so a user who changes habits is followed within a
// few jobs, and what runs once a month is not forgotten.
// Ends that do not say how long the work takes: a run that was cut off (time limit, still running) took at least so long; its
// count lies on what is longer, as the wider keys have it (Efron 1967, redistribution to the right). One that failed or was taken
// back counts half as an end, half so.
// Everything is whole numbers and keys are hashes of names, so books of several daemons or Histories merge, in any order.
// After: Hu et al. 2021 (SC '21, quasi-shortest-service-first); Tsafrir, Etsion and Feitelson 2007 (recent jobs of a user).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "sched/durations/run_forecast.h"

namespace stint::sched {

/// Whose job it is and what it is called, as hashes; 0 = not known.
struct Kin {
  uint64_t user = 0;
  uint64_t name = 0;
  uint64_t script = 0;
  [[nodiscard]] bool known() const { return user != 0 || name != 0 || script != 0; }
  bool operator==(const Kin&) const = default;
};
/// @param name  numbers in it do not matter: "train-17" and "train-18" are the same kind of job. Empty texts give 0.
Kin kin_of(std::string_view user, std::string_view name, std::string_view script = {});

enum class RunEnd : uint8_t {
  kDone,    ///< ran to its end
  kBroken,  ///< failed, or was taken back
  kCutOff,  ///< time limit, or it still runs: took at least so long
};

class DurationBook {
 public:
  /// O(1).
  void learn(const Kin& kin, int64_t gpu_milli, Duration ran, RunEnd how, Instant ended);
  /// none = nothing is known of any job. O(1).
  [[nodiscard]] std::optional<RunForecast> forecast(const Kin& kin, int64_t gpu_milli) const;
  /// Takes in all that the other knows.
  void merge(const DurationBook& other);

  [[nodiscard]] int64_t learnt() const { return learnt_; }  ///< runs, ever
  [[nodiscard]] size_t close_keys() const { return recents_.size(); }

  /// More close keys than that are not kept: those not seen for longest go, half of them at once.
  static constexpr size_t kMostCloseKeys = 1 << 16;

 private:
  friend struct SnapshotParts;

  struct Run {
    uint32_t ended_s = 0;  // since 1970
    uint32_t ran_s = 0;    // RunEnd in the two highest bits
  };
  static constexpr size_t kRunsKept = 16;
  /// Of a close key: its last runs, newest first.
  struct Recent {
    uint64_t key = 0;
    int64_t seen = 0;  // runs, ever
    int64_t kept = 0;  // in `runs`
    std::array<Run, kRunsKept> runs{};
  };
  /// Of a wide key: counts per bin, in kOne-th of a run, as of `tick`.
  struct Sketch {
    uint64_t key = 0;
    int64_t seen = 0;
    int64_t tick = 0;
    DurationMass counts{};
  };
  using Index = std::unordered_map<uint64_t, uint32_t>;  // looked up, never walked

  Sketch& sketch(uint64_t key);
  Recent& recent(uint64_t key);
  void drop_oldest();
  void reindex();
  static void age(Sketch& s, int64_t tick);
  static bool is_newer(const Run& a, const Run& b);
  static void insert(Recent& r, const Run& run);
  void count(uint64_t key, const DurationMass& share, int64_t tick);

  int64_t learnt_ = 0;
  std::vector<Sketch> sketches_;  // in order of first sight
  std::vector<Recent> recents_;   // the same
  Index sketch_at_;
  Index recent_at_;
};

}  // namespace stint::sched
