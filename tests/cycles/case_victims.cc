// Victim cases by the rules of quotas alone.
#include <algorithm>
#include <cmath>

#include "cycles/case_engine.h"
#include "cycles/cohort_victims.h"

namespace stint {
namespace {

using namespace sched;

/// Cells, cohorts and queues of a case as ids.
class VictimWorld {
 public:
  explicit VictimWorld(const VictimCase& c) : case_(c), tree_({}) {
    for (const auto& cohort : c.cohorts)
      note_cells(cohort.quotas);
    for (const auto& queue : c.queues)
      note_cells(queue.quotas);
    for (const auto& w : c.admitted)
      note_amounts(w.amounts);
    note_amounts(c.incoming.amounts);
    std::vector<int32_t> resource_of_cell;
    for (const auto& [flavor, resource] : cells_)
      resource_of_cell.push_back(number_of(resources_, resource));
    tree_ = QuotaTree(resource_of_cell);
    for (const auto& queue : c.queues) {
      const QuotaNodeId parent = queue.cohort.empty() ? QuotaNodeId() : cohort_of(queue.cohort);
      queues_.emplace_back(queue.name, tree_.add(parent, weight(queue.fair_weight)));
      set_quotas(queues_.back().second, queue.quotas);
    }
  }

  QuotaTree& tree() { return tree_; }
  [[nodiscard]] QuotaWorkload workload(const VictimCase::Workload& w) const {
    QuotaWorkload out{.queue = queue_of(w.queue),
                      .priority = w.priority,
                      .created = Instant::from_seconds(w.created_s),
                      .reserved = Instant::from_seconds(w.reserved_s),
                      .uid = w.uid,
                      .already_evicted = w.already_evicted,
                      .amounts = {}};
    for (const auto& a : w.amounts)
      out.amounts.push_back({cell(a.flavor, a.resource), a.amount});
    return out;
  }
  [[nodiscard]] QuotaRequest request() const {
    QuotaRequest request{.workload = workload(case_.incoming), .short_cells = {}, .policy = {}};
    for (const auto& a : case_.incoming.amounts)
      if (a.needs_preemption) request.short_cells.push_back(cell(a.flavor, a.resource));
    const auto queue = std::find_if(case_.queues.begin(), case_.queues.end(),
                                    [&](const VictimCase::Queue& q) { return q.name == case_.incoming.queue; });
    if (queue == case_.queues.end()) return request;
    request.policy = {.within_queue = rule(queue->within_queue),
                      .within_cohort = rule(queue->reclaim_within_cohort),
                      .while_borrowing = queue->may_borrow && rule(queue->borrow_policy) != GivesWay::kNone,
                      .borrow_max_priority = queue->borrow_max_priority};
    return request;
  }

 private:
  using CellName = std::pair<std::string, std::string>;

  static int64_t weight(double fair_weight) { return std::llround(fair_weight * 1e6); }
  static GivesWay rule(const std::string& text) {
    if (text == "LowerPriority") return GivesWay::kLowerPriority;
    if (text == "LowerOrNewerEqualPriority") return GivesWay::kLowerOrNewerEqual;
    return text == "Any" ? GivesWay::kAny : GivesWay::kNone;
  }
  template <typename T>
  static int32_t number_of(std::vector<T>& known, const T& what) {
    const auto it = std::find(known.begin(), known.end(), what);
    if (it != known.end()) return static_cast<int32_t>(it - known.begin());
    known.push_back(what);
    return static_cast<int32_t>(known.size() - 1);
  }
  void note_cells(const std::vector<VictimCase::Quota>& quotas) {
    for (const auto& q : quotas)
      number_of(cells_, CellName(q.flavor, q.resource));
  }
  void note_amounts(const std::vector<VictimCase::Amount>& amounts) {
    for (const auto& a : amounts)
      number_of(cells_, CellName(a.flavor, a.resource));
  }
  [[nodiscard]] CellId cell(const std::string& flavor, const std::string& resource) const {
    const auto it = std::find(cells_.begin(), cells_.end(), CellName(flavor, resource));
    return CellId(static_cast<uint32_t>(it - cells_.begin()));
  }
  [[nodiscard]] QuotaNodeId queue_of(const std::string& name) const {
    const auto it = std::find_if(queues_.begin(), queues_.end(), [&](const auto& q) { return q.first == name; });
    return it == queues_.end() ? QuotaNodeId() : it->second;
  }
  void set_quotas(QuotaNodeId node, const std::vector<VictimCase::Quota>& quotas) {
    for (const auto& q : quotas)
      tree_.set_quota(node, cell(q.flavor, q.resource), {q.nominal, q.borrowing_limit, q.lending_limit});
  }
  /// Adds it, and those above it, when it is not there yet. A cohort that is only named is a root without quota; so is one
  /// that would be above itself.
  QuotaNodeId cohort_of(const std::string& name, size_t depth = 0) {
    const auto known = std::find_if(cohorts_.begin(), cohorts_.end(), [&](const auto& c) { return c.first == name; });
    if (known != cohorts_.end()) return known->second;
    const auto listed =
        std::find_if(case_.cohorts.begin(), case_.cohorts.end(), [&](const VictimCase::Cohort& c) { return c.name == name; });
    if (listed == case_.cohorts.end() || depth > case_.cohorts.size()) {
      cohorts_.emplace_back(name, tree_.add(QuotaNodeId()));
      return cohorts_.back().second;
    }
    const QuotaNodeId parent = listed->parent.empty() ? QuotaNodeId() : cohort_of(listed->parent, depth + 1);
    const QuotaNodeId id = tree_.add(parent, weight(listed->fair_weight));
    cohorts_.emplace_back(name, id);
    set_quotas(id, listed->quotas);
    return id;
  }

  const VictimCase& case_;
  QuotaTree tree_;
  std::vector<CellName> cells_;
  std::vector<std::string> resources_;
  std::vector<std::pair<std::string, QuotaNodeId>> cohorts_;
  std::vector<std::pair<std::string, QuotaNodeId>> queues_;
};

}  // namespace

std::vector<VictimCase::Victim> quota_victims(const VictimCase& c) {
  VictimWorld world(c);
  std::vector<QuotaWorkload> admitted;
  for (const auto& w : c.admitted) {
    admitted.push_back(world.workload(w));
    CHECK(admitted.back().queue.valid(), "workload {} names the unknown queue {}", w.name, w.queue);
    for (const CellAmount& a : admitted.back().amounts)
      world.tree().use(admitted.back().queue, a);
  }
  const QuotaRequest request = world.request();
  CHECK(request.workload.queue.valid(), "the incoming workload names the unknown queue {}", c.incoming.queue);
  std::vector<FairRule> rules;
  for (const std::string& name : c.fair_strategies)
    rules.push_back(name == "LessThanInitialShare" ? FairRule::kBelowInitialShare : FairRule::kAtMostFinalShare);
  if (rules.empty()) rules.push_back(FairRule::kAtMostFinalShare);
  const auto chosen = c.fair_sharing ? choose_fair_victims(world.tree(), admitted, request, rules)
                                     : choose_quota_victims(world.tree(), admitted, request);
  std::vector<VictimCase::Victim> victims;
  for (const QuotaVictim& v : chosen)
    victims.push_back({c.admitted[v.workload].name, std::string(name_of(v.reason))});
  std::sort(victims.begin(), victims.end());
  return victims;
}

}  // namespace stint
