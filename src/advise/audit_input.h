// What an audit is asked: of which History, at which prices, and what its plan may hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/batch_curves.h"
#include "advise/finding.h"
#include "advise/goals.h"
#include "advise/prove/proof.h"
#include "advise/thresholds.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "catalog/measured_pairs.h"
#include "ledger/ledger.h"
#include "model/change.h"
#include "model/history.h"
#include "model/run_owner.h"
#include "telemetry/attribution.h"
#include "telemetry/usage.h"

namespace stint {

/// A commitment bought before.
struct OwnedInstances {
  std::string instance_type;
  std::string region;  ///< "": any
  int64_t count = 0;
  Instant until;
};

/// A savings plan that may be bought, as the user knows its prices.
struct SavingsPlanOffer {
  std::string provider;
  CommitmentTerm term = CommitmentTerm::kOneYear;
  PaymentOption payment = PaymentOption::kNoUpfront;
  std::optional<int64_t> discount_pct;       ///< below on-demand, of every type that `rates` do not name; 1 to 99
  std::vector<SavingsPlan::TypeRate> rates;  ///< in the bill's currency
};

/// What a plan may hold.
struct PlanChoice {
  Level max_risk = Level::kHigh;
  std::vector<std::string> without;  ///< ids of findings that are left out
  std::vector<std::string> disproven =
      {};  ///< ids of findings that did not survive their replay: the next best takes their place
};

struct AuditInput {
  const History& history;
  const Usage& usage;
  const Catalog& catalog;                    ///< with imported prices laid over
  Instant now;                               ///< for stale prices only
  std::vector<std::string> allowed_regions;  ///< globs; empty = the region each node is in
  std::optional<ProofOptions> proof = {};    ///< none = findings stay arithmetic
  PlanChoice choice = {};
  std::vector<Goal> goals = {};
  CommitmentTerm longest_term = CommitmentTerm::kOneYear;  ///< that may be committed to
  std::vector<SavingsPlanOffer> savings_plans = {};        ///< that may be bought
  std::vector<OwnedInstances> owned = {};                  ///< commitments bought before, of which it is known when they end
  std::optional<double> services_longer_pct =
      {};  ///< p99 of services of which nothing is promised may grow by that much; none = by nothing
  std::vector<PairMeasurement> pairs = {};  ///< of jobs on one GPU, as measured
  RunOwners owners = {};                    ///< of pods: a label may promise p99 of a service
  BatchCurves batch_curves = {};            ///< of services, as measured
  double commit_on_days = kDaysToCommit;    ///< of use, from which on commitments count in the plan
};

}  // namespace stint
