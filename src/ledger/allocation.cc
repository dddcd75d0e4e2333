#include "ledger/allocation.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/text.h"

namespace stint {
namespace {

struct DimensionName {
  AllocationDimension dimension;
  std::string_view name;  ///< as OpenCost's parameter `aggregate` has it
  std::string AllocationProperties::* field;
};

constexpr std::array kDimensionNames = {
    DimensionName{AllocationDimension::kNamespace, "namespace", &AllocationProperties::ns},
    DimensionName{AllocationDimension::kControllerKind, "controllerKind", &AllocationProperties::controller_kind},
    DimensionName{AllocationDimension::kController, "controller", &AllocationProperties::controller},
    DimensionName{AllocationDimension::kPod, "pod", &AllocationProperties::pod},
    DimensionName{AllocationDimension::kContainer, "container", &AllocationProperties::container},
    DimensionName{AllocationDimension::kNode, "node", &AllocationProperties::node},
    DimensionName{AllocationDimension::kClient, "client", &AllocationProperties::client},
    DimensionName{AllocationDimension::kTeam, "team", &AllocationProperties::team},
    DimensionName{AllocationDimension::kProject, "project", &AllocationProperties::project},
    DimensionName{AllocationDimension::kEnvironment, "environment", &AllocationProperties::environment},
};
constexpr std::string_view kLabelPrefix = "label:";
constexpr size_t kMostKeys = 8;

Result<AllocationKey> parse_allocation_key(std::string_view text) {
  if (text.starts_with(kLabelPrefix) && text.size() > kLabelPrefix.size())
    return AllocationKey{AllocationDimension::kLabel, std::string(text.substr(kLabelPrefix.size()))};
  for (const DimensionName& d : kDimensionNames)
    if (d.name == text) return AllocationKey{d.dimension, ""};
  return invalid(
      "cost cannot be told by '{}': give namespace, controller, controllerKind, pod, container, node, client, team, project, "
      "environment or "
      "label:KEY, or several of them with commas between",
      excerpt(text));
}

std::string_view value_of_key(const AllocationProperties& properties, const AllocationKey& key) {
  if (key.dimension == AllocationDimension::kLabel) {
    const auto at = std::ranges::lower_bound(properties.labels, key.label, {}, &Tag::first);
    return at != properties.labels.end() && at->first == key.label ? std::string_view(at->second) : std::string_view();
  }
  for (const DimensionName& d : kDimensionNames)
    if (d.dimension == key.dimension) return properties.*d.field;
  return {};
}

/// What both have.
void keep_common(AllocationProperties& common, const AllocationProperties& other) {
  for (const DimensionName& d : kDimensionNames)
    if (common.*d.field != other.*d.field) (common.*d.field).clear();
  std::vector<Tag> labels;
  std::ranges::set_intersection(common.labels, other.labels, std::back_inserter(labels));
  common.labels = std::move(labels);
}

/// When a run held what is counted of it.
Interval time_of(const Run& run, Interval window) {
  if (!run.started) return {};
  return intersect({*run.started, run.ended.value_or(window.end)}, window);
}

bool was_held(IdleCause cause) { return cause == IdleCause::kNone || cause == IdleCause::kInactive; }

class Allocator {
 public:
  Allocator(const History& history, const RunOwners& owners, const HoldTable& holds, const Ledger& ledger, Interval window,
            const AllocationOptions& options)
      : history_(history),
        ledger_(ledger),
        options_(options),
        names_(history, owners, holds, ledger.tenants),
        zero_(Money::nanos(0, ledger.total().currency())),
        has_gpus_(nodes_with_gpus(history, holds)),
        rows_of_tenants_(ledger.tenants.size(), nullptr) {
    out_.window = window;
  }

  Allocation make() {
    for (const Posting& p : ledger_.postings)
      take(p);
    for (const GpuUse& use : ledger_.gpu_use)
      take(use);
    if (options_.idle == AllocationIdle::kSpread) spread_idle();
    finish();
    return std::move(out_);
  }

 private:
  struct Row {
    AllocationRow row;
    bool dated = true;  // the times of all of it are known
  };

  static std::vector<bool> nodes_with_gpus(const History& history, const HoldTable& holds) {
    std::vector<bool> has(history.nodes.size());
    for (size_t n = 0; n < has.size(); ++n)
      has[n] = history.nodes[n].gpu_count > 0;
    for (const Device& d : history.devices)
      if (d.index >= 0 || !d.uuid.empty()) has[d.node.index()] = true;
    for (const auto& [id, hold] : holds)
      has[hold.node.index()] = true;
    return has;
  }

