#include "report/commit_view.h"

#include <algorithm>

#include "base/counted.h"
#include "report/figures.h"
#include "report/short_text.h"

namespace stint {
namespace {

constexpr size_t kBands = 12;
constexpr size_t kBarWidth = 40;

std::string ratio_text(std::optional<double> value) { return value ? fmt::format("{:.4f}", *value) : "–"; }

/// Instances held in each hour.
HourlyDemand held_by(const CommitView& view, const CommitPlan& plan) {
  HourlyDemand held(view.demand.size());
  for (const CommitPurchase& p : plan) {
    const int64_t end = std::min(std::ssize(held), p.hour + view.market.offers[p.offer].term_hours);
    for (int64_t t = p.hour; t < end; ++t)
      held[static_cast<size_t>(t)] += p.count;
  }
  return held;
}

double share_of_hours(const HourlyDemand& hourly, int64_t at_least) {
  const auto reached = std::count_if(hourly.begin(), hourly.end(), [&](int64_t d) { return d >= at_least; });
  return static_cast<double>(reached) / static_cast<double>(hourly.size());
}

std::string bar(double share, double mark) {
  const auto column = [](double x) {
    return static_cast<size_t>(std::clamp(x, 0.0, 1.0) * static_cast<double>(kBarWidth) + 0.5);
  };
  std::string text;
  for (size_t i = 0; i < kBarWidth; ++i)
    text += i + 1 == column(mark) ? "│" : i < column(share) ? "█" : "·";
  return text;
}

/// In which share of the hours the k-th instance ran, beside the share from which committing to it pays.
std::string picture(const CommitView& view, Screen screen) {
  const int64_t most = *std::max_element(view.demand.begin(), view.demand.end());
  if (most == 0) return "";
  const CommitOffer& offer = view.market.offers.front();
  const double break_even = (offer.upfront.to_double() / static_cast<double>(offer.term_hours) + offer.hourly.to_double()) /
                            view.market.on_demand.to_double();
  std::vector<Column> columns = {{"instance", Align::kRight}, {"runs in (│ = break-even)"}, {"of hours", Align::kRight}};
  std::vector<HourlyDemand> held;
  for (const CommitRun& run : view.runs) {
    columns.push_back({std::string(name_of(run.policy)), Align::kRight});
    held.push_back(held_by(view, run.plan));
  }
  Table table(std::move(columns));
  const auto bands = static_cast<int64_t>(std::min<size_t>(kBands, static_cast<size_t>(most)));
  for (int64_t band = bands; band-- > 0;) {
    const int64_t level = 1 + band * (most - 1) / std::max<int64_t>(1, bands - 1);
    const double share = share_of_hours(view.demand, level);
    std::vector<std::string> cells = {grouped(static_cast<double>(level)), bar(share, break_even), shown_percent(100 * share)};
    for (const HourlyDemand& h : held)
      cells.push_back(shown_percent(100 * share_of_hours(h, level)));
    table.add_row(std::move(cells), share > break_even ? Tone::kGood : Tone::kPlain);
  }
  return fmt::format("Demand, and in which share of the hours each policy holds so many reservations\n\n{}\n",
                     table.render(screen));
}

std::string policies(const CommitView& view, Screen screen) {
  Table table({{"policy"},
               {"cost", Align::kRight},
               {"of on-demand", Align::kRight},
               {"of optimum", Align::kRight, 0, 2},
               {"at most", Align::kRight, 0, 4},
               {"bought", Align::kRight, 0, 1},
               {"reserved hours used", Align::kRight, 0, 3},
               {"rest on spot, of on-demand", Align::kRight, 0, 5}});
  table.add_row({"on-demand only", cents_text(view.runs.front().bill.all_on_demand), "1.0000",
                 ratio_text(ratio(view.runs.front().bill.all_on_demand, view.optimal)), "", "0", "", ""});
  const auto rest_on_spot = [&](const CommitRun& run) {
    return view.spot ? ratio_text(ratio(cost_with_spot(view, run), run.bill.all_on_demand)) : std::string("–");
  };
  for (const CommitRun& run : view.runs) {
    int64_t bought = 0;
    for (const CommitPurchase& p : run.plan)
      bought += p.count;
    const auto bound = bound_of(run.policy, view.market);
    const std::string at_most =
        bound ? fmt::format("{:.2f}{}", bound->ratio, bound->against == name_of(CommitPolicy::kOptimal) ? "" : "*") : "–";
    table.add_row({std::string(name_of(run.policy)), cents_text(run.bill.total),
                   ratio_text(ratio(run.bill.total, run.bill.all_on_demand)), ratio_text(ratio(run.bill.total, view.optimal)),
                   at_most, grouped(static_cast<double>(bought)),
                   run.bill.reserved_instance_hours == 0 ? "–"
                                                         : shown_percent(100 * static_cast<double>(run.bill.used_instance_hours) /
                                                                         static_cast<double>(run.bill.reserved_instance_hours)),
                   rest_on_spot(run)});
  }
  return table.render(screen);
}

std::string risks(const CommitView& view, Screen screen) {
  Table table({{"bought now", Align::kRight},
               {"in rungs", Align::kRight, 0, 2},
               {"demand", Align::kLeft, 0, 1},
               {"saved P10", Align::kRight},
               {"P50", Align::kRight, 0, 3},
               {"P90", Align::kRight},
               {"worst 5 %", Align::kRight, 0, 4},
               {"chance of a loss", Align::kRight}});
  for (const CommitRiskRow& row : view.risks)
    table.add_row({grouped(static_cast<double>(row.ladder.count)), fmt::format("{}", row.ladder.rungs),
                   row.fall > 0 ? fmt::format("falls by {:.0f} % half way", 100 * row.fall) : "as drawn",
                   shown_percent(row.risk.saving_pct_p10, 1), shown_percent(row.risk.saving_pct_p50, 1),
                   shown_percent(row.risk.saving_pct_p90, 1), shown_percent(row.risk.saving_pct_worst5, 1),
                   shown_percent(100 * row.risk.loss_probability, 1)},
                  row.risk.loss_probability > 0.1 ? Tone::kWarn : Tone::kPlain);
  return fmt::format("\nBuying now for one term: savings over {} terms drawn from the last {} weeks (seed {})\n\n{}",
                     view.risk_options.draws, view.weeks_drawn_from, view.risk_options.seed, table.render(screen));
}

/// What the hours given say, before the tables.
std::string commit_summary(const CommitView& view) {
  const auto cheapest = std::ranges::min_element(view.runs, {}, [](const CommitRun& run) { return run.bill.total; });
  const Money on_demand = cheapest->bill.all_on_demand;
  int64_t bought = 0;
  for (const CommitPurchase& p : cheapest->plan)
    bought += p.count;
  if (bought == 0 || cheapest->bill.total >= on_demand)
    return fmt::format("No commitment of these pays on this demand: all of it on demand costs {}.", on_demand.to_text());
  return fmt::format("{} costs least: {} with {}, {} less than {} on demand.", name_of(cheapest->policy),
                     cheapest->bill.total.to_text(), counted(bought, "commitment"),
                     shown_percent(100 - 100 * cheapest->bill.total.to_double() / on_demand.to_double(), 1), on_demand.to_text());
}

}  // namespace

Money cost_with_spot(const CommitView& view, const CommitRun& run) {
  return run.bill.total - run.bill.on_demand +
         scale(run.bill.on_demand, view.spot->count_nanos(), view.market.on_demand.count_nanos());
}

std::optional<double> ratio(Money part, Money whole) {
  if (whole.is_zero()) return std::nullopt;
  return part.to_double() / whole.to_double();
}

std::string commit_text(const CommitView& view, Screen screen) {
  const CommitOffer& offer = view.market.offers.front();
  std::string text =
      fmt::format("{}: {} hours, {} on demand; a commitment of {} hours costs {} upfront and {} an hour{}\n\n", view.source,
                  view.demand.size(), short_money(view.market.on_demand), offer.term_hours, offer.upfront.to_text(2),
                  short_money(offer.hourly), view.market.fee == HourlyFee::kAlways ? ", used or not" : " in use");
  text += wrapped(commit_summary(view), screen) + "\n";
  text += picture(view, screen);
  text += fmt::format("Cost ({})\n\n{}\n", view.market.on_demand.currency().code(), policies(view, screen));
  text += wrapped(
      fmt::format(
          "optimal, optimal-by-level and quantile know all of the demand; the others see the past alone. What is bought is owed "
          "in full, past the last hour too. * of the best plan that ties every reservation to one level, {} of on-demand here.",
          ratio_text(ratio(view.optimal_by_level, view.runs.front().bill.all_on_demand))),
      screen);
  if (!view.risks.empty()) text += risks(view, screen);
  return fitted(text, screen);
}

}  // namespace stint
