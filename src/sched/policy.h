// Policy: which of the scheduler's rules hold. A value, so that two policies can be replayed on one history.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint::sched {

/// Who goes first among the waiting jobs of equal priority.
enum class Order : uint8_t {
  kFifo,       ///< by submission; the first that does not fit blocks the rest
  kFifoSkip,   ///< by submission; those that do not fit are passed over
  kSjfOracle,  ///< shortest first, with the true durations known (JobSpec::expected)
  kSrtf,       ///< shortest remaining first, preemptive, with the true durations known
  kFair,       ///< queue furthest below its share first
  kStint,      ///< our own: fair share, least attained service, ageing; durations not known
};

enum class Backfill : uint8_t {
  kNone,          ///< no reservations
  kEasy,          ///< one reservation, for the first job that does not fit (Lifka 1995)
  kConservative,  ///< a reservation for every job (Mu'alem and Feitelson 2001)
};

/// Which node, and which GPU of it, among those that fit.
enum class Placement : uint8_t {
  kFirstFit,
  kBestFit,
  kSpread,      ///< emptiest node first
  kDotProduct,  ///< Grandl et al. 2014 (Tetris)
  kPacking,     ///< Weng et al. 2022: GPUs in use first, then nodes in use
  kClustering,  ///< Xiao et al. 2018 (Gandiva): with tasks of the same size
  kRandom,
  kFgd,    ///< Weng et al. 2023, fragmentation gradient descent
  kStint,  ///< our own
};

enum class VictimOrder : uint8_t {
  kPriorityYoungest,  ///< lowest priority, then surplus of elastic jobs, then youngest
  kLeastLostWork,     ///< least work lost since the last checkpoint plus restart, in GPU-seconds
};

/// What is known of how long jobs run, beside their own `expected` and time limits, which go first.
enum class Durations : uint8_t {
  kGiven,   ///< no more than that
  kLearnt,  ///< what like jobs took that have ended (durations/duration_book.h): for `stint`, guessed reservations, deadlines
};

/// What a queue may claim from others.
enum class ShareRule : uint8_t {
  kDeserved,  ///< what it deserves; what is over goes in turn
  kFair,      ///< what it deserves and, by weight and wish, its part of what is over (fair_share.h)
};

/// As how much of a GPU queues' accounts count a MIG instance.
enum class MigCount : uint8_t {
  kPart,    ///< its part of the compute slices, rounded down to thousandths: 2g.20gb of an A100 is 0.285
  kSlices,  ///< as many GPUs as its name has compute slices: 2g.20gb is 2 (KAI Scheduler counts so)
};

struct Policy {
  Order order = Order::kStint;
  Durations durations = Durations::kGiven;
  Backfill backfill = Backfill::kEasy;
  Placement placement = Placement::kStint;
  VictimOrder victims = VictimOrder::kLeastLostWork;
  bool preempt = true;  ///< within a queue, by priority
  bool reclaim = true;  ///< between queues, by share
  ShareRule shares = ShareRule::kDeserved;
  MigCount mig = MigCount::kPart;
  bool cheapest = true;     ///< who names no GPU model gets the cheapest that fits; a gang, GPUs of one model
  bool consolidate = true;  ///< move running jobs so that one fits for which enough is free, but scattered
  Duration gang_grace;      ///< a gang that lost tasks may wait so long for others in their place; 0 = leaves at once
  Duration ageing = Duration::hours(24);            ///< waiting this long is worth one step of priority class; 0 = no ageing
  Duration usage_half_life = Duration::hours(168);  ///< of past usage under fair and stint; 0 = only what is held now counts
  uint64_t seed = 0;                                ///< Placement::kRandom
  bool operator==(const Policy&) const = default;
};

std::string_view name_of(Order o);     // "fifo", "fifo-skip", "sjf-oracle", "srtf", "fair", "stint"
std::string_view name_of(Backfill b);  // "none", "easy", "conservative"
std::string_view name_of(
    Placement p);  // "first-fit", "best-fit", "spread", "dot-product", "packing", "clustering", "random", "fgd", "stint"
Result<Order> parse_order(std::string_view text);
Result<Backfill> parse_backfill(std::string_view text);
Result<Placement> parse_placement(std::string_view text);

}  // namespace stint::sched
