// Source: Slurm manual, scontrol(1), update job: Priority, Nice, Features; "Multifactor Priority Plugin"; slurm.conf(5), Feature.
#include "backends/slurm/slurm_advice.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "model/fleet.h"
#include "sched/queues/order.h"
#include "sim/workload.h"

namespace stint {
namespace {

/// From here down priority/basic gives them out.
constexpr int64_t kTopPriority = 0xffff'0000;
/// Slurm cuts off here, 0 is held; so it is not known how far below it one is.
constexpr int64_t kLowestPriority = 1;
/// What Slurm reckons moves with age and use: neighbours are told apart by more than 1.
constexpr int64_t kNiceStep = 10;

bool goes_first(const SlurmStanding& a, const SlurmStanding& b) {
  return a.priority != b.priority ? a.priority > b.priority : a.number < b.number;
}

/// The line with what lies above and below every priority at its ends, so that jobs 1 … n stand between them.
class Ranks {
 public:
  Ranks(std::span<const SlurmStanding> in_order, int64_t step) : step_(step) {
    at_.push_back({.priority = kTopPriority});
    at_.insert(at_.end(), in_order.begin(), in_order.end());
    at_.push_back({.priority = kLowestPriority, .number = INT64_MAX});
  }

  /// The most that can stay as they are: the longest chain in which each leaves room for those before the next.
  std::vector<std::optional<int64_t>> fill() const {
    std::vector<size_t> length(at_.size(), 0);
    std::vector<size_t> before(at_.size(), 0);
    for (size_t j = 1; j < at_.size(); ++j)
      for (size_t i = 0; i < j; ++i)
        if ((i == 0 || length[i] > 0) && length[i] + 1 > length[j] && leaves_room(i, j)) {
          length[j] = length[i] + 1;
          before[j] = i;
        }
    std::vector<std::optional<int64_t>> numbers(at_.size() - 2);
    for (size_t kept = at_.size() - 1; kept > 0; kept = before[kept])
      for (size_t k = before[kept] + 1; k < kept; ++k)
        numbers[k - 1] = between(before[kept], k, kept);
    return numbers;
  }

 private:
  /// Close to the one above, where there is one.
  [[nodiscard]] int64_t between(size_t above, size_t k, size_t below) const {
    return above > 0 ? at_[above].priority - step_ * static_cast<int64_t>(k - above)
                     : at_[below].priority + step_ * static_cast<int64_t>(below - k);
  }

  [[nodiscard]] bool leaves_room(size_t i, size_t j) const {
    if (j == i + 1) return i == 0 || j + 1 == at_.size() || goes_first(at_[i], at_[j]);
    return at_[i].priority - at_[j].priority >= step_ * static_cast<int64_t>(j - i);
  }

