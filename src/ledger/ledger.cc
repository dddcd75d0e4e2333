#include "ledger/ledger.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "ledger/line_cut.h"
#include "ledger/line_match.h"
#include "ledger/node_hours.h"
#include "ledger/problems.h"
#include "ledger/split_cost.h"
#include "ledger/synthesis.h"

namespace stint {
namespace {

__extension__ typedef __int128 Int128;

/// Half of what Money holds: sums over all lines, and what is made of them, stay within it.
constexpr double kMostUnits = static_cast<double>(std::numeric_limits<int64_t>::max()) / 2e9;

/// Above this many postings of common cost, tenants are told apart by client only.
constexpr size_t kMostSharedPostings = 2'000'000;

Money amount_of(const BillLine& line, CostBasis basis) { return basis == CostBasis::kBilled ? line.billed : line.effective; }

/// The period asked for, else the History's, else what its bill covers.
Interval period_of(const History& history, const LedgerOptions& options) {
  if (!options.period.empty()) return options.period;
  if (!history.period.empty()) return history.period;
  Interval hull;
  for (const BillLine& line : history.bill) {
    if (line.charge_period.empty()) continue;
    if (hull.empty()) hull = line.charge_period;
    hull = {std::min(hull.begin, line.charge_period.begin), std::max(hull.end, line.charge_period.end)};
  }
  return hull;
}

class Poster {
 public:
  Poster(const History& history, const Occupancy& occupancy, const Catalog& catalog, const LedgerOptions& options)
      : history_(history), catalog_(catalog), matcher_(history), splits_(history.tenant_rules), estimate_(options.estimate) {
    out_.period = period_of(history, options);
    out_.basis = options.basis;
    out_.converted = history.converted;
    out_.tenants = occupancy.tenants;
    no_tenant_ = out_.tenants.intern({});
    hours_ = NodeHours::build(history, occupancy, no_tenant_);
    acc_.resize(hours_.keys().size());
    for (const BillCoverage& c : history.bill_coverage)
      if (const Interval within = intersect(c.charged, out_.period); !within.empty())
        out_.coverage.push_back({c.provider, within});
  }

  Result<Ledger> run() {
    TRY(take_lines());
    tie_by_type();
    if (!splits_.empty()) split_evidence_ = find_evidence();
    synthesise_missing();
    out_.postings.reserve(out_.lines.size() * 2);
    for (uint32_t i = 0; i < out_.lines.size(); ++i)
      post_line(i);
    count_use();
    post_shared();
    out_.problems = problems_.texts();
    return std::move(out_);
  }

 private:
  struct Part {
    NodeHours::Key key;
    int64_t weight = 0;
  };
  /// What posting needs of every line, kept together: lines are large and seldom in the cache.
  struct LineFacts {
    LineCut cut;
    SpendKind spend = SpendKind::kOther;
    ChargeCategory category = ChargeCategory::kUsage;
    bool commitment_unused = false;
    Instant charged_from;  // before the line was cut
  };
  struct SharedLine {
    uint32_t line = 0;
    IdleCause cause = IdleCause::kNone;
  };

  Status take_lines() {
    std::set<Currency> currencies;
    double units = 0;
    const std::string* last_provider = nullptr;
    out_.lines.reserve(history_.bill.size());
    facts_.reserve(history_.bill.size());
    for (const BillLine& line : history_.bill) {
      const auto cut = cut_of(line, out_.period);
      if (!cut) continue;
      if (cut->whole())
        out_.lines.borrow(line);
      else
        out_.lines.push_back(cut_line(line, *cut));
      const NodeId node = matcher_.by_resource(line);
      if (line.spend == SpendKind::kCompute) {
        if (node.valid())
          matcher_.saw_tied(node);
        else
          matcher_.saw_untied(line);
      }
      if (last_provider == nullptr || *last_provider != line.provider) last_provider = &*providers_.insert(line.provider).first;
      add_line(*cut, node, false);
      facts_.back().charged_from = line.charge_period.begin;
      splits_.add(line);
      const Money amount = out_.line_amounts.back();
      if (!amount.is_zero()) currencies.insert(amount.currency());
      units += std::abs(amount.to_double());
    }
    if (currencies.size() > 1)
      return invalid("lines of the bill are in {} and {}: convert them first", currencies.begin()->code(),
                     std::next(currencies.begin())->code());
    if (!currencies.empty()) currency_ = *currencies.begin();
    if (units > kMostUnits)
      return invalid(
          "the bill does not fit in {}: at most {:.1f} billion units are kept; show it in a currency with larger units "
          "(stint history currency)",
          currency_.code(), kMostUnits / 1e9);
    for (Money& amount : out_.line_amounts)
      if (amount.is_zero()) amount = Money::nanos(0, currency_);
    return {};
  }

