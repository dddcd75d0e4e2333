#include "report/audit_json.h"

#include <cmath>

#include "report/change_json.h"
#include "report/cluster_view.h"
#include "report/goal_words.h"
#include "report/json_list.h"
#include "report/proof_json.h"
#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json amount(Money m) { return m.to_double(); }
Json gigabytes_json(Bytes b) { return static_cast<double>(b.count()) / 1e9; }

template <typename T, typename F>
Json or_null(const std::optional<T>& value, F convert) {
  return value ? Json(convert(*value)) : Json(nullptr);
}
Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json texts(const std::vector<std::string>& lines) {
  Json out = Json::array();
  for (const std::string& line : lines)
    out.push_back(printable_lines(line));
  return out;
}

Json totals(const AuditReport& report) {
  const AuditTotals& t = report.totals;
  return {{"bill_per_month", t.priced ? amount(t.bill_per_month) : Json(nullptr)},
          {"plan_per_month", t.priced ? amount(t.plan_per_month) : Json(nullptr)},
          {"saving_per_month", t.priced ? amount(t.saving_per_month) : Json(nullptr)},
          {"mean_utilization_pct", or_null(t.mean_utilization_pct)},
          {"coverage_pct", t.coverage_pct},
          {"gpu_hours", t.gpu_hours},
          {"per_useful_gpu_hour", t.per_useful_gpu_hour.is_zero() ? Json(nullptr) : amount(t.per_useful_gpu_hour)},
          {"months", t.months},
          {"saving_by", t.priced ? Json{{"replayed", amount(t.saving_by.replayed)},
                                        {"arithmetic", amount(t.saving_by.arithmetic)},
                                        {"doubtful_price", amount(t.saving_by.doubtful_price)}}
                                 : Json(nullptr)},
          {"plan_range", or_null(t.plan_range,
                                 [](const PlanRange& r) {
                                   return Json{{"low", amount(r.low)}, {"high", amount(r.high)}, {"source", r.source}};
                                 })},
          {"commitments_aside", aside_json(report.commitments_aside)},
          {"not_used_per_month", t.priced ? amount(t.not_used_per_month) : Json(nullptr)}};
}

}  // namespace

Json aside_json(const std::optional<CommitmentsAside>& aside) {
  return or_null(aside, [](const CommitmentsAside& a) {
    return Json{{"days", a.days},
                {"days_asked", a.days_asked},
                {"saving_per_month", amount(a.saving_per_month)},
                {"plan_per_month", amount(a.plan_per_month)},
                {"findings", a.findings}};
  });
}

Json finding_json(const Finding& f) {
  Json evidence =
      array_of(f.evidence, [](const Evidence& e) { return Json{{"label", printable(e.label)}, {"value", printable(e.value)}}; });
  return {{"id", printable(f.id)},
          {"kind", kind_of(f.change)},
          {"title", printable(f.title)},
          {"saving_per_month", amount(f.saving_per_month)},
          {"alone_per_month", amount(f.alone_per_month)},
          {"confidence", name_of(f.confidence)},
          {"risk", name_of(f.risk)},
          {"effort", name_of(f.effort)},
          {"change", to_json(f.change)},
          {"evidence", evidence},
          {"arithmetic", texts(f.arithmetic)},
          {"caveats", texts(f.caveats)},
          {"apply", texts(f.apply)},
          {"proof", to_json(f.proof)},
          {"price_doubt", f.price_doubt == PriceDoubt::kNone ? Json(nullptr) : Json(name_of(f.price_doubt))}};
}

