#include "cli/decide/plan_fleet.h"

#include "advise/promises.h"
#include "cli/decide/batch_curve_files.h"
#include "cli/decide/catalog_source.h"
#include "cli/parser.h"
#include "cli/understand/goals_option.h"
#include "store/run_owners.h"

namespace stint {

void add_plan_fleet_options(Command& command, PlanFleetOptions& options, WithMeasured measured) {
  command.add_option("--history", options.history, "the History file")->required();
  add_period_options(command, options.period);
  if (measured == WithMeasured::kYes)
    command.add_option("--measured", options.measured, "rates measured by stint bench in place of data sheets");
}

PlanFleet::PlanFleet(std::unique_ptr<Records> records, Accounts accounts, std::vector<std::string> allowed_regions)
    : records_(std::move(records)),
      accounts_(std::move(accounts)),
      facts_(collect_facts(records_->history, records_->usage, accounts_.attribution.occupancy, accounts_.ledger,
                           records_->catalog)),
      prices_(records_->catalog, facts_.currency),
      books_(facts_, prices_),
      allowed_regions_(std::move(allowed_regions)) {
  add_promises(facts_, accounts_.ledger);
}

Result<std::unique_ptr<PlanFleet>> PlanFleet::open(const PlanFleetOptions& options) {
  TRY_ASSIGN(const Interval period, parse_period(options.period));
  TRY_ASSIGN(Records loaded, load_records(options.history, period));
  auto records = std::make_unique<Records>(std::move(loaded));
  if (!options.measured.empty()) {
    TRY_ASSIGN(const auto rows, read_measurements(options.measured));
    TRY_ASSIGN(records->catalog, records->catalog.with_measurements(rows));
  }
  TRY_ASSIGN(Accounts accounts, keep_accounts(*records, CostBasis::kEffective));
  TRY_ASSIGN(const std::vector<Goal> goals, load_goals(options.goals));
  TRY_ASSIGN(const RunOwners owners, read_run_owners(options.history));
  std::unique_ptr<PlanFleet> fleet(new PlanFleet(std::move(records), std::move(accounts), options.allowed_regions));
  add_promises(fleet->facts_, fleet->records_->history, owners);
  add_promises(fleet->facts_, goals);
  TRY_ASSIGN(const BatchCurves curves, load_batch_curves(options.batch_curves));
  add_batch_curves(fleet->facts_, curves);
  if (options.slowest) fleet->facts_.unpromised_pct = 100 * *options.slowest;
  return fleet;
}

}  // namespace stint
