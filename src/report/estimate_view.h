// What a plan of infrastructure would cost, for people: a table, a comment for a pull request, JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalog/estimate.h"
#include "report/table.h"

namespace stint {

struct EstimateView {
  std::string source;  ///< the plan's file
  Estimate estimate;
  std::optional<FleetToday> today;
  std::vector<LimitVerdict> verdicts;
  bool sums_are_whole() const { return estimate.not_estimated.empty(); }
};

std::string estimate_text(const EstimateView& view, Screen screen);
/// GitHub-flavoured Markdown.
std::string estimate_comment(const EstimateView& view);
std::string estimate_json(const EstimateView& view);

}  // namespace stint
