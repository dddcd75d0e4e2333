#include "telemetry/alert_evaluator.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace stint {
namespace {

size_t minutes_in(Duration d) { return static_cast<size_t>(d.count_ns() / Duration::minutes(1).count_ns()); }

bool holds(const AlertRule& rule, double value) {
  switch (rule.comparison) {
    case Comparison::kAbove: return value > rule.threshold;
    case Comparison::kBelow: return value < rule.threshold;
    case Comparison::kAtMost: return value <= rule.threshold;
    case Comparison::kAtLeast: return value >= rule.threshold;
  }
  return false;
}

bool speaks_about(const AlertRule& rule, WorkloadKind kind) {
  return rule.only.empty() || std::ranges::find(rule.only, kind) != rule.only.end();
}

}  // namespace

AlertEvaluator::AlertEvaluator(std::vector<AlertRule> rules) : rules_(std::move(rules)), minutes_(kMetricCount) {
  const auto look_back = [&](std::optional<Metric> metric, Duration window) {
    // The minute that has just begun is not looked at yet, but is in the ring.
    if (metric) minutes_[static_cast<size_t>(*metric)] = std::max(minutes_[static_cast<size_t>(*metric)], minutes_in(window) + 1);
  };
  for (const AlertRule& rule : rules_) {
    const Status sound = check_alert_rule(rule);
    CHECK(sound.ok(), "{}", sound.error().message);
    look_back(rule.metric, rule.measure == Measure::kTimesBaseline ? rule.window + kBaseline : rule.window);
    look_back(rule.of, rule.window);
    if (rule.measure == Measure::kRise) look_back(Metric::kUtilization, rule.window);
    if (rule.event) events_kept_ = std::max(events_kept_, rule.window);
    if (rule.scope == AlertScope::kFleet) subject({.scope = AlertScope::kFleet, .node = {}, .gpu = {}, .name = {}});
  }
}

SubjectId AlertEvaluator::subject(const AlertSubject& subject) {
  if (const auto known = ids_.find(subject); known != ids_.end()) {
    subjects_[known->second.index()].dropped = false;
    return known->second;
  }
  if (free_.empty()) {
    free_.emplace_back(static_cast<uint32_t>(subjects_.size()));
    subjects_.emplace_back();
  }
  const SubjectId id = free_.back();
  free_.pop_back();
  Subject& s = subjects_[id.index()] = {};
  s.there = true;
  s.who = subject;
  s.windows.resize(kMetricCount);
  s.states.resize(rules_.size());
  ids_.emplace(subject, id);
  return id;
}

void AlertEvaluator::free_dropped() {
  for (const SubjectId id : ended_) {
    Subject& s = subjects_[id.index()];
    if (!s.dropped) continue;  // it has come back
    ids_.erase(s.who);
    s = {};
    free_.push_back(id);
  }
  ended_.clear();
}

void AlertEvaluator::sample(SubjectId id, Metric metric, Instant at, double value) {
  const size_t minutes = minutes_[static_cast<size_t>(metric)];
  if (minutes == 0 || !std::isfinite(value)) return;
  std::optional<MinuteWindow>& window = subjects_[id.index()].windows[static_cast<size_t>(metric)];
  if (!window) window.emplace(minutes);
  window->add(at, value);
}

void AlertEvaluator::event(SubjectId id, AlertEvent event, Instant at, WorkloadKind kind) {
  subjects_[id.index()].happened.push_back({.event = event, .at = at, .kind = kind});
}

void AlertEvaluator::set_fact(SubjectId id, AlertFact fact, std::optional<double> value) {
  subjects_[id.index()].facts[static_cast<size_t>(fact)] = value;
}

void AlertEvaluator::restore(std::string_view rule, const AlertSubject& who, Instant since, double value, Instant at) {
  const auto known = std::ranges::find(rules_, rule, &AlertRule::name);
  if (known == rules_.end() || known->scope != who.scope) return;
  State& state = subjects_[subject(who).index()].states[static_cast<size_t>(known - rules_.begin())];
  state = {.since = since, .fires = true, .value = value, .trusted_until = at + known->window};
}

std::optional<Instant> AlertEvaluator::next_due() const {
  std::optional<Instant> due;
  for (const Subject& s : subjects_)
    for (size_t r = 0; r < s.states.size(); ++r) {
      const State& state = s.states[r];
      if (state.fires || !state.since) continue;
      const Instant then = *state.since + rules_[r].hold;
      due = due ? std::min(*due, then) : then;
    }
  return due;
}

std::optional<double> AlertEvaluator::mean(const Subject& s, Metric metric, Instant until, Duration window) const {
  const std::optional<MinuteWindow>& minutes = s.windows[static_cast<size_t>(metric)];
  if (!minutes) return std::nullopt;
  const std::optional<MinuteWindow::Mean> mean = minutes->mean(until, window);
  if (!mean || mean->coverage < kLeastCoverage) return std::nullopt;
  return mean->value;
}

