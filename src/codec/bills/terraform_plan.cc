#include "codec/bills/terraform_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_fields.h"

namespace stint {
namespace {

using json_fields::Json;
using json_fields::Malformed;

/// Machines of one resource are counted up to this; a plan that says more is not believed.
constexpr int64_t kMostMachines = 1'000'000;
/// Zones a regional node pool of GKE has where none are named: https://cloud.google.com/kubernetes-engine/docs/concepts/regional-clusters
constexpr int64_t kZonesOfARegion = 3;

// ---- lenient access: plans hold null where nothing was set ------------------------------------------------------------

/// What stands for a value that is not there.
const Json& no_value() {
  static const Json none;
  return none;
}

const Json& plan_value(const Json& object, const char* name) {
  if (!object.is_object()) return no_value();
  const auto it = object.find(name);
  return it == object.end() ? no_value() : *it;
}
/// The first of a list of blocks, or the block itself.
const Json& plan_block(const Json& object, const char* name) {
  const Json& value = plan_value(object, name);
  if (value.is_array()) return value.empty() ? no_value() : value.front();
  return value.is_object() ? value : no_value();
}
std::string plan_text(const Json& object, const char* name) {
  const Json& value = plan_value(object, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}
/// Numbers may be text in a plan. @return none when it is not there; throws when it is no sensible count.
std::optional<int64_t> plan_count(const Json& object, const char* name) {
  const Json& value = plan_value(object, name);
  std::optional<int64_t> number;
  if (value.is_number_integer()) number = value.get<int64_t>();
  if (value.is_string()) number = parse_int(value.get<std::string>());
  if (value.is_null() || (value.is_string() && value.get<std::string>().empty())) return std::nullopt;
  if (!number || *number < 0 || *number > kMostMachines)
    throw Malformed(object, fmt::format("'{}' is no number of machines (0 to {})", name, kMostMachines));
  return number;
}
bool plan_says(const Json& object, const char* name) {
  return plan_value(object, name).is_boolean() && plan_value(object, name).get<bool>();
}

// ---- addresses --------------------------------------------------------------------------------------------------------

/// "module.a[0].aws_instance.w[\"x.y\"]" → {"module.a[0].", "aws_instance.w"}: dots within brackets do not part.
struct Address {
  std::string module;              ///< with its last dot; empty = the root
  std::vector<std::string> calls;  ///< names of the modules, outermost first, without index
  std::string resource;            ///< type.name without index
};
Address parse_address(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\') ++i;
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == ']')) depth += c == '[' ? 1 : -1;
    if (c != '.' || quoted || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(std::min(begin, text.size())));
  const auto without_index = [](std::string_view part) { return part.substr(0, part.find('[')); };
  Address out;
  size_t p = 0;
  for (; p + 3 < parts.size() && parts[p] == "module"; p += 2) {
    out.module += fmt::format("module.{}.", parts[p + 1]);
    out.calls.emplace_back(without_index(parts[p + 1]));
  }
  for (; p < parts.size(); ++p)
    out.resource += fmt::format("{}{}", out.resource.empty() ? "" : ".", without_index(parts[p]));
  return out;
}

// ---- places -----------------------------------------------------------------------------------------------------------

/// "us-east-1a" → "us-east-1".
std::string region_of_aws_zone(std::string zone) {
  if (!zone.empty() && zone.back() >= 'a' && zone.back() <= 'z') zone.pop_back();
  return zone;
}
bool is_google_zone(std::string_view place) { return place.size() > 2 && place[place.size() - 2] == '-'; }
/// "us-central1-a" → "us-central1"; a region stays.
std::string region_of_google_place(std::string place) {
  if (const size_t slash = place.rfind('/'); slash != std::string::npos) place.erase(0, slash + 1);
  if (is_google_zone(place)) place.resize(place.size() - 2);
  return place;
}
/// "West Europe" → "westeurope", as the catalogue writes it.
std::string azure_location(std::string_view display_name) {
  std::string name = to_lower(display_name);
  std::erase(name, ' ');
  return name;
}
/// ".../acceleratorTypes/nvidia-tesla-t4" → "nvidia-tesla-t4".
std::string last_part(std::string path) {
  if (const size_t slash = path.rfind('/'); slash != std::string::npos) path.erase(0, slash + 1);
  return path;
}

// ---- the plan ---------------------------------------------------------------------------------------------------------

/// One side of one resource: its values, and where to look up what they refer to.
struct Side {
  const Json& values;
  const Json& unknown;      ///< same shape, true where a value is known only after apply
  const Json& expressions;  ///< of the configuration
  const Address& address;
  bool after;
  std::string note;
};
/// Why a resource cannot be estimated though the plan is in order.
struct NotKnown {
  std::string why;
};

class PlanReader {
 public:
  explicit PlanReader(const Json& document) : document_(document) {
    for (const Json& change : changes()) {
      const std::string type = plan_text(change, "type");
      if (type != "aws_launch_template" && type != "aws_launch_configuration" && type != "google_compute_instance_template")
        continue;
      const Address address = parse_address(plan_text(change, "address"));
      templates_.emplace(address.module + address.resource, &change);
    }
  }