  void add_line(const LineCut& cut, NodeId node, bool synthesised) {
    const BillLine& line = out_.lines[out_.lines.size() - 1];
    out_.line_amounts.push_back(amount_of(line, out_.basis));
    out_.line_nodes.push_back(node);
    out_.synthesised.push_back(synthesised);
    out_.estimated.push_back(false);
    facts_.push_back({cut, line.spend, line.category, line.commitment_unused, line.charge_period.begin});
  }

  void tie_by_type() {
    for (size_t i = 0; i < out_.lines.size(); ++i)
      if (!out_.line_nodes[i].valid() && facts_[i].spend == SpendKind::kCompute)
        out_.line_nodes[i] = matcher_.by_type(out_.lines[i]);
  }

  /// Machines that a bill names, and types whose lines name no machine: at any time, not only in the period.
  void find_billed() {
    billed_.resize(history_.nodes.size());
    for (size_t i = 0; i < out_.lines.size(); ++i) {
      if (facts_[i].spend != SpendKind::kCompute) continue;
      if (out_.line_nodes[i].valid())
        billed_[out_.line_nodes[i].index()] = true;
      else if (facts_[i].category == ChargeCategory::kUsage)
        untied_types_.insert(out_.lines[i].instance_type);
    }
    BillLine named;
    for (const BilledResource& r : history_.billed_resources) {
      named.resource_id = r.resource_id;
      named.resource_name = r.resource_name;
      if (const NodeId node = matcher_.by_resource(named); node.valid())
        billed_[node.index()] = true;
      else if (!r.instance_type.empty())
        untied_types_.insert(r.instance_type);
    }
  }

  /// In the period: a run on the node, or telemetry that says what its GPUs did. A machine that is owned costs whether it runs or not.
  [[nodiscard]] std::vector<bool> find_evidence() const {
    std::vector<bool> seen(history_.nodes.size());
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      seen[n] = history_.nodes[n].market == Market::kOwned;
      for (const NodeHours::Hour& hour : hours_.of(NodeId(n), out_.period))
        for (const NodeHours::Bucket& b : hours_.buckets(hour))
          seen[n] = seen[n] || is_evidence(hours_.keys()[b.key]);
    }
    for (const Run& run : history_.runs) {
      if (!run.started || intersect({*run.started, run.ended.value_or(out_.period.end)}, out_.period).empty()) continue;
      for (const RunAllocation& where : run.allocations)
        if (const auto at = std::ranges::lower_bound(history_.nodes, where.node, {}, &Node::name);
            at != history_.nodes.end() && at->name == where.node)
          seen[static_cast<size_t>(at - history_.nodes.begin())] = true;
    }
    return seen;
  }

  static bool is_evidence(const NodeHours::Key& key) { return key.cause != IdleCause::kTelemetryMissing && key.activity_known; }

  /// Lines for nodes without any; not where the bill has lines of that type that could be theirs.
  void synthesise_missing() {
    find_billed();
    const std::vector<bool> evidence = find_evidence();
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      const Node& node = history_.nodes[n];
      if (billed_[n]) {
        price_beyond_bill(NodeId(n));
      } else if (!node.instance_type.empty() && untied_types_.contains(node.instance_type)) {
        problems_.add_node(
            fmt::format("the bill has lines of type {} that name none of these nodes: give the nodes' resource_id in the "
                        "inventory as the bill writes it; until then they are not priced",
                        node.instance_type),
            node.name);
      } else if (evidence[n] || estimate_) {
        price_from_hours(NodeId(n), out_.period, !evidence[n]);
      } else if (!intersect({node.present_from.value_or(out_.period.begin), node.present_until.value_or(out_.period.end)},
                            out_.period)
                      .empty()) {
        problems_.add_node(
            "neither a bill nor telemetry nor a job says that these ran: not priced; import one of them, or ask for --estimate",
            node.name);
      }
    }
    for (const NodeId id : unpriced_)
      problems_.add_node(beyond_bill_text(), history_.nodes[id.index()].name);
  }