  int64_t step_;
  std::vector<SlurmStanding> at_;
};

SlurmStanding standing_of(const SlurmTurn& turn) {
  return {.priority = turn.entry->priority, .number = job_number(turn.entry->id)};
}

/// Its nice has taken off more than there was: what another would make of it is not known.
bool is_cut_off(const SlurmEntry& entry) { return entry.priority <= kLowestPriority && entry.nice > 0; }

SlurmOrder order_for(SlurmOrderKind kind, const SlurmTurn& turn, std::string why) {
  return {.kind = kind, .job = turn.entry->id, .note = {.wants = turn.note.wants}, .why = std::move(why)};
}

void hold_and_release(const SlurmLine& line, std::vector<SlurmOrder>& orders) {
  for (const SlurmTurn& turn : line.unpaid) {
    if (turn.entry->held) continue;
    orders.push_back(order_for(SlurmOrderKind::kHold, turn, fmt::format("account {} has spent its budget", turn.entry->account)));
    orders.back().note.unpaid = true;
  }
  for (const SlurmTurn& turn : line.paid)
    if (turn.entry->held)
      orders.push_back(order_for(SlurmOrderKind::kRelease, turn, fmt::format("account {} has money again", turn.entry->account)));
}

/// Why `a` goes before `b`.
std::string ground(const SlurmTurn& a, const SlurmTurn& b, bool by_share) {
  if (by_share && a.entry->account != b.entry->account)
    return fmt::format("account {} is further below its share than {}, what goes before counted", a.entry->account,
                       b.entry->account);
  if (a.priority > b.priority)
    return fmt::format("QOS {} goes before {}: {} against {}", a.entry->qos, b.entry->qos, a.priority, b.priority);
  return fmt::format("{} has waited longer", a.entry->id);
}

/// By the next job that is passed, or by the one that passes it.
std::string why_it_moves(std::span<const SlurmTurn* const> line, size_t at, bool by_share) {
  const SlurmTurn& mover = *line[at];
  for (size_t k = at + 1; k < line.size(); ++k)
    if (goes_first(standing_of(*line[k]), standing_of(mover)))
      return fmt::format("before {}: {}", line[k]->entry->id, ground(mover, *line[k], by_share));
  for (size_t k = at; k-- > 0;)
    if (goes_first(standing_of(mover), standing_of(*line[k])))
      return fmt::format("after {}: {}", line[k]->entry->id, ground(*line[k], mover, by_share));
  return "the numbers beside it leave no room";
}

void rank(const SlurmLine& line, bool by_share, SlurmMeans means, std::vector<SlurmOrder>& orders) {
  std::vector<const SlurmTurn*> open;
  std::vector<SlurmStanding> standings;
  for (const SlurmTurn& turn : line.paid) {
    if (turn.entry->held) continue;
    open.push_back(&turn);
    standings.push_back(standing_of(turn));
  }
  const auto numbers = priorities_for(standings, means == SlurmMeans::kNice ? kNiceStep : 1);
  for (size_t k = 0; k < open.size(); ++k) {
    if (!numbers[k]) continue;
    const SlurmEntry& entry = *open[k]->entry;
    const bool by_nice = means == SlurmMeans::kNice && !is_cut_off(entry);
    orders.push_back(order_for(by_nice ? SlurmOrderKind::kNice : SlurmOrderKind::kPriority, *open[k],
                               fmt::format("{} of {} in line, {}", k + 1, open.size(), why_it_moves(open, k, by_share))));
    orders.back().number = by_nice ? entry.nice + entry.priority - *numbers[k] : *numbers[k];
  }
}

bool has(const SlurmMachine& machine, std::string_view feature) {
  return std::ranges::find(machine.features, feature) != machine.features.end();
}

using Machines = std::vector<const SlurmMachine*>;

/// That all of these have and none of the others; empty = there is none.
std::string feature_of(const Machines& these, const Machines& others) {
  for (const std::string& feature : these.front()->features)
    if (std::ranges::all_of(these, [&](const SlurmMachine* m) { return has(*m, feature); }) &&
        std::ranges::none_of(others, [&](const SlurmMachine* m) { return has(*m, feature); }))
      return feature;
  return {};
}

bool names_a_type(const SlurmEntry& entry) {
  for (const std::string* text : {&entry.per_node, &entry.per_job, &entry.per_task}) {
    const auto gres = parse_slurm_gres(*text);
    if (!gres.ok() || std::ranges::any_of(*gres, [](const SlurmGres& g) { return g.name == "gpu" && !g.type.empty(); }))
      return true;
  }
  return false;
}

/// Keeps jobs to some of the machines they may run on, where that costs them no waiting, or they could be lost elsewhere.
class PlaceKeeper {
 public:
  PlaceKeeper(std::span<const SlurmMachine> machines, const DriveRules& rules) : machines_(machines), rules_(rules) {
    for (const SlurmMachine& machine : machines)
      free_[machine.name] =
          machine.takes_work && machine.state.find("POWER") == std::string::npos ? node_of(machine).gpus - machine.gpus_used : 0;
  }

  /// In the order of the line: those before take room. Features that somebody has asked for stay.
  void look_at(const SlurmTurn& turn, std::vector<SlurmOrder>& orders) {
    Machines all = machines_for(turn);
    std::vector<std::string> features;
    std::vector<std::string> grounds;
    keep_off_spot(turn, all, features, grounds);
    keep_to_cheapest(turn, all, features, grounds);
    if (features.empty() || !is_absent_in_slurm(turn.entry->features) || turn.entry->held) return;
    SlurmOrder order = order_for(SlurmOrderKind::kFeatures, turn, fmt::format("{}", fmt::join(grounds, "; ")));
    order.features = fmt::format("{}", fmt::join(features, "&"));
    orders.push_back(std::move(order));
  }

