// Audit: from History, telemetry and prices to what the fleet costs, where the waste is and what to change.
//
// Every saving is arithmetic on the fleet's own hours: the finding's evidence holds the factors. Findings are
// applied one after another to the same books (stop → schedule → limit → right-size → share → region → spot →
// commit), each on what the ones before left, so that the savings add up to the plan and nothing counts twice. Where the
// History has jobs they are run again with each finding (advise/prove.h), and what does not survive that is not advised.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "advise/bill_facts.h"
#include "advise/cost_anomalies.h"
#include "advise/goals.h"
#include "advise/proof.h"
#include "base/money.h"
#include "base/time.h"
#include "catalog/catalog.h"
#include "catalog/price_doubt.h"
#include "ledger/ledger.h"
#include "model/change.h"
#include "model/history.h"
#include "telemetry/attribution.h"
#include "telemetry/usage.h"

namespace stint {

struct FleetFacts;

enum class Level { kLow, kMedium, kHigh };
std::string_view name_of(Level l);

struct Evidence {
  std::string label;  ///< "mean utilisation"
  std::string value;  ///< "7.2 %", with unit
};

struct Finding {
  std::string id;     ///< stable for the same History: "F-" + 8 hex digits of kind and nodes
  std::string title;  ///< one line for a CFO
  Change change;
  Money saving_per_month;  ///< within the combined plan; these sum to bill − plan
  Money alone_per_month;   ///< if it were the only change
  Level confidence = Level::kMedium;
  Level risk = Level::kMedium;
  Level effort = Level::kMedium;
  std::vector<Evidence> evidence;
  std::vector<std::string> arithmetic;  ///< the sum, step by step, as text that can be checked by hand
  std::vector<std::string> caveats;
  std::vector<std::string> apply;              ///< shell commands or configuration, ready to paste
  std::optional<Proof> proof;                  ///< none = no replay was asked for
  int step = 0;                                ///< place in the order of application, from 1; 0 = not in the plan
  std::vector<PriceRow> prices = {};           ///< of the catalogue, that its saving rests on
  PriceDoubt price_doubt = PriceDoubt::kNone;  ///< the worst of them
  std::string remedy = {};                     ///< of a rejected one: what would let it into the plan, where that is known
};

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
  std::vector<std::string> diagnosis;  ///< bottleneck and what to do, see advise/diagnosis.h
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
  std::vector<std::string> notes;         ///< telemetry quality, stale prices, problems: each with its remedy
  std::vector<std::string> out_of_reach;  ///< what the plan cannot reach, and why
  std::vector<Obstacle> obstacles;        ///< changes not advised, worth their amount one after another on what the plan leaves
  std::optional<PlanProof> proof;         ///< none = no replay was asked for
  std::vector<GoalVerdict> goals;         ///< in the order of the input
};

/// A commitment bought before.
struct OwnedInstances {
  std::string instance_type;
  std::string region;  ///< "": any
  int64_t count = 0;
  Instant until;
};

/// A savings plan that may be bought, as the user knows its prices.
struct SavingsPlanOffer {
  std::string provider;
  CommitmentTerm term = CommitmentTerm::kOneYear;
  PaymentOption payment = PaymentOption::kNoUpfront;
  std::optional<int64_t> discount_pct;       ///< below on-demand, of every type that `rates` do not name; 1 to 99
  std::vector<SavingsPlan::TypeRate> rates;  ///< in the bill's currency
};

/// What a plan may hold.
struct PlanChoice {
  Level max_risk = Level::kHigh;
  std::vector<std::string> without;  ///< ids of findings that are left out
};

struct AuditInput {
  const History& history;
  const Usage& usage;
  const Catalog& catalog;                    ///< with imported prices laid over
  Instant now;                               ///< for stale prices only
  std::vector<std::string> allowed_regions;  ///< globs; empty = the region each node is in
  std::optional<ProofOptions> proof = {};    ///< none = findings stay arithmetic
  PlanChoice choice = {};
  std::vector<Goal> goals = {};
  CommitmentTerm longest_term = CommitmentTerm::kOneYear;  ///< that may be committed to
  std::vector<SavingsPlanOffer> savings_plans = {};        ///< that may be bought
  std::vector<OwnedInstances> owned = {};                  ///< commitments bought before, of which it is known when they end
};

Result<AuditReport> audit(const AuditInput& input);

/// A fleet's facts, worked out once, from which several plans can be made.
class Auditor {
 public:
  /// @param input  what it refers to must outlive this.
  static Result<Auditor> create(const AuditInput& input);
  Auditor(Auditor&&) noexcept;
  Auditor& operator=(Auditor&&) noexcept;
  ~Auditor();

  /// @param prove  whether findings are replayed, as the input says.
  enum class Prove : uint8_t { kNo, kYes };
  [[nodiscard]] Result<AuditReport> plan(const PlanChoice& choice, Prove prove) const;
  /// Findings alone, in the order of application, and what they save together: quick, for searching.
  struct Draft {
    std::vector<Finding> findings;
    Money saving_per_month;
    Money plan_per_month;
  };
  [[nodiscard]] Draft draft(const PlanChoice& choice) const;
  [[nodiscard]] const FleetFacts& facts() const;
  [[nodiscard]] const AuditInput& input() const;

 private:
  struct Impl;
  explicit Auditor(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
