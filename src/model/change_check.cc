#include "model/change_check.h"

#include <algorithm>

#include "base/text.h"
#include "model/change_algebra.h"
#include "model/mig.h"

namespace stint {
namespace {

/// Letters to add, drop or replace to make one word of the other.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

std::string did_you_mean(const FleetPlan& fleet, const std::string& name) {
  constexpr size_t kFarthest = 3;
  constexpr size_t kLongest = 80;
  const PlannedNode* nearest = nullptr;
  size_t distance = kFarthest + 1;
  for (const PlannedNode& node : fleet.nodes) {
    if (node.name.size() > kLongest || name.size() > kLongest) continue;
    const size_t d = edit_distance(name, node.name);
    if (d < distance) {
      distance = d;
      nearest = &node;
    }
  }
  if (nearest != nullptr) return fmt::format("did you mean '{}'?", nearest->name);
  return fleet.nodes.empty() ? "import an inventory, a bill or telemetry of the fleet first"
                             : fmt::format("take a name that the audit lists, such as '{}'", fleet.nodes.front().name);
}

bool is_rented(Market m) { return m != Market::kOwned; }

class Checker {
 public:
  Checker(const FleetPlan& fleet, const ChangeRules& rules) : fleet_(fleet), rules_(rules) {}
  std::vector<Objection> take() { return std::move(objections_); }

  /// What is there of the nodes named; an objection for each that is not.
  void look_up(const Change& change) {
    const std::vector<std::string>& names = nodes_of(change);
    const bool may_be_empty = std::holds_alternative<Commit>(change) || std::holds_alternative<LimitReservation>(change) ||
                              std::holds_alternative<SavingsPlan>(change);
    if (names.empty() && !may_be_empty) object("the change names no node", "name at least one");
    for (const std::string& name : names) {
      const PlannedNode* node = fleet_.find(name);
      if (node == nullptr)
        object(fmt::format("no node '{}' in the fleet", name), did_you_mean(fleet_, name));
      else if (std::ranges::find(nodes_, node) != nodes_.end())
        object(fmt::format("'{}' is named twice", name), "name each node once");
      else
        nodes_.push_back(node);
    }
  }

  void operator()(const StopNodes&) {}

  void operator()(const ScheduleOff& c) {
    if (c.off.none())
      object("it switches nothing off: no hour of the week is named", "name hours, as in schedule-off:NODES=20-7");
    for (const PlannedNode* node : nodes_)
      if ((node->off | c.off).all())
        object(fmt::format("'{}' would be off in every hour of the week", node->name), "stop it instead");
  }

  void operator()(const ResizeNodes& c) {
    if (c.to_instance_type.empty()) object("it names no type to change to", "name one that `stint catalog instances` lists");
    if (c.to_count < 1) object(fmt::format("it leaves {} nodes", c.to_count), "stop the nodes instead");
    for (const PlannedNode* node : nodes_) {
      must_be_rented(*node, "made another type");
      if (node->market != nodes_.front()->market || node->provider != nodes_.front()->provider) {
        object(fmt::format("'{}' and '{}' are bought on different markets or from different providers", nodes_.front()->name,
                           node->name),
               "make one change of each");
        break;
      }
    }
    for (const PlannedNode* node : nodes_)
      if (node->instance_type == c.to_instance_type && c.to_count >= static_cast<int64_t>(nodes_.size()) &&
          (c.to_region.empty() || c.to_region == node->region)) {
        object(fmt::format("'{}' is a {} already", node->name, c.to_instance_type), "leave it out of the change");
        break;
      }
    if (!c.to_region.empty()) may_go_to(c.to_region);
  }

  void operator()(const ShareGpus& c) {
    if (c.keep.empty()) object("it keeps no node to pack the work onto", "name at least one under 'keep'");
    for (const std::string& name : c.keep)
      if (std::ranges::find(c.nodes, name) == c.nodes.end())
        object(fmt::format("'{}' is kept but not among the nodes of the change", name), "add it to the nodes");
    for (const ShareGpus::Placement& p : c.placements)
      check_placement(c, p);
    for (const std::string& name : c.keep)
      if (const PlannedNode* node = fleet_.find(name)) check_gpus(c, *node);
  }

