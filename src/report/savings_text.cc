#include "report/savings_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/json_list.h"
#include "report/short_text.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

const AppliedChange& change_of(std::span<const AppliedChange> applied, int64_t number) {
  const auto it = std::ranges::find(applied, number, &AppliedChange::number);
  CHECK(it != applied.end(), "change {} is tracked, but was never applied", number);
  return *it;
}

std::string titles_of(const TrackedSaving& t, std::span<const AppliedChange> applied) {
  std::string out;
  for (const int64_t number : t.numbers)
    out += (out.empty() ? "" : "; ") + printable(change_of(applied, number).proposal.title);
  return out;
}

std::string verdict_text(const TrackedSaving& t) {
  if (!t.realised) return "not known yet";
  if (!t.verdict) return "no promise";
  return std::string(name_of(*t.verdict));
}

Tone tone_of(const TrackedSaving& t) {
  if (!t.verdict) return Tone::kMuted;
  switch (*t.verdict) {
    case SavingVerdict::kKept: return Tone::kGood;
    case SavingVerdict::kPartly: return Tone::kWarn;
    case SavingVerdict::kNone:
    case SavingVerdict::kCostsMore: break;
  }
  return Tone::kBad;
}

std::string period_text(Interval i) { return fmt::format("{} to {}", format_date(i.begin), format_date(i.end)); }

std::string promise_text(const TrackedSaving& t) {
  if (!t.promised_per_month) return "";
  std::string out = t.promised_per_month->to_text();
  if (t.promised_low) out += fmt::format(" ({} to {})", t.promised_low->to_text(), t.promised_high->to_text());
  return out;
}

std::string realised_text(const TrackedSaving& t) {
  if (!t.realised) return "";
  std::string out = t.realised->per_month.to_text();
  if (t.interval) out += fmt::format(" ({} to {})", t.interval->p10.to_text(), t.interval->p90.to_text());
  return out;
}

/// How the figure came about, to be checked by hand.
std::string details(const TrackedSaving& t, Screen screen) {
  std::string out;
  const auto add = [&](const std::string& text) { out += wrapped(text, screen, 2); };
  if (t.realised) {
    const RealisedSaving& r = *t.realised;
    const auto side = [](const char* name, Interval period, const CostAndWork& c, const std::optional<Money>& unit) {
      return fmt::format("{} {}: {} for {:.1f} GPU-hours{}\n", name, period_text(period), c.cost.to_text(), c.gpu_hours,
                         unit ? fmt::format(" = {} each", short_money(*unit)) : "");
    };
    add(side("before,", t.before_period, t.before, r.per_gpu_hour_before));
    add(side("after,", t.after_period, t.after, r.per_gpu_hour_after));
    add(fmt::format(
        "work is {}; prices are {:.3f} of those before; per month, demand {}{}, prices {}{}, the change saves {} at the "
        "demand of before and {} at that of after\n",
        name_of(t.measure), t.price_index, r.demand_per_month.count_nanos() < 0 ? "" : "+", r.demand_per_month.to_text(),
        r.price_per_month.count_nanos() < 0 ? "" : "+", r.price_per_month.to_text(), r.per_month.to_text(),
        r.per_month_now.to_text()));
  }
  if (t.interval)
    add(fmt::format("with {} weeks before and {} after drawn again, the middle 80 % of what it saves is {} to {} a month\n",
                    t.interval->weeks_before, t.interval->weeks_after, t.interval->p10.to_text(), t.interval->p90.to_text()));
  else if (t.realised)
    add("an interval needs two weeks before and two after\n");
  if (t.on_cost)
    add(fmt::format("carried out for {}: {} saved so far, a return of {:.0f} %{}\n", t.cost->to_text(),
                    t.on_cost->saved.to_text(), 100 * t.on_cost->on_cost,
                    t.on_cost->payback_months ? fmt::format(", paid back after {:.1f} months", *t.on_cost->payback_months)
                                              : ", not paid back at this rate"));
  for (const std::string& note : t.notes)
    add(printable(note) + "\n");
  return out;
}

Json period(Interval i) {
  if (i.empty()) return nullptr;
  return {{"begin", format_utc(i.begin)}, {"end", format_utc(i.end)}};
}

