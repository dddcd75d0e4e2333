#include "backends/slurm/slurm_others.h"

#include <algorithm>

#include "backends/slurm/slurm_launch.h"
#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

bool is_running(const SlurmEntry& entry) { return entry.state == RunState::kRunning || !entry.on_nodes.empty(); }

/// What Slurm shows of it alone, without the machines' part.
void put_wish(const SlurmWish& wish, OthersJob& job) {
  const sched::Request& request = wish.request;
  job.gpus = request.gpus;
  job.gpu_milli = request.milli;
  job.mig_profile = mig_text(request.mig);
  job.gpu_models = request.gpu_models;
  job.cpu_milli = request.cpu_milli;
  job.memory = request.memory;
  if (request.only_allowed_nodes) job.only_on = request.allowed_nodes;
  job.tasks = wish.nodes;
}

}  // namespace

OthersThere others_there(const std::vector<std::pair<const SlurmEntry*, std::string>>& named) {
  OthersThere there;
  for (const auto& [entry, job] : named)
    if (!has_ended(entry->state)) there.names.push_back(job);
  std::ranges::sort(there.names);
  return there;
}

bool SlurmOthers::is_driven(std::string_view partition) const {
  return rules_.partitions.empty() || std::ranges::any_of(split(partition, ','), [&](std::string_view one) {
           return std::ranges::find(rules_.partitions, one) != rules_.partitions.end();
         });
}

std::vector<BackendEvent> SlurmOthers::look(const std::vector<std::pair<const SlurmEntry*, std::string>>& named,
                                            const SlurmView& view, Instant now) {
  std::vector<BackendEvent> events;
  std::set<std::string_view> there;
  for (const auto& [entry, job] : named) {
    if (has_ended(entry->state)) continue;
    there.insert(job);
    look_at(*entry, job, view, now, events);
  }
  for (auto at = told_.begin(); at != told_.end();) {
    if (there.contains(at->first)) {
      ++at;
      continue;
    }
    at->second.state = OthersJob::State::kEnded;
    events.emplace_back(std::move(at->second));
    at = told_.erase(at);
  }
  return events;
}

/// One that was let go and has not begun is told of by its launches.
void SlurmOthers::look_at(const SlurmEntry& entry, const std::string& job, const SlurmView& view, Instant now,
                          std::vector<BackendEvent>& events) {
  const bool runs = is_running(entry);
  if (!runs && (!entry.held || !is_driven(entry.partition) || note_of(entry).unpaid)) return;
  const auto before = told_.find(job);
  Result<OthersJob> found = read(entry, job, view);
  if (!found.ok()) {
    std::string note =
        fmt::format("job {} of Slurm {}: {}", job, runs ? "is not in the books" : "stays held", found.error().message);
    if (before == told_.end() && said_.insert(note).second) events.emplace_back(BackendNote{std::move(note)});
    return;
  }
  if (!runs && (begins_later(entry, now) || waits_for_others(entry))) found->state = OthersJob::State::kOnHold;
  if (before != told_.end() && before->second.state == found->state && before->second.restarts == found->restarts) return;
  events.emplace_back(*found);
  told_.insert_or_assign(job, std::move(*found));
}

Result<OthersJob> SlurmOthers::read(const SlurmEntry& entry, const std::string& job, const SlurmView& view) const {
  OthersJob others{.name = job,
                   .submitted = entry.submitted.value_or(Instant()),
                   .queue = entry.account,
                   .user = entry.user,
                   .title = entry.name,
                   .restarts = entry.restarts};
  if (const auto queue = rules_.queues.find(entry.account); queue != rules_.queues.end())
    others.queue = queue->second;
  else if (!rules_.known_queues.contains(entry.account))
    return invalid("no queue for Slurm's account '{}': name one under engine: slurm: accounts", excerpt(entry.account));
  if (const auto qos = rules_.qos.find(entry.qos); qos != rules_.qos.end()) others.priority = qos->second;
  others.time_limit = entry.time_limit;
  others.deadline = entry.deadline;
  SlurmWish wish;
  if (is_running(entry)) {
    others.state = OthersJob::State::kRuns;
    TRY_ASSIGN(others.machines, expand_hostlist(entry.on_nodes));
    wish = held_by(entry, others.machines.size(), view.machines);
  } else {
    TRY_ASSIGN(wish, wish_of(entry, note_of(entry).wants, view.machines));
    TRY_ASSIGN(const SlurmJobOptions options, parse_slurm_options(entry.comment));
    if (options.hold) others.state = OthersJob::State::kOnHold;
    others.preemptible = entry.requeue;
    if (options.checkpoint.interval != sched::CheckpointBehaviour().interval) others.saves_every = options.checkpoint.interval;
    others.saving = options.checkpoint.save;
    others.restarting = options.checkpoint.restart;
    others.grace = options.grace;
  }
  if (others.state != OthersJob::State::kRuns && wish.nodes > 1 && !wish.request.anti_affinity.empty())
    return invalid("it asks for parts of several machines, and two of them could be the same one: ask for whole machines");
  put_wish(wish, others);
  return others;
}

}  // namespace stint