 private:
  [[nodiscard]] Machines machines_for(const SlurmTurn& turn) const {
    const sched::Request& request = turn.request;
    const auto is_among = [](const std::vector<std::string>& list, std::string_view name) {
      return std::ranges::find(list, name) != list.end();
    };
    Machines machines;
    for (const SlurmMachine& machine : machines_) {
      const NodeSpec node = node_of(machine);
      if (node.gpus >= std::max(1, request.gpus) &&
          (!request.only_allowed_nodes || is_among(request.allowed_nodes, machine.name)) &&
          (request.gpu_models.empty() || is_among(request.gpu_models, node.gpu_model)))
        machines.push_back(&machine);
    }
    return machines;
  }

  static void keep_off_spot(const SlurmTurn& turn, Machines& all, std::vector<std::string>& features,
                            std::vector<std::string>& grounds) {
    Machines stay;
    Machines spot;
    for (const SlurmMachine* machine : all)
      (has(*machine, name_of(Market::kSpot)) ? spot : stay).push_back(machine);
    if (turn.entry->requeue || spot.empty() || static_cast<int32_t>(stay.size()) < turn.nodes) return;
    const std::string feature = feature_of(stay, spot);
    if (feature.empty()) return;
    features.push_back(feature);
    grounds.emplace_back("it is not to be run again (--no-requeue), and a spot machine may be taken away");
    all = std::move(stay);
  }

  void keep_to_cheapest(const SlurmTurn& turn, const Machines& all, std::vector<std::string>& features,
                        std::vector<std::string>& grounds) {
    const sched::Request& request = turn.request;
    if (request.gpus == 0 || all.empty()) return;
    if (!std::ranges::all_of(all, [this](const SlurmMachine* m) { return rules_.rates.contains(m->name); })) return;
    const auto rate = [this](const SlurmMachine* m) { return gpu_rate(*m); };
    const Rate least = gpu_rate(*std::ranges::min(all, {}, rate));
    const Rate most = gpu_rate(*std::ranges::max(all, {}, rate));
    Machines cheap;
    Machines others;
    for (const SlurmMachine* machine : all)
      (gpu_rate(*machine) == least ? cheap : others).push_back(machine);
    if (!take_room(turn, cheap) || others.empty()) return;
    const bool any_gpu_does = !names_a_type(*turn.entry) && request.cpu_milli == 0 && request.memory == Bytes();
    if (!any_gpu_does || !turn.entry->array_tasks.empty()) return;
    const std::string feature = feature_of(cheap, others);
    if (feature.empty()) return;
    features.push_back(feature);
    grounds.push_back(
        fmt::format("it names no type of GPU, and machines at {} a GPU-hour have room for it now; others cost up to {}",
                    least.per_hour().to_decimal(), most.per_hour().to_decimal()));
  }

  [[nodiscard]] Rate gpu_rate(const SlurmMachine& machine) const {
    return gpu_rate_of(node_of(machine), rules_.rates.find(machine.name)->second);
  }

  /// One task a machine. @return whether there was room for all.
  bool take_room(const SlurmTurn& turn, const Machines& machines) {
    Machines with_room;
    for (const SlurmMachine* machine : machines)
      if (free_[machine->name] >= turn.request.gpus) with_room.push_back(machine);
    if (static_cast<int32_t>(with_room.size()) < turn.nodes) return false;
    for (int32_t i = 0; i < turn.nodes; ++i)
      free_[with_room[static_cast<size_t>(i)]->name] -= turn.request.gpus;
    return true;
  }

  std::span<const SlurmMachine> machines_;
  const DriveRules& rules_;
  std::map<std::string, int64_t, std::less<>> free_;
};

}  // namespace

std::vector<std::optional<int64_t>> priorities_for(std::span<const SlurmStanding> in_order, int64_t step) {
  return Ranks(in_order, step).fill();
}

std::vector<SlurmOrder> advise_on(const SlurmLine& line, std::span<const SlurmMachine> machines, const DriveRules& rules,
                                  SlurmMeans means) {
  std::vector<SlurmOrder> orders;
  hold_and_release(line, orders);
  rank(line, sched::queue_rule(rules.policy.order) == sched::QueueRule::kByShare, means, orders);
  PlaceKeeper keeper(machines, rules);
  for (const SlurmTurn& turn : line.paid)
    keeper.look_at(turn, orders);
  return orders;
}

}  // namespace stint