  AllocationRow empty_row(std::string name) const {
    AllocationRow row;
    row.name = std::move(name);
    row.cpu = row.gpu = row.storage = row.network = row.shared = row.external = row.idle = row.gpu_inactive = row.gpu_unknown =
        zero_;
    return row;
  }

  [[nodiscard]] bool is_wanted(TenantId tenant) const {
    // A hold has its tenant's client.
    return !options_.clients || options_.clients->contains(ledger_.tenants[tenant].client);
  }

  Row& row_of(TenantId tenant) {
    Row*& known = rows_of_tenants_[tenant.index()];
    if (known != nullptr) return *known;
    AllocationProperties properties = names_.properties(tenant);
    std::string name = HoldNames::name(properties, options_.by);
    // Others' money in a row that is shown would be told: each client's rows are apart until the end.
    const auto [at, fresh] = rows_.try_emplace({name, is_wanted(tenant)});
    Row& row = at->second;
    if (fresh) {
      row.row = empty_row(std::move(name));
      row.row.properties = std::move(properties);
    } else {
      keep_common(row.row.properties, properties);
    }
    add_hold(row, tenant);
    known = &row;
    return row;
  }

  void add_hold(Row& row, TenantId tenant) {
    const Hold* hold = names_.hold(tenant);
    const Run* run = hold != nullptr && hold->run ? &history_.runs[*hold->run] : nullptr;
    const Interval when = run == nullptr ? Interval() : time_of(*run, ledger_.period);
    if (when.empty()) {
      row.dated = false;
      return;
    }
    Interval& all = row.row.when;
    all = all.empty() ? when : Interval{std::min(all.begin, when.begin), std::max(all.end, when.end)};
    const double hours = when.length().to_hours() / static_cast<double>(std::max<size_t>(1, run->allocations.size()));
    row.row.cpu_core_hours += hours * static_cast<double>(run->cpus);
    row.row.ram_byte_hours += hours * static_cast<double>(run->memory.count());
  }

  AllocationRow& idle_row() {
    if (!idle_) idle_ = empty_row(std::string(kIdleAllocation));
    return *idle_;
  }

  void take(const Posting& p) {
    if (!was_held(p.cause)) {
      idle_row().gpu += p.amount;
      return;
    }
    AllocationRow& row = row_of(p.tenant).row;
    if (p.spend == SpendKind::kStorage)
      row.storage += p.amount;
    else if (p.spend == SpendKind::kTransfer)
      row.network += p.amount;
    else if (p.shared)
      row.shared += p.amount;
    else if (p.spend == SpendKind::kOther)
      row.external += p.amount;
    else
      take_compute(row, p);
  }

  void take_compute(AllocationRow& row, const Posting& p) {
    const NodeId node = ledger_.line_nodes[p.bill_line];
    // Of a line without a machine nothing is known but whether its type has GPUs, which would be held without telemetry.
    if (node.valid() ? !has_gpus_[node.index()] : p.activity_known) {
      row.cpu += p.amount;
      return;
    }
    row.gpu += p.amount;
    if (p.cause == IdleCause::kInactive) row.gpu_inactive += p.amount;
    if (!p.activity_known) row.gpu_unknown += p.amount;
  }

  void take(const GpuUse& use) {
    AllocationRow& row = was_held(use.cause) ? row_of(use.tenant).row : idle_row();
    row.micro_gpu_hours += use.micro_gpu_hours;
  }

  /// Where no row has compute money, idle money stays where it is.
  void spread_idle() {
    if (!idle_) return;
    std::vector<AllocationRow*> rows;
    std::vector<int64_t> weights;
    for (auto& [key, row] : rows_) {
      const int64_t weight = (row.row.cpu + row.row.gpu).count_nanos();
      if (weight <= 0) continue;
      rows.push_back(&row.row);
      weights.push_back(weight);
    }
    if (rows.empty()) return;
    const std::vector<Money> parts = split_by_largest_remainder(idle_->gpu, weights);
    for (size_t r = 0; r < rows.size(); ++r)
      rows[r]->idle += parts[r];
    idle_.reset();
  }

  void finish() {
    for (auto& [key, row] : rows_) {
      if (!key.second) continue;
      if (!row.dated || row.row.when.empty()) row.row.when = out_.window;
      out_.rows.push_back(std::move(row.row));
    }
    if (idle_ && !options_.clients && options_.idle != AllocationIdle::kLeftOut) {
      idle_->when = out_.window;
      out_.rows.push_back(std::move(*idle_));
    }
    std::ranges::stable_sort(out_.rows, {}, &AllocationRow::name);
  }