std::optional<double> AlertEvaluator::rise(const AlertRule& rule, const Subject& s, Instant now) const {
  const Duration half = Duration::minutes(static_cast<int64_t>(minutes_in(rule.window) / 2));
  const std::optional<double> of = mean(s, *rule.of, now, rule.window);
  const std::optional<double> before = mean(s, Metric::kUtilization, now - half, half);
  const std::optional<double> after = mean(s, Metric::kUtilization, now, half);
  if (!of || *of <= 0 || !before || !after || std::abs(*before - *after) >= kSteadyPoints) return std::nullopt;
  if (!mean(s, *rule.metric, now, rule.window)) return std::nullopt;
  const std::optional<double> rise = s.windows[static_cast<size_t>(*rule.metric)]->rise(now, rule.window);
  return rise ? std::optional(100 * *rise / *of) : std::nullopt;
}

std::optional<double> AlertEvaluator::share_of_spot_nodes(const AlertRule& rule, Instant now) const {
  size_t nodes = 0;
  size_t interrupted = 0;
  for (const Subject& s : subjects_) {
    if (s.who.scope != AlertScope::kNode) continue;
    const bool happened = std::ranges::any_of(
        s.happened, [&](const Happened& h) { return h.event == *rule.event && h.at > now - rule.window && h.at <= now; });
    nodes += s.spot || happened ? 1 : 0;
    interrupted += happened ? 1 : 0;
  }
  if (nodes == 0) return std::nullopt;
  return 100.0 * static_cast<double>(interrupted) / static_cast<double>(nodes);
}

std::optional<double> AlertEvaluator::measure(const AlertRule& rule, const Subject& s, Instant now) const {
  switch (rule.measure) {
    case Measure::kMean: return mean(s, *rule.metric, now, rule.window);
    case Measure::kShare: {
      const std::optional<double> part = mean(s, *rule.metric, now, rule.window);
      const std::optional<double> of = mean(s, *rule.of, now, rule.window);
      return part && of && *of > 0 ? std::optional(100 * *part / *of) : std::nullopt;
    }
    case Measure::kTimesBaseline: {
      const std::optional<double> mine = mean(s, *rule.metric, now, rule.window);
      if (!mine) return std::nullopt;
      const std::optional<double> usual =
          s.windows[static_cast<size_t>(*rule.metric)]->quantile(now - rule.window, kBaseline, 0.95);
      return usual && *usual > 0 ? std::optional(*mine / *usual) : std::nullopt;
    }
    case Measure::kRise: return rise(rule, s, now);
    case Measure::kEvents:
      return static_cast<double>(std::ranges::count_if(s.happened, [&](const Happened& h) {
        return h.event == *rule.event && h.at > now - rule.window && h.at <= now && speaks_about(rule, h.kind);
      }));
    case Measure::kEventShare: return share_of_spot_nodes(rule, now);
    case Measure::kSilence: {
      if (!s.began) return std::nullopt;
      Instant last = *s.began;
      for (const Happened& h : s.happened)
        if (h.event == *rule.event) last = std::max(last, h.at);
      return (now - last).to_seconds() / 3600;
    }
    case Measure::kFact: return s.facts[static_cast<size_t>(*rule.fact)];
  }
  return std::nullopt;
}

/// One rule, one subject.
void AlertEvaluator::look(size_t r, SubjectId id, Instant now, std::vector<AlertChange>& changes) {
  const AlertRule& rule = rules_[r];
  Subject& s = subjects_[id.index()];
  State& state = s.states[r];
  const bool counts = !s.dropped && (rule.measure == Measure::kEvents || speaks_about(rule, s.kind));
  const std::optional<double> value = counts ? measure(rule, s, now) : std::nullopt;
  if (!value && !s.dropped && state.fires && state.trusted_until && now < *state.trusted_until) return;
  if (value) {
    state.value = *value;
    state.trusted_until.reset();
  }
  const auto change = [&](bool firing) {
    changes.push_back({.rule = r, .subject = id, .firing = firing, .since = *state.since, .at = now, .value = state.value});
  };
  if (!value || !holds(rule, *value)) {
    if (state.fires) change(false);
    state = {.since = {}, .fires = false, .value = state.value, .trusted_until = {}};
    return;
  }
  if (!state.since) state.since = now;
  if (state.fires || now - *state.since < rule.hold) return;
  state.fires = true;
  change(true);
}

std::vector<AlertChange> AlertEvaluator::evaluate(Instant now) {
  free_dropped();
  std::vector<AlertChange> changes;
  for (size_t r = 0; r < rules_.size(); ++r)
    for (uint32_t i = 0; i < subjects_.size(); ++i)
      if (subjects_[i].there && subjects_[i].who.scope == rules_[r].scope) look(r, SubjectId(i), now, changes);
  for (uint32_t i = 0; i < subjects_.size(); ++i)
    if (subjects_[i].dropped) ended_.emplace_back(i);
  forget(now);
  return changes;
}

/// Events no rule looks at any more; of each kind the newest stays, silence is counted from it.
void AlertEvaluator::forget(Instant now) {
  for (Subject& s : subjects_) {
    if (s.happened.size() < 64) continue;
    std::vector<Happened> kept;
    for (const Happened& h : s.happened) {
      const bool is_newest =
          std::ranges::none_of(s.happened, [&](const Happened& o) { return o.event == h.event && o.at > h.at; });
      if (h.at > now - events_kept_ || is_newest) kept.push_back(h);
    }
    s.happened = std::move(kept);
  }
}

}  // namespace stint