  InfrastructurePlan read() {
    InfrastructurePlan plan;
    for (const Json& change : changes()) {
      if (plan_text(change, "mode") == "data") continue;
      const Reader* const reader = reader_of(plan_text(change, "type"));
      if (reader == nullptr)
        ++plan.others;
      else
        add(plan, change, *reader);
    }
    return plan;
  }

 private:
  using Read = std::optional<MachineGroup> (PlanReader::*)(Side& side) const;
  struct Reader {
    const char* type;
    Read read;
  };
  static const Reader* reader_of(std::string_view type);

  [[nodiscard]] const Json& changes() const { return plan_value(document_, "resource_changes"); }

  void add(InfrastructurePlan& plan, const Json& change, const Reader& reader) const {
    PlannedMachines machines;
    machines.address = json_fields::text_of(change, "address");
    const Json& what = json_fields::member(change, "change");
    machines.action = action_of(what);
    const Address address = parse_address(machines.address);
    const Json& expressions = expressions_of(address);
    const auto side_of = [&](const char* name, bool after) -> std::optional<MachineGroup> {
      Side side{plan_value(what, name), plan_value(what, "after_unknown"), expressions, address, after, {}};
      if (!side.values.is_object()) return std::nullopt;
      try {
        std::optional<MachineGroup> group = (this->*reader.read)(side);
        if (after) machines.note = side.note;
        if (group && group->region.empty()) group->region = provider_region(address);
        return group;
      } catch (const NotKnown& reason) {
        machines.problem = (after ? "" : "before: ") + reason.why;
        return std::nullopt;
      }
    };
    machines.before = side_of("before", false);
    machines.after = side_of("after", true);
    if (machines.before || machines.after || !machines.problem.empty())
      plan.machines.push_back(std::move(machines));
    else
      ++plan.others;
  }

  static PlannedAction action_of(const Json& change) {
    const std::vector<std::string> actions = json_fields::texts_of(change, "actions");
    if (actions.size() == 2) return PlannedAction::kReplace;
    if (actions.size() != 1) throw Malformed(change, "'actions' names one action, or delete and create");
    if (actions[0] == "create") return PlannedAction::kCreate;
    if (actions[0] == "update") return PlannedAction::kUpdate;
    if (actions[0] == "delete" || actions[0] == "forget") return PlannedAction::kDelete;
    if (actions[0] == "no-op" || actions[0] == "read") return PlannedAction::kKeep;
    throw Malformed(change,
                    fmt::format("action '{}' is none of create, read, update, delete, forget and no-op", excerpt(actions[0])));
  }

