// stint plan commit: when to buy how many commitments on one instance type, by a policy or by all of them.
#include <fmt/format.h>

#include <memory>

#include "advise/commit/commit_levels.h"
#include "base/text.h"
#include "cli/decide/plan.h"
#include "cli/decide/plan_commit_fleet.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "codec/metrics/hourly_demand.h"
#include "host/file.h"
#include "report/commit_view.h"

namespace stint {
namespace {

struct DemandCommitOptions {
  FleetCommitOptions fleet;
  std::string demand;
  std::string on_demand;
  std::string reserved_hourly = "0";
  std::string upfront = "0";
  std::string spot;
  int64_t term_hours = 0;
  bool fee_when_used = false;
  std::vector<std::string> owned;
  std::string policy;
  bool risk = false;
  double fall_pct = 30;
  uint64_t seed = 42;
  bool json = false;
};

Result<Money> parse_amount(const char* option, const std::string& text) {
  Result<Money> amount = Money::parse(text);
  if (!amount.ok()) return invalid("{} {}: {}", option, text, amount.error().message);
  return amount;
}

/// "3@2000": three, for the first 2,000 hours.
Result<OwnedCommitment> parse_owned_commitment(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, '@');
  const auto count = parse_int(parts.front()), until = parse_int(parts.back());
  if (parts.size() != 2 || !count || !until || *count < 0 || *count > kMaxDemandInstances || *until < 0)
    return invalid("--owned {}: expected COUNT@HOURS, such as 3@2000: three that last for the first 2,000 hours", excerpt(text));
  return OwnedCommitment{*count, *until};
}

Result<CommitMarket> market_of(const DemandCommitOptions& options) {
  CommitMarket market;
  CommitOffer offer{.name = "commitment", .upfront = {}, .hourly = {}, .term_hours = options.term_hours};
  TRY_ASSIGN(market.on_demand, parse_amount("--on-demand", options.on_demand));
  TRY_ASSIGN(offer.hourly, parse_amount("--reserved-hourly", options.reserved_hourly));
  TRY_ASSIGN(offer.upfront, parse_amount("--upfront", options.upfront));
  if (offer.hourly.is_zero() && offer.upfront.is_zero())
    return invalid("a commitment that costs nothing: give --upfront, --reserved-hourly or both");
  market.offers = {offer};
  for (const std::string& text : options.owned) {
    TRY_ASSIGN(const OwnedCommitment owned, parse_owned_commitment(text));
    market.owned.push_back(owned);
  }
  market.fee = options.fee_when_used ? HourlyFee::kWhenUsed : HourlyFee::kAlways;
  return market;
}

/// As many as pay if the last term comes again, and more careful choices; as drawn, and with a fall of demand.
Status add_risks(CommitView& view, const DemandCommitOptions& options) {
  const HourlyDemand left = uncovered_demand(view.market, view.demand);
  const auto weeks = weeks_to_draw(view.market, left);
  if (!weeks)
    return invalid("--risk needs at least two weeks of demand to draw from; {} has {} hours", options.demand, view.demand.size());
  view.weeks_drawn_from = std::ssize(*weeks) / 168;
  const int64_t term = std::min(std::ssize(left), options.term_hours);
  const int64_t count = paying_count(view.market, std::span(left).last(static_cast<size_t>(term)));
  std::vector<CommitLadder> choices = {{.count = count, .rungs = 1}};
  for (const CommitLadder careful : {CommitLadder{count, 4}, CommitLadder{count * 3 / 4, 1}, CommitLadder{count / 2, 1}})
    if (careful.count > 0) choices.push_back(careful);
  for (const double fall : {0.0, options.fall_pct / 100}) {
    if (fall == 0 && !view.risks.empty()) continue;
    view.risk_options = {.seed = options.seed, .fall = fall};
    for (const CommitLadder& ladder : choices)
      view.risks.push_back({ladder, fall, assess(view.market, *weeks, ladder, view.risk_options)});
  }
  return {};
}

Result<CommitView> plan(const DemandCommitOptions& options) {
  CommitView view;
  view.source = options.demand;
  TRY_ASSIGN(view.market, market_of(options));
  std::vector<CommitPolicy> policies;
  if (options.policy.empty()) {
    for (size_t p = 0; p < kCommitPolicies; ++p)
      policies.push_back(static_cast<CommitPolicy>(p));
  } else {
    TRY_ASSIGN(const CommitPolicy policy, parse_commit_policy(options.policy));
    policies.push_back(policy);
  }
  TRY_ASSIGN(const std::string text, read_all(options.demand));
  TRY_ASSIGN(view.demand, read_hourly_demand(text, options.demand));
  TRY(check_market(view.market, view.demand));
  if (!options.spot.empty()) {
    TRY_ASSIGN(const Money spot, parse_amount("--spot", options.spot));
    if (spot.count_nanos() <= 0 || spot.currency() != view.market.on_demand.currency())
      return invalid("--spot {}: give a price above 0 in the currency of the others", excerpt(options.spot));
    view.spot = spot;
  }
  const auto run = [&](CommitPolicy policy) {
    CommitRun made{.policy = policy, .plan = plan_commitments(policy, view.market, view.demand), .bill = {}};
    made.bill = bill_plan(view.market, view.demand, made.plan);
    return made;
  };
  for (const CommitPolicy policy : policies)
    view.runs.push_back(run(policy));
  view.optimal = run(CommitPolicy::kOptimal).bill.total;
  view.optimal_by_level = run(CommitPolicy::kOptimalByLevel).bill.total;
  if (options.risk) TRY(add_risks(view, options));
  return view;
}

Status print_plan(const DemandCommitOptions& options) {
  TRY_ASSIGN(const CommitView view, plan(options));
  return write_output("", options.json ? commit_json(view) : commit_text(view, screen_of_stdout()));
}

}  // namespace

