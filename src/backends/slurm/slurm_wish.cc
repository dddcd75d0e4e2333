#include "backends/slurm/slurm_wish.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "codec/slurm/hostlist.h"
#include "codec/slurm/tres.h"
#include "sched/place/node_table.h"

namespace stint {
namespace {

/// Of an array without a limit of its own so many tasks are looked at ahead.
constexpr size_t kMostTasksAhead = 1000;
constexpr std::string_view kMark = "stint:";
constexpr std::string_view kNoteMark = "stint/";

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// `a&b|c`, from left to right as Slurm has it. @return error for brackets, counts and the like.
Result<bool> has_features(const SlurmMachine& machine, std::string_view expression) {
  bool so_far = true;
  char joins = '&';
  while (!expression.empty()) {
    const size_t end = expression.find_first_of("&|,[]()*");
    const std::string_view word = trim(expression.substr(0, end));
    const char next = end == std::string_view::npos ? '\0' : expression[end];
    if (word.empty() || (next != '\0' && next != '&' && next != '|' && next != ','))
      return invalid("its constraint has brackets or counts");
    const bool has = std::ranges::find(machine.features, word) != machine.features.end();
    so_far = joins == '|' ? so_far || has : so_far && has;
    joins = next == '|' ? '|' : '&';
    expression.remove_prefix(end == std::string_view::npos ? expression.size() : end + 1);
  }
  return so_far;
}

/// How many parts of kind `name` (shard, mps) one GPU of the cluster is divided into; the fewest, 0 = none is.
int64_t parts_per_gpu(std::string_view name, std::span<const SlurmMachine> machines) {
  int64_t fewest = 0;
  for (const SlurmMachine& machine : machines) {
    int64_t gpus = 0;
    int64_t parts = 0;
    for (const SlurmGres& gres : machine.gres) {
      if (gres.name == "gpu" && !mig_share(gres.type)) gpus += gres.count;
      if (gres.name == name) parts += gres.count;
    }
    if (gpus > 0 && parts >= gpus) fewest = fewest == 0 ? parts / gpus : std::min(fewest, parts / gpus);
  }
  return fewest;
}

/// @param per_node  gres of one node.
Status ask_for(const SlurmGres& per_node, std::span<const SlurmMachine> machines, sched::Request& request) {
  if (per_node.count == 0) return {};
  if (per_node.name == "gpu" && mig_share(per_node.type)) {
    request.mig.push_back({.profile = per_node.type, .count = static_cast<int32_t>(per_node.count)});
    return {};
  }
  if (per_node.name == "gpu") {
    if (request.gpus > 0) return invalid("it asks for GPUs of two kinds on one node");
    request.gpus = static_cast<int32_t>(per_node.count);
    if (!per_node.type.empty()) request.gpu_models = {per_node.type};
    return {};
  }
  if (per_node.name != "shard" && per_node.name != "mps") return {};  // nothing the scheduler counts
  const int64_t parts = parts_per_gpu(per_node.name, machines);
  if (parts == 0) return invalid("no machine has {} for its GPUs", per_node.name);
  if (per_node.count > parts) return invalid("{}:{} is more than a GPU", per_node.name, per_node.count);
  if (per_node.count == parts)
    request.gpus = 1;
  else
    request.milli = static_cast<int32_t>(std::max<int64_t>(1, per_node.count * 1000 / parts));
  return {};
}

int64_t most_gpus(std::span<const SlurmMachine> machines, std::string_view type) {
  int64_t most = 0;
  for (const SlurmMachine& machine : machines)
    for (const SlurmGres& gres : machine.gres)
      if (gres.name == "gpu" && (type.empty() || type == gres.type)) most = std::max(most, gres.count);
  return most;
}

/// GPUs counted over all of the job, or by task, as so many on each node.
Status spread(const SlurmEntry& entry, std::span<const SlurmMachine> machines, SlurmWish& wish) {
  TRY_ASSIGN(const auto in_all, parse_slurm_gres(entry.per_job));
  TRY_ASSIGN(const auto by_task, parse_slurm_gres(entry.per_task));
  for (SlurmGres gres : in_all) {
    if (const int64_t most = most_gpus(machines, gres.type);
        gres.name == "gpu" && wish.nodes == 1 && most > 0 && gres.count > most) {
      wish.nodes = static_cast<int32_t>(ceil_div(gres.count, most));
      wish.set_nodes = true;
    }
    if (gres.count % wish.nodes != 0) return invalid("{} GPUs cannot be split evenly over {} nodes", gres.count, wish.nodes);
    gres.count /= wish.nodes;
    TRY(ask_for(gres, machines, wish.request));
  }
  for (SlurmGres gres : by_task) {
    if (entry.tasks % wish.nodes != 0) return invalid("{} tasks cannot be split evenly over {} nodes", entry.tasks, wish.nodes);
    gres.count *= entry.tasks / wish.nodes;
    TRY(ask_for(gres, machines, wish.request));
  }
  return {};
}

Result<std::vector<std::string>> names_of(std::string_view hostlist) {
  if (is_absent_in_slurm(hostlist)) return std::vector<std::string>();
  return expand_hostlist(hostlist);
}

/// Those it may run on by partition, constraint and lists of nodes.
Result<std::vector<std::string>> allowed_on(const SlurmEntry& entry, std::string_view required_nodes,
                                            std::span<const SlurmMachine> machines) {
  TRY_ASSIGN(const auto required, names_of(required_nodes));
  TRY_ASSIGN(const auto excluded, names_of(entry.excluded_nodes));
  if (!required.empty() && static_cast<int64_t>(required.size()) != entry.nodes)
    return invalid("it names some of its nodes and leaves others open");
  std::vector<std::string> allowed;
  const auto names = split(entry.partition, ',');
  for (const SlurmMachine& machine : machines) {
    const bool in_partition = std::ranges::any_of(
        names, [&](std::string_view p) { return std::ranges::find(machine.partitions, p) != machine.partitions.end(); });
    TRY_ASSIGN(const bool suits, has_features(machine, entry.features));
    if (in_partition && suits && std::ranges::find(excluded, machine.name) == excluded.end() &&
        (required.empty() || std::ranges::find(required, machine.name) != required.end()))
      allowed.push_back(machine.name);
  }
  return allowed;
}

/// Leaves out what decides nothing, so that the scheduler can count whole GPUs: a model that all have, and CPUs and memory that
/// are no more than the GPUs' part of any machine. What the last says may be wrong beside jobs that ask for CPUs alone: Slurm
/// then does not start the job, and it is taken back.
void simplify(std::span<const SlurmMachine> machines, sched::Request& request) {
  if (request.gpus == 0) return;
  bool one_model = true;
  bool cpus_bind = false;
  bool memory_binds = false;
  for (const SlurmMachine& machine : machines) {
    const NodeSpec node = node_of(machine);
    if (node.gpus == 0) continue;
    one_model = one_model && request.gpu_models == std::vector{node.gpu_model};
    cpus_bind = cpus_bind || request.cpu_milli * node.gpus > node.cpu_milli * request.gpus;
    memory_binds = memory_binds || request.memory.count() / request.gpus > node.memory.count() / node.gpus;
  }
  if (one_model) request.gpu_models.clear();
  if (!cpus_bind) request.cpu_milli = 0;
  if (!memory_binds) request.memory = {};
}

/// Two of its tasks would fit on one machine: they are told apart, as Slurm counts nodes.
bool could_share_a_node(const sched::Request& request, std::span<const SlurmMachine> machines) {
  return request.gpus == 0 ||
         std::ranges::any_of(machines, [&](const SlurmMachine& m) { return node_of(m).gpus >= 2 * request.gpus; });
}

}  // namespace

Result<SlurmJobOptions> parse_slurm_options(std::string_view comment) {
  SlurmJobOptions options;
  if (!comment.starts_with(kMark)) return options;
  comment.remove_prefix(kMark.size());
  for (const std::string_view part : split(comment, ',')) {
    const size_t equals = part.find('=');
    const std::string_view key = trim(part.substr(0, equals));
    const std::string_view value = equals == std::string_view::npos ? std::string_view() : trim(part.substr(equals + 1));
    Duration* time = key == "checkpoint" ? &options.checkpoint.interval
                     : key == "save"     ? &options.checkpoint.save
                     : key == "restart"  ? &options.checkpoint.restart
                     : key == "grace"    ? &options.grace
                                         : nullptr;
    if (time != nullptr) {
      const auto parsed = parse_duration(value);
      if (!parsed.ok() || *parsed <= Duration()) return invalid("comment: {}={}: give a time such as 10m", key, excerpt(value));
      *time = *parsed;
    } else if (key == "signal" && !value.empty() && value.size() < 16 &&
               std::ranges::all_of(value, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); })) {
      options.signal = value;
    } else if (key == "hold" && value.empty()) {
      options.hold = true;
    } else if (!part.empty()) {
      return invalid("comment: '{}' is none of checkpoint=, save=, restart=, signal=, grace=, hold", excerpt(part));
    }
  }
  return options;
}