  /// The module of the configuration that an address is in; null where the plan has no configuration.
  [[nodiscard]] const Json& module_of(const Address& address) const {
    const Json* module = &plan_value(plan_value(document_, "configuration"), "root_module");
    for (const std::string& call : address.calls)
      module = &plan_value(plan_value(plan_value(*module, "module_calls"), call.c_str()), "module");
    return *module;
  }
  [[nodiscard]] const Json& configuration_of(const Address& address) const {
    const Json& resources = plan_value(module_of(address), "resources");
    if (!resources.is_array()) return no_value();
    for (const Json& resource : resources)
      if (plan_text(resource, "address") == address.resource) return resource;
    return no_value();
  }
  [[nodiscard]] const Json& expressions_of(const Address& address) const {
    return plan_value(configuration_of(address), "expressions");
  }

  /// What the provider's block says, as a constant or by a variable of the root.
  [[nodiscard]] std::string provider_region(const Address& address) const {
    const Json& providers = plan_value(plan_value(document_, "configuration"), "provider_config");
    const std::string key = plan_text(configuration_of(address), "provider_config_key");
    const std::string type = address.resource.substr(0, address.resource.find('_'));
    for (const std::string& name : {key, key.substr(key.rfind(':') + 1), type}) {
      const Json& region = plan_value(plan_value(plan_value(providers, name.c_str()), "expressions"), "region");
      if (const std::string constant = plan_text(region, "constant_value"); !constant.empty()) return constant;
      const Json& references = plan_value(region, "references");
      if (!references.is_array() || references.empty() || !references.front().is_string()) continue;
      const std::string reference = references.front().get<std::string>();
      if (!reference.starts_with("var.")) continue;
      if (const std::string value =
              plan_text(plan_value(plan_value(document_, "variables"), reference.substr(4).c_str()), "value");
          !value.empty())
        return value;
    }
    return {};
  }

  /// The values of a template that a resource names by reference, or by a name or id that is known.
  [[nodiscard]] const Json& template_of(const Side& side, const char* block_name, const Json& values,
                                        std::string_view type) const {
    const Json& expressions = plan_block(side.expressions, block_name);
    for (const char* field : {"", "id", "name", "instance_template"}) {
      const Json& references = plan_value(*field == '\0' ? expressions : plan_value(expressions, field), "references");
      if (!references.is_array()) continue;
      for (const Json& reference : references) {
        if (!reference.is_string()) continue;
        const Address to = parse_address(reference.get<std::string>());
        if (!to.resource.starts_with(type)) continue;
        // "aws_launch_template.gpu.id" or "aws_launch_template.gpu".
        const size_t name = to.resource.find('.');
        const size_t end = to.resource.find('.', name + 1);
        const auto found = templates_.find(side.address.module + to.resource.substr(0, end));
        if (found != templates_.end()) return values_of(*found->second, side.after);
      }
    }
    for (const auto& [address, change] : templates_) {
      const Json& candidate = values_of(*change, side.after);
      for (const char* field : {"id", "name", "self_link"}) {
        const std::string known = plan_text(candidate, field);
        if (known.empty() || !plan_text(*change, "type").starts_with(type)) continue;
        for (const char* used : {"id", "name", "launch_configuration", "instance_template"})
          if (plan_text(values, used) == known) return candidate;
      }
    }
    return no_value();
  }
  static const Json& values_of(const Json& change, bool after) {
    return plan_value(plan_value(change, "change"), after ? "after" : "before");
  }