  /// Time that the bill of the node's provider does not reach.
  void price_beyond_bill(NodeId id) {
    const Node& node = history_.nodes[id.index()];
    Interval covered;
    for (const BillCoverage& c : history_.bill_coverage)
      if (node.provider.empty() || c.provider.empty() || c.provider == node.provider)
        covered = covered.empty() ? c.charged
                                  : Interval{std::min(covered.begin, c.charged.begin), std::max(covered.end, c.charged.end)};
    if (covered.empty()) return;
    for (const Interval beyond : {Interval{out_.period.begin, std::min(out_.period.end, covered.begin)},
                                  Interval{std::max(out_.period.begin, covered.end), out_.period.end}}) {
      if (beyond.empty()) continue;
      if (estimate_) {
        price_from_hours(id, beyond, true);
        continue;
      }
      int64_t weight = 0;
      for (const NodeHours::Hour& hour : hours_.of(id, beyond))
        for (const NodeHours::Bucket& b : hours_.buckets(hour))
          if (hours_.keys()[b.key].cause != IdleCause::kTelemetryMissing)
            weight += weight_within(b.weight, hour.hour_index, beyond);
      out_.unpriced_gpu_hours += static_cast<double>(weight) / static_cast<double>(kGpuHourWeight);
      beyond_[id].push_back(beyond);
      if (weight > 0 && (unpriced_.empty() || unpriced_.back() != id)) unpriced_.push_back(id);
    }
  }

  [[nodiscard]] std::string beyond_bill_text() const {
    std::string covers;
    for (const BillCoverage& c : out_.coverage)
      covers += fmt::format("{}{} {} to {}", covers.empty() ? "" : ", ", c.provider, format_date(c.charged.begin),
                            format_date(c.charged.end - Duration::nanoseconds(1)));
    return fmt::format(
        "the bill covers {}: {:.1f} GPU-hours that telemetry or jobs know outside of it are not priced: "
        "import the rest of the bill, or ask for --estimate",
        covers.empty() ? "nothing of this period" : covers, out_.unpriced_gpu_hours);
  }

  void price_from_hours(NodeId id, Interval when, bool estimated) {
    const Node& node = history_.nodes[id.index()];
    auto lines = synthesise(node, hours_.of(id, when), catalog_, when);
    if (!lines.ok()) return problems_.add_node("left out of the bill: " + lines.error().message, node.name);
    if (lines->empty()) return;
    const Currency priced_in = lines->front().billed.currency();
    if (!out_.lines.empty() && priced_in != currency_)
      return problems_.add_node(
          fmt::format("left out: priced in {} where the bill is in {}: give the rate in {}, or import exchange rates",
                      priced_in.code(), currency_.code(), currency_.code()),
          node.name);
    currency_ = priced_in;
    if (estimated)
      problems_.add_node("estimated from the inventory: neither a bill nor telemetry nor a job says that these ran", node.name);
    else if (!node.provider.empty() && providers_.contains(node.provider))
      problems_.add_node(fmt::format("priced from usage, because the bill of {} does not name them", node.provider), node.name);
    for (BillLine& line : *lines) {
      const auto cut = cut_of(line, out_.period);
      out_.lines.push_back(std::move(line));
      add_line(*cut, id, true);
      out_.estimated.back() = estimated;
    }
  }

  void post_line(uint32_t i) {
    const LineFacts& facts = facts_[i];
    if (out_.line_amounts[i].is_zero()) return;
    if (facts.commitment_unused) return shared_.push_back({i, IdleCause::kUnusedCommitment});
    if (facts.spend == SpendKind::kCompute) return post_compute(i);
    TenantId tenant = tenant_of_tags(i);
    const NodeId node = out_.line_nodes[i];
    if (tenant == no_tenant_ && node.valid() && facts.spend != SpendKind::kOther)
      tenant = out_.tenants.intern(tenant_of(history_.nodes[node.index()], history_.tenant_rules));
    if (tenant == no_tenant_) return shared_.push_back({i, IdleCause::kNone});
    post_whole(i, {tenant, WorkloadKind::kUnknown, IdleCause::kNone, true});
  }

