#include "report/change_text.h"

#include <nlohmann/json.hpp>

#include "report/change_json.h"
#include "report/json_list.h"
#include "report/short_text.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

std::string money_text(const std::optional<Money>& money) { return money ? money->to_text() : "not said"; }
std::string kinds_of(const Proposal& p) {
  std::string kinds;
  for (const Change& change : p.changes)
    kinds += (kinds.empty() ? "" : ", ") + std::string(kind_of(change));
  return kinds;
}

Json proposal_json(const Proposal& p) {
  Json changes = Json::array();
  for (const Change& change : p.changes)
    changes.push_back(to_json(change));
  std::optional<Currency> currency;
  if (p.saving_per_month) currency = p.saving_per_month->currency();
  return {{"id", printable(p.id)},
          {"title", printable(p.title)},
          {"currency", currency ? Json(currency->code()) : Json(nullptr)},
          {"saving_per_month", amount_json(p.saving_per_month)},
          {"saving_low_per_month", amount_json(p.saving_low)},
          {"saving_high_per_month", amount_json(p.saving_high)},
          {"changes", changes}};
}

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string proposals_text(std::span<const Proposal> proposals, Screen screen) {
  Table table({{"number", Align::kRight},
               {"id"},
               {"kind", Align::kLeft, 0, 1},
               {"title", Align::kLeft, 80},
               {"saves per month", Align::kRight}});
  for (size_t i = 0; i < proposals.size(); ++i)
    table.add_row({fmt::format("{}", i + 1), proposals[i].id, kinds_of(proposals[i]), proposals[i].title,
                   money_text(proposals[i].saving_per_month)});
  return table.render(screen);
}

std::string proposals_json(std::span<const Proposal> proposals) {
  Json out = Json::array();
  for (size_t i = 0; i < proposals.size(); ++i) {
    Json one = {{"number", i + 1}};
    one.update(proposal_json(proposals[i]));
    out.push_back(std::move(one));
  }
  return dump({{"proposals", out}});
}

std::string applied_text(std::span<const AppliedChange> changes, Screen screen) {
  if (changes.empty())
    return fitted("No change has been applied: `stint change apply NUMBER AUDIT.json --history F` records one.\n", screen);
  Table table({{"number", Align::kRight},
               {"id", Align::kLeft, 0, 3},
               {"kind", Align::kLeft, 0, 2},
               {"title", Align::kLeft, 60},
               {"applied (UTC)"},
               {"undone (UTC)", Align::kLeft, 0, 1},
               {"promised per month", Align::kRight}});
  for (const AppliedChange& c : changes)
    table.add_row({fmt::format("{}", c.number), c.proposal.id, kinds_of(c.proposal), c.proposal.title, short_utc(c.applied_at),
                   c.undone_at ? short_utc(*c.undone_at) : "", money_text(c.proposal.saving_per_month)},
                  c.undone_at ? Tone::kMuted : Tone::kPlain);
  return table.render(screen);
}

Json to_json(const AppliedChange& c) {
  Json out = {{"number", c.number},
              {"applied_at", format_utc(c.applied_at)},
              {"undone_at", c.undone_at ? Json(format_utc(*c.undone_at)) : Json(nullptr)},
              {"source", printable(c.source)},
              {"cost", amount_json(c.cost)}};
  out.update(proposal_json(c.proposal));
  return out;
}

std::string applied_json(std::span<const AppliedChange> changes) {
  Json out = Json::array();
  for (const AppliedChange& change : changes)
    out.push_back(to_json(change));
  return dump({{"changes", out}});
}

std::string instructions_text(std::span<const Instruction> instructions) {
  std::string out;
  for (const Instruction& i : instructions) {
    out += fmt::format("{}# ── {} ({}) ──\n", out.empty() ? "" : "\n", printable(i.tool), name_of(i.syntax));
    for (const std::string& line : i.lines)
      out += printable_lines(line) + "\n";
  }
  return out;
}

Json instructions_json(std::span<const Instruction> instructions) {
  Json out = Json::array();
  for (const Instruction& i : instructions) {
    Json lines = Json::array();
    for (const std::string& line : i.lines)
      lines.push_back(printable_lines(line));
    out.push_back({{"tool", printable(i.tool)}, {"syntax", name_of(i.syntax)}, {"lines", lines}});
  }
  return out;
}

Json objections_json(std::span<const Objection> objections) {
  Json out = Json::array();
  for (const Objection& o : objections)
    out.push_back({{"what", printable(o.what)}, {"remedy", printable(o.remedy)}});
  return out;
}

}  // namespace stint
