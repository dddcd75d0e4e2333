// A fleet as planners look at it: a History's records, accounts, facts and books, opened once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/find/finder.h"
#include "cli/govern/accounts.h"
#include "cli/period_options.h"

namespace stint {

class Command;

struct PlanFleetOptions {
  std::string history;
  PeriodOptions period;
  std::string measured;  ///< a file of stint bench; empty = data sheets alone
  std::vector<std::string> allowed_regions;
  std::string goals;                      ///< a file: what it promises of p99 counts; empty = none
  std::vector<std::string> batch_curves;  ///< SERVICE=FILE
  std::optional<double> slowest;          ///< × as long as now that p99 may take where nothing is promised; none = as today
};

/// --history and the period. @param measured  whether --measured is an option too.
enum class WithMeasured { kNo, kYes };
void add_plan_fleet_options(Command& command, PlanFleetOptions& options, WithMeasured measured);

class PlanFleet {
 public:
  /// @return error when the History cannot be read, holds nothing for the period, or money cannot be added up.
  static Result<std::unique_ptr<PlanFleet>> open(const PlanFleetOptions& options);
  PlanFleet(const PlanFleet&) = delete;
  PlanFleet& operator=(const PlanFleet&) = delete;

  /// Borrows from this.
  [[nodiscard]] FleetView view() const { return {facts_, books_, prices_, records_->history, allowed_regions_}; }
  [[nodiscard]] const Records& records() const { return *records_; }
  [[nodiscard]] const Accounts& accounts() const { return accounts_; }
  [[nodiscard]] const FleetFacts& facts() const { return facts_; }

 private:
  PlanFleet(std::unique_ptr<Records> records, Accounts accounts, std::vector<std::string> allowed_regions);

  std::unique_ptr<Records> records_;  // the others borrow from it: it stays where it is
  Accounts accounts_;
  FleetFacts facts_;
  PriceLookup prices_;
  Books books_;
  std::vector<std::string> allowed_regions_;
};

}  // namespace stint
