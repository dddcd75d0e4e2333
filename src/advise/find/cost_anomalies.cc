#include "advise/find/cost_anomalies.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>

#include "advise/find/daily_cost.h"

namespace stint {
namespace {

constexpr double kMadToDeviation = 1.4826;
constexpr double kTailToDeviation = 1.645;  // 90 % of normal noise lie within so many

/// @param values  not empty.
double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

struct DayJudgement {
  double expected = 0;
  double score = 0;
};

/// @param costs  of a series from its first day with a cost on. @return none where the past is too short.
std::optional<DayJudgement> judge_day(std::span<const double> costs, size_t day, const AnomalyOptions& o) {
  const size_t from = day > 7 * o.weeks ? day - 7 * o.weeks : 0;
  std::array<std::vector<double>, 7> weekdays;  // 0 = that of the day
  for (size_t d = from; d < day; ++d)
    weekdays[(day - d) % 7].push_back(costs[d]);
  if (weekdays[0].size() < o.fewest_weeks) return std::nullopt;
  std::vector<double> deviations;
  for (const auto& same : weekdays) {
    if (same.empty()) continue;
    const double usual = median_of(same);
    for (const double cost : same)
      deviations.push_back(std::abs(cost - usual));
  }
  DayJudgement out{.expected = median_of(weekdays[0])};
  double sum = 0;
  for (size_t d = from; d < day; ++d)
    sum += costs[d];
  const double usual_day = std::max(std::abs(out.expected), std::abs(sum) / static_cast<double>(day - from));
  std::ranges::sort(deviations);
  const double tail = deviations[(9 * deviations.size() + 9) / 10 - 1];  // nearest rank
  const double deviation =
      std::max({kMadToDeviation * median_of(deviations), tail / kTailToDeviation, o.least_deviation * usual_day, 1e-9});
  out.score = (costs[day] - out.expected) / deviation;
  return out;
}

Instant end_of(const CostAnomaly& a) { return a.first_day + kHour * (24 * static_cast<int64_t>(a.days)); }

bool goes_on(const CostAnomaly& last, Instant day, double score) {
  return end_of(last) == day && (last.score > 0) == (score > 0);
}

}  // namespace

Duration lookback(const AnomalyOptions& options) { return kHour * (24 * 7 * static_cast<int64_t>(options.weeks)); }

CostAnomalies find_cost_anomalies(const Ledger& ledger, Interval period, const AnomalyOptions& options) {
  const DailyCost daily = daily_cost(ledger);
  const Currency currency = ledger.total().currency();
  CostAnomalies out{.judged_by = options};
  out.undated = Money::nanos(0, currency);
  for (const Posting& p : ledger.postings) {
    const BillLine& line = ledger.lines[p.bill_line];
    if (line.charge_period.length() > kHour * 25 && period.contains(line.charge_period.begin)) out.undated += p.amount;
  }
  for (size_t day = 0; day < daily.days; ++day)
    if (period.contains(daily.begin_of(day))) out.until = daily.begin_of(day + 1);
  for (const auto& [key, amounts] : daily.series) {
    const auto begins = std::ranges::find_if(amounts, [](Money m) { return !m.is_zero(); });
    const auto start = static_cast<size_t>(begins - amounts.begin());
    std::vector<double> costs;
    for (auto amount = begins; amount != amounts.end(); ++amount)
      costs.push_back(amount->to_double());
    bool judged = false, within = false;
    std::vector<CostAnomaly> found;
    for (size_t day = 0; day < costs.size(); ++day) {
      const Instant at = daily.begin_of(start + day);
      if (!period.contains(at)) continue;
      within = true;
      const auto judgement = judge_day(costs, day, options);
      if (!judgement) continue;
      judged = true;
      const double off = costs[day] - judgement->expected;
      if (std::abs(judgement->score) <= options.threshold || std::abs(off) < options.least_amount.to_double()) continue;
      const Money expected = Money::estimate(judgement->expected, currency), cost = amounts[start + day];
      if (!found.empty() && goes_on(found.back(), at, judgement->score)) {
        CostAnomaly& last = found.back();
        ++last.days;
        last.cost += cost;
        last.expected += expected;
        if (std::abs(judgement->score) > std::abs(last.score)) last.score = judgement->score;
      } else {
        found.push_back({.client = key.client,
                         .idle = key.idle,
                         .provider = key.provider,
                         .service = key.service,
                         .first_day = at,
                         .days = 1,
                         .cost = cost,
                         .expected = expected,
                         .score = judgement->score});
      }
    }
    out.series += within;
    out.judged += judged;
    out.anomalies.insert(out.anomalies.end(), found.begin(), found.end());
  }
  for (CostAnomaly& a : out.anomalies)
    a.recent = end_of(a) > *out.until - kHour * (24 * kRecentDays);
  std::ranges::stable_sort(out.anomalies, std::ranges::greater(),
                           [](const CostAnomaly& a) { return std::abs(a.excess().count_nanos()); });
  return out;
}

}  // namespace stint
