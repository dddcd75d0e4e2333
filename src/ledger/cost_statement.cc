#include "ledger/cost_statement.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/counted.h"

namespace stint {
namespace {

/// A machine may be off in the first and last hours of what a bill covers.
constexpr Duration kADay = Duration::hours(24);

bool is_held(IdleCause cause) { return cause == IdleCause::kNone || cause == IdleCause::kInactive; }

double gpu_hours_of(const GpuUse& use) { return static_cast<double>(use.micro_gpu_hours) / 1e6; }

std::optional<Money> per_hour(Money amount, double hours) {
  if (hours <= 0) return std::nullopt;
  return Money::estimate(amount.to_double() / hours, amount.currency());
}

Money& compute_column(StatementRow& row, WorkloadKind kind) {
  switch (kind) {
    case WorkloadKind::kTraining:
    case WorkloadKind::kFineTuning: return row.training;
    case WorkloadKind::kBatchInference:
    case WorkloadKind::kRealtimeInference: return row.inference;
    case WorkloadKind::kEvaluation: return row.evaluation;
    case WorkloadKind::kUnknown:
    case WorkloadKind::kNotebook: return row.other_compute;
  }
  CHECK(false, "workload kind {}", static_cast<int>(kind));
}

Money& column(StatementRow& row, const Posting& p) {
  switch (p.spend) {
    case SpendKind::kCompute: return p.shared ? row.shared : compute_column(row, p.kind);
    case SpendKind::kStorage: return row.storage;
    case SpendKind::kTransfer: return row.transfer;
    case SpendKind::kOther: return p.shared ? row.shared : row.other;
  }
  CHECK(false, "spend kind {}", static_cast<int>(p.spend));
}

constexpr std::array kColumns = {&StatementRow::training,      &StatementRow::inference, &StatementRow::evaluation,
                                 &StatementRow::other_compute, &StatementRow::storage,   &StatementRow::transfer,
                                 &StatementRow::other,         &StatementRow::shared,    &StatementRow::idle};

class StatementMaker {
 public:
  StatementMaker(const Ledger& ledger, const StatementOptions& options)
      : ledger_(ledger), options_(options), zero_(Money::nanos(0, ledger.total().currency())) {
    out_.period = ledger.period;
    out_.basis = ledger.basis;
    out_.idle_treatment = options.idle;
    out_.heading = options.row_names.empty() ? std::string(name_of(options.by)) : options.heading;
    out_.total = ledger.total();
    out_.sum = empty_row("total");
    out_.idle_total = fleet_compute_ = zero_;
  }

  CostStatement make() {
    for (const Posting& p : ledger_.postings)
      take(p);
    for (const GpuUse& use : ledger_.gpu_use)
      take(use);
    if (options_.idle == IdleTreatment::kSpread) spread_idle();
    finish_rows();
    for (auto& [cause, idle] : idle_) {
      out_.idle_total += idle.amount;
      out_.idle.push_back(idle);
    }
    std::stable_sort(out_.idle.begin(), out_.idle.end(),
                     [](const IdleAmount& a, const IdleAmount& b) { return a.amount > b.amount; });
    out_.fleet_per_active_gpu_hour = per_hour(fleet_compute_, out_.sum.active_gpu_hours);
    CHECK(out_.sum.total + out_.idle_total == out_.total, "the statement sums to {} and {} idle where the ledger has {}",
          out_.sum.total.to_decimal(), out_.idle_total.to_decimal(), out_.total.to_decimal());
    return std::move(out_);
  }

 private:
  StatementRow empty_row(const std::string& name) const {
    StatementRow row;
    row.name = name;
    for (const auto c : kColumns)
      row.*c = zero_;
    row.total = row.inactive = row.activity_unknown = zero_;
    return row;
  }

  StatementRow& row_of(TenantId tenant) {
    const std::string& name =
        options_.row_names.empty() ? get(ledger_.tenants[tenant], options_.by) : options_.row_names[tenant.index()];
    const auto it = rows_.find(name);
    return it != rows_.end() ? it->second : rows_.emplace(name, empty_row(name)).first->second;
  }

  IdleAmount& idle_of(IdleCause cause) { return idle_.try_emplace(cause, IdleAmount{cause, zero_, 0}).first->second; }

  void take(const Posting& p) {
    if (p.spend == SpendKind::kCompute && !p.shared) fleet_compute_ += p.amount;
    if (!is_held(p.cause)) {
      idle_of(p.cause).amount += p.amount;
      return;
    }
    StatementRow& row = row_of(p.tenant);
    column(row, p) += p.amount;
    if (p.shared || p.spend != SpendKind::kCompute) return;
    if (p.cause == IdleCause::kInactive) row.inactive += p.amount;
    if (!p.activity_known) row.activity_unknown += p.amount;
  }

