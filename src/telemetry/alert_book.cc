#include "telemetry/alert_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace stint {
namespace {

constexpr Duration kSilenceShown = Duration::hours(24);

/// The same over restarts and state folders: what it is about, when it began, which telling it is.
std::string key_of(const BookedAlert& alert, bool firing, int64_t times) {
  Fnv1a hash;
  for (const auto& [name, value] : alert.message.labels)
    hash.update(name + '\0' + value + '\0');
  return fmt::format("{:016x}-{}-{}-{}", hash.digest(), alert.message.starts_at.ns(), firing ? "firing" : "resolved", times);
}

const AlertTold* told_to(const BookedAlert& alert, const std::string& receiver) {
  const auto at = alert.told.find(receiver);
  return at == alert.told.end() ? nullptr : &at->second;
}

}  // namespace

AlertMessage message_of(const AlertRule& rule, const AlertSubject& who, const AlertChange& change, const std::string& client) {
  AlertMessage message;
  message.labels = {
      {"alertname", rule.name}, {"severity", std::string(name_of(rule.severity))}, {"scope", std::string(name_of(rule.scope))}};
  const auto label = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) message.labels[std::string(name)] = value;
  };
  label("node", who.node);
  label("gpu", who.gpu);
  label(name_of(who.scope), who.name);
  label("client", client);
  message.annotations = {{"summary", rule.summary},
                         {"description", fmt::format("Measured {:.1f} {}; the rule is {} {:g}.", change.value, rule.unit,
                                                     symbol_of(rule.comparison), rule.threshold)},
                         {"remedy", rule.remedy}};
  message.starts_at = change.since;
  if (!change.firing) message.ends_at = change.at;
  return message;
}

std::vector<AlertEntry> AlertBook::entries_for(const AlertEvaluator& evaluator, std::span<const AlertChange> changes,
                                               const ClientOf& client_of) const {
  std::vector<AlertEntry> entries;
  int64_t id = next_alert_;
  for (const AlertChange& change : changes) {
    const AlertRule& rule = evaluator.rules()[change.rule];
    const AlertSubject& who = evaluator.subject(change.subject);
    const auto known = firing_.find(std::pair(rule.name, who));
    if (change.firing && known == firing_.end()) {
      BookedAlert alert{
          .id = id++, .rule = rule.name, .who = who, .client = client_of(who), .value = change.value, .fired = change.at};
      alert.message = message_of(rule, who, change, alert.client);
      entries.emplace_back(AlertFired{std::move(alert)});
    } else if (!change.firing && known != firing_.end()) {
      const bool silenced = !silenced_by(alerts_.at(known->second).message.labels, change.at).empty();
      entries.emplace_back(AlertEnded{.id = known->second, .at = change.at, .value = change.value, .silenced = silenced});
    }
  }
  return entries;
}

std::vector<AlertEntry> AlertBook::entries_for_rules(std::span<const AlertRule> rules, Instant now) const {
  std::vector<AlertEntry> entries;
  for (const auto& [what, id] : firing_)
    if (std::ranges::find(rules, what.first, &AlertRule::name) == rules.end()) {
      const BookedAlert& alert = alerts_.at(id);
      const bool silenced = !silenced_by(alert.message.labels, now).empty();
      entries.emplace_back(AlertEnded{.id = id, .at = now, .value = alert.value, .silenced = silenced});
    }
  return entries;
}

Status AlertBook::apply(const AlertEntry& entry) {
  const auto no_such = [](std::string_view what, int64_t id) { return invalid("no {} {}", what, id); };
  if (const auto* fired = std::get_if<AlertFired>(&entry)) {
    const BookedAlert& alert = fired->alert;
    if (alert.id < next_alert_ || !firing_.emplace(std::pair(alert.rule, alert.who), alert.id).second)
      return invalid("alert {} fires already", alert.id);
    next_alert_ = alert.id + 1;
    alerts_.emplace(alert.id, alert);
    return {};
  }
  if (const auto* ended = std::get_if<AlertEnded>(&entry)) {
    const auto at = alerts_.find(ended->id);
    if (at == alerts_.end() || !at->second.firing()) return no_such("alert that fires:", ended->id);
    BookedAlert& alert = at->second;
    alert.message.ends_at = ended->at;
    alert.value = ended->value;
    alert.ended_silenced = ended->silenced;
    firing_.erase(std::pair(alert.rule, alert.who));
    return {};
  }
  if (const auto* told = std::get_if<AlertWasTold>(&entry)) {
    const auto at = alerts_.find(told->id);
    if (at == alerts_.end()) return {};  // let go meanwhile: there is nothing left to tell
    AlertTold& last = at->second.told[told->receiver];
    last = {.firing = told->firing, .at = told->at, .times = last.times + (told->firing ? 1 : 0)};
    return {};
  }
  if (const auto* silenced = std::get_if<AlertSilenced>(&entry)) {
    if (silenced->silence.id < next_silence_) return invalid("silence {} is there already", silenced->silence.id);
    next_silence_ = silenced->silence.id + 1;
    silences_.emplace(silenced->silence.id, silenced->silence);
    return {};
  }
  if (const auto* expired = std::get_if<SilenceExpired>(&entry)) {
    const auto at = silences_.find(expired->id);
    if (at == silences_.end()) return no_such("silence", expired->id);
    at->second.until = std::min(at->second.until, expired->at);
    return {};
  }
  return apply_anew(entry);
}

