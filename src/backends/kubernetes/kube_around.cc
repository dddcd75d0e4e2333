#include "backends/kubernetes/kube_around.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

/// none = the node has no such label.
const std::string* domain_of(const KubePlacingNode& node, std::string_view label) {
  const auto& labels = node.node.meta.labels;
  const auto at = std::ranges::find(labels, label, &Tag::first);
  return at == labels.end() ? nullptr : &at->second;
}

}  // namespace

KubeAround::KubeAround(const KubeCluster& cluster) : cluster_(&cluster) {
  for (const auto& [uid, pod] : cluster.pods) {
    if (pod.around.apart.empty() || pod.pod.node.empty() || pod.has_ended()) continue;
    if (const auto node = cluster.nodes.find(pod.pod.node); node != cluster.nodes.end())
      keeping_away_.push_back({&pod, &node->second});
  }
}

void KubeAround::add(const KubePlacingPod& pod, std::string_view node, const std::vector<KubeAllocation>& devices) {
  if (!devices.empty()) this->devices().take(devices);
  for (const KubeAllocation& one : devices)
    being_allocated_.insert(one.claim);
  const auto at = cluster_->nodes.find(node);
  if (at == cluster_->nodes.end()) return;
  const Present here{&pod, &at->second};
  added_.push_back(here);
  if (!pod.around.apart.empty()) keeping_away_.push_back(here);
  if (present_) present_->push_back(here);
  if (held_) stint::add((*held_)[at->first], held_by(pod));
}

const std::vector<KubeAround::Present>& KubeAround::present() const {
  if (present_) return *present_;
  present_ = added_;
  for (const auto& [uid, pod] : cluster_->pods) {
    if (pod.pod.node.empty() || pod.has_ended()) continue;
    if (const auto node = cluster_->nodes.find(pod.pod.node); node != cluster_->nodes.end())
      present_->push_back({&pod, &node->second});
  }
  return *present_;
}

const std::map<std::string, KubeHeld, std::less<>>& KubeAround::held() const {
  if (held_) return *held_;
  held_ = cluster_->held();
  for (const Present& one : added_)
    stint::add((*held_)[one.node->node.meta.name], held_by(*one.pod));
  return *held_;
}

KubeDeviceBook& KubeAround::devices() const {
  if (!devices_) devices_.emplace(cluster_->devices);
  return *devices_;
}

bool KubeAround::concerns(const KubePlacingPod& pod) const {
  if (pod.around.looks_at_pods() || !pod.around.claims.empty() || !pod.pod.claims.empty() || !held_by(pod).others.empty())
    return true;
  return std::ranges::any_of(keeping_away_, [&](const Present& one) {
    return std::ranges::any_of(one.pod->around.apart, [&](const KubePodTerm& term) { return term.is_about(pod.pod.meta); });
  });
}

KubeAsk::KubeAsk(const KubePlacingPod& pod, const KubeAround& around) : pod_(pod), around_(around), needs_(held_by(pod)) {
  look_for_near();
  look_for_apart();
  look_at_spreads();
  look_at_volumes();
  look_at_claims();
}

void KubeAsk::look_for_near() {
  const std::vector<KubePodTerm>& near = pod_.around.near;
  if (near.empty()) return;
  const auto fits_all = [&](const KubernetesMeta& meta) {
    return std::ranges::all_of(near, [&](const KubePodTerm& term) { return term.is_about(meta); });
  };
  for (const KubePodTerm& term : near)
    near_.emplace_back(&term, Domains());
  bool somebody = false;
  for (const KubeAround::Present& one : around_.present()) {
    if (!fits_all(one.pod->pod.meta)) continue;
    for (auto& [term, domains] : near_)
      if (const std::string* domain = domain_of(*one.node, term->domain)) {
        domains.insert(*domain);
        somebody = true;
      }
  }
  is_first_ = !somebody && fits_all(pod_.pod.meta);
}