  void operator()(const SwitchMarket& c) {
    if (c.to != Market::kOnDemand && c.to != Market::kSpot && c.to != Market::kReserved)
      object(fmt::format("one does not switch to the market '{}'", name_of(c.to)), "write on-demand, spot or reserved");
    for (const PlannedNode* node : nodes_) {
      must_be_rented(*node, fmt::format("bought {}", c.to == Market::kSpot ? "on spot" : "on another market"));
      if (node->market == c.to)
        object(fmt::format("'{}' is {} already", node->name, name_of(c.to)), "leave it out of the change");
      if (node->market == Market::kReserved && c.to == Market::kSpot)
        object(fmt::format("'{}' is covered by a commitment, which is paid whether it runs or not", node->name),
               "switch it when the commitment ends, or switch a machine on demand");
    }
  }

  void operator()(const Commit& c) {
    if (c.count < 1) object(fmt::format("it commits to {} machines", c.count), "commit to at least one");
    if (c.instance_type.empty()) object("it names no type", "name the instance type");
    if (c.term == CommitmentTerm::kNone) object("it names no term", "write 1y or 3y");
    for (const PlannedNode* node : nodes_) {
      if (node->market == Market::kSpot || node->market == Market::kOwned)
        object(fmt::format("'{}' is {}: a commitment covers machines on demand only", node->name, name_of(node->market)),
               "leave it out of the change and commit to one fewer");
      if (!node->instance_type.empty() && node->instance_type != c.instance_type)
        object(fmt::format("'{}' is a {}, the commitment is to {}", node->name, node->instance_type, c.instance_type),
               "commit to the type the node has after the other changes");
      if (!node->region.empty() && !c.region.empty() && node->region != c.region)
        object(fmt::format("'{}' is in {}, the commitment in {}", node->name, node->region, c.region),
               "commit where the machines are");
    }
  }

  void operator()(const SavingsPlan& c) {
    if (c.per_hour.count_nanos() <= 0) object("it commits to nothing an hour", "commit to an amount above 0");
    if (c.provider.empty()) object("it names no provider", "name the provider that sells it");
    if (c.term == CommitmentTerm::kNone) object("it names no term", "write 1y or 3y");
    if (c.rates.empty()) object("it names no rate", "give what an hour of each type costs under the plan");
    for (const SavingsPlan::TypeRate& rate : c.rates)
      if (rate.per_hour.count_nanos() <= 0 || rate.per_hour.currency() != c.per_hour.currency())
        object(fmt::format("{} at {} an hour", rate.instance_type, rate.per_hour.to_text(4)),
               "give rates above 0, in the currency of the commitment");
    for (const PlannedNode* node : nodes_) {
      if (node->market == Market::kSpot || node->market == Market::kOwned)
        object(fmt::format("'{}' is {}: a savings plan covers machines on demand only", node->name, name_of(node->market)),
               "leave it out of the change and commit to less");
      else if (!node->instance_type.empty() && rate_of(c, node->region, node->instance_type) == nullptr)
        object(fmt::format("'{}' is a {}, for which the plan has no rate", node->name, node->instance_type),
               "leave it out of the change, or give its rate");
    }
  }

  void operator()(const LimitReservation& c) {
    if (c.workload.empty()) object("it names no workload", "name the job as the audit lists it");
    if (c.to <= Duration()) object("the new length is not above 0", "stop the nodes, or give the job time to run");
    if (c.from > Duration() && c.to >= c.from)
      object(fmt::format("{:.1f} h are no less than the {:.1f} h reserved now", c.to.to_hours(), c.from.to_hours()),
             "take a shorter time");
  }

  void operator()(const MoveOffGpu& c) {
    if (c.to_instance_type.empty())
      object("it names no CPU type: the catalogue has none of that provider", "fill in to_instance_type");
  }

  void operator()(const MoveRegion& c) {
    if (c.to_region.empty()) object("it names no region", "name one the provider has");
    for (const PlannedNode* node : nodes_) {
      must_be_rented(*node, "moved to another region of a provider");
      if (node->region == c.to_region)
        object(fmt::format("'{}' is in {} already", node->name, c.to_region), "leave it out of the change");
    }
    may_go_to(c.to_region);
  }

