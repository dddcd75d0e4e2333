// A Change as fragments of Terraform: blocks to add, and arguments to change in the block a node has already.
// What the blocks of a cloud hold is its provider's (catalog/providers). Source: "removed" blocks: Terraform 1.7.
#include <algorithm>
#include <set>

#include "advise/apply/apply_parts.h"
#include "base/quoting.h"
#include "catalog/providers/provider.h"

namespace stint {
namespace {

class TerraformWriter {
 public:
  explicit TerraformWriter(const FleetPlan& fleet) : fleet_(fleet) {}

  Lines operator()(const StopNodes& c) {
    for (const std::string& name : c.nodes)
      remove(node(name));
    return std::move(out_);
  }

  Lines operator()(const ScheduleOff& c) {
    std::set<const Provider*> prepared;
    for (const std::string& name : c.nodes) {
      const Provider& provider = provider_of(node(name).provider);
      if (prepared.insert(&provider).second) add(provider.schedule_role());
      size_t number = 0;
      for (const auto& [from, to] : spans_of(c.off))
        add(provider.schedule_blocks(node(name), from, to, ++number));
    }
    return std::move(out_);
  }

  Lines operator()(const ResizeNodes& c) {
    for (size_t i = 0; i < c.nodes.size(); ++i) {
      if (static_cast<int64_t>(i) >= c.to_count)
        remove(node(c.nodes[i]));
      else
        set(node(c.nodes[i]), provider_of(node(c.nodes[i]).provider).type_arguments(c.to_instance_type));
    }
    return std::move(out_);
  }

  Lines operator()(const ShareGpus& c) {
    for (const std::string& name : given_back(c))
      remove(node(name));
    return std::move(out_);
  }

  Lines operator()(const SwitchMarket& c) {
    for (const std::string& name : c.nodes)
      set(node(name), provider_of(node(name).provider).market_arguments(c.to));
    return std::move(out_);
  }

  Lines operator()(const Commit& c) const { return provider_of(c.provider).commitment_block(c); }
  Lines operator()(const SavingsPlan&) { return {"# no resource of Terraform buys a savings plan: use the command"}; }
  Lines operator()(const LimitReservation&) { return {}; }  // the scheduler's business

  Lines operator()(const MoveOffGpu& c) {
    for (const std::string& name : c.nodes)
      set(node(name), c.to_instance_type.empty() ? Lines{"# and its type: one without GPUs, which you choose"}
                                                 : provider_of(node(name).provider).type_arguments(c.to_instance_type));
    return std::move(out_);
  }

  Lines operator()(const MoveRegion& c) {
    for (const std::string& name : c.nodes)
      set(node(name), provider_of(node(name).provider).region_arguments(c.to_region));
    return std::move(out_);
  }

 private:
  const PlannedNode& node(const std::string& name) const { return *fleet_.find(name); }

  void remove(const PlannedNode& n) {
    const std::string_view resource = provider_of(n.provider).facts().terraform_resource;
    if (resource.empty()) return;
    out_.push_back(fmt::format("# and take the block of {} out", one_line(n.name)));
    out_.emplace_back("removed {");
    out_.push_back(fmt::format("  from = {}.{}", resource, block_name(n.name)));
    out_.emplace_back("  lifecycle {");
    out_.emplace_back("    destroy = true");
    out_.emplace_back("  }");
    out_.emplace_back("}");
  }

  /// These arguments, in the block the node has.
  void set(const PlannedNode& n, const Lines& arguments) {
    const std::string_view resource = provider_of(n.provider).facts().terraform_resource;
    if (resource.empty() || arguments.empty()) return;
    out_.push_back(fmt::format("resource \"{}\" \"{}\" {{", resource, block_name(n.name)));
    out_.push_back("  # " + one_line(n.name) + ": the other arguments stay");
    for (const std::string& line : arguments)
      out_.push_back("  " + line);
    out_.emplace_back("}");
  }

  void add(const Lines& lines) { out_.insert(out_.end(), lines.begin(), lines.end()); }

  const FleetPlan& fleet_;
  Lines out_;
};

}  // namespace

Lines terraform_lines(const Change& change, const FleetPlan& fleet) { return std::visit(TerraformWriter(fleet), change); }

}  // namespace stint