  // ---- AWS ----
  std::optional<MachineGroup> aws_instance(Side& side) const {
    MachineGroup g{.provider = "aws",
                   .instance_type = {},
                   .region = aws_region(side.values),
                   .count = 1,
                   .least = 1,
                   .most = 1,
                   .accelerator = {}};
    set_aws_type(g, side, plan_text(side.values, "instance_type"));
    if (plan_text(plan_block(side.values, "instance_market_options"), "market_type") == "spot") g.market = Market::kSpot;
    return g;
  }
  std::optional<MachineGroup> aws_spot_request(Side& side) const {
    MachineGroup g = *aws_instance(side);
    g.market = Market::kSpot;
    return g;
  }
  std::optional<MachineGroup> aws_group(Side& side) const {
    MachineGroup g{.provider = "aws", .instance_type = {}, .region = {}, .accelerator = {}};
    const Json& zones = plan_value(side.values, "availability_zones");
    if (zones.is_array() && !zones.empty() && zones.front().is_string())
      g.region = region_of_aws_zone(zones.front().get<std::string>());
    const Json& mixed = plan_block(side.values, "mixed_instances_policy");
    const Json& overrides = plan_value(plan_block(mixed, "launch_template"), "override");
    std::string type;
    if (overrides.is_array() && !overrides.empty()) {
      type = plan_text(overrides.front(), "instance_type");
      if (overrides.size() > 1) side.note = fmt::format("the first of {} instance types", overrides.size());
      const Json& mix = plan_block(mixed, "instances_distribution");
      const int64_t on_demand = plan_count(mix, "on_demand_percentage_above_base_capacity").value_or(100);
      const int64_t base = plan_count(mix, "on_demand_base_capacity").value_or(0);
      if (on_demand == 0 && base == 0)
        g.market = Market::kSpot;
      else if (on_demand < 100)
        add_note(side, "all counted on demand, though some may be spot");
    }
    set_counts(g, plan_count(side.values, "desired_capacity"), plan_count(side.values, "min_size"),
               plan_count(side.values, "max_size"));
    set_aws_type(g, side, type);
    return g;
  }
  std::optional<MachineGroup> aws_node_group(Side& side) const {
    MachineGroup g{.provider = "aws", .instance_type = {}, .region = {}, .accelerator = {}};
    const Json& types = plan_value(side.values, "instance_types");
    const bool named = types.is_array() && !types.empty() && types.front().is_string();
    if (named && types.size() > 1) side.note = fmt::format("the first of {} instance types", types.size());
    if (plan_text(side.values, "capacity_type") == "SPOT") g.market = Market::kSpot;
    const Json& scaling = plan_block(side.values, "scaling_config");
    set_counts(g, plan_count(scaling, "desired_size"), plan_count(scaling, "min_size"), plan_count(scaling, "max_size"));
    set_aws_type(g, side, named ? types.front().get<std::string>() : std::string());
    return g;
  }
  static std::string aws_region(const Json& values) {
    const std::string region = plan_text(values, "region");
    return region.empty() ? region_of_aws_zone(plan_text(values, "availability_zone")) : region;
  }
  void set_aws_type(MachineGroup& g, const Side& side, std::string type) const {
    if (g.region.empty()) g.region = aws_region(side.values);
    const Json& from = template_of(side, "launch_template", plan_block(side.values, "launch_template"), "aws_launch_template");
    if (type.empty()) type = plan_text(from, "instance_type");
    const Json& older = template_of(side, "launch_configuration", side.values, "aws_launch_configuration");
    if (type.empty()) type = plan_text(older, "instance_type");
    if (!plan_text(older, "spot_price").empty()) g.market = Market::kSpot;
    if (plan_text(plan_block(from, "instance_market_options"), "market_type") == "spot") g.market = Market::kSpot;
    set_type(g, side, std::move(type), "instance_type");
  }