 private:
  void object(std::string what, std::string remedy) { objections_.push_back({std::move(what), std::move(remedy)}); }

  void must_be_rented(const PlannedNode& node, std::string_view what) {
    if (!is_rented(node.market))
      object(fmt::format("'{}' is owned and cannot be {}", node.name, what), "leave it out of the change");
  }

  void may_go_to(const std::string& region) {
    const bool is_there =
        !nodes_.empty() && std::ranges::all_of(nodes_, [&](const PlannedNode* n) { return n->region == region; });
    const bool allowed =
        std::ranges::any_of(rules_.allowed_regions, [&](const std::string& glob) { return glob_matches(glob, region); });
    if (!is_there && !allowed && !region.empty())
      object(fmt::format("work may not move to region '{}'", region),
             fmt::format("allow it with --allow-region '{}' if data and contracts permit", region));
  }

  void check_placement(const ShareGpus& c, const ShareGpus::Placement& p) {
    if (std::ranges::find(c.nodes, p.from_node) == c.nodes.end())
      object(fmt::format("'{}' comes from '{}', which is not among the nodes of the change", p.workload, p.from_node),
             "add the node to the change");
    if (std::ranges::find(c.keep, p.to_node) == c.keep.end()) {
      object(fmt::format("'{}' goes to '{}', which is not kept", p.workload, p.to_node), "place it on a node under 'keep'");
      return;
    }
    const PlannedNode* to = fleet_.find(p.to_node);
    if (to != nullptr && to->gpu_count > 0 && p.to_gpu >= to->gpu_count)
      object(fmt::format("'{}' goes to GPU {} of '{}', which has {}", p.workload, p.to_gpu, p.to_node, to->gpu_count),
             "place it on a GPU the node has");
  }

  /// What is placed on each GPU of the node fits on it together.
  void check_gpus(const ShareGpus& c, const PlannedNode& node) {
    std::vector<int> gpus;
    for (const ShareGpus::Placement& p : c.placements)
      if (p.to_node == node.name) gpus.push_back(p.to_gpu);
    std::ranges::sort(gpus);
    gpus.erase(std::ranges::unique(gpus).begin(), gpus.end());
    for (const int gpu : gpus) {
      if (c.mode == SharingMode::kMig)
        check_mig(c, node, gpu);
      else
        check_parts(c, node, gpu);
    }
  }

  void check_parts(const ShareGpus& c, const PlannedNode& node, int gpu) {
    DeviceParts sum = 0;
    for (const ShareGpus::Placement& p : c.placements)
      if (p.to_node == node.name && p.to_gpu == gpu) sum += p.parts;
    if (sum > kWholeDevice)
      object(fmt::format("GPU {} of '{}' is given out {:.0f} % over", gpu, node.name,
                         100 * static_cast<double>(sum - kWholeDevice) / static_cast<double>(kWholeDevice)),
             "place some of its work on another GPU");
  }

  void check_mig(const ShareGpus& c, const PlannedNode& node, int gpu) {
    if (node.gpu_model.empty()) return;  // whether it is legal, the driver will say
    const MigGeometry* geometry = find_mig_geometry(node.gpu_model);
    if (geometry == nullptr) {
      object(fmt::format("'{}': no MIG layout of a {} is known", node.name, node.gpu_model), "share it by mps or time-slice");
      return;
    }
    MigLayout layout;
    for (const ShareGpus::Placement& p : c.placements) {
      if (p.to_node != node.name || p.to_gpu != gpu || p.mig_profile.empty()) continue;
      const MigProfile* profile = geometry->find_profile(p.mig_profile);
      if (profile == nullptr) {
        object(fmt::format("a {} has no MIG profile '{}'", geometry->gpu_model, p.mig_profile),
               fmt::format("take one of {}", names_of(*geometry)));
        return;
      }
      layout.push_back({.start = p.memory_start, .profile = geometry->index_of(*profile)});
    }
    if (const Status legal = has_places(layout) ? check_layout(*geometry, layout) : fits_somehow(*geometry, layout); !legal.ok())
      object(fmt::format("GPU {} of '{}': illegal MIG layout: {}", gpu, node.name, legal.error().message),
             "ask `stint plan share` for a layout, or give one instance less");
  }

