#include "report/capacity_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "report/figures.h"
#include "report/short_text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string chance(double p) { return p > 0 && p < 0.01 ? "< 1 %" : p > 0.99 && p < 1 ? "> 99 %" : shown_percent(100 * p); }

std::string chances(const CapacityMonth& m) {
  const std::string low = chance(m.shortage_at_least), high = chance(m.shortage_at_most);
  return low == high ? low : low + " – " + high;
}

std::string action_text(const CapacityMonth& m) {
  if (m.action == CapacityAction::kEnough) return "enough";
  return fmt::format("{} {:.0f} ({:.0f}–{:.0f})",
                     m.action == CapacityAction::kCap ? "cap: hold back" : std::string(name_of(m.action)), m.amount, m.amount_low,
                     m.amount_high);
}

Tone tone_of(CapacityAction a) {
  return a == CapacityAction::kBuy ? Tone::kWarn : a == CapacityAction::kRelease ? Tone::kGood : Tone::kPlain;
}

/// What to do, and by when: the first month in which anything is to be done.
std::string first_action(const CapacityView& view) {
  for (const CapacityMonth& m : view.months) {
    const std::string month = format_date(m.when.begin).substr(0, 7);
    switch (m.action) {
      case CapacityAction::kEnough: continue;
      case CapacityAction::kBuy: return fmt::format("Buy {:.0f} for {}: the p90 peak is {:.0f}.", m.amount, month, m.peak_p90);
      case CapacityAction::kRelease: return fmt::format("Release {:.0f} from {} on: no month shown needs them.", m.amount, month);
      case CapacityAction::kCap:
        return fmt::format("Hold back {:.0f} in {}: about {:.0f} hours are short.", m.amount, month, m.short_hours);
    }
  }
  return "The capacity is enough in all months shown.";
}

std::string trust(const CapacityView& view) {
  const ForecastScore& s = view.forecast.score;
  if (s.compared == 0) return "The past is too short, or too even, to try the forecast on: take the intervals as a guess.";
  return fmt::format("Tried on the past: MASE {:.2f} (seasonal-naive {:.2f}), {:.0f} % of the values within the 90 % intervals.",
                     s.mase, s.seasonal_naive_mase, 100 * s.coverage_90);
}

}  // namespace

std::string capacity_text(const CapacityView& view, Screen screen) {
  Table table({{"month"},
               {"mean", Align::kRight, 0, 2},
               {"peak (p10–p90)", Align::kRight},
               {"chance to be short", Align::kRight, 0, 1},
               {"short hours", Align::kRight, 0, 3},
               {"commitment used", Align::kRight, 0, 4},
               {"do"},
               {"costs", Align::kRight}});
  bool extrapolated = false;
  for (const CapacityMonth& m : view.months) {
    extrapolated |= !m.tested;
    table.add_row({format_date(m.when.begin).substr(0, 7) + (m.tested ? "" : " *"), fmt::format("{:.1f}", m.mean),
                   fmt::format("{:.0f} ({:.0f}–{:.0f})", m.peak, m.peak_p10, m.peak_p90), chances(m),
                   fmt::format("{:.1f}", m.short_hours), view.options.committed > 0 ? shown_percent(100 * m.committed_used) : "–",
                   action_text(m), m.cost ? (m.action == CapacityAction::kRelease ? "−" : "") + m.cost->to_text(0) : "–"},
                  tone_of(m.action));
  }
  std::string out = fmt::format("{}: {} ({}), capacity {:.0f}, committed {:.0f}; {} to {}\n\n", view.source, view.series.name,
                                view.series.unit, view.options.capacity, view.options.committed, format_date(view.forecast.begin),
                                format_date(view.months.back().when.end));
  out += first_action(view) + "\n\n" + table.render(screen) + "\n";
  for (const KnownChange& change : view.changes)
    out += fmt::format("  known: {} from {}{}\n", change.note, short_utc(change.from),
                       change.until ? " until " + short_utc(*change.until) : "");
  if (!view.changes.empty()) out += "\n";
  std::string notes = fmt::format(
      "Each month is held against today's capacity. Buy: the peak fits nine times in ten (low: the expected peak, high: nineteen "
      "in twenty). Cap: less than {:.0f} % of the "
      "hours are short, "
      "so work that can wait is held back. Release: nor any later month shown needs it. Chance to be short: between that "
      "of the worst "
      "hour and that of hours which never coincide. ",
      100 * view.options.capped_share);
  notes += trust(view);
  if (extrapolated) notes += " * further ahead than the past could try: the interval is extrapolated.";
  return fitted(out + wrapped(notes, screen), screen);
}

std::string capacity_json(const CapacityView& view) {
  Json months = Json::array();
  for (const CapacityMonth& m : view.months)
    months.push_back({{"from", format_utc(m.when.begin)},
                      {"to", format_utc(m.when.end)},
                      {"tested", m.tested},
                      {"mean", m.mean},
                      {"peak", m.peak},
                      {"peak_p10", m.peak_p10},
                      {"peak_p90", m.peak_p90},
                      {"peak_p95", m.peak_p95},
                      {"shortage_at_least", m.shortage_at_least},
                      {"shortage_at_most", m.shortage_at_most},
                      {"short_hours", m.short_hours},
                      {"commitment_used", view.options.committed > 0 ? Json(m.committed_used) : Json(nullptr)},
                      {"action", name_of(m.action)},
                      {"amount", m.amount},
                      {"amount_low", m.amount_low},
                      {"amount_high", m.amount_high},
                      {"cost", m.cost ? Json(m.cost->to_double()) : Json(nullptr)}});
  Json changes = Json::array();
  for (const KnownChange& c : view.changes)
    changes.push_back({{"from", format_utc(c.from)},
                       {"to", c.until ? Json(format_utc(*c.until)) : Json(nullptr)},
                       {"factor", c.factor},
                       {"plus", c.plus},
                       {"note", c.note}});
  const ForecastScore& s = view.forecast.score;
  return Json{{"series", view.series.name},
              {"unit", view.series.unit},
              {"capacity", view.options.capacity},
              {"committed", view.options.committed},
              {"currency", view.options.unit_hour ? Json(std::string(view.options.unit_hour->currency().code())) : Json(nullptr)},
              {"months", months},
              {"changes", changes},
              {"mase", s.compared > 0 ? Json(s.mase) : Json(nullptr)},
              {"coverage_90", s.compared > 0 ? Json(s.coverage_90) : Json(nullptr)}}
             .dump(2) +
         "\n";
}

}  // namespace stint
