#include "daemon/engine/admission.h"

#include <algorithm>

#include "base/counted.h"
#include "base/text.h"
#include "daemon/api/job_groups.h"
#include "model/mig.h"
#include "model/mig_ask.h"
#include "sched/ids.h"

namespace stint {
namespace {

constexpr int64_t kMilliGpu = 1'000;
constexpr int64_t kMicroPerMilli = 1'000;

/// For how many tasks such a machine has the MIG devices that each of them asks for.
int64_t devices_for(std::span<const MigAsk> asks, const NodeKind& kind) {
  int64_t tasks = kind.max_tasks;
  for (const MigAsk& ask : asks) {
    const auto has = std::ranges::find(kind.static_mig, ask.profile, &MigAsk::profile);
    tasks = has == kind.static_mig.end() ? 0 : std::min<int64_t>(tasks, has->count / ask.count);
  }
  return tasks;
}

/// What one task holds of such a machine's GPUs, in thousandths; none = the machine has nothing like it.
std::optional<int64_t> held_milli(const JobRequest& r, const NodeKind& kind) {
  if (!r.gpu_models.empty() && !is_among(kind.gpu_model, r.gpu_models)) return std::nullopt;
  const auto if_it_has = [&](bool fits, int64_t milli) { return fits ? std::optional(milli) : std::nullopt; };
  if (r.gpus > 0) return if_it_has(r.gpus <= kind.gpus, r.gpus * kMilliGpu);
  const auto in_parts = [&](int64_t milli) {
    if (kind.gpu_parts == 0) return milli;
    return (milli * kind.gpu_parts + kMilliGpu - 1) / kMilliGpu * kMilliGpu / kind.gpu_parts;
  };
  if (r.gpu_milli > 0) return if_it_has(kind.gpus > 0, in_parts(r.gpu_milli));
  if (r.gpu_memory.count() > 0) {
    if (kind.gpus == 0 || r.gpu_memory > kind.gpu_memory) return std::nullopt;
    const Int128 share = (Int128{r.gpu_memory.count()} * kMilliGpu + kind.gpu_memory.count() - 1) / kind.gpu_memory.count();
    return in_parts(static_cast<int64_t>(share));
  }
  if (!r.mig_profile.empty()) {
    const MigGeometry* geometry = find_mig_geometry(kind.gpu_model);
    const std::vector<MigAsk> asks = mig_asks_of(r.mig_profile);
    if (!kind.static_mig.empty()) return if_it_has(devices_for(asks, kind) > 0, compute_milli(kind.gpu_model, asks));
    const auto has = [&](const MigAsk& ask) { return geometry->find_profile(ask.profile) != nullptr; };
    if (geometry == nullptr || kind.gpus == 0 || !std::ranges::all_of(asks, has)) return std::nullopt;
    return compute_milli(kind.gpu_model, asks);
  }
  return 0;
}

/// Whole GPUs or parts of them: does the machine give what is asked for?
bool may_hold(const JobRequest& r, const NodeKind& kind) {
  if (r.gpus > 0) return kind.whole_gpus;
  return (r.gpu_milli == 0 && r.gpu_memory.count() == 0) || kind.shared_gpus;
}

/// How many tasks such a machine holds when nothing else runs there.
int64_t tasks_on(const JobRequest& r, const NodeKind& kind) {
  const auto held = held_milli(r, kind);
  if (!held) return 0;
  int64_t tasks = kind.max_tasks;
  if (r.gpus > 0)
    tasks = std::min<int64_t>(tasks, kind.gpus / r.gpus);
  else if (!r.mig_profile.empty())
    tasks =
        std::min(tasks, kind.static_mig.empty() ? kind.gpus * kMilliGpu / *held : devices_for(mig_asks_of(r.mig_profile), kind));
  else if (*held > 0)
    tasks = std::min(tasks, kind.gpus * (kMilliGpu / *held));
  if (r.cpu_milli > 0) tasks = std::min(tasks, kind.cpu_milli / r.cpu_milli);
  if (r.memory.count() > 0) tasks = std::min(tasks, kind.memory.count() / r.memory.count());
  return tasks;
}

std::string gibi_text(Bytes b) { return fmt::format("{:g} GiB", b.to_gibi()); }

/// What a task asks for: "2 GPUs", "25 % of a GPU", "a MIG device 1g.10gb", "4 CPUs and 8 GiB of memory"; "2 GPUs of model H100-80GB" where
/// models are named.
std::string asked_for(const JobRequest& r) {
  std::string text = fmt::format("{:g} CPUs and {} of memory", static_cast<double>(r.cpu_milli) / 1e3, gibi_text(r.memory));
  if (r.gpus > 0) text = counted(r.gpus, "GPU");
  if (r.gpu_milli > 0) text = fmt::format("{:g} % of a GPU", static_cast<double>(r.gpu_milli) / 10);
  if (r.gpu_memory.count() > 0) text = fmt::format("a GPU with {}", gibi_text(r.gpu_memory));
  if (!r.mig_profile.empty())
    text = fmt::format("{} {}", r.mig_profile.find_first_of("x ") < r.mig_profile.size() ? "MIG devices" : "a MIG device",
                       r.mig_profile);
  return r.gpu_models.empty() ? text : fmt::format("{} of model {}", text, fmt::join(r.gpu_models, " or "));
}

/// "12 machines with 8 × A100-80GB, 1 machine with 4 × L4"
std::string machines_text(const std::vector<const NodeKind*>& kinds) {
  std::vector<std::pair<std::string, int64_t>> counts;  // in the order of the configuration
  for (const NodeKind* kind : kinds) {
    std::string gpus = kind->gpus == 0 ? "no GPU" : fmt::format("{} × {}", kind->gpus, kind->gpu_model);
    const auto known = std::ranges::find(counts, gpus, &std::pair<std::string, int64_t>::first);
    if (known == counts.end())
      counts.emplace_back(std::move(gpus), kind->machines);
    else
      known->second += kind->machines;
  }
  std::string text;
  for (const auto& [gpus, machines] : counts)
    text += fmt::format("{}{} with {}", text.empty() ? "" : ", ", counted(machines, "machine"), gpus);
  return text;
}

/// Nano-units an hour for one task there.
Int128 nanos_per_hour(const JobRequest& r, const NodeKind& kind, int64_t milli) {
  const int64_t capacity = kind.gpus > 0 ? kind.gpus * kMilliGpu : kind.cpu_milli;
  if (capacity == 0) return 0;
  const int64_t held = std::min(kind.gpus > 0 ? milli : r.cpu_milli, capacity);
  return Int128{kind.rate.per_hour().count_nanos()} * held / capacity;
}

Int128 over(Duration duration, Int128 per_hour) {
  // In seconds, rounded up, so that the product stays in 128 bits for whatever may be asked.
  const Int128 seconds = (Int128{duration.count_ns()} + 999'999'999) / 1'000'000'000;
  return (per_hour * seconds + 3'599) / 3'600;
}

std::string plain(Int128 nanos, Currency currency) { return money_of(nanos, currency).to_text(); }

std::string how_long(Duration d) {
  return d.count_ns() % kHour.count_ns() == 0 ? fmt::format("{} h", d.whole_seconds() / 3600)
                                              : fmt::format("{:.2f} h", d.to_hours());
}

std::string at_most(const MostCost& cost, Currency currency) {
  return fmt::format("at most {} ({} {} for {}{})", plain(cost.spend.nanos, currency), static_cast<double>(cost.gpu_milli) / 1e3,
                     cost.gpu_milli == 1000 ? "GPU" : "GPUs", how_long(cost.duration),
                     cost.assumed ? ", assumed as no time limit is stated" : "");
}

struct QuotaOf {
  std::string whose;  ///< "client agency", "user ann in client agency"
  std::string of, name;
  const Quota& quota;
  const QuotaUse& use;
};

std::string decimal(Int128 parts, Int128 of_whole) {
  return fmt::format("{:g}", static_cast<double>(parts) / static_cast<double>(of_whole));
}

Status check_quota(const QuotaOf& of, const JobRequest& request, const AdmissionFacts& facts, AdmissionRefusal& why) {
  const int64_t jobs = std::max(request.array, 1);
  const auto refuse = [&](const char* by, int64_t limit, std::string used, std::string asked, const char* unit) {
    why = {.by = by,
           .of = of.of,
           .name = of.name,
           .limit = std::to_string(limit),
           .used = std::move(used),
           .asked = std::move(asked),
           .unit = unit};
  };
  if (const auto& most = of.quota.gpus; most && of.use.gpu_milli + facts.cost.gpu_milli > *most * kMilliGpu) {
    refuse("max_gpus", *most, decimal(of.use.gpu_milli, kMilliGpu), decimal(facts.cost.gpu_milli, kMilliGpu), "GPUs");
    return invalid(
        "{} may ask for {} at once: jobs that wait or run ask for {:g}, this one for {:g} more: wait until some have "
        "ended, ask for fewer, or have an operator raise max_gpus",
        of.whose, counted(*most, "GPU"), static_cast<double>(of.use.gpu_milli) / 1e3,
        static_cast<double>(facts.cost.gpu_milli) / 1e3);
  }
  if (const auto& most = of.quota.gpu_hours_per_month) {
    const auto hours = [](Int128 micro) { return static_cast<double>(micro) / 1e6; };
    if (of.use.micro_gpu_hours + facts.cost.spend.micro_gpu_hours > Int128{*most} * 1'000'000) {
      refuse("gpu_hours_per_month", *most, decimal(of.use.micro_gpu_hours, 1'000'000),
             decimal(facts.cost.spend.micro_gpu_hours, 1'000'000), "GPU-hours");
      return invalid(
          "{} has {} a month: {:.1f} of {} are used or promised to jobs that wait or run, this one may take {:.1f}"
          " more{}: state a shorter time limit, wait until {}, or have an operator raise gpu_hours_per_month",
          of.whose, counted(*most, "GPU-hour"), hours(of.use.micro_gpu_hours), format_date(facts.month.begin).substr(0, 7),
          hours(facts.cost.spend.micro_gpu_hours), facts.cost.assumed ? " (no time limit is stated)" : "",
          format_date(facts.month.end));
    }
  }
  if (const auto& most = of.quota.jobs_waiting; most && of.use.waiting + jobs > *most) {
    refuse("max_waiting", *most, std::to_string(of.use.waiting), std::to_string(jobs), "jobs");
    return invalid(
        "{} may have {} waiting: there {} {}, this adds {}: wait until some have started, or have an operator raise "
        "max_waiting",
        of.whose, counted(*most, "job"), of.use.waiting == 1 ? "is" : "are", of.use.waiting, jobs);
  }
  return {};
}

std::string overrun_text(const BudgetStanding& budget, const AdmissionFacts& facts) {
  const BudgetRule& rule = *budget.rule;
  // What all clients together have spent is not for one of them to know.
  if (rule.queue.empty())
    return fmt::format("budget {} of the whole fleet for {} does not cover it: it may cost {}", rule.name,
                       format_date(facts.month.begin).substr(0, 7), at_most(facts.cost, rule.per_month.currency()));
  const Currency currency = rule.per_month.currency();
  return fmt::format("budget {} for {}: of {}, {} are spent and {} promised to jobs that wait or run; this one may cost {}",
                     rule.name, format_date(facts.month.begin).substr(0, 7), rule.per_month.to_text(),
                     plain(budget.spent, currency), plain(budget.promised, currency), at_most(facts.cost, currency));
}

AdmissionRefusal refusal_by(const BudgetStanding& budget, const AdmissionFacts& facts) {
  const BudgetRule& rule = *budget.rule;
  const Currency currency = rule.per_month.currency();
  AdmissionRefusal why{.by = "budget",
                       .of = "budget",
                       .name = rule.name,
                       .limit = {},
                       .used = {},
                       .asked = money_of(facts.cost.spend.nanos, currency).to_decimal(),
                       .unit = std::string(currency.code())};
  if (rule.queue.empty()) return why;
  why.limit = rule.per_month.to_decimal();
  why.used = money_of(budget.spent + budget.promised, currency).to_decimal();
  return why;
}

}  // namespace

NodeKind kind_of(const Machine& node, const GovernPolicy& policy) {
  return {.gpu_model = node.node.gpu_model,
          .gpus = node.node.gpus,
          .gpu_memory = node.node.gpu_memory,
          .cpu_milli = node.node.cpu_milli,
          .memory = node.node.memory,
          .region = node.region,
          .owner = std::string(policy.owner_of(node.node.name)),
          .rate = node.rate,
          .whole_gpus = node.node.whole_gpus,
          .shared_gpus = node.node.shared_gpus,
          .gpu_parts = node.node.gpu_parts,
          .static_mig = node.node.static_mig,
          .max_tasks = node.node.max_tasks};
}

bool NodeKind::is_like(const NodeKind& other) const {
  NodeKind as_many = other;
  as_many.machines = machines;
  return *this == as_many;
}

bool restricts(const GovernPolicy& policy, std::string_view client) {
  return std::ranges::any_of(policy.clients, [&](const ClientRules& rules) {
    return rules.client == client ? rules.only_dedicated || !rules.regions.empty() : !rules.dedicated_nodes.empty();
  });
}

bool may_use(const GovernPolicy& policy, std::string_view client, const NodeKind& kind) {
  if (!kind.owner.empty() && kind.owner != client) return false;
  const ClientRules* rules = policy.rules_of(client);
  if (rules == nullptr) return true;
  if (rules->only_dedicated && kind.owner != client) return false;
  return rules->regions.empty() || is_in_regions(kind.region, rules->regions);
}

Status check_backlog(const JobRequest& request, std::string_view client, int64_t of_user, int64_t of_client,
                     const ClientRules* rules, AdmissionRefusal* why) {
  const int64_t jobs = std::max(request.array, 1);
  const auto check = [&](const char* of, std::string name, std::string_view whose, int64_t limit, int64_t used,
                         const char* field) -> Status {
    if (used + jobs <= limit) return {};
    if (why != nullptr)
      *why = {.by = "max_waiting",
              .of = of,
              .name = std::move(name),
              .limit = std::to_string(limit),
              .used = std::to_string(used),
              .asked = std::to_string(jobs),
              .unit = "jobs"};
    return invalid(
        "{} may have {} waiting: there {} {}, this adds {}: wait until some have started, or have an operator raise {}", whose,
        counted(limit, "job"), used == 1 ? "is" : "are", used, jobs, field);
  };
  if (rules == nullptr || !rules->user_quota.jobs_waiting)
    TRY(check("user", request.user, fmt::format("user {} in client {}", request.user, client), kMostWaitingOfUser, of_user,
              "user_max_waiting"));
  if (rules == nullptr || !rules->quota.jobs_waiting)
    TRY(check("client", std::string(client), fmt::format("client {}", client), kMostWaitingOfClient, of_client, "max_waiting"));
  return {};
}

namespace {

/// Of tasks that are alike.
Status check_tasks(const JobRequest& request, const GovernPolicy& policy, std::string_view client,
                   std::span<const NodeKind> kinds) {
  std::vector<const NodeKind*> usable;
  for (const NodeKind& kind : kinds)
    if (may_use(policy, client, kind)) usable.push_back(&kind);
  if (usable.empty()) return {};  // said by admit(), with the rule behind it
  const std::string exists = machines_text(usable);
  const bool has_model = request.gpu_models.empty() || std::ranges::any_of(usable, [&](const NodeKind* kind) {
                           return is_among(kind->gpu_model, request.gpu_models);
                         });
  if (!has_model)
    return invalid("no machine has a GPU of model {}: the fleet has {}", fmt::join(request.gpu_models, " or "), exists);
  std::erase_if(usable, [&](const NodeKind* kind) { return !held_milli(request, *kind) || !may_hold(request, *kind); });
  if (usable.empty())
    return invalid(
        "no machine has {}: the fleet has {}; ask for {}", asked_for(request), exists,
        request.gpus > 0 ? "fewer a task and for more tasks" : "a whole GPU (--gpus 1), or for a part that some machine gives");
  int64_t tasks = 0;
  for (const NodeKind* kind : usable)
    tasks += tasks_on(request, *kind) * kind->machines;
  if (tasks == 0)
    return invalid(
        "no machine that could run it has {:g} CPUs and {} of memory for a task: they have up to {:g} CPUs, and up to {}",
        static_cast<double>(request.cpu_milli) / 1e3, gibi_text(request.memory),
        static_cast<double>(std::ranges::max(usable, {}, &NodeKind::cpu_milli)->cpu_milli) / 1e3,
        gibi_text(std::ranges::max(usable, {}, &NodeKind::memory)->memory));
  const int32_t at_once = least_tasks(request);
  if (tasks < at_once)
    return invalid("the job starts {} with {} each together: the whole fleet has room for {}; it has {}",
                   counted(at_once, "task"), asked_for(request), tasks, exists);
  return {};
}

/// What one of such tasks holds and costs an hour at most; none = no machine has what it needs.
struct DearestTask {
  int64_t milli = 0;
  Int128 nanos_per_hour = 0;
};
std::optional<DearestTask> dearest_task(const JobRequest& needs, const GovernPolicy& policy, std::string_view client,
                                        std::span<const NodeKind> kinds) {
  std::optional<DearestTask> dearest;
  for (const NodeKind& kind : kinds) {
    if (!may_use(policy, client, kind)) continue;
    const auto held = held_milli(needs, kind);
    if (!held) continue;
    if (!dearest) dearest.emplace();
    dearest->milli = std::max(dearest->milli, *held);
    dearest->nanos_per_hour = std::max(dearest->nanos_per_hour, nanos_per_hour(needs, kind, *held));
  }
  return dearest;
}

}  // namespace

Status check_possible(const JobRequest& request, const GovernPolicy& policy, std::string_view client,
                      std::span<const NodeKind> kinds) {
  if (request.groups.empty()) return check_tasks(request, policy, client, kinds);
  for (const JobGroup& group : request.groups) {
    if (holds_groups(request, group)) continue;
    const Status possible = check_tasks(group.each, policy, client, kinds);
    if (!possible.ok()) return invalid("group '{}': {}", group.name, possible.error().message);
  }
  return {};
}

MostCost most_cost(const JobRequest& request, const GovernPolicy& policy, std::string_view client,
                   std::span<const NodeKind> kinds) {
  MostCost cost;
  cost.assumed = request.time_limit == sched::kUnlimited;
  cost.duration = request.time_limit;
  if (cost.assumed)
    cost.duration =
        request.expected == sched::kUnlimited ? policy.assumed_duration : std::max(policy.assumed_duration, request.expected);
  Int128 nanos = 0, micro_gpu_hours = 0;  // of all tasks
  int64_t milli = 0;
  cost.has_place = true;
  const auto add = [&](const JobRequest& needs) {
    const auto dearest = dearest_task(needs, policy, client, kinds);
    if (!dearest) return cost.has_place = false, void();
    milli += dearest->milli * needs.tasks;
    nanos += over(cost.duration, dearest->nanos_per_hour) * needs.tasks;
    micro_gpu_hours += over(cost.duration, Int128{dearest->milli} * kMicroPerMilli) * needs.tasks;
  };
  if (request.groups.empty()) add(request);
  for (const JobGroup& group : request.groups)
    if (!holds_groups(request, group)) add(group.each);
  const int64_t jobs = std::max(request.array, 1);
  const int64_t at_once = request.at_once > 0 ? std::min<int64_t>(request.at_once, jobs) : jobs;
  cost.gpu_milli = milli * at_once;
  constexpr Int128 kMost = Int128{1'000'000'000} * 1'000'000'000'000'000'000;  // sums of many stay in range
  cost.spend.nanos = std::min(nanos, kMost) * jobs;
  cost.spend.micro_gpu_hours = micro_gpu_hours * jobs;
  return cost;
}

Result<Verdict> admit(const JobRequest& request, const AdmissionFacts& facts, const GovernPolicy& policy,
                      AdmissionRefusal* asked_why) {
  AdmissionRefusal unasked;
  AdmissionRefusal& why = asked_why == nullptr ? unasked : *asked_why;
  const ClientRules* rules = policy.rules_of(facts.client);
  if (restricts(policy, facts.client) && !facts.cost.has_place) {
    const std::string where = rules == nullptr || rules->regions.empty()
                                  ? std::string("the machines it may use")
                                  : fmt::format("its regions ({})", fmt::join(rules->regions, ", "));
    return invalid("client {} has no machine for this job in {}: ask for another GPU model, or have an operator change its rules",
                   facts.client, where);
  }
  if (rules != nullptr) {
    TRY(check_quota({fmt::format("client {}", facts.client), "client", facts.client, rules->quota, facts.client_use}, request,
                    facts, why));
    TRY(check_quota({fmt::format("user {} in client {}", request.user, facts.client), "user", request.user, rules->user_quota,
                     facts.user_use},
                    request, facts, why));
  }
  Verdict verdict;
  for (const BudgetStanding& budget : facts.budgets) {
    const bool overrun = budget.spent + budget.promised + facts.cost.spend.nanos > budget.rule->per_month.count_nanos();
    // What costs nothing overruns nothing.
    if (!overrun || facts.cost.spend.nanos == 0 || budget.rule->at_limit == AtLimit::kWarn) continue;
    if (budget.rule->at_limit == AtLimit::kRefuse) {
      why = refusal_by(budget, facts);
      return invalid("{}: ask for less or state a shorter time limit, wait until {}, or have an operator raise the budget",
                     overrun_text(budget, facts), format_date(facts.month.end));
    }
    if (verdict.needs_approval.empty()) verdict.needs_approval = overrun_text(budget, facts);
  }
  const std::optional<Money> above = rules != nullptr && rules->approval_above ? rules->approval_above : policy.approval_above;
  if (verdict.needs_approval.empty() && above && facts.cost.spend.nanos > above->count_nanos())
    verdict.needs_approval = fmt::format("may cost {}, above {}", at_most(facts.cost, above->currency()), above->to_text());
  return verdict;
}

}  // namespace stint