SlurmNote parse_slurm_note(std::string_view admin_comment) {
  SlurmNote note;
  if (!admin_comment.starts_with(kNoteMark)) return note;
  for (const std::string_view part : split(admin_comment.substr(kNoteMark.size()), '/')) {
    const size_t equals = part.find('=');
    note.unpaid = note.unpaid || part == "unpaid";
    if (equals == std::string_view::npos) continue;
    const std::string_view key = part.substr(0, equals);
    const std::string_view value = part.substr(equals + 1);
    if (key == "wants") note.wants = value;
    if (key == "launch") note.launch = value;
    std::optional<Instant>* time = key == "placed"   ? &note.placed
                                   : key == "leaves" ? &note.leaves
                                   : key == "rests"  ? &note.rests
                                                     : nullptr;
    constexpr int64_t kLast = 8'000'000'000;  // the year 2223
    const auto number = parse_int(value);
    if (time != nullptr && number && *number > 0 && *number < kLast) *time = Instant::from_seconds(*number);
    if (key == "restarts" && number && *number >= 0 && *number <= INT32_MAX) note.restarts = static_cast<int>(*number);
  }
  return note;
}

SlurmNote note_of(const SlurmEntry& entry) {
  SlurmNote note = parse_slurm_note(entry.admin_comment);
  if (!entry.admin_comment.starts_with("stint")) note.wants = entry.required_nodes;
  return note;
}

