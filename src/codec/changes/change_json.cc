#include "codec/changes/change_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_fields.h"

namespace stint::json_fields {
namespace {

constexpr double kLongestHours = 100.0 * 366 * 24;

Json placement_to_json(const ShareGpus::Placement& p, SharingMode mode) {
  Json out = {{"workload", p.workload},
              {"from", {{"node", p.from_node}, {"gpu", p.from_gpu}}},
              {"to", {{"node", p.to_node}, {"gpu", p.to_gpu}}},
              {"share", static_cast<double>(p.parts) / static_cast<double>(kWholeDevice)}};
  if (mode == SharingMode::kMig) {
    out["mig_profile"] = p.mig_profile;
    out["memory_start"] = p.memory_start;
  }
  return out;
}

Json hours_to_json(const WeekHours& off) {
  Json hours = Json::array();
  for (size_t hour = 0; hour < off.size(); ++hour)
    if (off.test(hour)) hours.push_back(hour);
  return hours;
}

struct Details {
  Json& out;

  void operator()(const StopNodes&) const {}
  void operator()(const ScheduleOff& c) const { out["off_hours_of_week"] = hours_to_json(c.off); }
  void operator()(const ResizeNodes& c) const {
    out["to_instance_type"] = c.to_instance_type;
    if (!c.to_region.empty()) out["to_region"] = c.to_region;
    out["to_count"] = c.to_count;
  }
  void operator()(const ShareGpus& c) const {
    out["mode"] = name_of(c.mode);
    out["keep"] = c.keep;
    out["placements"] = Json::array();
    for (const ShareGpus::Placement& p : c.placements)
      out["placements"].push_back(placement_to_json(p, c.mode));
  }
  void operator()(const SwitchMarket& c) const { out["to_market"] = name_of(c.to); }
  void operator()(const Commit& c) const {
    out["provider"] = c.provider;
    out["region"] = c.region;
    out["instance_type"] = c.instance_type;
    out["count"] = c.count;
    out["term"] = name_of(c.term);
    out["payment"] = name_of(c.payment);
  }
  void operator()(const LimitReservation& c) const {
    out["workload"] = c.workload;
    out["from_hours"] = c.from.to_hours();
    out["to_hours"] = c.to.to_hours();
  }
  void operator()(const MoveOffGpu& c) const { out["to_instance_type"] = c.to_instance_type; }
  void operator()(const MoveRegion& c) const { out["to_region"] = c.to_region; }
  void operator()(const SavingsPlan& c) const {
    out["provider"] = c.provider;
    out["per_hour"] = c.per_hour.to_decimal();
    out["currency"] = c.per_hour.currency().code();
    out["term"] = name_of(c.term);
    out["payment"] = name_of(c.payment);
    out["rates"] = Json::array();
    for (const SavingsPlan::TypeRate& rate : c.rates)
      out["rates"].push_back(
          {{"region", rate.region}, {"instance_type", rate.instance_type}, {"per_hour", rate.per_hour.to_decimal()}});
  }
};

/// A century in nanoseconds is more than a double can tell apart: whole milliseconds come back as they went.
Duration hours_to_millisecond(const Json& object, const char* name) {
  return Duration::milliseconds(std::llround(number_of(object, name, 0, kLongestHours) * 3'600'000));
}

WeekHours hours_of(const Json& object) {
  WeekHours off;
  for (const Json& hour : array_of(object, "off_hours_of_week")) {
    if (!hour.is_number_unsigned() || hour.get<uint64_t>() >= off.size())
      throw Malformed(object, "'off_hours_of_week' holds something that is no integer from 0 to 167");
    off.set(hour.get<size_t>());
  }
  return off;
}

std::pair<std::string, int> seat_of(const Json& placement, const char* name) {
  const Json& seat = member(placement, name);
  if (!seat.is_object()) throw Malformed(placement, fmt::format("'{}' is no object with node and gpu", name));
  return {text_of(seat, "node"), static_cast<int>(integer_of(seat, "gpu", 0, 1000))};
}

ShareGpus::Placement placement_of(const Json& p) {
  ShareGpus::Placement placement;
  placement.workload = text_of(p, "workload");
  std::tie(placement.from_node, placement.from_gpu) = seat_of(p, "from");
  std::tie(placement.to_node, placement.to_gpu) = seat_of(p, "to");
  placement.parts = std::llround(number_of(p, "share", 0, 1) * static_cast<double>(kWholeDevice));
  placement.mig_profile = text_or_empty(p, "mig_profile");
  if (p.contains("memory_start")) placement.memory_start = static_cast<int>(integer_of(p, "memory_start", -1, 100));
  return placement;
}

SharingMode mode_of(const Json& object) {
  const std::string mode = text_of(object, "mode");
  for (const SharingMode m : {SharingMode::kMig, SharingMode::kMps, SharingMode::kTimeSlice})
    if (name_of(m) == mode) return m;
  throw Malformed(object, fmt::format("mode '{}' is not mig, mps or time-slice", excerpt(mode)));
}

ShareGpus share_of(const Json& object) {
  ShareGpus share{
      .mode = SharingMode::kMig, .nodes = texts_of(object, "nodes"), .keep = texts_of(object, "keep"), .placements = {}};
  share.mode = mode_of(object);
  for (const Json& p : array_of(object, "placements")) {
    if (!p.is_object()) throw Malformed(object, "'placements' holds something that is no object");
    share.placements.push_back(placement_of(p));
  }
  return share;
}

Commit commit_of(const Json& object) {
  Commit commit;
  commit.nodes = texts_of(object, "nodes");
  commit.provider = text_of(object, "provider");
  commit.region = text_of(object, "region");
  commit.instance_type = text_of(object, "instance_type");
  commit.count = integer_of(object, "count", 1, 1'000'000);
  commit.term = taken(object, parse_commitment_term(text_of(object, "term")));
  commit.payment = taken(object, parse_payment_option(text_of(object, "payment")));
  return commit;
}

Money amount_of(const Json& object, Currency currency) {
  const Money amount = taken(object, Money::parse(text_of(object, "per_hour"), currency));
  if (amount.count_nanos() <= 0 || amount > Money::units(kMaxUnitsPerHour, currency))
    throw Malformed(object, fmt::format("'per_hour' is not above 0 and up to {}", kMaxUnitsPerHour));
  return amount;
}

SavingsPlan savings_plan_of(const Json& object) {
  const Currency currency = taken(object, Currency::parse(text_of(object, "currency")));
  SavingsPlan plan{.provider = text_of(object, "provider"), .per_hour = amount_of(object, currency), .rates = {}, .nodes = {}};
  plan.term = taken(object, parse_commitment_term(text_of(object, "term")));
  plan.payment = taken(object, parse_payment_option(text_of(object, "payment")));
  plan.nodes = texts_of(object, "nodes");
  for (const Json& rate : array_of(object, "rates")) {
    if (!rate.is_object()) throw Malformed(object, "'rates' holds something that is no object");
    plan.rates.push_back({text_of(rate, "region"), text_of(rate, "instance_type"), amount_of(rate, currency)});
  }
  return plan;
}

// ── What undoing needs ──

constexpr std::string_view kUndoSchema = "stint-undo/1";

Json node_to_json(const PlannedNode& n) {
  Json sharing = Json::array();
  for (const GpuSharing& gpu : n.sharing) {
    Json seats = Json::array();
    for (const ShareGpus::Placement& seat : gpu.seats)
      seats.push_back(placement_to_json(seat, gpu.mode));
    sharing.push_back({{"gpu", gpu.gpu}, {"mode", name_of(gpu.mode)}, {"placements", seats}});
  }
  return {{"name", n.name},
          {"resource_id", n.resource_id},
          {"provider", n.provider},
          {"region", n.region},
          {"zone", n.zone},
          {"instance_type", n.instance_type},
          {"market", name_of(n.market)},
          {"gpu_model", n.gpu_model},
          {"gpu_count", n.gpu_count},
          {"off_hours_of_week", hours_to_json(n.off)},
          {"sharing", sharing}};
}

PlannedNode node_from_json(const Json& object) {
  PlannedNode n{.name = text_of(object, "name"),
                .resource_id = text_of(object, "resource_id"),
                .provider = text_of(object, "provider"),
                .region = text_of(object, "region"),
                .zone = text_of(object, "zone"),
                .instance_type = text_of(object, "instance_type"),
                .market = taken(object, parse_market(text_of(object, "market"))),
                .gpu_model = text_of(object, "gpu_model"),
                .gpu_count = integer_of(object, "gpu_count", 0, 1'000'000),
                .off = hours_of(object),
                .sharing = {}};
  for (const Json& gpu : array_of(object, "sharing")) {
    if (!gpu.is_object()) throw Malformed(object, "'sharing' holds something that is no object");
    GpuSharing& sharing = n.sharing.emplace_back();
    sharing.gpu = static_cast<int>(integer_of(gpu, "gpu", 0, 1000));
    sharing.mode = mode_of(gpu);
    for (const Json& seat : array_of(gpu, "placements")) {
      if (!seat.is_object()) throw Malformed(gpu, "'placements' holds something that is no object");
      sharing.seats.push_back(placement_of(seat));
    }
  }
  return n;
}

/// `null` where there was none.
template <typename T, typename Write>
Json altered_to_json(const FleetUndo::Altered<T>& altered, Write write) {
  return {{"name", altered.name},
          {"before", altered.before ? write(*altered.before) : Json(nullptr)},
          {"after", altered.after ? write(*altered.after) : Json(nullptr)}};
}

template <typename T, typename Read>
FleetUndo::Altered<T> altered_from_json(const Json& object, Read read) {
  const auto side = [&](const char* name) {
    const Json& value = member(object, name);
    return value.is_null() ? std::optional<T>() : std::optional<T>(read(value));
  };
  FleetUndo::Altered<T> altered{.name = text_of(object, "name"), .before = side("before"), .after = side("after")};
  if (!altered.before && !altered.after) throw Malformed(object, "neither 'before' nor 'after' is there");
  return altered;
}

Duration milliseconds_from_json(const Json& value) {
  constexpr int64_t kMost = static_cast<int64_t>(kLongestHours) * 3'600'000;
  if (!value.is_number_integer() || value.get<double>() < 0 || value.get<double>() > static_cast<double>(kMost))
    throw Malformed(value, fmt::format("a limit is no integer of milliseconds from 0 to {}", kMost));
  return Duration::milliseconds(value.get<int64_t>());
}

FleetUndo undo_from_json(const Json& document) {
  if (text_of(document, "schema") != kUndoSchema)
    throw Malformed(document, fmt::format("schema '{}' is not {}", excerpt(text_of(document, "schema")), kUndoSchema));
  FleetUndo undo;
  for (const Json& node : array_of(document, "nodes"))
    undo.nodes.push_back(altered_from_json<PlannedNode>(node, node_from_json));
  for (const Json& limit : array_of(document, "limits_ms"))
    undo.limits.push_back(altered_from_json<Duration>(limit, milliseconds_from_json));
  for (const Json& bought : array_of(document, "bought"))
    if (text_of(bought, "kind") == "savings-plan")
      undo.bought_plans.push_back(savings_plan_of(bought));
    else
      undo.bought.push_back(commit_of(bought));
  return undo;
}

}  // namespace
}  // namespace stint::json_fields

