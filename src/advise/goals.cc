#include "advise/goals.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "model/change.h"

namespace stint {
namespace {

struct Known {
  std::string_view name;
  GoalMeasure measure;
  bool at_most;
  std::string_view unit;  ///< behind the number
};
constexpr std::array kKnown = {
    Known{"cost", GoalMeasure::kCost, true, ""},
    Known{"saving", GoalMeasure::kSaving, false, "%"},
    Known{"throughput", GoalMeasure::kThroughput, false, "%"},
    Known{"training-throughput", GoalMeasure::kTrainingThroughput, false, "%"},
    Known{"p99", GoalMeasure::kLatencyP99, true, "%"},
};
constexpr std::string_view kSavingOfPrefix = "saving-of:";
constexpr std::string_view kPromisePrefix = "p99:";
constexpr double kLargest = 1e12;

template <size_t... kIndex>
bool is_change_kind(std::string_view name, std::index_sequence<kIndex...>) {
  return ((kind_of(Change(std::in_place_index<kIndex>)) == name) || ...);
}

Error expected(std::string_view text) {
  return invalid(
      "'{}' is no goal: expected cost<=AMOUNT, saving>=N%, throughput>=N%, training-throughput>=N%, p99<=N%, "
      "p99:SERVICE<=Nms or saving-of:KIND>=N%",
      excerpt(text));
}

}  // namespace

std::string_view name_of(GoalOutcome outcome) {
  switch (outcome) {
    case GoalOutcome::kHolds: return "holds";
    case GoalOutcome::kFails: return "fails";
    case GoalOutcome::kNotShown: return "not shown";
  }
  return "not shown";
}

Result<Goal> parse_goal(std::string_view text) {
  Goal goal;
  std::ranges::copy_if(text, std::back_inserter(goal.text), [](char c) { return c != ' ' && c != '\t' && c != '\r'; });
  const std::string_view line = goal.text;
  const size_t at = line.find_first_of("<>");
  if (at == std::string_view::npos || at + 1 >= line.size() || line[at + 1] != '=') return expected(text);
  const std::string_view name = line.substr(0, at);
  std::string_view number = line.substr(at + 2);
  Known known{};
  if (name.starts_with(kSavingOfPrefix)) {
    known = {name, GoalMeasure::kSavingOf, false, "%"};
    goal.change_kind = name.substr(kSavingOfPrefix.size());
    if (!is_change_kind(goal.change_kind, std::make_index_sequence<std::variant_size_v<Change>>()))
      return invalid("'{}' is no kind of change: see docs/formats.md", excerpt(goal.change_kind));
  } else if (name.starts_with(kPromisePrefix)) {
    known = {name, GoalMeasure::kServiceP99, true, "ms"};
    goal.service = name.substr(kPromisePrefix.size());
    if (goal.service.empty()) return invalid("'{}': expected a service, such as p99:search<=80ms", excerpt(text));
  } else {
    const auto it = std::ranges::find(kKnown, name, &Known::name);
    if (it == kKnown.end()) return expected(text);
    known = *it;
  }
  if ((line[at] == '<') != known.at_most)
    return invalid("'{}': {} is a goal with {}", excerpt(text), excerpt(name), known.at_most ? "<=" : ">=");
  if (!number.ends_with(known.unit) || (known.unit.empty() && number.ends_with('%')))
    return invalid("'{}': expected {}", excerpt(text),
                   known.unit == "%"    ? "a percentage, such as 140%"
                   : known.unit == "ms" ? "milliseconds, such as 80ms"
                                        : "an amount, such as 18000");
  number.remove_suffix(known.unit.size());
  const auto bound = parse_number(number);
  if (!bound || *bound <= 0 || *bound > kLargest) return expected(text);
  goal.measure = known.measure;
  goal.bound = *bound;
  return goal;
}

Result<std::vector<Goal>> parse_goals(std::string_view text) {
  std::vector<Goal> goals;
  int64_t number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.starts_with('#')) continue;
    auto goal = parse_goal(line);
    if (!goal.ok()) return invalid("line {}: {}", number, goal.error().message);
    goals.push_back(std::move(*goal));
  }
  return goals;
}

}  // namespace stint