std::string to_text(const SlurmNote& note) {
  std::string out = "stint";
  if (note.placed) out += fmt::format("/placed={}", note.placed->seconds());
  if (note.restarts) out += fmt::format("/restarts={}", *note.restarts);
  if (note.leaves) out += fmt::format("/leaves={}", note.leaves->seconds());
  if (note.rests) out += fmt::format("/rests={}", note.rests->seconds());
  if (note.unpaid) out += "/unpaid";
  if (!note.launch.empty()) out += fmt::format("/launch={}", note.launch);
  if (!note.wants.empty()) out += fmt::format("/wants={}", note.wants);
  return out;
}

Result<SlurmWish> wish_of(const SlurmEntry& entry, std::string_view required_nodes, std::span<const SlurmMachine> machines) {
  SlurmWish wish;
  if (entry.heterogeneous) return invalid("it is heterogeneous");
  if (entry.nodes > static_cast<int64_t>(machines.size())) return invalid("it asks for more nodes than there are");
  wish.nodes = static_cast<int32_t>(entry.nodes);
  TRY_ASSIGN(const auto per_node, parse_slurm_gres(entry.per_node));
  for (const SlurmGres& gres : per_node)
    TRY(ask_for(gres, machines, wish.request));
  TRY(spread(entry, machines, wish));
  sched::Request& request = wish.request;
  const int kinds = (request.gpus > 0 ? 1 : 0) + (request.milli > 0 ? 1 : 0) + (request.mig.empty() ? 0 : 1);
  if (kinds > 1) return invalid("it asks for whole GPUs and for parts of GPUs");
  const int64_t cpus = ceil_div(entry.cpus, wish.nodes);
  request.cpu_milli = cpus * 1000;
  request.memory = entry.memory_per_node.count() > 0 ? entry.memory_per_node : entry.memory_per_cpu * cpus;
  TRY_ASSIGN(auto allowed, allowed_on(entry, required_nodes, machines));
  if (entry.exclusive && !allowed.empty()) {
    // All of a machine: those that are as the first one.
    const auto by_name = [&](const std::string& name) { return std::ranges::find(machines, name, &SlurmMachine::name); };
    const SlurmMachine& first = *by_name(allowed.front());
    std::erase_if(
        allowed, [&](const std::string& name) { return by_name(name)->cpus != first.cpus || by_name(name)->gres != first.gres; });
    request.cpu_milli = first.cpus * 1000;
  }
  if (allowed.size() < machines.size()) {
    request.only_allowed_nodes = true;
    request.allowed_nodes = std::move(allowed);
  }
  simplify(machines, request);
  if (wish.nodes > 1 && could_share_a_node(request, machines)) {
    request.labels = {{.key = "job", .value = entry.id}};
    request.anti_affinity = {{.labels = request.labels, .topology_key = "node"}};
  }
  return wish;
}

