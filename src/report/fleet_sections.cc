// What ran where and how well, and how far the telemetry behind it can be trusted.
#include <algorithm>
#include <array>
#include <map>

#include "report/audit_charts.h"
#include "report/audit_sections.h"
#include "report/figures.h"

namespace stint {
namespace {

constexpr size_t kMostHolders = 200;
constexpr size_t kMostInstances = 300;
constexpr size_t kMostNodesNamed = 12;

Tone tone_of(TelemetryQuality q) {
  return q == TelemetryQuality::kGood ? Tone::kGood : q == TelemetryQuality::kFair ? Tone::kWarn : Tone::kBad;
}

/// "good, 99 %"; "none" alone where nothing was measured.
std::string shown_quality(const NodeAudit& n) {
  if (n.quality == TelemetryQuality::kNone) return std::string(name_of(n.quality));
  return fmt::format("{}, {}", name_of(n.quality), shown_percent(n.coverage_pct));
}

std::string hardware_of(const NodeAudit& n) {
  const std::string gpus = fmt::format("{} × {}", n.gpu_count, n.gpu_model.empty() ? "GPU of unknown model" : n.gpu_model);
  return n.instance_type.empty() ? gpus : fmt::format("{}, {}", n.instance_type, gpus);
}

Html links_to(const std::vector<std::string>& findings) {
  Html out;
  for (const std::string& id : findings) {
    if (!out.empty()) out += Html::markup(" ");
    out += element("a", {{"href", "#" + id}}, Html::text(id));
  }
  return out;
}

Html instances_table(const std::vector<const NodeAudit*>& nodes, const AmountText& amount) {
  HtmlTable table({{"instance"},
                   {"hardware"},
                   {"work"},
                   {"client"},
                   {"market"},
                   {"a month", Align::kRight},
                   {"mean", Align::kRight},
                   {"p95", Align::kRight},
                   {"memory peak of all, GB", Align::kRight},
                   {"telemetry"},
                   {"findings"}});
  for (size_t i = 0; i < std::min(nodes.size(), kMostInstances); ++i) {
    const NodeAudit& n = *nodes[i];
    table.add_row({Html::text(n.name), Html::text(hardware_of(n)), Html::text(name_of(n.kind)), Html::text(n.client),
                   element("span", {{"class", "short"}}, Html::text(name_of(n.market))), Html::text(amount.cost_of(n)),
                   Html::text(percent_or_dash(n.mean_utilization_pct)), Html::text(percent_or_dash(n.p95_utilization_pct)),
                   Html::text(gigabytes(n.memory_peak) + " of " + gigabytes(n.memory_total)),
                   badge(shown_quality(n), tone_of(n.quality)), links_to(n.findings)});
  }
  return table.render("Instances below 30 %");
}

/// What the metrics say about the reason, once for all nodes it is true of; the most money first.
Html diagnoses(const std::vector<const NodeAudit*>& nodes, const AmountText& amount, Money zero) {
  struct Group {
    std::vector<std::string> nodes;
    Money cost;
  };
  std::map<std::string, Group> groups;
  for (const NodeAudit* n : nodes)
    for (const std::string& text : n->diagnosis) {
      Group& group = groups.try_emplace(text, Group{{}, zero}).first->second;
      group.nodes.push_back(n->name);
      group.cost += n->cost_per_month;
    }
  if (groups.empty()) return {};
  std::vector<std::pair<std::string, Group>> ranked(groups.begin(), groups.end());
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.second.cost > b.second.cost; });
  HtmlTable table({{"diagnosis, and what helps"}, {"instances"}, {"a month", Align::kRight}});
  for (const auto& [text, group] : ranked) {
    const size_t named = std::min(group.nodes.size(), kMostNodesNamed);
    std::string names =
        fmt::format("{}", fmt::join(group.nodes.begin(), group.nodes.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    if (named < group.nodes.size()) names += fmt::format(" and {} more", group.nodes.size() - named);
    table.add_text_row({text, names, amount(group.cost)});
  }
  return element("h3", "Why they are low") + table.render("Diagnoses");
}

Html quality_table(const AuditReport& report) {
  struct Sum {
    int64_t nodes = 0, gpus = 0;
    Money cost;
  };
  const Money zero = Money::nanos(0, report.totals.bill_per_month.currency());
  std::array<Sum, 4> sums;
  for (Sum& sum : sums)
    sum.cost = zero;
  for (const NodeAudit& n : report.nodes) {
    Sum& sum = sums[static_cast<size_t>(n.quality)];
    ++sum.nodes;
    sum.gpus += n.gpu_count;
    sum.cost += n.cost_per_month;
  }
  const AmountText amount(report);
  HtmlTable table({{"telemetry"}, {"instances", Align::kRight}, {"GPUs", Align::kRight}, {"a month", Align::kRight}});
  for (size_t q = sums.size(); q-- > 0;) {
    if (sums[q].nodes == 0) continue;
    const auto quality = static_cast<TelemetryQuality>(q);  // NOLINT(clang-analyzer-optin.core.EnumCastOutOfRange): as many sums
    table.add_row({badge(name_of(quality), tone_of(quality)), Html::text(grouped(static_cast<double>(sums[q].nodes))),
                   Html::text(grouped(static_cast<double>(sums[q].gpus))), Html::text(amount(sums[q].cost))});
  }
  return table.empty() ? Html() : element("h3", "Telemetry quality") + table.render("Telemetry quality");
}

/// Of the catalogue's prices that bill and plan rest on, the doubtful ones.
Html doubtful_prices_table(const AuditReport& report) {
  HtmlTable table(
      {{"instance type"}, {"region"}, {"market"}, {"an hour", Align::kRight}, {"of", Align::kLeft}, {"doubt"}, {"source"}});
  for (const auto& [row, doubt, stale] : report.prices) {
    if (doubt == PriceDoubt::kNone) continue;
    std::string why(doubt == PriceDoubt::kSecondary ? "second-hand" : name_of(doubt));
    if (stale && doubt != PriceDoubt::kOld) why += ", old";
    table.add_row({Html::text(fmt::format("{} {}", row.provider, row.instance_type)), Html::text(row.region),
                   Html::text(fmt::format("{} {}", name_of(row.market), name_of(row.term))),
                   Html::text(row.rate.per_hour().to_text(4)), Html::text(format_date(row.as_of)),
                   badge(why, doubt == PriceDoubt::kSecondary ? Tone::kPlain : Tone::kWarn), Html::text(row.source)});
  }
  return table.empty() ? Html() : element("h3", "Doubtful prices that bill or plan rest on") + table.render("Doubtful prices");
}

Html imports_table(const AuditReport& report) {
  if (report.imports.empty()) return {};
  HtmlTable table({{"source"},
                   {"format"},
                   {"taken", Align::kRight},
                   {"refused", Align::kRight},
                   {"duplicates", Align::kRight},
                   {"imported, UTC"}});
  for (const ImportRecord& r : report.imports)
    table.add_text_row({r.source, r.kind, grouped(static_cast<double>(r.accepted)), grouped(static_cast<double>(r.rejected)),
                        grouped(static_cast<double>(r.duplicates)), format_utc(Instant::from_seconds(r.imported_at.seconds()))});
  return element("h3", "Imports") + table.render("Imports");
}

}  // namespace

Html fleet_section(const AuditReport& report) {
  if (report.heat.empty()) return {};
  return section("fleet", "The fleet by hour of the week",
                 "Mean utilisation of each instance's GPUs, UTC. The figure is the mean over the week.", heat_map(report));
}

Html curve_section(const AuditReport& report) {
  const Html curve = utilization_curve(report);
  if (curve.empty()) return {};
  return section("curve", "What idleness costs",
                 "A useful GPU-hour costs the price of a GPU-hour divided by its utilisation. One point an instance, larger "
                 "where it costs more; "
                 "the line is the fleet's mean price.",
                 curve);
}

Html instances_section(const AuditReport& report) {
  std::vector<const NodeAudit*> low;
  for (const NodeAudit& n : report.nodes)
    if (is_low(n)) low.push_back(&n);
  if (low.empty()) return {};
  const AmountText amount(report);
  std::string lead = fmt::format("{} of {} instances. Mean and 95th percentile over the hours with telemetry; memory per GPU.",
                                 low.size(), report.nodes.size());
  if (low.size() > kMostInstances) lead += fmt::format(" The {} dearest are listed; the JSON has all.", kMostInstances);
  return section("instances", "Instances below 30 %", lead,
                 instances_table(low, amount) + diagnoses(low, amount, Money::nanos(0, report.totals.bill_per_month.currency())));
}

Html holders_section(const AuditReport& report) {
  if (report.holders.empty()) return {};
  HtmlTable table({{"pod, container or job"},
                   {"client"},
                   {"GPU-hours", Align::kRight},
                   {"mean", Align::kRight},
                   {"samples idle", Align::kRight},
                   {"memory held, GB", Align::kRight},
                   {"coverage", Align::kRight}});
  for (size_t i = 0; i < std::min(report.holders.size(), kMostHolders); ++i) {
    const HolderAudit& h = report.holders[i];
    const bool measured = h.mean_utilization_pct.has_value();
    table.add_text_row({h.name, h.client, measured ? grouped(h.gpu_hours) : "–", percent_or_dash(h.mean_utilization_pct),
                        percent_or_dash(h.idle_pct, 0), gigabytes(h.memory_mean),
                        measured ? shown_percent(h.coverage_pct) : "–"});
  }
  const std::string lead = report.holders.size() > kMostHolders
                               ? fmt::format("The {} largest of {}; the JSON has all.", kMostHolders,
                                             grouped(static_cast<double>(report.holders.size())))
                               : "By GPU-hours, as telemetry names them.";
  return section("holders", "Who held the GPUs", lead, table.render("Who held the GPUs"));
}

Html sources_section(const AuditReport& report) {
  Html body = report.notes.empty() ? Html() : bullet_list(report.notes);
  body += quality_table(report) + doubtful_prices_table(report) + imports_table(report);
  return body.empty() ? Html() : section("sources", "Where the numbers come from", "", body);
}

}  // namespace stint