  void post_compute(uint32_t i) {
    const NodeId node = out_.line_nodes[i];
    if (post_by_pods(i, node)) return;
    if (node.valid() && hours_.gpu_count(node) > 0 && facts_[i].category != ChargeCategory::kTax) return spread(i, node);
    const BillLine& line = out_.lines[i];
    TenantId tenant = tenant_of_tags(i);
    WorkloadKind kind = WorkloadKind::kUnknown;
    if (node.valid()) {
      const Tenant own = tenant_of(history_.nodes[node.index()], history_.tenant_rules);
      tenant = out_.tenants.intern(merged(out_.tenants[tenant], own));
      kind = history_.nodes[node.index()].kind;
    }
    const bool gpus = has_gpus(line);
    if (tenant != no_tenant_) return post_whole(i, {tenant, kind, IdleCause::kNone, !gpus});
    if (!gpus || line.category == ChargeCategory::kPurchase) return shared_.push_back({i, IdleCause::kNone});
    post_whole(i, {no_tenant_, kind, IdleCause::kTelemetryMissing, true});
    problems_.add_line(fmt::format("{} {} {}", line.instance_type, line.region, line.resource_id), out_.line_amounts[i]);
  }

  /// Over the pods that the provider says held the machine, where no telemetry and no job tells better.
  bool post_by_pods(uint32_t i, NodeId node) {
    if (splits_.empty() || facts_[i].category != ChargeCategory::kUsage) return false;
    if (node.valid() && split_evidence_[node.index()]) return false;
    const BillLine& line = out_.lines[i];
    const SplitCosts::Division* division = splits_.find(line.resource_id, facts_[i].charged_from);
    if (division == nullptr) return false;
    parts_.clear();
    const bool active = !has_gpus(line);
    for (const SplitCosts::Share& share : division->shares)
      if (share.used_nanos > 0)
        parts_.push_back(
            {{out_.tenants.intern(share.tenant), WorkloadKind::kUnknown, IdleCause::kNone, active}, share.used_nanos});
    if (division->unused_nanos > 0)
      parts_.push_back({{no_tenant_, WorkloadKind::kUnknown, IdleCause::kUnallocated, true}, division->unused_nanos});
    if (parts_.empty()) return false;
    post_parts(i);
    return true;
  }

  [[nodiscard]] bool has_gpus(const BillLine& line) {
    if (line.instance_type.empty()) return false;
    const auto [it, fresh] = type_has_gpus_.try_emplace(line.instance_type, false);
    if (fresh) {
      const InstanceType* type = catalog_.find_instance(line.instance_type);
      it->second = type != nullptr && type->gpu_milli > 0;
    }
    return it->second;
  }

  /// Over the node's GPU-hours in the charge period.
  void spread(uint32_t i, NodeId node) {
    const LineCut& cut = facts_[i].cut;
    // A charge without length, such as a one-off fee, is for all of the period.
    const Interval when = cut.within.empty() ? out_.period : cut.within;
    parts_.clear();
    int64_t total = 0;
    int64_t missing = 0;
    for (const NodeHours::Hour& hour : hours_.of(node, when))
      for (const NodeHours::Bucket& b : hours_.buckets(hour)) {
        const int64_t weight = weight_within(b.weight, hour.hour_index, when);
        if (weight == 0) continue;
        total += weight;
        if (hours_.keys()[b.key].cause == IdleCause::kTelemetryMissing) {
          missing += weight;
        } else {
          if (acc_[b.key] == 0) touched_.push_back(b.key);
          acc_[b.key] += weight;
        }
      }
    for (const uint32_t key : touched_)
      parts_.push_back({hours_.keys()[key], std::exchange(acc_[key], 0)});
    touched_.clear();
    const int64_t unseen = missing_weight(i, when, total, missing);
    if (unseen > 0) parts_.push_back({{no_tenant_, WorkloadKind::kUnknown, IdleCause::kTelemetryMissing, true}, unseen});
    if (unseen > 0 && facts_[i].category == ChargeCategory::kUsage) unseen_[node] += unseen;
    if (parts_.empty()) parts_.push_back({{no_tenant_, WorkloadKind::kUnknown, IdleCause::kTelemetryMissing, true}, 1});
    give_to_owner(i);
    post_parts(i);
  }