SlurmWish held_by(const SlurmEntry& entry, size_t nodes, std::span<const SlurmMachine> machines) {
  SlurmWish held;
  held.nodes = static_cast<int32_t>(nodes);
  const auto asked = wish_of(entry, "", machines);
  if (asked.ok() && asked->nodes == held.nodes) {
    held.request.gpus = asked->request.gpus;
    held.request.milli = asked->request.milli;
    held.request.mig = asked->request.mig;
    held.request.cpu_milli = asked->request.cpu_milli;
    held.request.memory = asked->request.memory;
  } else if (const auto tres = parse_tres(entry.allocated); tres.ok() && !tres->mig) {
    held.request.gpus = static_cast<int32_t>(ceil_div(tres->gpus, held.nodes));
  }
  return held;
}

NamedEntries named_entries(std::span<const SlurmEntry> entries) {
  std::map<std::string_view, int64_t> in_play;  // by array: tasks that are jobs of their own
  for (const SlurmEntry& entry : entries)
    if (entry.array_tasks.empty() && !entry.array.empty() && !has_ended(entry.state)) ++in_play[entry.array];
  NamedEntries all;
  for (const SlurmEntry& entry : entries) {
    if (entry.array_tasks.empty()) {
      all.named.emplace_back(&entry, entry.id);
      continue;
    }
    const int64_t open = entry.array_limit > 0 ? std::max<int64_t>(0, entry.array_limit - in_play[entry.array])
                                               : static_cast<int64_t>(kMostTasksAhead);
    const auto tasks = parse_slurm_tasks(entry.array_tasks, static_cast<size_t>(open));
    if (!tasks.ok()) all.notes.push_back(fmt::format("job {}: {}", entry.id, tasks.error().message));
    for (const int64_t task : tasks.ok() ? *tasks : std::vector<int64_t>())
      all.named.emplace_back(&entry, fmt::format("{}_{}", entry.array, task));
  }
  // Ids are given out in this order: an older job has a smaller one.
  std::ranges::stable_sort(all.named, {}, [](const auto& n) { return std::tuple(n.first->submitted, job_number(n.second)); });
  return all;
}

SlurmParts parts_of(const SlurmMachine& machine) {
  for (const char* name : {"shard", "mps"})
    if (const int64_t parts = parts_per_gpu(name, {&machine, 1}); parts > 1) return {.name = name, .per_gpu = parts};
  return {};
}

NodeSpec node_of(const SlurmMachine& machine) {
  NodeSpec node;
  node.name = machine.name;
  node.cpu_milli = machine.cpus * 1000;
  node.memory = machine.memory;
  for (const SlurmGres& gres : machine.gres) {
    if (gres.name != "gpu" || gres.count == 0) continue;
    if (mig_share(gres.type)) {
      node.static_mig.push_back({.profile = gres.type, .count = static_cast<int32_t>(gres.count)});
    } else {
      node.gpus = static_cast<int32_t>(std::min<int64_t>(node.gpus + gres.count, sched::kMaxGpusPerNode));
      node.gpu_model = gres.type;
    }
  }
  return node;
}

}  // namespace stint