namespace {

Json node(const NodeAudit& n) {
  return {{"name", printable(n.name)},
          {"provider", printable(n.provider)},
          {"region", printable(n.region)},
          {"instance_type", printable(n.instance_type)},
          {"gpu_model", printable(n.gpu_model)},
          {"gpu_count", n.gpu_count},
          {"market", name_of(n.market)},
          {"kind", name_of(n.kind)},
          {"category", printable(n.category)},
          {"client", printable(n.client)},
          {"hours", n.hours},
          {"cost_per_month", n.priced ? amount(n.cost_per_month) : Json(nullptr)},
          {"mean_utilization_pct", or_null(n.mean_utilization_pct)},
          {"p95_utilization_pct", or_null(n.p95_utilization_pct)},
          {"idle_pct", or_null(n.idle_pct)},
          {"memory_p95_gb", or_null(n.memory_p95, gigabytes_json)},
          {"memory_peak_gb", or_null(n.memory_peak, gigabytes_json)},
          {"memory_total_gb", or_null(n.memory_total, gigabytes_json)},
          {"coverage_pct", n.coverage_pct},
          {"utilization_source", printable(n.utilization_source)},
          {"telemetry_quality", name_of(n.quality)},
          {"verdict", name_of(n.verdict)},
          {"diagnosis", texts(n.diagnosis)},
          {"findings", texts(n.findings)}};
}

Json holder(const HolderAudit& h) {
  return {{"name", printable(h.name)},       {"client", printable(h.client)},
          {"gpu_hours", h.gpu_hours},        {"mean_utilization_pct", or_null(h.mean_utilization_pct)},
          {"idle_pct", or_null(h.idle_pct)}, {"memory_mean_gb", or_null(h.memory_mean, gigabytes_json)},
          {"coverage_pct", h.coverage_pct}};
}

Json client(const ClientSpend& c) {
  return {{"client", printable(c.client)},      {"total", amount(c.total)},
          {"training", amount(c.training)},     {"inference", amount(c.inference)},
          {"evaluation", amount(c.evaluation)}, {"other_compute", amount(c.other_compute)},
          {"storage", amount(c.storage)},       {"transfer", amount(c.transfer)},
          {"shared", amount(c.shared)},         {"inactive", amount(c.inactive)},
          {"gpu_hours", c.gpu_hours},           {"mean_utilization_pct", or_null(c.mean_utilization_pct)}};
}

Json named(const NamedAmount& a) { return {{"name", printable(a.name)}, {"per_month", amount(a.amount)}}; }

Json import_record(const ImportRecord& r) {
  return {{"kind", printable(r.kind)}, {"source", printable(r.source)}, {"imported_at", format_utc(r.imported_at)},
          {"accepted", r.accepted},    {"rejected", r.rejected},        {"duplicates", r.duplicates}};
}

Json curve_point(const CurvePoint& p) {
  return {{"node", printable(p.node)},
          {"utilization_pct", p.utilization_pct},
          {"per_useful_gpu_hour", amount(p.per_useful_gpu_hour)}};
}

/// Tenths of a percent; null where there is no telemetry.
Json heat_row(const HeatRow& row) {
  Json hours = array_of(row.hours,
                        [](float pct) { return pct < 0 ? Json(nullptr) : Json(std::round(static_cast<double>(pct) * 10) / 10); });
  return {{"node", printable(row.node)}, {"hours", hours}};
}

Json used_price(const UsedPrice& p) {
  const PriceRow& row = p.row;
  return {{"provider", printable(row.provider)},
          {"region", printable(row.region)},
          {"instance_type", printable(row.instance_type)},
          {"market", name_of(row.market)},
          {"term", name_of(row.term)},
          {"payment", name_of(row.payment)},
          {"per_hour", amount(row.rate.per_hour())},
          {"as_of", format_date(row.as_of)},
          {"stale", p.stale},
          {"doubt", p.doubt == PriceDoubt::kNone ? Json(nullptr) : Json(name_of(p.doubt))},
          {"source", printable(row.source)}};
}

Json anomaly(const CostAnomaly& a) {
  return {{"client", printable(a.client)},
          {"idle", a.idle},
          {"provider", printable(a.provider)},
          {"service", printable(a.service)},
          {"first_day", format_date(a.first_day)},
          {"days", a.days},
          {"cost", amount(a.cost)},
          {"expected", amount(a.expected)},
          {"excess", amount(a.excess())},
          {"deviations", a.score},
          {"recent", a.recent}};
}

Json anomalies(const CostAnomalies& a) {
  return {{"threshold", a.judged_by.threshold},
          {"least_amount", amount(a.judged_by.least_amount)},
          {"weeks", a.judged_by.weeks},
          {"fewest_weeks", a.judged_by.fewest_weeks},
          {"until", or_null(a.until, [](Instant t) { return format_utc(t); })},
          {"series", a.series},
          {"judged", a.judged},
          {"undated", amount(a.undated)},
          {"found", array_of(a.anomalies, anomaly)}};
}

Json contradiction(const BillContradiction& c) {
  return {{"node", printable(c.node)},
          {"what", c.what},
          {"inventory", printable(c.inventory)},
          {"bill", printable(c.bill)},
          {"bill_hours_pct", c.bill_hours_pct}};
}

}  // namespace

std::string audit_json(const AuditReport& report, const ClusterAudit* cluster) {
  const Json out = {
      {"schema", "stint-audit/1"},
      {"currency", report.totals.bill_per_month.currency().code()},
      {"period", {{"begin", format_utc(report.period.begin)}, {"end", format_utc(report.period.end)}}},
      {"data", array_of(report.data,
                        [](const DataCheck& c) {
                          return Json{{"what", c.what}, {"complete", c.complete}, {"says", printable(c.says)}};
                        })},
      {"coverage", texts(report.coverage)},
      {"totals", totals(report)},
      {"findings", array_of(report.findings, finding_json)},
      {"rejected", array_of(report.rejected, finding_json)},
      {"clients", array_of(report.clients, client)},
      {"idle_causes", array_of(report.idle_causes, named)},
      {"categories", array_of(report.categories, named)},
      {"nodes", array_of(report.nodes, node)},
      {"holders", array_of(report.holders, holder)},
      {"curve", array_of(report.curve, curve_point)},
      {"heat", array_of(report.heat, heat_row)},
      {"imports", array_of(report.imports, import_record)},
      {"contradictions", array_of(report.contradictions, contradiction)},
      {"prices", array_of(report.prices, used_price)},
      {"anomalies", or_null(report.anomalies, anomalies)},
      {"notes", texts(report.notes)},
      {"out_of_reach", texts(report.out_of_reach)},
      {"proof", to_json(report.proof)},
      {"goals", to_json(report.goals)},
      {"cluster", cluster == nullptr ? Json(nullptr) : cluster_json(*cluster)},
  };
  // Names were made printable above; a byte that slips through is replaced, not thrown over.
  return out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace stint
