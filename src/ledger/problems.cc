#include "ledger/problems.h"

#include <algorithm>

#include "base/counted.h"

namespace stint {
namespace {

constexpr size_t kNamesShown = 5;
constexpr size_t kResourcesShown = 20;

}  // namespace

void Problems::add_line(const std::string& resource, Money amount) {
  Lines& lines = lines_.try_emplace(resource, Lines{0, Money::nanos(0, amount.currency())}).first->second;
  ++lines.count;
  lines.amount += amount;
}

std::vector<std::string> Problems::texts() const {
  std::vector<std::string> out;
  for (const auto& [what, names] : nodes_) {
    std::string shown;
    for (size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
      shown += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > kNamesShown) shown += fmt::format(" and {} more", names.size() - kNamesShown);
    out.push_back(fmt::format("{} ({}): {}", counted(names.size(), "node"), shown, what));
  }
  std::vector<std::pair<std::string, Lines>> resources(lines_.begin(), lines_.end());
  std::stable_sort(resources.begin(), resources.end(),
                   [](const auto& a, const auto& b) { return a.second.amount > b.second.amount; });
  for (size_t i = 0; i < std::min(resources.size(), kResourcesShown); ++i) {
    const auto& [resource, lines] = resources[i];
    out.push_back(
        fmt::format("{} of {} ({}) is tied to no node and carries no tenant tags: import the telemetry or inventory of "
                    "that machine, with its resource_id as the bill writes it",
                    lines.amount.to_text(), resource, counted(lines.count, "bill line")));
  }
  if (resources.size() > kResourcesShown)
    out.push_back(fmt::format("{} more GPU resources of the bill are tied to no node", resources.size() - kResourcesShown));
  return out;
}

}  // namespace stint