namespace stint {

nlohmann::ordered_json change_to_json(const Change& change) {
  nlohmann::ordered_json out = {{"kind", kind_of(change)}, {"description", describe(change)}, {"nodes", nodes_of(change)}};
  std::visit(json_fields::Details{out}, change);
  return out;
}

Change change_from_json(const nlohmann::ordered_json& object) {
  using namespace json_fields;
  const std::string kind = text_of(object, "kind");
  std::vector<std::string> nodes = texts_of(object, "nodes");
  if (kind == "stop") return StopNodes{std::move(nodes)};
  if (kind == "schedule-off") return ScheduleOff{std::move(nodes), hours_of(object)};
  if (kind == "resize")
    return ResizeNodes{std::move(nodes), text_of(object, "to_instance_type"), text_or_empty(object, "to_region"),
                       integer_of(object, "to_count", 1, 100'000)};
  if (kind == "share") return share_of(object);
  if (kind == "switch-market") return SwitchMarket{std::move(nodes), taken(object, parse_market(text_of(object, "to_market")))};
  if (kind == "commit") return commit_of(object);
  if (kind == "limit-reservation")
    return LimitReservation{text_of(object, "workload"), std::move(nodes), hours_to_millisecond(object, "from_hours"),
                            hours_to_millisecond(object, "to_hours")};
  if (kind == "move-off-gpu") return MoveOffGpu{std::move(nodes), text_of(object, "to_instance_type")};
  if (kind == "move-region") return MoveRegion{std::move(nodes), text_of(object, "to_region")};
  if (kind == "savings-plan") return savings_plan_of(object);
  throw Malformed(object, fmt::format("no kind of change is called '{}'", excerpt(kind)));
}

std::string write_undo(const FleetUndo& undo) {
  using json_fields::Json;
  Json out = {
      {"schema", json_fields::kUndoSchema}, {"nodes", Json::array()}, {"limits_ms", Json::array()}, {"bought", Json::array()}};
  for (const auto& node : undo.nodes)
    out["nodes"].push_back(json_fields::altered_to_json(node, json_fields::node_to_json));
  for (const auto& limit : undo.limits)
    out["limits_ms"].push_back(json_fields::altered_to_json(limit, [](Duration d) { return Json(d.count_ns() / 1'000'000); }));
  for (const Commit& bought : undo.bought)
    out["bought"].push_back(change_to_json(bought));
  for (const SavingsPlan& plan : undo.bought_plans)
    out["bought"].push_back(change_to_json(plan));
  return out.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<FleetUndo> read_undo(std::string_view bytes, const std::string& source) {
  return json_fields::read_document<FleetUndo>(bytes, source, json_fields::undo_from_json);
}

}  // namespace stint