  const History& history_;
  const Ledger& ledger_;
  const AllocationOptions& options_;
  HoldNames names_;
  Money zero_;
  std::vector<bool> has_gpus_;                        // by node
  std::map<std::pair<std::string, bool>, Row> rows_;  // by name, and whether it is theirs
  std::vector<Row*> rows_of_tenants_;                 // by tenant
  std::optional<AllocationRow> idle_;
  Allocation out_;
};

}  // namespace

Result<std::vector<AllocationKey>> parse_allocation_keys(std::string_view text) {
  std::vector<AllocationKey> keys;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    TRY_ASSIGN(AllocationKey key, parse_allocation_key(text.substr(begin, end - begin)));
    if (keys.size() == kMostKeys) return invalid("'{}': cost is told by {} things at most", excerpt(text), kMostKeys);
    keys.push_back(std::move(key));
    begin = end + 1;
  }
  return keys;
}

Result<std::vector<Interval>> allocation_steps(Interval window, std::optional<Duration> step) {
  if (!step) return std::vector<Interval>{window};
  if (*step < Duration::minutes(1)) return invalid("a step of {} s: give at least 1m", step->to_seconds());
  std::vector<Interval> steps;
  for (Instant at = window.begin; at < window.end; at = at + *step) {
    if (steps.size() == kMostAllocationSteps)
      return invalid("more than {} steps: give a longer step or a shorter window", kMostAllocationSteps);
    steps.push_back({at, window.end - at <= *step ? window.end : at + *step});
    if (steps.back().end == window.end) break;
  }
  return steps;
}

std::string text_of(std::span<const AllocationKey> keys) {
  std::string out;
  for (const AllocationKey& key : keys) {
    if (!out.empty()) out += ',';
    if (key.dimension == AllocationDimension::kLabel) out += std::string(kLabelPrefix) + key.label;
    for (const DimensionName& d : kDimensionNames)
      if (d.dimension == key.dimension) out += d.name;
  }
  return out;
}

std::vector<AllocationKey> keys_of_containers() {
  return {{AllocationDimension::kNamespace, ""}, {AllocationDimension::kPod, ""}, {AllocationDimension::kContainer, ""}};
}

std::optional<double> AllocationRow::gpu_efficiency() const {
  const Money known = gpu - gpu_unknown;
  if (known.count_nanos() <= 0) return std::nullopt;
  return (known - gpu_inactive).to_double() / known.to_double();
}

const Hold* HoldNames::hold(TenantId id) const {
  const auto at = holds_.find(id);
  return at == holds_.end() ? nullptr : &at->second;
}

AllocationProperties HoldNames::properties(TenantId id) const {
  const Hold* hold = this->hold(id);
  const Tenant& tenant = hold != nullptr ? hold->tenant : tenants_[id];
  AllocationProperties out;
  out.ns = out.client = tenant.client;
  out.team = tenant.team;
  out.project = tenant.project;
  out.environment = tenant.environment;
  if (hold == nullptr) return out;
  const Run* run = hold->run ? &history_.runs[*hold->run] : nullptr;
  const Holder& holder = run != nullptr ? run->holder : history_.holders[hold->holder.index()];
  if (!holder.ns.empty()) out.ns = holder.ns;
  out.node = history_.nodes[hold->node.index()].name;
  out.pod = !holder.pod.empty() ? holder.pod : !holder.job.empty() ? holder.job : run != nullptr ? run->id : "";
  out.container = holder.container;
  // A pod that only telemetry speaks of: its workload is its name without what was generated of it.
  out.controller = run != nullptr && !run->name.empty() ? run->name : tenant_of(holder, {}).workload;
  const auto owner = run == nullptr ? owners_.end() : owners_.find({run->id, run->restart});
  if (owner == owners_.end()) return out;
  out.controller_kind = owner->second.kind;
  out.labels = owner->second.labels;
  return out;
}

std::string HoldNames::name(const AllocationProperties& properties, std::span<const AllocationKey> keys) {
  std::string out;
  bool named = false;
  for (const AllocationKey& key : keys) {
    const std::string_view value = value_of_key(properties, key);
    named = named || !value.empty();
    if (!out.empty()) out += '/';
    out += value.empty() ? kUnallocated : value;
  }
  return named ? out : std::string(kUnallocated);
}

Money Allocation::total() const {
  Money sum;
  for (const AllocationRow& row : rows)
    sum = &row == rows.data() ? row.total() : sum + row.total();
  return sum;
}

Allocation allocate(const History& history, const RunOwners& owners, const HoldTable& holds, const Ledger& ledger,
                    Interval window, const AllocationOptions& options) {
  return Allocator(history, owners, holds, ledger, window, options).make();
}

}  // namespace stint