void KubeAsk::look_for_apart() {
  for (const KubePodTerm& term : pod_.around.apart) {
    Domains domains;
    for (const KubeAround::Present& one : around_.present())
      if (term.is_about(one.pod->pod.meta))
        if (const std::string* domain = domain_of(*one.node, term.domain)) domains.insert(*domain);
    apart_.emplace_back(&term, std::move(domains));
  }
  for (const KubeAround::Present& one : around_.keeping_away_)
    for (const KubePodTerm& term : one.pod->around.apart)
      if (term.is_about(pod_.pod.meta))
        if (const std::string* domain = domain_of(*one.node, term.domain)) kept_away_from_.emplace_back(term.domain, *domain);
}

bool KubeAsk::is_eligible(const KubeSpread& spread, const KubePlacingNode& node) const {
  for (const KubeSpread& each : pod_.around.spreads)
    if (domain_of(node, each.domain) == nullptr) return false;
  if (spread.only_where_it_may_be && !why_not_asked_for(pod_, node).empty()) return false;
  return !spread.only_where_tolerated || why_not_tolerated(pod_, node, true).empty();
}

void KubeAsk::look_at_spreads() {
  for (const KubeSpread& asked : pod_.around.spreads) {
    Spread spread{.asked = &asked, .pods = {}, .counts_itself = asked.selector.holds(pod_.pod.meta.labels)};
    for (const auto& [name, node] : around_.cluster_->nodes)
      if (is_eligible(asked, node)) spread.pods.try_emplace(*domain_of(node, asked.domain));
    for (const KubeAround::Present& one : around_.present()) {
      if (one.pod->deleting || one.pod->pod.meta.ns != pod_.pod.meta.ns || !asked.selector.holds(one.pod->pod.meta.labels))
        continue;
      if (is_eligible(asked, *one.node)) ++spread.pods[*domain_of(*one.node, asked.domain)];
    }
    const bool enough = std::ssize(spread.pods) >= asked.least_domains;
    if (enough && !spread.pods.empty())
      spread.fewest = std::ranges::min_element(spread.pods, {}, [](const auto& one) { return one.second; })->second;
    spreads_.push_back(std::move(spread));
  }
}

void KubeAsk::look_at_volumes() {
  const KubeCluster& cluster = *around_.cluster_;
  if (!pod_.around.claims.empty() && !cluster.knows_volumes)
    nowhere_ = "Stint may not read the cluster's volumes (persistentvolumeclaims, persistentvolumes, storageclasses)";
  for (const std::string& name : pod_.around.claims) {
    if (!nowhere_.empty()) return;
    const std::string whole = pod_.pod.meta.ns + "/" + name;
    const auto claim = cluster.claims.find(whole);
    if (claim == cluster.claims.end()) {
      nowhere_ = fmt::format("PersistentVolumeClaim {} is not there", name);
    } else if (claim->second.of_one_pod) {
      nowhere_ = fmt::format("PersistentVolumeClaim {} is ReadWriteOncePod, which Stint cannot honour", name);
    } else if (!claim->second.volume.empty()) {
      const auto volume = cluster.volumes.find(claim->second.volume);
      if (volume == cluster.volumes.end())
        nowhere_ = fmt::format("PersistentVolume {} of claim {} is not there", claim->second.volume, name);
      else if (volume->second.has_terms)
        volumes_.push_back(&volume->second.terms);
    } else {
      const auto kind = cluster.storage_classes.find(claim->second.kind);
      if (kind == cluster.storage_classes.end() || !kind->second.waits)
        nowhere_ = fmt::format("PersistentVolumeClaim {} has no volume yet", name);
      else if (kind->second.provisioner == "kubernetes.io/no-provisioner")
        nowhere_ =
            fmt::format("Stint does not choose among volumes that are there already: bind PersistentVolumeClaim {} to one", name);
      else
        to_make_.push_back(whole);
      if (nowhere_.empty() && kind->second.has_terms) volumes_.push_back(&kind->second.terms);
    }
  }
}

