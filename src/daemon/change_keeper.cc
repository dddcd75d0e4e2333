#include "daemon/change_keeper.h"

#include <algorithm>
#include <future>
#include <set>
#include <string>

#include "backends/machine_asks.h"
#include "daemon/cluster_rest.h"
#include "daemon/power/node_power.h"
#include "daemon/service_answer.h"

namespace stint {
namespace {

constexpr Duration kLookAtChanges = Duration::seconds(20);
constexpr Duration kLookWithCluster = Duration::seconds(2);  // the cluster hears of it from here alone
const CommandInfo kByChanges{.actor = "changes", .idempotency_key = ""};

/// A Slurm rests what changes let rest. A Kubernetes also hears of what operators drain, and not of what was put to work again: it is told which
/// machines take no work by command. Those that take none for another reason, which the engine tells, are marked.
std::set<std::string> told_to(const ClusterRest& cluster, Service& service, const std::set<std::string>& resting) {
  if (cluster.cluster() != "kubernetes") return resting;
  std::set<std::string> names;
  for (const NodeView& node : service.get([](const Engine& engine) { return engine.nodes(); }).get()) {
    if (node.state == NodeState::kUp) continue;
    const bool is_certain = node.detail.empty() && node.state != NodeState::kDown;
    names.insert(is_certain ? node.name : fmt::format("{}{}", kUncertainMachine, node.name));
  }
  return names;
}

}  // namespace

ChangeKeeper::ChangeKeeper(Service& service, std::shared_ptr<FindingBook> book, NodePower& power, ClusterRest* cluster,
                           std::function<Instant()> clock)
    : service_(service), book_(std::move(book)), power_(power), cluster_(cluster), clock_(std::move(clock)) {
  thread_ = std::make_unique<Recurring>(std::vector<Recurring::Work>{[this] { return look(); }}, 1);
}

ChangeKeeper::~ChangeKeeper() = default;

Duration ChangeKeeper::look() {
  const CarriedChanges all = book_->carried();
  const Instant now = clock_();
  if (std::ranges::any_of(all, [](const auto& change) { return !change.second.undone_at; })) {
    const std::vector<NodeView> nodes = service_.get([](const Engine& engine) { return engine.nodes(); }).get();
    for (const CarriedStep& step : carried_steps(all, nodes, now))
      take(step);
  }
  power_.rest(book_->asks()->resting);
  if (cluster_ != nullptr) cluster_->rest(told_to(*cluster_, service_, book_->asks()->resting));
  return std::min(cluster_ == nullptr ? kLookAtChanges : kLookWithCluster, now.hour_start() + kHour - now);
}

Status ChangeKeeper::put_up(const std::vector<std::string>& machines) {
  for (const std::string& machine : machines) {
    std::promise<bool> comes;
    power_.want(machine, [&](bool it_does) { comes.set_value(it_does); });
    if (comes.get_future().get()) continue;
    TRY(answer_of<NodeView>([&](auto answer) { service_.node_up(machine, kByChanges, std::move(answer)); }));
  }
  return {};
}

/// What fails is tried again at the next look: the intent stays without its end.
void ChangeKeeper::take(const CarriedStep& step) {
  for (const auto& [other, change] : step.others)
    if (!book_->carry(other, change).ok()) return;
  if (const auto begun = book_->carry_over(step.id, step.before, step.intent); !begun.ok() || !*begun) return;
  for (const std::string& machine : step.drain)
    if (!answer_of<NodeView>([&](auto answer) { service_.drain_node(machine, kByChanges, std::move(answer)); }).ok()) return;
  if (!put_up(step.up).ok()) return;
  if (const auto ended = book_->carry_over(step.id, step.intent, step.done); !ended.ok() || *ended) return;
  // Taken back meanwhile: what was drained after that takes work again.
  const CarriedChanges all = book_->carried();
  if (const auto now = all.find(step.id); now != all.end() && now->second.undone_at) (void)put_up(to_put_up(all, step.id)).ok();
}

}  // namespace stint
