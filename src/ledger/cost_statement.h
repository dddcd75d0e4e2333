// Cost statement: the ledger by client, project, team, environment or workload: what people are charged or shown.
//
// Rows and idle causes sum to the ledger's total to the nano-unit, however idle money is treated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/ledger.h"

namespace stint {

enum class IdleTreatment {
  kSeparate,  ///< showback: rows hold what tenants held; idle money stands beside them by cause
  kSpread,    ///< chargeback: idle money is spread over the rows in proportion to their compute money
};

struct StatementOptions {
  TenantDimension by = TenantDimension::kClient;
  IdleTreatment idle = IdleTreatment::kSeparate;
  /// Names of rows by tenant (ledger/allocation.h: namespaces, controllers), with their heading, in place of `by`. Empty = by `by`.
  std::vector<std::string> row_names = {};
  std::string heading = {};
};

struct StatementRow {
  std::string name;  ///< value of the dimension; "" = not attributed
  Money training;    ///< fine-tuning included
  Money inference;   ///< batch and real time
  Money evaluation;
  Money other_compute;     ///< notebooks, and work whose kind is not known
  Money storage;           ///< own and the share of what is common
  Money transfer;          ///< the same
  Money other;             ///< tagged services that are none of the above
  Money shared;            ///< share of other common cost: support, tax, untagged services
  Money idle;              ///< share of idle money; 0 unless kSpread
  Money total;             ///< sum of the above
  Money inactive;          ///< of the compute money, what was held but idle
  Money activity_unknown;  ///< of the compute money, what was held without telemetry
  double gpu_hours = 0;    ///< held
  double active_gpu_hours = 0;
  double unknown_gpu_hours = 0;  ///< of those held, without telemetry
  [[nodiscard]] Money compute() const { return training + inference + evaluation + other_compute; }
  /// Active share of the GPU-hours held with telemetry, in percent. none = no telemetry.
  [[nodiscard]] std::optional<double> efficiency_pct() const;
  /// Compute money per GPU-hour held. none = nothing held.
  [[nodiscard]] std::optional<Money> per_gpu_hour() const;
  /// Compute money, without what is not known to be active or idle, per active GPU-hour. none = nothing active.
  [[nodiscard]] std::optional<Money> per_active_gpu_hour() const;
};

struct IdleAmount {
  IdleCause cause = IdleCause::kUnallocated;
  Money amount;
  double gpu_hours = 0;
};

struct CostStatement {
  Interval period;
  CostBasis basis = CostBasis::kEffective;
  IdleTreatment idle_treatment = IdleTreatment::kSeparate;
  std::string heading;             ///< of the rows: "client", "namespace"
  std::vector<StatementRow> rows;  ///< descending by total, then by name
  std::vector<IdleAmount> idle;    ///< idle money by cause, descending; amounts are 0 when spread. Only causes that occur
  StatementRow sum;                ///< of the rows; name "total"
  Money idle_total;                ///< of `idle`
  Money total;                     ///< of the ledger = sum.total + idle_total
  /// All compute money, idle included, per active GPU-hour of the fleet: what useful work really costs.
  std::optional<Money> fleet_per_active_gpu_hour;
};

/// What a reader must know before any total: which days the bill covers where that is not all, hours without a price, money that is an
/// estimate. Empty = nothing.
std::vector<std::string> coverage_lines(const Ledger& ledger);
/// Whether the total is that of the whole period: bills cover it, and no hour that is known of is without a price.
bool covers_period(const Ledger& ledger);

CostStatement make_statement(const Ledger& ledger, const StatementOptions& options);

}  // namespace stint