  /// GPU-hours that were paid for and that nothing is known of. Hours without a sign of the node count when it has
  /// no dates; a bill that counts hours says how many there were in truth.
  [[nodiscard]] int64_t missing_weight(uint32_t i, Interval when, int64_t total, int64_t missing) const {
    const NodeId id = out_.line_nodes[i];
    const Node& node = history_.nodes[id.index()];
    const bool dated = node.present_from || node.present_until;
    const int64_t whole = node_weight(id, when.length() - absent_within(node, when));
    const int64_t unseen = missing + (dated ? 0 : std::max<int64_t>(0, whole - total));
    if (unseen == 0) return 0;
    const auto hours = billed_hours(out_.lines[i], facts_[i].cut);
    if (!hours) return unseen;
    const int64_t paid = std::min(whole, node_weight(id, std::min(*hours, when.length())));
    return std::clamp<int64_t>(paid - (total - missing), 0, unseen);
  }

  /// A bill's own tags say whose the node is where nothing nearer does.
  void give_to_owner(uint32_t i) {
    const auto [first, fresh] = owners_.try_emplace(out_.line_nodes[i], no_tenant_);
    const bool unowned = std::any_of(parts_.begin(), parts_.end(), [&](const Part& p) { return p.key.tenant == no_tenant_; });
    if (!fresh && !unowned) return;
    const TenantId owner = tenant_of_tags(i);
    if (fresh) first->second = owner;
    if (owner == no_tenant_) return;
    for (Part& p : parts_)
      p.key = owned(p.key, owner);
  }

  [[nodiscard]] NodeHours::Key owned(const NodeHours::Key& key, TenantId owner) const {
    if (key.tenant != no_tenant_) return key;
    if (key.cause == IdleCause::kNone || key.cause == IdleCause::kInactive)
      return {owner, key.kind, key.cause, key.activity_known};
    if (!can_be_billed(out_.tenants[owner])) return key;
    if (key.cause == IdleCause::kUnallocated) return {owner, key.kind, IdleCause::kInactive, true};
    if (key.cause == IdleCause::kTelemetryMissing) return {owner, key.kind, IdleCause::kNone, false};
    return key;
  }

  void post_parts(uint32_t i) {
    std::sort(parts_.begin(), parts_.end(), [](const Part& a, const Part& b) { return a.key < b.key; });
    size_t kept = 0;
    for (size_t p = 1; p < parts_.size(); ++p) {
      if (parts_[p].key == parts_[kept].key)
        parts_[kept].weight += parts_[p].weight;
      else
        parts_[++kept] = parts_[p];
    }
    parts_.resize(kept + 1);
    if (parts_.size() == 1) return post_whole(i, parts_.front().key);
    weights_.clear();
    for (const Part& p : parts_)
      weights_.push_back(p.weight);
    const std::vector<Money> amounts = split_by_largest_remainder(out_.line_amounts[i], weights_);
    for (size_t p = 0; p < parts_.size(); ++p)
      if (!amounts[p].is_zero()) out_.postings.push_back(posting(i, parts_[p].key, amounts[p]));
  }

  void post_whole(uint32_t i, const NodeHours::Key& key) { out_.postings.push_back(posting(i, key, out_.line_amounts[i])); }

  [[nodiscard]] Posting posting(uint32_t i, const NodeHours::Key& key, Money amount) const {
    return {i, key.tenant, key.kind, facts_[i].spend, key.cause, false, key.activity_known, amount};
  }

  TenantId tenant_of_tags(uint32_t i) {
    const BillLine& line = out_.lines[i];
    if (line.tags.empty()) return no_tenant_;
    const auto [it, fresh] = tag_tenants_.try_emplace(line.tags);
    if (fresh) it->second = out_.tenants.intern(tenant_of_pod_tags(line.tags, history_.tenant_rules));
    return it->second;
  }

