#include "model/fleet.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace stint {
namespace {

constexpr std::array<std::pair<Market, std::string_view>, 5> kMarketNames = {{
    {Market::kUnknown, "unknown"},
    {Market::kOnDemand, "on-demand"},
    {Market::kSpot, "spot"},
    {Market::kReserved, "reserved"},
    {Market::kOwned, "owned"},
}};

}  // namespace

std::string_view name_of(Market m) { return kMarketNames[static_cast<size_t>(m)].second; }

bool is_paid_while_off(Market m) { return m == Market::kOwned || m == Market::kReserved; }

Result<Market> parse_market(std::string_view text) {
  for (const auto& [market, name] : kMarketNames)
    if (equals_ignoring_case(name, trim(text))) return market;
  if (equals_ignoring_case(trim(text), "ondemand")) return Market::kOnDemand;
  return invalid("'{}' is no market: use on-demand, spot, reserved or owned", excerpt(text));
}

std::vector<RateSpan> rate_spans(const std::vector<RatePoint>& rates, Interval when) {
  std::vector<RateSpan> spans;
  for (size_t i = 0; i < rates.size(); ++i) {
    const Interval common =
        intersect({i == 0 ? when.begin : rates[i].from, i + 1 < rates.size() ? rates[i + 1].from : when.end}, when);
    if (common.empty()) continue;
    if (!spans.empty() && spans.back().rate == rates[i].rate)
      spans.back().when.end = common.end;
    else
      spans.push_back({common, rates[i].rate});
  }
  return spans;
}

Duration absent_within(const Node& node, Interval when) {
  Duration away;
  for (auto it = std::ranges::lower_bound(node.absent, when.begin, {}, &Interval::end); it != node.absent.end(); ++it) {
    if (it->begin >= when.end) break;
    if (const Interval common = intersect(*it, when); !common.empty()) away = away + common.length();
  }
  return away;
}

Tenant tenant_of(const Node& node, const std::vector<TenantRule>& rules) {
  for (const TenantRule& rule : rules)
    if (glob_matches(rule.pattern, "node/" + node.name)) return merged(node.tenant, rule.tenant);
  return node.tenant;
}

bool can_be_billed(const Tenant& t) { return !t.client.empty() || !t.project.empty() || !t.team.empty() || !t.workload.empty(); }

}  // namespace stint