Status AlertBook::apply_anew(const AlertEntry& entry) {
  if (const auto* anew = std::get_if<AlertBookAnew>(&entry)) {
    *this = {};
    next_alert_ = anew->next_alert;
    next_silence_ = anew->next_silence;
    return {};
  }
  if (const auto* kept = std::get_if<AlertKept>(&entry)) {
    const BookedAlert& alert = kept->alert;
    const bool fits = alert.id < next_alert_ && !alerts_.contains(alert.id);
    if (!fits || (alert.firing() && !firing_.emplace(std::pair(alert.rule, alert.who), alert.id).second))
      return invalid("alert {} was not there to be kept", alert.id);
    alerts_.emplace(alert.id, alert);
    return {};
  }
  const Silence& silence = std::get<SilenceKept>(entry).silence;
  if (silence.id >= next_silence_ || !silences_.emplace(silence.id, silence).second)
    return invalid("silence {} was not there to be kept", silence.id);
  return {};
}

std::vector<AlertEntry> AlertBook::entries_anew() const {
  std::vector<AlertEntry> entries;
  entries.reserve(size());
  entries.emplace_back(AlertBookAnew{.next_alert = next_alert_, .next_silence = next_silence_});
  for (const auto& [id, alert] : alerts_)
    entries.emplace_back(AlertKept{alert});
  for (const auto& [id, silence] : silences_)
    entries.emplace_back(SilenceKept{silence});
  return entries;
}

std::vector<int64_t> AlertBook::silenced_by(const AlertLabels& labels, Instant now) const {
  std::vector<int64_t> ids;
  for (const auto& [id, s] : silences_)
    if (s.from <= now && now < s.until && all_match(s.matchers, labels)) ids.push_back(id);
  return ids;
}

bool AlertBook::is_due(const AlertAudience& audience, const BookedAlert& alert, Instant now) const {
  const AlertTold* told = told_to(alert, audience.receiver);
  if (!alert.firing())
    return told != nullptr ? told->firing : !alert.ended_silenced && all_match(audience.wants, alert.message.labels);
  if (told != nullptr && now - told->at < audience.again) return false;
  return all_match(audience.wants, alert.message.labels) && silenced_by(alert.message.labels, now).empty();
}

std::vector<AlertNotice> AlertBook::due(const AlertAudience& audience, Instant now, size_t limit) const {
  std::vector<AlertNotice> notices;
  for (const auto& [id, alert] : alerts_) {
    if (notices.size() == limit) break;
    if (!is_due(audience, alert, now)) continue;
    const AlertTold* told = told_to(alert, audience.receiver);
    const int64_t times = told != nullptr && alert.firing() ? told->times : 0;
    notices.push_back({.id = id, .key = key_of(alert, alert.firing(), times), .message = alert.message});
  }
  return notices;
}

int64_t AlertBook::waiting(const AlertAudience& audience, Instant now) const {
  return std::ranges::count_if(alerts_, [&](const auto& entry) { return is_due(audience, entry.second, now); });
}

std::optional<Instant> AlertBook::next_due(const AlertAudience& audience, Instant now) const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) {
    if (at > now && (!next || at < *next)) next = at;
  };
  for (const auto& [what, id] : firing_)
    if (const AlertTold* told = told_to(alerts_.at(id), audience.receiver)) consider(told->at + audience.again);
  for (const auto& [id, silence] : silences_)
    consider(silence.until);
  return next;
}

int64_t AlertBook::prune(std::span<const AlertAudience> audiences, Instant now, const AlertRetention& kept) {
  std::erase_if(silences_, [&](const auto& entry) { return entry.second.until + kSilenceShown <= now; });
  size_t settled = 0;
  size_t untold = 0;
  int64_t lost = 0;
  // From the newest on: the oldest go.
  for (auto at = alerts_.end(); at != alerts_.begin();) {
    --at;
    if (at->second.firing()) continue;
    const bool owed = std::ranges::any_of(audiences, [&](const AlertAudience& a) { return is_due(a, at->second, now); });
    const bool goes = owed ? ++untold > kMostUntold : ++settled > kept.count || *at->second.message.ends_at + kept.age <= now;
    if (!goes) continue;
    lost += owed ? 1 : 0;
    at = alerts_.erase(at);
  }
  return lost;
}

}  // namespace stint
