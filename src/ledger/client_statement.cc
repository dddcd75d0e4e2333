#include "ledger/client_statement.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace stint {
namespace {

bool belongs_to_tenant(IdleCause cause) { return cause == IdleCause::kNone || cause == IdleCause::kInactive; }

std::vector<MachineAmount> machines_of(const Ledger& own) {
  std::map<std::tuple<std::string, std::string, std::string, Market>, Money> amounts;
  for (const Posting& p : own.postings) {
    if (p.spend != SpendKind::kCompute || p.shared) continue;
    const BillLine& line = own.lines[p.bill_line];
    const auto [at, fresh] = amounts.try_emplace({line.provider, line.region, line.instance_type, line.market}, p.amount);
    if (!fresh) at->second += p.amount;
  }
  std::vector<MachineAmount> machines;
  for (const auto& [what, amount] : amounts)
    machines.push_back({std::get<0>(what), std::get<1>(what), std::get<2>(what), std::get<3>(what), amount});
  std::ranges::stable_sort(machines, std::ranges::greater(), &MachineAmount::amount);
  return machines;
}

}  // namespace

Ledger ledger_of_client(const Ledger& whole, std::string_view client) {
  Ledger own;
  own.period = whole.period;
  own.basis = whole.basis;
  own.tenants = whole.tenants;
  const auto is_own = [&](TenantId tenant, IdleCause cause) {
    return belongs_to_tenant(cause) && whole.tenants[tenant].client == client;
  };
  for (const Posting& p : whole.postings) {
    if (!is_own(p.tenant, p.cause)) continue;
    const bool same_line = !own.postings.empty() && &own.lines[own.lines.size() - 1] == &whole.lines[p.bill_line];
    if (!same_line) {
      own.lines.borrow(whole.lines[p.bill_line]);
      own.synthesised.push_back(whole.synthesised[p.bill_line]);
      own.line_nodes.push_back(whole.line_nodes[p.bill_line]);
      own.line_amounts.push_back(Money::nanos(0, p.amount.currency()));
    }
    own.line_amounts.back() += p.amount;
    own.postings.push_back(p);
    own.postings.back().bill_line = static_cast<uint32_t>(own.lines.size() - 1);
  }
  for (const GpuUse& use : whole.gpu_use)
    if (is_own(use.tenant, use.cause)) own.gpu_use.push_back(use);
  return own;
}

std::vector<ClientStatement> make_client_statements(const Ledger& ledger, IdleTreatment idle) {
  const CostStatement all = make_statement(ledger, {.by = TenantDimension::kClient, .idle = idle});
  std::vector<ClientStatement> statements;
  for (const StatementRow& row : all.rows) {
    const Ledger own = ledger_of_client(ledger, row.name);
    ClientStatement s;
    s.client = row.name;
    s.projects = make_statement(own, {.by = TenantDimension::kProject});
    s.workloads = make_statement(own, {.by = TenantDimension::kWorkload});
    s.machines = machines_of(own);
    s.common = {all.sum.shared, row.shared};
    s.idle = {all.idle_total + all.sum.idle, row.idle};
    s.total = row.total;
    CHECK(s.projects.total + s.idle.own == s.total, "the statement of '{}' sums to {} where the bill has {}", s.client,
          (s.projects.total + s.idle.own).to_decimal(), s.total.to_decimal());
    statements.push_back(std::move(s));
  }
  return statements;
}

}  // namespace stint