  /// Common cost, over the tenants in proportion to the money of the GPUs they held; where there is none of it, by
  /// GPU-hours.
  void post_shared() {
    if (shared_.empty()) return;
    std::map<TenantId, int64_t> weights;
    for (const Posting& p : out_.postings)
      if (p.spend == SpendKind::kCompute && (p.cause == IdleCause::kNone || p.cause == IdleCause::kInactive))
        weights[p.tenant] += p.amount.count_nanos();
    if (!any_positive(weights)) weights = held_hours();
    if (weights.size() * shared_.size() > kMostSharedPostings) weights = by_client(weights);
    std::vector<TenantId> tenants;
    weights_.clear();
    for (const auto& [tenant, weight] : weights) {
      if (weight <= 0) continue;
      tenants.push_back(tenant);
      weights_.push_back(weight);
    }
    if (tenants.empty()) tenants.push_back(no_tenant_), weights_.push_back(1);
    const auto direct = static_cast<std::ptrdiff_t>(out_.postings.size());
    for (const SharedLine& s : shared_) {
      const std::vector<Money> amounts = split_by_largest_remainder(out_.line_amounts[s.line], weights_);
      for (size_t t = 0; t < tenants.size(); ++t)
        if (!amounts[t].is_zero())
          out_.postings.push_back(
              {s.line, tenants[t], WorkloadKind::kUnknown, facts_[s.line].spend, s.cause, true, true, amounts[t]});
    }
    std::inplace_merge(out_.postings.begin(), out_.postings.begin() + direct, out_.postings.end(),
                       [](const Posting& a, const Posting& b) { return a.bill_line < b.bill_line; });
  }

  static bool any_positive(const std::map<TenantId, int64_t>& weights) {
    return std::any_of(weights.begin(), weights.end(), [](const auto& w) { return w.second > 0; });
  }

  void count_use() {
    std::map<NodeHours::Key, int64_t> use;
    for (uint32_t n = 0; n < history_.nodes.size(); ++n) {
      const auto found = owners_.find(NodeId(n));
      const TenantId owner = found == owners_.end() ? no_tenant_ : found->second;
      const auto add = [&](const NodeHours::Key& key, int64_t weight) {
        constexpr int64_t kMicro = kGpuHourWeight / 1'000'000;
        use[owner == no_tenant_ ? key : owned(key, owner)] += weight / kMicro;
      };
      int64_t known = 0;
      // Hours that are in no line are in no row either: money and hours of a row are of the same time.
      const auto outside = beyond_.find(NodeId(n));
      for (const NodeHours::Hour& hour : hours_.of(NodeId(n), out_.period))
        for (const NodeHours::Bucket& b : hours_.buckets(hour)) {
          if (hours_.keys()[b.key].cause == IdleCause::kTelemetryMissing) continue;
          if (acc_[b.key] == 0) touched_.push_back(b.key);
          const int64_t weight = weight_within(b.weight, hour.hour_index, out_.period);
          known += weight;
          acc_[b.key] += weight;
          if (outside == beyond_.end()) continue;
          for (const Interval unpriced : outside->second)
            acc_[b.key] -= weight_within(b.weight, hour.hour_index, unpriced);
        }
      for (const uint32_t k : touched_)
        add(hours_.keys()[k], std::exchange(acc_[k], 0));
      touched_.clear();
      // Of the hours nothing is known of, those that were paid for: what several lines say at most once.
      if (const auto unseen = unseen_.find(NodeId(n)); unseen != unseen_.end()) {
        const Duration there = out_.period.length() - absent_within(history_.nodes[n], out_.period);
        const int64_t rest = node_weight(NodeId(n), there) - known;
        add({no_tenant_, WorkloadKind::kUnknown, IdleCause::kTelemetryMissing, true},
            std::clamp<int64_t>(rest, 0, unseen->second));
      }
    }
    for (const auto& [key, hours] : use)
      if (hours != 0) out_.gpu_use.push_back({key.tenant, key.kind, key.cause, key.activity_known, hours});
  }