  // ---- Google Cloud ----
  std::optional<MachineGroup> google_instance(Side& side) const {
    MachineGroup g{.provider = "gcp",
                   .instance_type = {},
                   .region = region_of_google_place(plan_text(side.values, "zone")),
                   .count = 1,
                   .least = 1,
                   .most = 1,
                   .accelerator = {}};
    set_google_machine(g, side, side.values);
    return g;
  }
  std::optional<MachineGroup> google_group(Side& side) const {
    MachineGroup g{.provider = "gcp", .instance_type = {}, .region = {}, .accelerator = {}};
    const std::string zone = plan_text(side.values, "zone");
    g.region = region_of_google_place(zone.empty() ? plan_text(side.values, "region") : zone);
    set_counts(g, plan_count(side.values, "target_size"), std::nullopt, std::nullopt);
    set_google_machine(g, side,
                       template_of(side, "version", plan_block(side.values, "version"), "google_compute_instance_template"));
    return g;
  }
  std::optional<MachineGroup> google_node_pool(Side& side) const {
    MachineGroup g{.provider = "gcp", .instance_type = {}, .region = {}, .accelerator = {}};
    const std::string location = plan_text(side.values, "location");
    g.region = region_of_google_place(location);
    std::optional<int64_t> count = plan_count(side.values, "node_count");
    if (!count) count = plan_count(side.values, "initial_node_count");
    const Json& scaling = plan_block(side.values, "autoscaling");
    const Json& zones = plan_value(side.values, "node_locations");
    const bool named = zones.is_array() && !zones.empty();
    const int64_t per = named                                          ? static_cast<int64_t>(zones.size())
                        : location.empty() || is_google_zone(location) ? 1
                                                                       : kZonesOfARegion;
    if (per > 1 && !named) add_note(side, fmt::format("{} zones, as the pool is regional and names none", per));
    const auto times = [&](std::optional<int64_t> n) { return n ? std::optional(*n * per) : n; };
    std::optional<int64_t> least = times(plan_count(scaling, "min_node_count")),
                           most = times(plan_count(scaling, "max_node_count"));
    if (!least) least = plan_count(scaling, "total_min_node_count");
    if (!most) most = plan_count(scaling, "total_max_node_count");
    set_counts(g, times(count), least, most);
    set_google_machine(g, side, plan_block(side.values, "node_config"));
    return g;
  }
  /// A cluster runs machines itself only where its default pool is not removed at once.
  std::optional<MachineGroup> google_cluster(Side& side) const {
    if (plan_says(side.values, "remove_default_node_pool") || plan_says(side.values, "enable_autopilot") ||
        plan_text(plan_block(side.values, "node_config"), "machine_type").empty())
      return std::nullopt;
    return google_node_pool(side);
  }
  static void set_google_machine(MachineGroup& g, const Side& side, const Json& machine) {
    const Json& accelerator = plan_block(machine, "guest_accelerator");
    g.accelerator = last_part(plan_text(accelerator, "type"));
    g.accelerators = g.accelerator.empty() ? 0 : plan_count(accelerator, "count").value_or(1);
    const Json& scheduling = plan_block(machine, "scheduling");
    if (plan_says(machine, "spot") || plan_says(machine, "preemptible") || plan_says(scheduling, "preemptible") ||
        plan_text(scheduling, "provisioning_model") == "SPOT")
      g.market = Market::kSpot;
    set_type(g, side, last_part(plan_text(machine, "machine_type")), "machine_type");
  }

  // ---- Azure ----
  std::optional<MachineGroup> azure_machine(Side& side) const { return azure(side, "size", 1, std::nullopt, std::nullopt); }
  std::optional<MachineGroup> azure_scale_set(Side& side) const {
    return azure(side, "sku", plan_count(side.values, "instances"), std::nullopt, std::nullopt);
  }
  std::optional<MachineGroup> azure_flexible_set(Side& side) const {
    return azure(side, "sku_name", plan_count(side.values, "instances"), std::nullopt, std::nullopt);
  }
  std::optional<MachineGroup> azure_pool(Side& side) const {
    return azure(side, "vm_size", plan_count(side.values, "node_count"), plan_count(side.values, "min_count"),
                 plan_count(side.values, "max_count"));
  }
  std::optional<MachineGroup> azure_cluster(Side& side) const {
    Side pool{plan_block(side.values, "default_node_pool"),
              plan_block(side.unknown, "default_node_pool"),
              side.expressions,
              side.address,
              side.after,
              {}};
    if (!pool.values.is_object()) return std::nullopt;
    std::optional<MachineGroup> g = azure_pool(pool);
    if (g) g->region = azure_location(plan_text(side.values, "location"));
    return g;
  }
  static std::optional<MachineGroup> azure(const Side& side, const char* type, std::optional<int64_t> count,
                                           std::optional<int64_t> least, std::optional<int64_t> most) {
    MachineGroup g{.provider = "azure",
                   .instance_type = {},
                   .region = azure_location(plan_text(side.values, "location")),
                   .accelerator = {}};
    if (plan_text(side.values, "priority") == "Spot") g.market = Market::kSpot;
    set_counts(g, count, least, most);
    set_type(g, side, plan_text(side.values, type), type);
    return g;
  }