void KubeAsk::look_at_claims() {
  const KubeDeviceState& state = around_.cluster_->devices;
  constexpr size_t kMostReserved = 256;
  if (!pod_.pod.claims.empty() && !state.known)
    nowhere_ = "Stint may not read the cluster's devices (resourceclaims, resourceslices, deviceclasses)";
  for (const std::string& name : pod_.pod.claims) {
    if (!nowhere_.empty()) return;
    const std::string whole = pod_.pod.meta.ns + "/" + name;
    const auto found = state.claims.find(whole);
    if (name.empty() || found == state.claims.end()) {
      nowhere_ = name.empty() ? "its ResourceClaim is not made yet" : fmt::format("ResourceClaim {} is not there", name);
      return;
    }
    const KubeDeviceClaim& claim = found->second;
    const bool is_its = std::ranges::find(claim.reserved_for, pod_.pod.meta.uid) != claim.reserved_for.end();
    if (claim.deleting)
      nowhere_ = fmt::format("ResourceClaim {} is being deleted", name);
    else if (claim.is_allocated && !is_its && claim.reserved_for.size() >= kMostReserved)
      nowhere_ = fmt::format("ResourceClaim {} has {} pods already", name, kMostReserved);
    else if (!claim.is_allocated && !claim.not_understood.empty())
      nowhere_ = fmt::format("Stint cannot honour {} of ResourceClaim {} and leaves it alone", claim.not_understood, name);
    else if (!claim.is_allocated)
      unallocated_.push_back(&claim);
    else if (!claim.nodes.empty())
      volumes_.push_back(&claim.nodes);
    being_allocated_ |= around_.being_allocated_.contains(whole);
  }
}

Result<std::vector<KubeAllocation>> KubeAsk::devices_on(const KubePlacingNode& node) const {
  if (unallocated_.empty()) return std::vector<KubeAllocation>();
  if (being_allocated_) return invalid("its ResourceClaim is getting its devices");
  return around_.devices().allocate(unallocated_, node.node.meta.name, false);
}

int64_t KubeAsk::gpus_on(const KubePlacingNode& node) const {
  int64_t gpus = 0;
  if (unallocated_.empty()) return gpus;
  const auto devices = around_.devices().allocate(unallocated_, node.node.meta.name, true);
  if (devices.ok())
    for (const KubeAllocation& one : *devices)
      gpus += one.gpus;
  return gpus;
}

std::string KubeAsk::why_not_beside(const KubePlacingNode& node) const {
  for (const auto& [term, domains] : near_) {
    const std::string* domain = domain_of(node, term->domain);
    if (domain == nullptr || (!is_first_ && !domains.contains(*domain))) return fmt::format("pod affinity by {}", term->domain);
  }
  for (const auto& [term, domains] : apart_)
    if (const std::string* domain = domain_of(node, term->domain); domain != nullptr && domains.contains(*domain))
      return fmt::format("pod anti-affinity by {}", term->domain);
  for (const auto& [label, value] : kept_away_from_)
    if (const std::string* domain = domain_of(node, label); domain != nullptr && *domain == value)
      return fmt::format("another pod's anti-affinity by {}", label);
  for (const Spread& spread : spreads_) {
    const std::string* domain = domain_of(node, spread.asked->domain);
    const auto pods = domain == nullptr ? spread.pods.end() : spread.pods.find(*domain);
    const int64_t there = pods == spread.pods.end() ? 0 : pods->second;
    if (domain == nullptr || there + (spread.counts_itself ? 1 : 0) - spread.fewest > spread.asked->most_apart)
      return fmt::format("topology spread by {}", spread.asked->domain);
  }
  if (pod_.around.ports.empty()) return {};
  for (const KubeAround::Present& one : around_.present()) {
    if (one.node != &node) continue;
    for (const KubeHostPort& used : one.pod->around.ports)
      for (const KubeHostPort& wanted : pod_.around.ports)
        if (used.is_in_the_way_of(wanted)) return fmt::format("host port {} is another pod's", wanted.port);
  }
  return {};
}

