#include "backends/kubernetes/kube_devices.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace stint {
namespace {

constexpr int kMostSteps = 10'000;  ///< of one search

std::string called(const KubernetesMeta& meta) { return meta.ns + "/" + meta.name; }

/// A driver of GPUs that does not say what a device is, or says that it is a whole one.
bool is_gpu(const KubeDevice& device, const std::string& driver) {
  const auto type = device.attributes.find(driver + "/type");
  if (type == device.attributes.end()) return driver.starts_with("gpu.") || driver.find(".gpu") != std::string::npos;
  const auto* text = std::get_if<std::string>(&type->second);
  return text != nullptr && *text == "gpu";
}

}  // namespace

KubeDeviceBook::KubeDeviceBook(const KubeDeviceState& state) : state_(&state) {
  struct Pool {
    int64_t generation = -1, slices = 0;
  };
  std::map<std::pair<std::string, std::string>, Pool> pools;
  for (const auto& [name, slice] : state.slices) {
    Pool& pool = pools[{slice.driver, slice.pool}];
    if (slice.generation > pool.generation) pool = {.generation = slice.generation, .slices = 0};
    if (slice.generation == pool.generation) ++pool.slices;
  }
  for (const auto& [name, slice] : state.slices) {
    const Pool& pool = pools.at({slice.driver, slice.pool});
    if (slice.generation != pool.generation || pool.slices != slice.slices || slice.node.empty()) continue;
    for (const KubeDevice& device : slice.devices) {
      const Offered offered{&device, {slice.driver, slice.pool, device.name}, is_gpu(device, slice.driver)};
      by_node_[slice.node].push_back(offered);
      if (offered.is_gpu) gpus_.insert(offered.name);
    }
  }
  for (const auto& [name, claim] : state.claims)
    for (const KubeAllocated& one : claim.allocated)
      taken_.insert(one.device);
}

int64_t KubeDeviceBook::gpus_of(std::string_view node) const {
  const auto found = by_node_.find(node);
  return found == by_node_.end() ? 0 : std::ranges::count_if(found->second, &Offered::is_gpu);
}

void KubeDeviceBook::take(const std::vector<KubeAllocation>& allocations) {
  for (const KubeAllocation& allocation : allocations)
    for (const KubeAllocated& one : allocation.devices)
      taken_.insert(one.device);
}

/// Goes through what is asked for, device by device.
class KubeDeviceBook::Search {
 public:
  Search(const KubeDeviceBook& book, const std::vector<Offered>& offered, bool of_all)
      : book_(book), offered_(offered), of_all_(of_all) {}

  /// @return error = it can never be.
  Status add(size_t claim, const KubeDeviceClaim& asked) {
    for (const KubeDeviceRequest& request : asked.requests) {
      const auto kind = book_.state_->classes.find(request.kind);
      if (kind == book_.state_->classes.end()) return invalid("there is no DeviceClass {}", request.kind);
      if (!kind->second.not_understood.empty())
        return invalid("Stint cannot honour DeviceClass {}: {}", request.kind, kind->second.not_understood);
      std::vector<size_t> fitting;
      for (size_t i = 0; i < offered_.size(); ++i)
        if (is_for(offered_[i], kind->second, request)) fitting.push_back(i);
      size_t count = static_cast<size_t>(request.count);
      if (request.count == 0) {
        count = fitting.size();
        if (fitting.empty()) return invalid("no device for request {}", request.name);
      }
      std::erase_if(fitting, [&](size_t i) { return !is_free(offered_[i]); });
      if (fitting.size() < count)
        return invalid("{} of the {} devices that request {} of ResourceClaim {} asks for", fitting.size(), count, request.name,
                       asked.meta.name);
      for (size_t i = 0; i < count; ++i)
        slots_.push_back({.claim = claim, .asked = &asked, .request = &request, .fitting = fitting, .chosen = {}});
    }
    return {};
  }

  bool run() { return fill(0); }

  void put(std::vector<KubeAllocation>& out) const {
    for (const Slot& slot : slots_) {
      const Offered& one = offered_[*slot.chosen];
      out[slot.claim].devices.push_back({slot.request->name, one.name});
      out[slot.claim].gpus += one.is_gpu ? 1 : 0;
    }
  }

 private:
  struct Slot {
    size_t claim;
    const KubeDeviceClaim* asked;
    const KubeDeviceRequest* request;
    std::vector<size_t> fitting;
    std::optional<size_t> chosen;
  };

  [[nodiscard]] static bool is_for(const Offered& one, const KubeDeviceClass& kind, const KubeDeviceRequest& request) {
    const auto holds = [&](const KubeCondition& condition) { return condition.holds(*one.device, one.name.driver); };
    return std::ranges::all_of(kind.conditions, holds) && std::ranges::all_of(request.conditions, holds);
  }
  [[nodiscard]] bool is_free(const Offered& one) const {
    return one.device->why_not.empty() && (of_all_ || !book_.taken_.contains(one.name));
  }

  bool fill(size_t at) {
    if (at == slots_.size()) return true;
    Slot& slot = slots_[at];
    // Slots of one request are alike: each takes devices behind the one before.
    const Slot* before = at > 0 && slots_[at - 1].request == slot.request ? &slots_[at - 1] : nullptr;
    for (const size_t device : slot.fitting) {
      if (++steps_ > kMostSteps) return false;
      if (before != nullptr && device <= *before->chosen) continue;
      if (used_.contains(device)) continue;
      slot.chosen = device;
      if (rules_hold(at)) {
        used_.insert(device);
        if (fill(at + 1)) return true;
        used_.erase(device);
      }
      slot.chosen.reset();
    }
    return false;
  }

  [[nodiscard]] bool rules_hold(size_t at) const {
    const Slot& slot = slots_[at];
    for (const KubeDeviceRule& rule : slot.asked->rules) {
      const auto concerns = [&](const Slot& one) {
        return one.claim == slot.claim &&
               (rule.requests.empty() || std::ranges::find(rule.requests, one.request->name) != rule.requests.end());
      };
      if (!concerns(slot)) continue;
      const KubeAttribute* own = attribute(slot, rule);
      if (own == nullptr) return false;
      for (size_t i = 0; i < at; ++i)
        if (concerns(slots_[i]) && (*attribute(slots_[i], rule) == *own) == rule.differ) return false;
    }
    return true;
  }
  [[nodiscard]] const KubeAttribute* attribute(const Slot& slot, const KubeDeviceRule& rule) const {
    const auto& all = offered_[*slot.chosen].device->attributes;
    const auto found = all.find(rule.attribute);
    return found == all.end() ? nullptr : &found->second;
  }

  const KubeDeviceBook& book_;
  const std::vector<Offered>& offered_;
  bool of_all_;
  std::vector<Slot> slots_;
  std::set<size_t> used_;
  int steps_ = 0;
};

Result<std::vector<KubeAllocation>> KubeDeviceBook::allocate(const std::vector<const KubeDeviceClaim*>& claims,
                                                             std::string_view node, bool of_all) const {
  const auto offered = by_node_.find(node);
  std::vector<KubeAllocation> out;
  if (offered == by_node_.end()) return invalid("it has no devices");
  Search search(*this, offered->second, of_all);
  for (const KubeDeviceClaim* claim : claims) {
    TRY(search.add(out.size(), *claim));
    out.push_back({.claim = called(claim->meta), .devices = {}});
  }
  if (!search.run()) return invalid("its devices do not go together as ResourceClaim {} asks", claims.front()->meta.name);
  search.put(out);
  return out;
}

}  // namespace stint
