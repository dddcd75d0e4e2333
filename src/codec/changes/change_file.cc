#include "codec/changes/change_file.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/changes/change_json.h"
#include "codec/json_fields.h"

namespace stint::json_fields {
namespace {

constexpr std::string_view kChangesSchema = "stint-changes/1";
constexpr size_t kMostProposals = 10'000;

/// Audits write numbers, which a double tells apart to the cent; this format writes text, exact to the nano-unit.
std::optional<Money> money_of(const Json& object, const char* name, Currency currency) {
  const auto it = object.find(name);
  if (it == object.end() || it->is_null()) return std::nullopt;
  if (it->is_string()) return taken(object, Money::parse(it->get<std::string>(), currency));
  constexpr double kMost = 9e9;
  return Money::estimate(number_of(object, name, -kMost, kMost), currency);
}

Currency currency_of(const Json& document) {
  if (!document.is_object() || !document.contains("currency")) return {};
  return taken(document, Currency::parse(text_of(document, "currency")));
}

void add_change(Proposal& proposal, const Json& item) {
  if (!item.is_object()) throw Malformed(item, "expected an object with 'kind', or one with 'change'");
  const bool wrapped = item.contains("change");
  const Json& object = wrapped ? item["change"] : item;
  if (!object.is_object()) throw Malformed(item, "'change' is no object");
  proposal.changes.push_back(change_from_json(object));
  if (!proposal.title.empty()) proposal.title += "; ";
  proposal.title += wrapped && item.contains("title") ? text_of(item, "title") : describe(proposal.changes.back());
}

/// An array of changes, a change, a finding with its `change`, or a proposal with its `changes`.
Proposal proposal_of(const Json& item, const Json& around, Currency currency) {
  Proposal proposal;
  const bool has_changes = item.is_object() && item.contains("changes");
  if (item.is_array() || has_changes) {
    for (const Json& one : has_changes ? array_of(item, "changes") : item)
      add_change(proposal, one);
    if (proposal.changes.empty()) throw Malformed(has_changes ? item : around, "an empty array is no change");
  } else {
    add_change(proposal, item);
  }
  if (!has_changes && !(item.is_object() && item.contains("change"))) return proposal;
  if (has_changes) proposal.title = text_of(item, "title");
  proposal.id = text_or_empty(item, "id");
  proposal.saving_per_month = money_of(item, "saving_per_month", currency);
  proposal.saving_low = money_of(item, "saving_low_per_month", currency);
  proposal.saving_high = money_of(item, "saving_high_per_month", currency);
  // A finding that was run again has the interval with its proof.
  if (item.is_object() && item.contains("proof") && item["proof"].is_object() && !proposal.saving_low) {
    proposal.saving_low = money_of(item["proof"], "saving_p10", currency);
    proposal.saving_high = money_of(item["proof"], "saving_p90", currency);
  }
  if (proposal.saving_low.has_value() != proposal.saving_high.has_value() ||
      (proposal.saving_low && *proposal.saving_high < *proposal.saving_low))
    throw Malformed(item, "saving_low_per_month and saving_high_per_month belong together, the lower one first");
  return proposal;
}

std::vector<Proposal> proposals_of(const Json& document) {
  std::vector<Proposal> proposals;
  const bool is_ours = document.is_object() && document.contains("proposals");
  if (is_ours && text_of(document, "schema") != kChangesSchema)
    throw Malformed(document, fmt::format("schema '{}' is not {}: a newer Stint wrote it; update this one",
                                          excerpt(text_of(document, "schema")), kChangesSchema));
  const bool is_report = document.is_object() && document.contains("findings");
  const Json& items = is_ours ? document["proposals"] : is_report ? document["findings"] : document;
  const Currency currency = currency_of(document);
  if (!items.is_array()) {
    proposals.push_back(proposal_of(items, document, currency));
    return proposals;
  }
  for (const Json& item : items)
    proposals.push_back(proposal_of(item, document, currency));
  return proposals;
}

Result<std::vector<Proposal>> read_text(std::string_view bytes, const std::string& source) {
  std::vector<Proposal> proposals;
  size_t number = 0;
  for (const std::string_view raw : split(bytes, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    Result<ChangeList> list = parse_changes(line);
    if (!list.ok()) return invalid("{}:{}: {}", source, number, list.error().message);
    Proposal& proposal = proposals.emplace_back();
    proposal.title = std::move(list->name);
    proposal.changes = std::move(list->changes);
  }
  return proposals;
}

Json proposal_to_json(const Proposal& p) {
  Json out = {{"id", p.id}, {"title", p.title}};
  const auto put = [&](const char* name, const std::optional<Money>& money) {
    if (money) out[name] = money->to_decimal();
  };
  put("saving_per_month", p.saving_per_month);
  put("saving_low_per_month", p.saving_low);
  put("saving_high_per_month", p.saving_high);
  out["changes"] = Json::array();
  for (const Change& change : p.changes)
    out["changes"].push_back(change_to_json(change));
  return out;
}

}  // namespace
}  // namespace stint::json_fields

namespace stint {

Result<std::vector<Proposal>> read_proposals(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::string_view content = trim(bytes);
  const bool is_json = content.starts_with('{') || content.starts_with('[');
  TRY_ASSIGN(std::vector<Proposal> proposals,
             is_json ? json_fields::read_document<std::vector<Proposal>>(bytes, source, json_fields::proposals_of)
                     : json_fields::read_text(bytes, source));
  if (proposals.empty()) return invalid("{}: no change in it", source);
  if (proposals.size() > json_fields::kMostProposals)
    return invalid("{}: {} changes; {} can be read at once", source, proposals.size(), json_fields::kMostProposals);
  return proposals;
}

std::string write_proposals(std::span<const Proposal> proposals) {
  Currency currency;
  for (const Proposal& p : proposals)
    if (p.saving_per_month) currency = p.saving_per_month->currency();
  using json_fields::Json;
  Json out = {{"schema", json_fields::kChangesSchema}, {"currency", currency.code()}, {"proposals", Json::array()}};
  for (const Proposal& p : proposals)
    out["proposals"].push_back(json_fields::proposal_to_json(p));
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<ChangeList>> read_changes(std::string_view bytes, const std::string& source) {
  TRY_ASSIGN(std::vector<Proposal> proposals, read_proposals(bytes, source));
  std::vector<ChangeList> lists;
  for (Proposal& p : proposals) {
    ChangeList& list = lists.emplace_back();
    list.name = std::move(p.title);
    list.changes = std::move(p.changes);
  }
  return lists;
}

}  // namespace stint
