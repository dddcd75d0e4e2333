#include "report/change_json.h"

#include "report/utf8.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

Json names(const std::vector<std::string>& texts) {
  Json out = Json::array();
  for (const std::string& text : texts)
    out.push_back(printable(text));
  return out;
}

Json placement(const ShareGpus::Placement& p, SharingMode mode) {
  Json out = {{"workload", printable(p.workload)},
              {"from", {{"node", printable(p.from_node)}, {"gpu", p.from_gpu}}},
              {"to", {{"node", printable(p.to_node)}, {"gpu", p.to_gpu}}},
              {"share", static_cast<double>(p.parts) / static_cast<double>(kWholeDevice)}};
  if (mode == SharingMode::kMig) {
    out["mig_profile"] = printable(p.mig_profile);
    out["memory_start"] = p.memory_start;
  }
  return out;
}

struct Details {
  Json& out;

  void operator()(const StopNodes&) const {}
  void operator()(const ScheduleOff& c) const {
    Json off = Json::array();
    for (size_t hour = 0; hour < c.off.size(); ++hour)
      if (c.off.test(hour)) off.push_back(hour);
    out["off_hours_of_week"] = off;
  }
  void operator()(const ResizeNodes& c) const {
    out["to_instance_type"] = printable(c.to_instance_type);
    if (!c.to_region.empty()) out["to_region"] = printable(c.to_region);
    out["to_count"] = c.to_count;
  }
  void operator()(const ShareGpus& c) const {
    out["mode"] = name_of(c.mode);
    out["keep"] = names(c.keep);
    out["placements"] = Json::array();
    for (const ShareGpus::Placement& p : c.placements)
      out["placements"].push_back(placement(p, c.mode));
  }
  void operator()(const SwitchMarket& c) const { out["to_market"] = name_of(c.to); }
  void operator()(const Commit& c) const {
    out["provider"] = printable(c.provider);
    out["region"] = printable(c.region);
    out["instance_type"] = printable(c.instance_type);
    out["count"] = c.count;
    out["term"] = name_of(c.term);
    out["payment"] = name_of(c.payment);
  }
  void operator()(const LimitReservation& c) const {
    out["workload"] = printable(c.workload);
    out["from_hours"] = c.from.to_hours();
    out["to_hours"] = c.to.to_hours();
  }
  void operator()(const MoveOffGpu& c) const { out["to_instance_type"] = printable(c.to_instance_type); }
  void operator()(const MoveRegion& c) const { out["to_region"] = printable(c.to_region); }
};

}  // namespace

Json to_json(const Change& change) {
  Json out = {{"kind", kind_of(change)}, {"description", printable(describe(change))}, {"nodes", names(nodes_of(change))}};
  std::visit(Details{out}, change);
  return out;
}

}  // namespace stint