Json side(Interval when, const CostAndWork& c, const std::optional<Money>& unit) {
  return {{"period", period(when)},
          {"cost", c.cost.to_double()},
          {"gpu_hours", c.gpu_hours},
          {"gpu_hours_there", c.gpu_hours_there},
          {"per_gpu_hour", amount_json(unit)}};
}

Json to_json(const TrackedSaving& t, std::span<const AppliedChange> applied) {
  Json notes = Json::array();
  for (const std::string& note : t.notes)
    notes.push_back(printable(note));
  Json nodes = Json::array();
  for (const std::string& node : t.nodes)
    nodes.push_back(printable(node));
  const AppliedChange& first = change_of(applied, t.numbers.front());
  Json out = {{"numbers", t.numbers},
              {"title", titles_of(t, applied)},
              {"applied_at", format_utc(first.applied_at)},
              {"undone_at", first.undone_at ? Json(format_utc(*first.undone_at)) : Json(nullptr)},
              {"promised_per_month", amount_json(t.promised_per_month)},
              {"promised_low_per_month", amount_json(t.promised_low)},
              {"promised_high_per_month", amount_json(t.promised_high)},
              {"realised_per_month", t.realised ? Json(t.realised->per_month.to_double()) : Json(nullptr)},
              {"realised_p10_per_month", t.interval ? Json(t.interval->p10.to_double()) : Json(nullptr)},
              {"realised_p90_per_month", t.interval ? Json(t.interval->p90.to_double()) : Json(nullptr)},
              {"verdict", t.verdict ? Json(name_of(*t.verdict)) : Json(nullptr)}};
  if (t.realised) {
    const RealisedSaving& r = *t.realised;
    out["currency"] = r.per_month.currency().code();
    out["realised_now_per_month"] = r.per_month_now.to_double();
    out["demand_per_month"] = r.demand_per_month.to_double();
    out["price_per_month"] = r.price_per_month.to_double();
    out["bill_falls_per_month"] = r.bill_falls_per_month.to_double();
    out["price_index"] = t.price_index;
    out["work"] = name_of(t.measure);
    out["before"] = side(t.before_period, t.before, r.per_gpu_hour_before);
    out["after"] = side(t.after_period, t.after, r.per_gpu_hour_after);
    out["idle_before"] = r.idle_before;
    out["all_nodes_of_tenants"] = t.all_of_tenants;
  }
  out["nodes"] = nodes;
  out["cost"] = amount_json(t.cost);
  if (t.on_cost) {
    out["saved_so_far"] = t.on_cost->saved.to_double();
    out["return_on_cost"] = t.on_cost->on_cost;
    out["payback_months"] = t.on_cost->payback_months ? Json(*t.on_cost->payback_months) : Json(nullptr);
  }
  out["notes"] = notes;
  return out;
}

}  // namespace

std::string savings_text(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied, Screen screen) {
  if (tracked.empty())
    return fitted("No change has been applied: `stint change apply NUMBER AUDIT.json --history F` records one.\n", screen);
  Table table({{"change"},
               {"title", Align::kLeft, 60},
               {"since", Align::kLeft, 0, 2},
               {"promised per month", Align::kRight},
               {"realised per month", Align::kRight},
               {"verdict"}});
  for (const TrackedSaving& t : tracked) {
    table.add_row({fmt::format("{}", fmt::join(t.numbers, ", ")), titles_of(t, applied),
                   format_date(change_of(applied, t.numbers.front()).applied_at), promise_text(t), realised_text(t),
                   verdict_text(t)});
    table.tone_cell(5, tone_of(t));
  }
  std::string out = table.render(screen);
  for (const TrackedSaving& t : tracked)
    out +=
        fmt::format("\n{} {}\n{}", t.numbers.size() > 1 ? "Changes" : "Change", fmt::join(t.numbers, ", "), details(t, screen));
  return fitted(out, screen);
}

Json savings_list(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied) {
  Json out = Json::array();
  for (const TrackedSaving& t : tracked)
    out.push_back(to_json(t, applied));
  return out;
}

std::string savings_json(std::span<const TrackedSaving> tracked, std::span<const AppliedChange> applied) {
  return Json{{"schema", "stint-savings/1"}, {"savings", savings_list(tracked, applied)}}.dump(2, ' ', false,
                                                                                               Json::error_handler_t::replace) +
         "\n";
}

}  // namespace stint
