#include "codec/bills/opencost_writer.h"

#include <fmt/format.h>

#include <cmath>

#include "base/quoting.h"

namespace stint {
namespace {

/// An object of JSON, written field by field.
class OpencostObject {
 public:
  explicit OpencostObject(std::string& out) : out_(out) { out_ += '{'; }
  ~OpencostObject() { out_ += '}'; }
  OpencostObject(const OpencostObject&) = delete;
  OpencostObject& operator=(const OpencostObject&) = delete;

  std::string& key(std::string_view name) {
    if (out_.back() != '{') out_ += ',';
    out_ += json_quoted(name);
    out_ += ':';
    return out_;
  }
  void text(std::string_view name, std::string_view value) { key(name) += json_quoted(value); }
  void said(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }
  void money(std::string_view name, Money value) { key(name) += value.to_decimal(); }
  /// Shortest text that is this number.
  void number(std::string_view name, double value) {
    key(name) += std::isfinite(value) ? fmt::format("{}", value) : std::string("null");
  }
  void number(std::string_view name, const std::optional<double>& value) { number(name, value.value_or(NAN)); }
  void unknown(std::string_view name) { key(name) += "null"; }
  void zero(std::string_view name) { key(name) += '0'; }

 private:
  std::string& out_;
};

void write_opencost_properties(std::string& out, const AllocationProperties& p) {
  OpencostObject object(out);
  object.said("node", p.node);
  object.said("namespace", p.ns);
  object.said("controller", p.controller);
  object.said("controllerKind", p.controller_kind);
  object.said("pod", p.pod);
  object.said("container", p.container);
  if (p.labels.empty()) return;
  OpencostObject labels(object.key("labels"));
  for (const Tag& label : p.labels)
    labels.text(label.first, label.second);
}

void write_opencost_times(OpencostObject& object, const AllocationRow& row, Interval window) {
  {
    OpencostObject of_window(object.key("window"));
    of_window.text("start", format_utc(window.begin));
    of_window.text("end", format_utc(window.end));
  }
  object.text("start", format_utc(row.when.begin));
  object.text("end", format_utc(row.when.end));
  object.number("minutes", row.when.length().to_seconds() / 60);
}

void write_opencost_row(std::string& out, const AllocationRow& row, Interval window) {
  OpencostObject object(out);
  const double hours = row.when.length().to_hours();
  object.text("name", row.name);
  write_opencost_properties(object.key("properties"), row.properties);
  write_opencost_times(object, row, window);
  object.number("cpuCores", row.cpu_core_hours / hours);
  object.number("cpuCoreRequestAverage", row.cpu_core_hours / hours);
  object.unknown("cpuCoreUsageAverage");
  object.number("cpuCoreHours", row.cpu_core_hours);
  object.money("cpuCost", row.cpu);
  object.zero("cpuCostAdjustment");
  object.unknown("cpuEfficiency");
  object.number("gpuCount", row.gpu_hours() / hours);
  object.number("gpuHours", row.gpu_hours());
  object.money("gpuCost", row.gpu + row.idle);
  object.money("gpuCostIdle", row.idle);
  object.zero("gpuCostAdjustment");
  object.number("gpuEfficiency", row.gpu_efficiency());
  object.money("networkCost", row.network);
  object.zero("networkCostAdjustment");
  object.zero("loadBalancerCost");
  object.zero("loadBalancerCostAdjustment");
  object.unknown("pvBytes");
  object.unknown("pvByteHours");
  object.money("pvCost", row.storage);
  object.unknown("pvs");
  object.zero("pvCostAdjustment");
  object.number("ramBytes", row.ram_byte_hours / hours);
  object.number("ramByteRequestAverage", row.ram_byte_hours / hours);
  object.unknown("ramByteUsageAverage");
  object.number("ramByteHours", row.ram_byte_hours);
  object.zero("ramCost");
  object.zero("ramCostAdjustment");
  object.unknown("ramEfficiency");
  object.money("externalCost", row.external);
  object.money("sharedCost", row.shared);
  object.money("totalCost", row.total());
  object.number("totalEfficiency", row.gpu_efficiency());
}

}  // namespace

std::string opencost_answer(std::span<const Allocation> steps, std::string_view warning) {
  std::string out;
  {
    OpencostObject answer(out);
    answer.key("code") += "200";
    answer.text("status", "success");
    answer.key("data") += '[';
    for (const Allocation& step : steps) {
      if (&step != steps.data()) out += ',';
      OpencostObject set(out);
      for (const AllocationRow& row : step.rows)
        write_opencost_row(set.key(row.name), row, step.window);
    }
    out += ']';
    answer.said("warning", warning);
  }
  out += '\n';
  return out;
}

}  // namespace stint
