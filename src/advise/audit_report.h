// What an audit says, as plain values. Sums of money are worked out before they stand here; report/ prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/find/bill_facts.h"
#include "advise/find/cost_anomalies.h"
#include "advise/finding.h"
#include "advise/goals.h"
#include "advise/prove/proof.h"
#include "base/money.h"
#include "base/time.h"
#include "catalog/price_doubt.h"
#include "model/history.h"

namespace stint {

/// Verdict of the profiler on mean utilisation (mission row B3).
enum class UtilizationVerdict { kUnknown, kOverProvisioned, kUnderUtilised, kWellUsed };
std::string_view name_of(UtilizationVerdict v);
/// < 25 % over-provisioned; < 60 % under-utilised, investigate the bottleneck; else well used.
UtilizationVerdict utilization_verdict(double mean_pct);

enum class TelemetryQuality { kNone, kPoor, kFair, kGood };
std::string_view name_of(TelemetryQuality q);

struct NodeAudit {
  NodeId node;
  std::string name, provider, region, instance_type, gpu_model;
  Market market = Market::kUnknown;
  WorkloadKind kind = WorkloadKind::kUnknown;
  std::string
      category;  ///< "training experiments", "production training", "serving", "batch inference", "evaluation", "notebooks", "other"
  std::string client;
  int64_t gpu_count = 0;
  double hours = 0;    ///< instance-hours in the period
  bool priced = true;  ///< false: no bill, rate or price is known; cost_per_month then means nothing
  Money cost_per_month;
  std::optional<double> mean_utilization_pct;
  std::optional<double> p95_utilization_pct;
  std::optional<double> idle_pct;  ///< of samples
  std::optional<Bytes> memory_p95;
  std::optional<Bytes> memory_peak;
  std::optional<Bytes> memory_total;  ///< per GPU
  double coverage_pct = 0;            ///< of GPU-hours, with telemetry
  std::string utilization_source;     ///< "utilization", "engine_active", ""
  TelemetryQuality quality = TelemetryQuality::kNone;
  UtilizationVerdict verdict = UtilizationVerdict::kUnknown;
  std::vector<std::string> diagnosis;  ///< bottleneck and what to do, see advise/find/diagnosis.h
  std::vector<std::string> findings;   ///< ids
};

/// By pod, container or job where telemetry names one.
struct HolderAudit {
  std::string name;
  std::string client;
  double gpu_hours = 0;                        ///< with telemetry of use; 0 = its memory alone was measured
  std::optional<double> mean_utilization_pct;  ///< none = not measured
  std::optional<double> idle_pct;              ///< of samples
  std::optional<Bytes> memory_mean;
  double coverage_pct = 0;
};

struct ClientSpend {
  std::string client;  ///< "" = not attributed
  Money total, training, inference, evaluation, other_compute, storage, transfer, shared;
  Money inactive;  ///< of it, held but idle
  double gpu_hours = 0;
  std::optional<double> mean_utilization_pct;  ///< none = not measured
};

struct NamedAmount {
  std::string name;
  Money amount;
};

/// One point of the curve of mission row B6.
struct CurvePoint {
  std::string node;
  double utilization_pct = 0;
  Money per_useful_gpu_hour;
};

struct HeatRow {
  std::string node;
  std::vector<float> hours;  ///< mean utilisation by hour of the week (168) or of the period; −1 = no telemetry
};

/// What a saving rests on. The three sum to it.
struct SavingBasis {
  Money replayed;        ///< run again or billed again, at prices without doubt
  Money arithmetic;      ///< not replayed, at prices without doubt
  Money doubtful_price;  ///< replayed or not, at an estimated or old price
};
/// The part that `finding` counts in.
Money SavingBasis::* part_of_saving(const Finding& finding);

/// What no plan can beat (advise/bound/plan_bound.h).
struct PlanBound {
  Money per_month;                   ///< no plan costs less
  Money gap;                         ///< of the plan above it
  std::vector<NamedAmount> reasons;  ///< largest first; they sum to the gap
  bool holds = true;                 ///< false: the plan is cheaper, so this bound leaves out a lever and means nothing
};

/// What a discount that is not known here would add to the plan (advise/plan/assumed_prices.h). Counted nowhere.
struct DiscountOutlook {
  std::string provider;
  int64_t pct = 0;  ///< below on-demand
  Money saving_per_month;
};

enum class RiskLever : uint8_t { kThreeYears, kOtherSpotPools, kOtherProviders };
std::string_view name_of(RiskLever lever);

/// What only a high risk would reach (advise/plan/risk_outlook.h). Counted nowhere; they are of the same machines and do not add up.
struct RiskOutlook {
  RiskLever lever = RiskLever::kThreeYears;
  Money saving_per_month;
  std::string rests_on;  ///< in words, and what it leaves out
};

/// Commitments that rest on fewer days of use than are asked for: their risk is high, they are in no sum of the plan, and stand among
/// AuditReport::rejected.
struct CommitmentsAside {
  std::vector<std::string> findings;  ///< ids, in order of application
  int64_t days = 0, days_asked = 0;   ///< of use
  Money saving_per_month;             ///< of all of them, one after another on what the plan leaves
  Money plan_per_month;               ///< with them
};

/// What the plan would cost if prices of spot moved as far as they were seen to.
struct PlanRange {
  Money low, high;     ///< a month
  std::string source;  ///< how far, and where that comes from
};

/// One line of "is the data complete?".
struct DataCheck {
  std::string_view what;  ///< "bill", "rows", "telemetry", "prices"
  bool complete = false;
  std::string says;
};

/// A price of the catalogue that the bill (of what no provider billed) or a finding of the plan rests on.
struct UsedPrice {
  PriceRow row;
  PriceDoubt doubt = PriceDoubt::kNone;
  bool stale = false;  ///< older than kPriceStaleAfter, whatever else is doubtful about it
};

struct AuditTotals {
  bool priced = true;                          ///< false: no bill and no price in the period; the amounts then mean nothing
  Money bill_per_month;                        ///< whole bill: compute, storage, transfer, other
  Money plan_per_month;                        ///< after all findings
  Money saving_per_month;                      ///< bill − plan
  std::optional<double> mean_utilization_pct;  ///< over GPU-hours with telemetry; none = not measured
  double coverage_pct = 0;
  double gpu_hours = 0;
  Money per_useful_gpu_hour;  ///< compute money / (GPU-hours × utilisation)
  double months = 0;          ///< length of the period in billing months
  SavingBasis saving_by = {};
  Money not_used_per_month = {};             ///< compute money of what no kernel used; the idle causes sum to it
  std::optional<PlanRange> plan_range = {};  ///< none = no change of the plan rests on a price of spot
};

struct AuditReport {
  Interval period;
  std::vector<DataCheck> data;        ///< is it complete?
  bool covers_period = true;          ///< false: amounts "a month" are of the part of it that has a bill
  std::vector<std::string> coverage;  ///< where the bill does not cover the period: what it covers, and what has no price
  AuditTotals totals;
  std::vector<BillContradiction> contradictions;  ///< of bill and inventory; the audit goes by the bill
  std::vector<Finding> findings;                  ///< descending by saving
  std::vector<Finding> rejected;                  ///< considered and not advised; caveats say why
  std::vector<NodeAudit> nodes;                   ///< descending by cost
  std::vector<HolderAudit> holders;               ///< descending by GPU-hours
  std::vector<ClientSpend> clients;               ///< descending by total
  std::vector<UsedPrice> prices;                  ///< oldest first
  std::optional<CostAnomalies> anomalies;         ///< unusual days; none = not looked for: the weeks before the period are needed
  std::vector<NamedAmount> idle_causes;           ///< of what is not used, per month; "active" is not among them
  std::vector<NamedAmount> categories;            ///< spend per month by category
  std::vector<CurvePoint> curve;
  std::vector<HeatRow> heat;
  std::vector<ImportRecord> imports;
  std::vector<std::string> notes;          ///< telemetry quality, stale prices, problems: each with its remedy
  std::vector<std::string> out_of_reach;   ///< what the plan cannot reach, and why
  std::vector<Obstacle> obstacles;         ///< changes not advised, worth their amount one after another on what the plan leaves
  std::optional<PlanProof> proof;          ///< none = no replay was asked for
  std::optional<PlanBound> bound;          ///< none = nothing says what the fleet costs
  std::vector<GoalVerdict> goals;          ///< in the order of the input
  std::vector<DiscountOutlook> discounts;  ///< by provider, then by discount; `notes` say them too
  std::vector<RiskOutlook> high_risk;      ///< where a high risk is allowed; `beside` says them too
  std::vector<std::string> beside;         ///< what stands beside the plan and in no sum of it; `notes` say it too
  std::optional<CommitmentsAside> commitments_aside;  ///< none = none would save anything, or the days are enough
};

}  // namespace stint