std::string KubeAsk::why_not_on(const KubePlacingNode& node) const {
  for (const std::vector<KubeNodeTerm>* terms : volumes_)
    if (!one_holds(*terms, node.node)) return "a volume of it, or its devices, are elsewhere";
  if (!unallocated_.empty()) {
    const auto devices = around_.devices().allocate(unallocated_, node.node.meta.name, true);
    if (!devices.ok()) return devices.error().message;
  }
  if (!needs_.others.empty()) {
    const KubeHeld room = room_of(node);
    const auto on_it = around_.held().find(node.node.meta.name);
    for (const auto& [name, amount] : needs_.others) {
      if (!mig_profile_of_resource(name).empty()) continue;  // the books count them
      const auto has = room.others.find(name);
      if (has == room.others.end() || has->second < amount) return fmt::format("{} of {}", amount, name);
      if (on_it == around_.held().end()) continue;
      const auto used = on_it->second.others.find(name);
      if (used != on_it->second.others.end() && has->second - used->second < amount)
        return fmt::format("{} of {} is not free", amount, name);
    }
  }
  return why_not_beside(node);
}

std::string among_themselves(const std::vector<const KubePlacingPod*>& gang) {
  if (gang.size() < 2) return {};
  std::set<std::string> claims;
  const auto about_one = [&](const KubePlacingPod& of, const KubePodTerm& term) {
    return std::ranges::any_of(gang, [&](const KubePlacingPod* other) { return other != &of && term.is_about(other->pod.meta); });
  };
  for (const KubePlacingPod* pod : gang) {
    for (const KubePodTerm& term : pod->around.apart)
      if (about_one(*pod, term)) return fmt::format("anti-affinity by {} among the pods of one gang", term.domain);
    for (const KubePodTerm& term : pod->around.near)
      if (about_one(*pod, term)) return fmt::format("affinity by {} among the pods of one gang", term.domain);
    for (const KubeSpread& spread : pod->around.spreads)
      if (std::ranges::any_of(gang, [&](const KubePlacingPod* other) { return spread.selector.holds(other->pod.meta.labels); }))
        return "topologySpreadConstraints of the pods of one gang";
    if (!pod->around.ports.empty()) return "host ports of a gang";
    for (const std::string& claim : pod->pod.claims)
      if (!claims.insert(claim).second) return fmt::format("ResourceClaim {} of several pods of one gang", claim);
  }
  return {};
}

std::string print_of_claims(const KubePlacingPod& pod, const KubeCluster& cluster) {
  std::string text;
  for (const std::string& name : pod.pod.claims) {
    const auto claim = cluster.devices.claims.find(pod.pod.meta.ns + "/" + name);
    const bool by_name = claim == cluster.devices.claims.end() || claim->second.is_allocated || claim->second.deleting;
    text += fmt::format("\n{} {}", by_name ? "claim" : "claimed", by_name ? name : claim->second.print);
  }
  return text;
}

std::string turn_of(const KubePlacingPod& pod) {
  const KubeNeighbours& around = pod.around;
  if (!around.looks_at_pods()) return {};
  std::string text = pod.pod.meta.ns + "\n";
  const auto add_rules = [&](const KubeSelector& selector) {
    for (const KubeLabelRule& rule : selector.rules)
      text += fmt::format("{} {} {}\n", rule.key, rule.how, fmt::join(rule.values, ","));
  };
  for (const auto* terms : {&around.near, &around.apart}) {
    text += "terms\n";
    for (const KubePodTerm& term : *terms) {
      text += term.domain + "\n";
      add_rules(term.selector);
    }
  }
  for (const KubeSpread& spread : around.spreads) {
    text += fmt::format("spread {} {}\n", spread.domain, spread.most_apart);
    add_rules(spread.selector);
  }
  for (const KubeHostPort& port : around.ports)
    text += fmt::format("port {} {} {}\n", port.ip, port.protocol, port.port);
  return text;
}

}  // namespace stint
