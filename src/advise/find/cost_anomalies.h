// Anomalies: days on which a client's cost of a service is far from what that weekday costs.
//
// For each client and service the bill gives a cost a day. A day is compared with the median of the same weekday in the eight weeks
// before it. How far days lie from their weekday's median without being unusual is one robust standard deviation: the largest of 1.4826 ×
// their median absolute deviation, their 90 % quantile ÷ 1.645 (both are one standard deviation of normal noise; the second is of work that
// comes in bursts), and 5 % of what such a day costs. A day is an anomaly when it is off by more than 3.5 of these (Iglewicz and Hoaglin,
// "How to Detect and Handle Outliers", 1993) and by a least amount. Anomalies on up to a tenth of past days do not hide the next one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace stint {

/// So many days back an anomaly is news: bills come a day or two late, and a weekend may lie between.
inline constexpr int64_t kRecentDays = 3;

struct AnomalyOptions {
  double threshold = 3.5;                 ///< of robust standard deviations; > 0
  Money least_amount = Money::units(10);  ///< of a day, that it is off by; its currency is not looked at
  size_t weeks = 8;                       ///< looked back
  size_t fewest_weeks = 4;                ///< of them, with the same weekday known; a series without is not judged
  double least_deviation = 0.05;          ///< of what is expected and of the mean day: steadier days are taken to vary as much
};

/// Days in a row that are off to the same side.
struct CostAnomaly {
  std::string client;  ///< "" = not attributed
  bool idle = false;   ///< idle money, of no client
  std::string provider, service;
  Instant first_day;
  size_t days = 1;
  bool recent = false;  ///< it reaches into the last kRecentDays that were looked at
  Money cost;           ///< of all of them
  Money expected;       ///< sum of their weekdays' medians
  double score = 0;     ///< largest, in robust standard deviations; negative where it cost less
  [[nodiscard]] Money excess() const { return cost - expected; }
};

struct CostAnomalies {
  AnomalyOptions judged_by;
  std::vector<CostAnomaly> anomalies;  ///< descending by how much they are off
  std::optional<Instant> until;        ///< end of the last day looked at; none = the bill names no day of the period
  size_t series = 0;                   ///< clients × services with a cost in the period
  size_t judged = 0;                   ///< of them, with enough past for any day
  Money undated;                       ///< in the period, of lines longer than a day: no day of theirs is known
};

/// @param ledger  of the period and the weeks before it, as far as there are bills. @param period  days of which are judged.
CostAnomalies find_cost_anomalies(const Ledger& ledger, Interval period, const AnomalyOptions& options);

/// So much before a period is needed to judge its first day as well as can be.
Duration lookback(const AnomalyOptions& options);

}  // namespace stint
