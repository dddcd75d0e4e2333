// Proof by replay on all cores, with a line that says how far it is.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "advise/prove/proof.h"
#include "cli/progress.h"

namespace stint {

class Command;

/// What the user may say of it: the options of every command that proves.
struct ProofRunOptions {
  bool leave_out = false;
  std::string policy = ProofOptions().policy;
  int seeds = ProofOptions().seeds;
  uint64_t seed = ProofOptions().seed;
  std::optional<double> most_longer_pct;  ///< of jobs and of services' p99; none = as ProofOptions has it
};
/// Adds --policy, --seeds, --seed and --max-slowdown.
void add_proof_options(Command& command, ProofRunOptions& options);

/// Owns the threads' work and the progress line while advice is proven. Threads run only inside the calls of `run`.
class ProofRuns {
 public:
  explicit ProofRuns(const ProofRunOptions& options);
  /// Must not outlive this.
  [[nodiscard]] ProofOptions options();
  /// Takes the progress line away.
  void clear() { progress_.clear(); }

 private:
  ProofRunOptions asked_;
  ProgressLine progress_;
  std::atomic<int64_t> replays_ = 0;
};

}  // namespace stint