  void take(const GpuUse& use) {
    if (!is_held(use.cause)) {
      idle_of(use.cause).gpu_hours += gpu_hours_of(use);
      return;
    }
    StatementRow& row = row_of(use.tenant);
    row.gpu_hours += gpu_hours_of(use);
    if (!use.activity_known)
      row.unknown_gpu_hours += gpu_hours_of(use);
    else if (use.cause == IdleCause::kNone)
      row.active_gpu_hours += gpu_hours_of(use);
  }

  /// No tenant has compute money: idle money stays where it is.
  void spread_idle() {
    std::vector<StatementRow*> rows;
    std::vector<int64_t> weights;
    for (auto& [name, row] : rows_) {
      if (row.compute().count_nanos() <= 0) continue;
      rows.push_back(&row);
      weights.push_back(row.compute().count_nanos());
    }
    if (rows.empty()) return;
    for (auto& [cause, idle] : idle_) {
      const std::vector<Money> parts = split_by_largest_remainder(idle.amount, weights);
      for (size_t r = 0; r < rows.size(); ++r)
        rows[r]->idle += parts[r];
      idle.amount = zero_;
    }
  }

  void finish_rows() {
    for (auto& [name, row] : rows_) {
      for (const auto c : kColumns) {
        row.total += row.*c;
        out_.sum.*c += row.*c;
      }
      out_.sum.total += row.total;
      out_.sum.inactive += row.inactive;
      out_.sum.activity_unknown += row.activity_unknown;
      out_.sum.gpu_hours += row.gpu_hours;
      out_.sum.active_gpu_hours += row.active_gpu_hours;
      out_.sum.unknown_gpu_hours += row.unknown_gpu_hours;
      out_.rows.push_back(row);
    }
    std::stable_sort(out_.rows.begin(), out_.rows.end(),
                     [](const StatementRow& a, const StatementRow& b) { return a.total > b.total; });
  }

  const Ledger& ledger_;
  const StatementOptions& options_;
  Money zero_;
  CostStatement out_;
  std::map<std::string, StatementRow> rows_;
  std::map<IdleCause, IdleAmount> idle_;
  Money fleet_compute_;
};

/// But for a part of a day at either end, as time zones have it.
bool covers(const BillCoverage& c, Interval period) {
  return c.charged.begin - period.begin < kADay && period.end - c.charged.end < kADay;
}

}  // namespace

std::optional<double> StatementRow::efficiency_pct() const {
  const double known = gpu_hours - unknown_gpu_hours;
  if (known <= 0) return std::nullopt;
  return 100 * active_gpu_hours / known;
}

std::optional<Money> StatementRow::per_gpu_hour() const { return per_hour(compute(), gpu_hours); }

std::optional<Money> StatementRow::per_active_gpu_hour() const {
  return per_hour(compute() - activity_unknown, active_gpu_hours);
}

bool covers_period(const Ledger& ledger) {
  return ledger.unpriced_gpu_hours == 0 &&
         std::ranges::all_of(ledger.coverage, [&](const BillCoverage& c) { return covers(c, ledger.period); });
}

std::vector<std::string> coverage_lines(const Ledger& ledger) {
  std::vector<std::string> out;
  std::string covered;
  for (const BillCoverage& c : ledger.coverage)
    if (!covers(c, ledger.period))
      covered += fmt::format(
          "{}{}: {}", covered.empty() ? "" : "; ", c.provider,
          fmt::format("{} to {}", format_date(c.charged.begin), format_date(c.charged.end - Duration::nanoseconds(1))));
  if (!covered.empty()) out.push_back(fmt::format("The bill does not cover the whole period: {}.", covered));
  for (const auto& [currency, lines] : ledger.converted)
    out.push_back(
        fmt::format("{} of the bill came in {}: shown in {}, at the exchange rate of the day on which {} charge begins.",
                    counted(lines, "line"), currency.code(), ledger.total().currency().code(), lines == 1 ? "its" : "each"));
  if (ledger.unpriced_gpu_hours > 0) {
    double priced = 0;
    for (const GpuUse& use : ledger.gpu_use)
      priced += static_cast<double>(use.micro_gpu_hours) / 1e6;
    out.push_back(fmt::format(
        "{:.1f} GPU-hours that telemetry or jobs know outside of the bill are not priced: the bill covers {:.1f} % of "
        "the GPU-hours.",
        ledger.unpriced_gpu_hours, 100 * priced / (priced + ledger.unpriced_gpu_hours)));
  }
  if (const Money estimated = ledger.estimated_total(); !estimated.is_zero())
    out.push_back(fmt::format("Of the total, {} are an estimate from the inventory: no bill, telemetry or job says that it ran.",
                              estimated.to_text(2)));
  return out;
}

CostStatement make_statement(const Ledger& ledger, const StatementOptions& options) {
  return StatementMaker(ledger, options).make();
}

}  // namespace stint