void add_plan_commit_command(Command& plan, Action& action) {
  auto options = std::make_shared<DemandCommitOptions>();
  Command* command = plan.add_subcommand("commit", "When to buy how many commitments, tried on a demand by the hour");
  Option* demand = command->add_option("--demand", options->demand,
                                       "CSV with columns hour and instances (or gpus, demand, count); may be .gz");
  Option* history = command->add_option("--history", options->fleet.history,
                                        "a History instead: every type it has on demand, with the catalogue's commitments");
  history->excludes(demand);
  add_period_options(*command, options->fleet.period);
  command
      ->add_option("--savings-plan", options->fleet.plan_discount_pct,
                   "with --history: a savings plan too, of this discount on every type (percent)")
      ->check(in_range(1, 99))
      ->needs(history);
  command->add_option("--longest-term", options->fleet.longest_term, "with --history: 1y, or 3y for both (default: 1y)")
      ->check(one_of({"1y", "3y"}))
      ->needs(history);
  Option* on_demand = command->add_option("--on-demand", options->on_demand, "price of an instance-hour on demand");
  demand->needs(on_demand);
  command->add_option("--reserved-hourly", options->reserved_hourly, "a commitment's fee per hour of its term (default 0)");
  command->add_option("--upfront", options->upfront, "a commitment's fee when it is bought (default 0)");
  Option* term = command->add_option("--term-hours", options->term_hours, "how long it lasts; a year has 8760 hours");
  demand->needs(term);
  command->add_option("--spot", options->spot,
                      "price of an instance-hour on spot: also what it costs when all that no commitment covers is there");
  command->add_flag("--fee-when-used", options->fee_when_used, "the hourly fee is asked for used hours alone");
  command->add_option("--owned", options->owned,
                      "COUNT@HOURS, repeated: commitments owned already, and the hours until they end");
  command->add_option("--policy", options->policy,
                      "optimal, optimal-by-level, quantile (know all of the demand), online, online-joint or stint (see the past "
                      "alone); default: all of them");
  Option* risk = command->add_flag("--risk", options->risk, "also what may come of buying now: terms drawn from past weeks");
  command->add_option("--fall", options->fall_pct, "with --risk: also demand that falls by so many percent half way (default 30)")
      ->check(in_range(0.0, 100.0))
      ->needs(risk);
  command->add_option("--seed", options->seed, "of what is drawn by chance (default 42)");
  command->add_flag("--json", options->json, "as JSON");
  command->footer(
      "Example: stint plan commit --demand hourly.csv --on-demand 3.06 --reserved-hourly 1.82 --term-hours 8760\n"
      "         stint plan commit --history fleet.db --savings-plan 27");
  command->callback([options, &action] {
    if (options->demand.empty() && options->fleet.history.empty()) missing_argument("--demand or --history");
    action = [options] {
      options->fleet.json = options->json;
      options->fleet.seed = options->seed;
      const Status done = options->fleet.history.empty() ? print_plan(*options) : print_fleet_commitments(options->fleet);
      return done.ok() ? ExitCode::kOk : fail(done.error().message);
    };
  });
}

}  // namespace stint