  // ---- all ----
  static void add_note(Side& side, std::string_view text) { side.note += (side.note.empty() ? "" : "; ") + std::string(text); }
  static void set_counts(MachineGroup& g, std::optional<int64_t> count, std::optional<int64_t> least,
                         std::optional<int64_t> most) {
    g.count = count.value_or(least.value_or(0));
    g.least = std::min(g.count, least.value_or(g.count));
    g.most = std::max(g.count, most.value_or(g.count));
  }
  static void set_type(MachineGroup& g, const Side& side, std::string type, const char* field) {
    if (type.empty())
      throw NotKnown{plan_says(side.unknown, field) ? fmt::format("{} is known only after apply", field)
                                                    : std::string("no machine type in it, nor in a template of the plan")};
    g.instance_type = std::move(type);
  }

  const Json& document_;
  std::map<std::string, const Json*, std::less<>> templates_;  // by address without index
};

const PlanReader::Reader* PlanReader::reader_of(std::string_view type) {
  static constexpr std::array<Reader, 16> kReaders = {{
      {"aws_instance", &PlanReader::aws_instance},
      {"aws_spot_instance_request", &PlanReader::aws_spot_request},
      {"aws_autoscaling_group", &PlanReader::aws_group},
      {"aws_eks_node_group", &PlanReader::aws_node_group},
      {"google_compute_instance", &PlanReader::google_instance},
      {"google_compute_instance_group_manager", &PlanReader::google_group},
      {"google_compute_region_instance_group_manager", &PlanReader::google_group},
      {"google_container_node_pool", &PlanReader::google_node_pool},
      {"google_container_cluster", &PlanReader::google_cluster},
      {"azurerm_linux_virtual_machine", &PlanReader::azure_machine},
      {"azurerm_windows_virtual_machine", &PlanReader::azure_machine},
      {"azurerm_linux_virtual_machine_scale_set", &PlanReader::azure_scale_set},
      {"azurerm_windows_virtual_machine_scale_set", &PlanReader::azure_scale_set},
      {"azurerm_orchestrated_virtual_machine_scale_set", &PlanReader::azure_flexible_set},
      {"azurerm_kubernetes_cluster_node_pool", &PlanReader::azure_pool},
      {"azurerm_kubernetes_cluster", &PlanReader::azure_cluster},
  }};
  const auto found = std::ranges::find(kReaders, type, &Reader::type);
  return found == kReaders.end() ? nullptr : &*found;
}

}  // namespace

Result<InfrastructurePlan> read_terraform_plan(std::string_view bytes, const std::string& source) {
  return json_fields::read_document<InfrastructurePlan>(bytes, source, [](const Json& document) {
    if (!document.is_object() || !document.contains("format_version"))
      throw Malformed(document, "no plan of Terraform: write one with `terraform show -json plan.out`");
    const std::string version = json_fields::text_of(document, "format_version");
    if (!version.starts_with("1.") && !version.starts_with("0."))
      throw Malformed(document, fmt::format("format_version '{}' is newer than 1.x: update stint", excerpt(version)));
    if (!document.contains("resource_changes") && !document.contains("planned_values"))
      throw Malformed(document,
                      "this is a state, not a plan: write `terraform plan -out plan.out`, then `terraform show -json plan.out`");
    if (document.contains("resource_changes")) json_fields::array_of(document, "resource_changes");
    return PlanReader(document).read();
  });
}

}  // namespace stint
