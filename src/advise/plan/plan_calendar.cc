#include "advise/plan/plan_calendar.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace stint {
namespace {

constexpr double kDaysOfMonth = 730.0 / 24;  // a billing month
constexpr Duration kCalendarDay = Duration::hours(24);

bool is_working_day(Instant day) { return weekday(day) < 5; }

Instant working_day_from(Instant day) {
  while (!is_working_day(day))
    day = day + kCalendarDay;
  return day;
}

/// The last of so many working days from `begin` on, which is one.
Instant last_working_day(Instant begin, int64_t days) {
  for (; days > 1; --days)
    begin = working_day_from(begin + kCalendarDay);
  return begin;
}

std::vector<std::string> owners_of(const Finding& finding, const std::map<std::string, std::string>& client_of) {
  std::set<std::string> owners;
  for (const std::string& node : nodes_of(finding.change)) {
    const auto client = client_of.find(node);
    owners.insert(client == client_of.end() || client->second.empty() ? "not attributed" : client->second);
  }
  return {owners.begin(), owners.end()};
}

}  // namespace

double effort_days(Level effort) {
  switch (effort) {
    case Level::kLow: return 0.5;
    case Level::kMedium: return 2;
    case Level::kHigh: return 8;
  }
  return 8;
}

std::vector<CalendarStep> plan_calendar(const AuditReport& plan, Instant begin, std::optional<Money> day_cost) {
  std::map<std::string, std::string> client_of;
  for (const NodeAudit& node : plan.nodes)
    client_of[node.name] = node.client;
  std::vector<const Finding*> in_order;
  for (const Finding& finding : plan.findings)
    in_order.push_back(&finding);
  std::ranges::stable_sort(in_order, {}, &Finding::step);
  std::vector<CalendarStep> calendar;
  Instant day = working_day_from(begin);
  for (const Finding* finding : in_order) {
    CalendarStep step{.step = finding->step,
                      .finding = finding->id,
                      .title = finding->title,
                      .owners = owners_of(*finding, client_of),
                      .begin = day,
                      .end = {},
                      .effort_days = effort_days(finding->effort),
                      .saving_per_month = finding->saving_per_month,
                      .one_off = std::nullopt,
                      .payback_days = std::nullopt};
    step.end = last_working_day(day, static_cast<int64_t>(std::ceil(step.effort_days)));
    if (day_cost) {
      step.one_off = scale(*day_cost, static_cast<int64_t>(2 * step.effort_days), 2);
      if (finding->saving_per_month.count_nanos() > 0)
        step.payback_days = kDaysOfMonth * step.one_off->to_double() / finding->saving_per_month.to_double();
    }
    day = working_day_from(step.end + kCalendarDay);
    calendar.push_back(std::move(step));
  }
  return calendar;
}

}  // namespace stint
