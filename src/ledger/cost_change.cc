#include "ledger/cost_change.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "ledger/line_cut.h"

namespace stint {
namespace {

constexpr std::string_view kGpuHours = "GPU-hours";
constexpr std::string_view kMachineHours = "machine-hours";

/// What is compared by quantity: one kind of spend in one unit; of what is not compute, of one service.
struct ChangeGroup {
  SpendKind spend = SpendKind::kCompute;
  std::string provider, service;  ///< empty for compute: a move between clouds is mix
  std::string unit;
  auto operator<=>(const ChangeGroup&) const = default;
};
using CellKey = std::tuple<ChangeGroup, std::string, std::string, std::string, std::string,
                           Market>;           // provider, service, region, what, market
using RowKey = std::pair<bool, std::string>;  // idle, name
using RowCells = std::map<CellKey, CostCell>;

/// A charge that the period may have cut: its quantity is that of the whole.
bool may_be_cut(const BillLine& line, Interval period) {
  const auto begins_month = [](Instant t) { return month_of(t).begin == t; };
  return (line.charge_period.begin <= period.begin && !begins_month(period.begin)) ||
         (line.charge_period.end >= period.end && !begins_month(period.end));
}

struct Quantity {
  std::string unit;  ///< empty = none
  int64_t micro = 0;
};

/// Hours of compute that a line charges: what it says, of one machine at most as long as it lasts.
std::optional<int64_t> micro_hours_of(const BillLine& line, bool one_machine) {
  const int64_t lasts = line.charge_period.empty() ? 0 : line.charge_period.length().count_ns() / 3'600'000;
  const auto said = billed_hours(line, {line.charge_period, 1, 0, 0});
  const int64_t micro = said ? said->count_ns() / 3'600'000 : 0;
  if (one_machine) return micro > 0 ? std::min(micro, lasts) : lasts;
  return said ? std::optional(micro) : std::nullopt;
}

Quantity quantity_of(const BillLine& line, NodeId node, const ComparedBooks& books) {
  if (line.category != ChargeCategory::kUsage || line.correction || line.commitment_unused) return {};
  if (line.spend == SpendKind::kCompute) {
    const auto hours = micro_hours_of(line, node.valid());
    if (!hours || *hours <= 0) return {};
    const int64_t gpus = node.valid() ? books.gpus[node.index()] : 0;
    return gpus > 0 ? Quantity{std::string(kGpuHours), *hours * gpus} : Quantity{std::string(kMachineHours), *hours};
  }
  if (line.pricing_unit.empty() || may_be_cut(line, books.ledger.period)) return {};
  const auto quantity = Money::parse(line.quantity);
  if (!quantity.ok() || quantity->count_nanos() < 1000) return {};
  return {line.pricing_unit, quantity->count_nanos() / 1000};
}

bool has_an_owner(IdleCause cause) { return cause == IdleCause::kNone || cause == IdleCause::kInactive; }

RowKey row_of(const Posting& p, const BillLine& line, const Ledger& ledger, ChangeRowsBy by) {
  if (!by.tenant) return {false, line.service};
  if (!has_an_owner(p.cause)) return {true, ""};
  return {false, get(ledger.tenants[p.tenant], *by.tenant)};
}

enum class Side { kBefore, kAfter };

void add_books(const ComparedBooks& books, ChangeRowsBy by, Side side, std::map<RowKey, RowCells>& rows) {
  const Ledger& ledger = books.ledger;
  const Money zero = Money::nanos(0, ledger.total().currency());
  for (const Posting& p : ledger.postings) {
    const BillLine& line = ledger.lines[p.bill_line];
    const Money whole = ledger.line_amounts[p.bill_line];
    Quantity quantity;
    if (!p.shared && p.cause != IdleCause::kUnusedCommitment && whole.count_nanos() > 0 && p.amount.count_nanos() >= 0)
      quantity = quantity_of(line, ledger.line_nodes[p.bill_line], books);
    const bool compute = line.spend == SpendKind::kCompute;
    ChangeGroup group{p.spend, compute ? "" : line.provider, compute ? "" : line.service, quantity.unit};
    const std::string& what = line.instance_type.empty() ? line.sku : line.instance_type;
    const CellKey key{std::move(group), line.provider, line.service, line.region, what, line.market};
    const auto [at, fresh] = rows[row_of(p, line, ledger, by)].try_emplace(key);
    CostCell& cell = at->second;
    if (fresh)
      cell = {.spend = p.spend,
              .provider = line.provider,
              .service = line.service,
              .region = line.region,
              .what = what,
              .market = line.market,
              .unit = quantity.unit,
              .before = zero,
              .after = zero};
    const int64_t micro = quantity.unit.empty()
                              ? 0
                              : scale(Money::nanos(quantity.micro), p.amount.count_nanos(), whole.count_nanos()).count_nanos();
    (side == Side::kBefore ? cell.before : cell.after) += p.amount;
    (side == Side::kBefore ? cell.micro_before : cell.micro_after) += micro;
  }
}

/// What the quantity of after would have cost at the rate of before; none where before has no rate, or one that is no rate.
std::optional<Money> at_rate_of_before(Money before, int64_t micro_before, int64_t micro_after) {
  if (micro_before <= 0 || before.count_nanos() <= 0) return std::nullopt;
  constexpr double kMostUnits = 4e9;
  if (before.to_double() / static_cast<double>(micro_before) * static_cast<double>(micro_after) > kMostUnits) return std::nullopt;
  return scale(before, micro_after, micro_before);
}

/// Cells of one group: their reasons.
void add_group(const std::vector<const CostCell*>& cells, bool measured, CostReasons& out) {
  const Money zero = Money::nanos(0, out.price.currency());
  Money before = zero, after = zero, price = zero;
  int64_t micro_before = 0, micro_after = 0;
  for (const CostCell* cell : cells) {
    before += cell->before;
    after += cell->after;
    micro_before += cell->micro_before;
    micro_after += cell->micro_after;
    if (cell->micro_after <= 0) continue;
    if (const auto same = at_rate_of_before(cell->before, cell->micro_before, cell->micro_after)) price += cell->after - *same;
  }
  const Money difference = after - before;
  const auto at_average = at_rate_of_before(before, micro_before, micro_after);
  if (!measured) {
    out.unmeasured += difference;
  } else if (before.is_zero() && micro_before == 0) {
    out.begun += difference;
  } else if (after.is_zero() && micro_after == 0) {
    out.gone += difference;
  } else if (!at_average) {
    out.unmeasured += difference;
  } else {
    const Money use = *at_average - before;
    out.price += price;
    out.use += use;
    out.mix += difference - price - use;
  }
}

CostReasons no_reasons(Currency currency) {
  const Money zero = Money::nanos(0, currency);
  return {zero, zero, zero, zero, zero, zero};
}

CostChangeRow row_of_cells(const RowKey& key, RowCells cells, Currency currency) {
  const Money zero = Money::nanos(0, currency);
  CostChangeRow row{
      .name = key.second, .idle = key.first, .before = zero, .after = zero, .reasons = no_reasons(currency), .cells = {}};
  std::map<ChangeGroup, std::vector<const CostCell*>> groups;
  bool was_there = false, is_there = false;
  for (const auto& [cell_key, cell] : cells) {
    groups[std::get<0>(cell_key)].push_back(&cell);
    row.before += cell.before;
    row.after += cell.after;
    was_there = was_there || !cell.before.is_zero();
    is_there = is_there || !cell.after.is_zero();
  }
  if (!was_there)
    row.reasons.begun = row.after;
  else if (!is_there)
    row.reasons.gone = -row.before;
  else
    for (const auto& [group, members] : groups)
      add_group(members, !group.unit.empty(), row.reasons);
  for (auto& [cell_key, cell] : cells)
    row.cells.push_back(std::move(cell));
  const auto change = [](const auto& changed) { return std::abs((changed.after - changed.before).count_nanos()); };
  std::ranges::stable_sort(row.cells, std::ranges::greater(), change);
  return row;
}

std::optional<double> unit_price(Money amount, int64_t micro) {
  return micro > 0 ? std::optional(amount.to_double() / (static_cast<double>(micro) / 1e6)) : std::nullopt;
}

}  // namespace

std::optional<double> CostCell::unit_price_before() const { return unit_price(before, micro_before); }
std::optional<double> CostCell::unit_price_after() const { return unit_price(after, micro_after); }

std::vector<int64_t> gpus_by_node(const History& history) {
  std::vector<std::set<std::pair<int, std::string>>> seen(history.nodes.size());
  for (const Device& device : history.devices)
    if (device.node.valid()) seen[device.node.index()].insert({device.index, device.mig ? "" : device.uuid});
  std::vector<int64_t> gpus(history.nodes.size());
  for (size_t n = 0; n < gpus.size(); ++n)
    gpus[n] = history.nodes[n].gpu_count > 0 ? history.nodes[n].gpu_count : static_cast<int64_t>(seen[n].size());
  return gpus;
}

Result<CostChange> explain_change(const ComparedBooks& before, const ComparedBooks& after, ChangeRowsBy by) {
  const Money cost_before = before.ledger.total(), cost_after = after.ledger.total();
  if (cost_before.currency() != cost_after.currency())
    return invalid("one period is in {}, the other in {}", cost_before.currency().code(), cost_after.currency().code());
  if (before.ledger.basis != after.ledger.basis)
    return invalid("one period is on {} cost, the other on {}", name_of(before.ledger.basis), name_of(after.ledger.basis));
  const Currency currency = cost_after.currency();
  std::map<RowKey, RowCells> rows;
  add_books(before, by, Side::kBefore, rows);
  add_books(after, by, Side::kAfter, rows);
  CostChange out{.before = before.ledger.period,
                 .after = after.ledger.period,
                 .basis = after.ledger.basis,
                 .by = by,
                 .rows = {},
                 .total = {}};
  out.total = {.name = "total",
               .idle = false,
               .before = Money::nanos(0, currency),
               .after = Money::nanos(0, currency),
               .reasons = no_reasons(currency),
               .cells = {}};
  for (auto& [key, cells] : rows) {
    CostChangeRow row = row_of_cells(key, std::move(cells), currency);
    out.total.before += row.before;
    out.total.after += row.after;
    for (Money CostReasons::* reason : {&CostReasons::price, &CostReasons::use, &CostReasons::mix, &CostReasons::begun,
                                        &CostReasons::gone, &CostReasons::unmeasured})
      out.total.reasons.*reason += row.reasons.*reason;
    out.rows.push_back(std::move(row));
  }
  std::ranges::stable_sort(out.rows, std::ranges::greater(),
                           [](const CostChangeRow& r) { return std::abs((r.after - r.before).count_nanos()); });
  CHECK(out.total.before == cost_before && out.total.after == cost_after,
        "the rows sum to {} and {} where the bills have {} and {}", out.total.before.to_decimal(), out.total.after.to_decimal(),
        cost_before.to_decimal(), cost_after.to_decimal());
  CHECK(out.total.reasons.sum() == cost_after - cost_before, "the reasons sum to {} of {}", out.total.reasons.sum().to_decimal(),
        (cost_after - cost_before).to_decimal());
  return out;
}

}  // namespace stint