  /// Of all GPUs of a node for that long.
  [[nodiscard]] int64_t node_weight(NodeId node, Duration d) const {
    return static_cast<int64_t>(Int128{hours_.gpu_count(node)} * kGpuHourWeight * d.count_ns() / kHour.count_ns());
  }

  [[nodiscard]] std::map<TenantId, int64_t> held_hours() const {
    std::map<TenantId, int64_t> hours;
    for (const GpuUse& use : out_.gpu_use)
      if (use.cause == IdleCause::kNone || use.cause == IdleCause::kInactive) hours[use.tenant] += use.micro_gpu_hours;
    return hours;
  }

  std::map<TenantId, int64_t> by_client(const std::map<TenantId, int64_t>& weights) {
    std::map<TenantId, int64_t> out;
    for (const auto& [tenant, weight] : weights) {
      Tenant client;
      client.client = out_.tenants[tenant].client;
      out[out_.tenants.intern(client)] += weight;
    }
    return out;
  }

  const History& history_;
  const Catalog& catalog_;
  LineMatcher matcher_;
  SplitCosts splits_;
  std::vector<bool> split_evidence_;  // by node; only where there are splits
  Ledger out_;
  TenantId no_tenant_;
  NodeHours hours_;
  const bool estimate_;
  std::vector<bool> billed_;                        // by node: a bill names it, whenever
  std::set<std::string> untied_types_;              // of lines that name no machine, whenever
  std::vector<NodeId> unpriced_;                    // known to have run outside of what the bill covers
  std::map<NodeId, std::vector<Interval>> beyond_;  // what of the period the bill of a node does not cover
  Currency currency_;
  std::vector<LineFacts> facts_;     // by line
  std::set<std::string> providers_;  // of the bill
  std::vector<SharedLine> shared_;   // ascending by line
  std::map<std::vector<Tag>, TenantId> tag_tenants_;
  std::map<NodeId, int64_t> unseen_;   // weight paid for that nothing is known of
  std::map<NodeId, TenantId> owners_;  // by the tags of the node's first line
  std::map<std::string_view, bool> type_has_gpus_;
  Problems problems_;
  // Reused from line to line.
  std::vector<int64_t> acc_;  // by key
  std::vector<uint32_t> touched_;
  std::vector<Part> parts_;
  std::vector<int64_t> weights_;
};

}  // namespace

std::string_view name_of(IdleCause c) {
  constexpr std::array<std::string_view, kIdleCauseCount> kNames = {
      "active",        "unallocated", "inactive",          "stranded-mig",
      "stranded-host", "unhealthy",   "telemetry-missing", "unused-commitment"};
  return kNames[static_cast<size_t>(c)];
}

std::string_view name_of(CostBasis b) { return b == CostBasis::kBilled ? "billed" : "effective"; }

Money Ledger::total() const {
  if (line_amounts.empty()) return {};
  Money sum = Money::nanos(0, line_amounts.front().currency());
  for (const Money amount : line_amounts)
    sum += amount;
  return sum;
}

Money Ledger::estimated_total() const {
  Money sum = Money::nanos(0, total().currency());
  for (size_t i = 0; i < line_amounts.size(); ++i)
    if (i < estimated.size() && estimated[i]) sum += line_amounts[i];
  return sum;
}

Result<Ledger> post(const History& history, const Occupancy& occupancy, const Catalog& catalog, const LedgerOptions& options) {
  return Poster(history, occupancy, catalog, options).run();
}

Status check_conservation(const Ledger& ledger) {
  std::vector<Money> left = ledger.line_amounts;
  for (const Posting& p : ledger.postings) {
    if (p.bill_line >= left.size()) return invalid("a posting names bill line {} of {}", p.bill_line, left.size());
    left[p.bill_line] -= p.amount;
  }
  for (size_t i = 0; i < left.size(); ++i)
    if (!left[i].is_zero())
      return invalid("postings of bill line {} sum to {} where the line is {} {}", i,
                     (ledger.line_amounts[i] - left[i]).to_decimal(), ledger.line_amounts[i].to_decimal(),
                     ledger.line_amounts[i].currency().code());
  return {};
}

}  // namespace stint
