// What to give up when a device's memory runs full, the cheapest first; and whether memory leaks.
//
// The ladder: halve the largest batches; hand back what arenas hold beyond what runs; swap in a smaller variant of a model; move
// a model to the host's memory and processor; unload; refuse new work. It starts above `high_percent` of the device and goes on until `low_percent` is
// expected, so that it does not start again at once. A rung is climbed only when those below it, for all models, are not enough.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "base/units.h"
#include "batching/request.h"

namespace stint::batching {

struct PressureOptions {
  Bytes device;
  int64_t high_percent = 90;
  int64_t low_percent = 85;
  Bytes host_room;  ///< of host memory that models may be moved to
};

/// A model on the device, as things stand.
struct PressureModel {
  ModelId model;
  Bytes weights;
  Bytes arena;                         ///< activations held, ≥ running
  Bytes running;                       ///< activations of the batches in flight
  std::span<const Bytes> activation;   ///< entry i: of a batch of i + 1; at least max_batch of them
  int64_t max_batch = 1;               ///< as it is set now
  int64_t in_flight = 0;               ///< batches; while there are any the weights stay as they are
  bool pinned = false;                 ///< stays on the device
  std::optional<Bytes> small_variant;  ///< weights of an INT8 variant that passed its accuracy gate
  std::optional<Bytes> host;           ///< what it takes of the host's memory while it runs there; none: it cannot
  int64_t worth = 0;                   ///< what its absence costs: reload time × request rate, any unit; the least goes first
  Instant last_request;                ///< among equal worths the one not asked for the longest goes first
};

struct ReliefStep {
  enum class Kind : uint8_t { kShrinkBatch, kTrimArena, kSmallVariant, kToHost, kUnload, kShed };
  static constexpr size_t kKinds = static_cast<size_t>(Kind::kShed) + 1;
  Kind kind{};
  ModelId model;
  int64_t max_batch = 0;  ///< kShrinkBatch: from now on
  Bytes frees;
};

/// `unload`, as metrics name it.
std::string_view name_of(ReliefStep::Kind kind);
/// `model mlp: batches of at most 8 (frees 96 MiB)`
/// @param name  of step.model
std::string describe(const ReliefStep& step, std::string_view name);

/// @param used  of the device, as measured. @return in the order to take; empty below the high mark. Ends with kShed when nothing
/// that may be given up is enough.
std::vector<ReliefStep> plan_relief(const PressureOptions& options, Bytes used, std::span<const PressureModel> models);

/// Finds memory that no model accounts for and that keeps growing: the least excess of each window, rising window after window.
/// The least, because a busy moment raises the others; window after window, because one step up is a cache that filled.
class LeakDetector {
 public:
  struct Options {
    Duration window = Duration::minutes(10);
    int windows = 6;                ///< that rise in a row, ≥ 2
    Bytes least = Bytes::mebi(64);  ///< growth over them that is worth a word
  };
  struct Leak {
    Instant since;  ///< beginning of the first window
    Bytes grown;    ///< from the first to the last
  };
  explicit LeakDetector(Options options) : options_(options) {}

  /// @param measured  in use on the device. @param accounted  what models are booked with. Times never go back.
  /// @return at the end of a window that completes the pattern.
  std::optional<Leak> observe(Instant now, Bytes measured, Bytes accounted);

 private:
  struct Window {
    int64_t index = 0;
    Bytes least;
  };
  Options options_;
  std::optional<Window> open_;
  std::vector<Window> rising_;  // consecutive, each above the one before
};

}  // namespace stint::batching