  static bool has_places(const MigLayout& layout) {
    return std::ranges::all_of(layout, [](const MigPlacement& p) { return p.start >= 0; });
  }

  /// Whether the profiles fit at any starts: tried largest first.
  static Status fits_somehow(const MigGeometry& geometry, MigLayout wanted) {
    std::ranges::sort(wanted, std::ranges::greater(), &MigPlacement::profile);
    std::vector<int> profiles;
    for (const MigPlacement& p : wanted)
      profiles.push_back(p.profile);
    const int most = geometry.memory_slices;
    if (static_cast<int>(profiles.size()) <= most && place(geometry, {}, profiles)) return {};
    return invalid("{} instances do not fit together", profiles.size());
  }

  static bool place(const MigGeometry& geometry, const MigLayout& layout, std::span<const int> profiles) {
    if (profiles.empty()) return true;
    for (const MigPlacement& next : placements_left(geometry, layout)) {
      if (next.profile != profiles.front()) continue;
      MigLayout more = layout;
      more.push_back(next);
      std::ranges::sort(more);
      if (place(geometry, more, profiles.subspan(1))) return true;
    }
    return false;
  }

  static std::string names_of(const MigGeometry& geometry) {
    std::string names;
    for (const MigProfile& profile : geometry.profiles)
      names += (names.empty() ? "" : ", ") + profile.name;
    return names;
  }

  const FleetPlan& fleet_;
  const ChangeRules& rules_;
  std::vector<const PlannedNode*> nodes_;
  std::vector<Objection> objections_;
};

}  // namespace

std::vector<Objection> check_change(const Change& change, const FleetPlan& fleet, const ChangeRules& rules) {
  Checker checker(fleet, rules);
  checker.look_up(change);
  std::visit(checker, change);
  return checker.take();
}

std::vector<std::pair<size_t, Objection>> check_changes(std::span<const Change> changes, FleetPlan fleet,
                                                        const ChangeRules& rules) {
  std::vector<std::pair<size_t, Objection>> found;
  const std::vector<Contradiction> against = contradictions(changes);
  for (size_t i = 0; i < changes.size(); ++i) {
    const size_t before = found.size();
    for (const Contradiction& c : against)
      if (c.second == i)
        found.emplace_back(i, Objection{fmt::format("contradicts change {}: {}", c.first + 1, c.what), "make one of the two"});
    if (found.size() == before)
      for (Objection& objection : check_change(changes[i], fleet, rules))
        found.emplace_back(i, std::move(objection));
    if (found.size() > before) continue;
    if (const auto done = carry_out(fleet, changes[i]); !done.ok())
      found.emplace_back(i, Objection{done.error().message, "leave the change out"});
  }
  return found;
}

FleetPlan with_applied(FleetPlan inventory, std::span<const AppliedChange> applied) {
  for (const AppliedChange& earlier : applied) {
    if (earlier.undone_at) continue;
    // One that cannot be made any more is in the inventory already: its nodes are gone.
    for (const Change& change : earlier.proposal.changes)
      (void)carry_out(inventory, change).ok();
  }
  return inventory;
}

std::vector<Objection> check_proposal(const Proposal& proposal, std::span<const AppliedChange> applied, FleetPlan inventory,
                                      const ChangeRules& rules) {
  std::vector<Objection> found;
  for (const AppliedChange& earlier : applied) {
    if (earlier.undone_at) continue;
    std::vector<Change> both = earlier.proposal.changes;
    const size_t first_new = both.size();
    both.insert(both.end(), proposal.changes.begin(), proposal.changes.end());
    for (const Contradiction& c : contradictions(both))
      if (c.first < first_new && c.second >= first_new)
        found.push_back({fmt::format("it contradicts change {}, which was applied: {}", earlier.number, c.what),
                         fmt::format("undo that one first (stint change undo {})", earlier.number)});
  }
  if (!found.empty()) return found;
  for (auto& [index, objection] : check_changes(proposal.changes, with_applied(std::move(inventory), applied), rules))
    found.push_back(std::move(objection));
  return found;
}

std::string to_text(std::span<const Objection> objections) {
  std::string out;
  for (const Objection& o : objections)
    out += fmt::format("{}{}: {}", out.empty() ? "" : "\n", o.what, o.remedy);
  return out;
}

}  // namespace stint
