#include "cli/decide/plan_commit_fleet.h"

#include "cli/govern/accounts.h"
#include "cli/output.h"
#include "report/commit_fleet.h"

namespace stint {
namespace {

Result<CommitFleetView> plan(const FleetCommitOptions& options) {
  TRY_ASSIGN(const Interval asked, parse_period(options.period));
  TRY_ASSIGN(const CommitmentTerm longest, parse_commitment_term(options.longest_term));
  TRY_ASSIGN(const Records records, load_records(options.history, asked));
  TRY_ASSIGN(const Accounts accounts, keep_accounts(records, CostBasis::kEffective));
  const FleetFacts facts =
      collect_facts(records.history, records.usage, accounts.attribution.occupancy, accounts.ledger, records.catalog);
  CommitFleetView view;
  view.source = options.history;
  view.period = facts.period;
  view.plan_discount_pct = options.plan_discount_pct;
  view.pools = commit_pools(facts, records.catalog, longest);
  if (view.pools.pools.empty())
    return make_error(ErrorCode::kNotFound, "{} has no priced machines on demand in that period: nothing to commit to",
                      options.history);
  TRY_ASSIGN(view.portfolio, plan_portfolio(portfolio_types(view.pools, options.plan_discount_pct)));
  view.risk_options = {.draws = 200, .seed = options.seed};
  for (size_t i = 0; i < view.pools.pools.size(); ++i) {
    const PortfolioChoice& choice = view.portfolio.choices[i];
    const PortfolioType& type = view.pools.pools[i].type;
    view.risks.emplace_back();
    if (choice.count == 0) continue;
    const CommitMarket market{.on_demand = type.on_demand, .offers = {type.offers[*choice.offer]}, .owned = {}};
    if (const auto weeks = weeks_to_draw(market, type.demand))
      view.risks.back() = assess(market, *weeks, {.count = choice.count}, view.risk_options);
  }
  return view;
}

}  // namespace

Status print_fleet_commitments(const FleetCommitOptions& options) {
  TRY_ASSIGN(const CommitFleetView view, plan(options));
  return write_output("", options.json ? commit_fleet_json(view) : commit_fleet_text(view, screen_of_stdout()));
}

}  // namespace stint
