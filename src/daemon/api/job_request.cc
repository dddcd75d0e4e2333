#include "daemon/api/job_request.h"
#include "base/text.h"

#include <simdjson.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/api/job_groups.h"
#include "daemon/api/job_request_fields.h"
#include "daemon/json_fields.h"
#include "daemon/json_values.h"
#include "model/mig_ask.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestName = 200;
constexpr size_t kLongestImage = 500;
constexpr size_t kMostTags = 64;
constexpr size_t kMostWishes = 16;
constexpr int32_t kMostSlowdown = 100'000;

/// Whole seconds as an integer, which is exact; else as a decimal.
Json seconds_of(Duration d) {
  if (d.count_ns() % 1'000'000'000 == 0) return d.whole_seconds();
  return d.to_seconds();
}

bool is_control_free(std::string_view text) {
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

bool is_name(std::string_view text) { return !text.empty() && text.size() <= kLongestName && is_control_free(text); }

bool asks_for_part(const JobRequest& r) { return r.gpu_milli > 0 || r.gpu_memory.count() > 0; }

/// Of places and neighbours.
Status check_wishes(const JobRequest& r) {
  for (const auto& [field, level] :
       {std::pair("required_topology", &r.required_topology), std::pair("preferred_topology", &r.preferred_topology)})
    if (!level->empty() && !is_name(*level))
      return invalid("field '{}' must be a label of machines, such as \"rack\", of at most {} bytes", field, kLongestName);
  if (r.labels.size() > kMostTags || r.affinity.size() > kMostWishes || r.anti_affinity.size() > kMostWishes)
    return invalid("field 'labels' may have {} entries, 'affinity' and 'anti_affinity' {} each", kMostTags, kMostWishes);
  for (const Label& label : r.labels)
    if (!is_name(label.key) || label.key.starts_with(kOwnTags) || !is_control_free(label.value))
      return invalid("field 'labels': '{}' is no name of a label, or its value holds control characters", excerpt(label.key));
  for (const auto& [field, terms] : {std::pair("affinity", &r.affinity), std::pair("anti_affinity", &r.anti_affinity)})
    for (const std::string& term : *terms)
      if (const auto read = parse_neighbour(term); !read.ok()) return invalid("field '{}': {}", field, read.error().message);
  for (const auto& [field, word] : {std::pair("shares_with", &r.shares_with), std::pair("work_kind", &r.work_kind)}) {
    if (!word->empty() && !is_name(*word))
      return invalid("field '{}' must have at most {} bytes and no control characters", field, kLongestName);
    if (!word->empty() && !asks_for_part(r))
      return invalid("field '{}' is of a part of a GPU: give 'gpu_milli' or 'gpu_memory'", field);
  }
  if (!r.makes.empty() && !is_name(r.makes))
    return invalid("field 'makes' must have at most {} bytes and no control characters", kLongestName);
  if (!r.makes.empty() && r.array > 0)
    return invalid("field 'makes' is of one job: of an array all but the first would be skipped");
  return {};
}

Status check_texts(const JobRequest& r) {
  if (r.name.size() > kLongestName || !is_control_free(r.name))
    return invalid("field 'name' must have at most {} bytes and no control characters", kLongestName);
  if (r.study.size() > kLongestName || !is_control_free(r.study))
    return invalid("field 'study' must have at most {} bytes and no control characters", kLongestName);
  if (r.queue.empty()) return invalid("field 'queue' is missing: name a queue of the configuration, such as \"agency/vision\"");
  if (r.command.empty() == r.script.empty()) return invalid("one of the fields 'command' and 'script' must be given");
  if (!r.command.empty() && r.command[0].empty()) return invalid("field 'command': its first word, the program, is empty");
  if (r.script.empty() && !r.arguments.empty())
    return invalid("field 'arguments' is for a script: those of a command stand in 'command'");
  if (r.script.size() > kLongestScript)
    return invalid("field 'script' has {} bytes; {} at most: put it into a file and run that", r.script.size(), kLongestScript);
  if (r.tags.size() > kMostTags) return invalid("field 'tags' has {} entries; {} at most", r.tags.size(), kMostTags);
  for (size_t i = 0; i < r.tags.size(); ++i) {
    if (r.tags[i].first.empty() || !is_control_free(r.tags[i].first) || !is_control_free(r.tags[i].second))
      return invalid("field 'tags': an empty key, or control characters");
    if (i > 0 && r.tags[i - 1].first >= r.tags[i].first) return invalid("field 'tags': key '{}' stands twice", r.tags[i].first);
  }
  for (const auto& [key, value] : r.environment)
    if (key.empty() || key.find('=') != std::string::npos || key.find('\0') != std::string::npos ||
        value.find('\0') != std::string::npos)
      return invalid("field 'environment': '{}' is no name of a variable, or its value holds a NUL", excerpt(key));
  for (const std::string& word : r.command)
    if (word.find('\0') != std::string::npos) return invalid("field 'command' holds a NUL");
  for (const std::string& word : r.arguments)
    if (word.find('\0') != std::string::npos) return invalid("field 'arguments' holds a NUL");
  if (r.script.find('\0') != std::string::npos) return invalid("field 'script' holds a NUL");
  const auto in_image_name = [](char c) { return c > ' ' && c < 0x7f; };
  if (r.image.size() > kLongestImage || !std::ranges::all_of(r.image, in_image_name))
    return invalid("field 'image' must be a name such as \"registry.example.com/train:1\" of at most {} bytes", kLongestImage);
  return check_wishes(r);
}

Status check_numbers(const JobRequest& r) {
  const auto in = [](int64_t value, int64_t least, int64_t most) { return value >= least && value <= most; };
  const int kinds =
      (r.gpus > 0 ? 1 : 0) + (r.gpu_milli > 0 ? 1 : 0) + (r.gpu_memory.count() > 0 ? 1 : 0) + (r.mig_profile.empty() ? 0 : 1);
  if (kinds > 1) return invalid("at most one of the fields 'gpus', 'gpu_milli', 'gpu_memory' and 'mig_profile' may be given");
  if (const auto mig = parse_mig_asks(r.mig_profile); !mig.ok()) return invalid("field 'mig_profile': {}", mig.error().message);
  if (!in(r.gpus, 0, 64)) return invalid("field 'gpus' must be from 0 to 64: of one node; ask for more tasks");
  if (!in(r.gpu_milli, 0, 999)) return invalid("field 'gpu_milli' must be from 1 to 999: thousandths of one GPU");
  if (!in(r.gpu_memory.count(), 0, kMostAmount) || !in(r.memory.count(), 0, kMostAmount) || !in(r.cpu_milli, 0, kMostAmount))
    return invalid("fields 'gpu_memory', 'memory' and 'cpu_milli' must not be below 0");
  if (!in(r.max_slowdown_percent, -1, kMostSlowdown))
    return invalid("field 'max_slowdown_percent' must be from 0 to {}", kMostSlowdown);
  if (r.max_slowdown_percent >= 0 && !asks_for_part(r))
    return invalid("field 'max_slowdown_percent' is of a part of a GPU: give 'gpu_milli' or 'gpu_memory'");
  if (!in(r.tasks, 1, kMostTasks)) return invalid("field 'tasks' must be from 1 to {}", kMostTasks);
  if (!in(r.min_tasks, 0, r.tasks)) return invalid("field 'min_tasks' must be from 1 to 'tasks'");
  if (!in(r.priority, 0, 1000)) return invalid("field 'priority' must be from 0 to 1000");
  if (!in(r.retries, 0, 1000)) return invalid("field 'retries' must be from 0 to 1000");
  if (!in(r.array, 0, kMostOfArray)) return invalid("field 'array' must be from 0 to {}", kMostOfArray);
  if (!in(r.at_once, 0, kMostOfArray)) return invalid("field 'at_once' must be from 0 to {}", kMostOfArray);
  if (r.at_once > 0 && r.array == 0) return invalid("field 'at_once' is of an array: give 'array', too");
  if (!in(r.rungs.first_rung, 1, kMostOfRungs) || !in(r.rungs.most, r.rungs.first_rung, kMostOfRungs))
    return invalid("fields 'rung_first' and 'rung_last' must be from 1 to {}, the first not above the last", kMostOfRungs);
  if (!in(r.rungs.reduction, 2, 1000)) return invalid("field 'rung_reduction' must be from 2 to 1000");
  if (r.study.empty() && r.rungs != sched::TrialRules())
    return invalid("fields 'rung_first', 'rung_last' and 'rung_reduction' are of a study: give 'study', too");
  if (r.time_limit <= Duration()) return invalid("field 'time_limit' must be above 0");
  if (r.expected <= Duration()) return invalid("field 'expected' must be above 0");
  if (r.checkpoint.interval <= Duration()) return invalid("field 'checkpoint_interval' must be above 0");
  if (r.min_runtime < Duration() || r.grace < Duration() || r.simulated_duration < Duration())
    return invalid("a duration is below 0");
  if (r.deferrable && r.deadline == sched::kNever) return invalid("field 'deferrable' needs a 'deadline'");
  if (r.deferrable && r.time_limit == sched::kUnlimited && r.expected == sched::kUnlimited)
    return invalid("field 'deferrable' needs a 'time_limit', or 'expected': how long it runs says which hours are cheapest");
  return {};
}

std::vector<Label> labels_of(JsonFields& fields, std::string_view field) {
  std::vector<Label> labels;
  for (auto& [key, value] : fields.pairs(field))
    labels.push_back({key, value});
  return labels;
}

}  // namespace

Result<sched::AffinityTerm> parse_neighbour(std::string_view text) {
  const size_t at = text.rfind('@');
  sched::AffinityTerm term;
  term.topology_key = at == std::string_view::npos ? "node" : std::string(text.substr(at + 1));
  for (const std::string_view pair : split(text.substr(0, at), ',')) {
    const size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0 || !is_control_free(pair) || pair.starts_with(kOwnTags))
      return invalid("'{}' is not written KEY=VALUE@LABEL, such as \"app=cache@rack\"", excerpt(text));
    term.labels.push_back({std::string(pair.substr(0, equals)), std::string(pair.substr(equals + 1))});
  }
  if (!is_name(term.topology_key)) return invalid("'{}': behind @ a label of machines is missing, such as rack", excerpt(text));
  return term;
}

Status check_request(const JobRequest& request) {
  TRY(check_texts(request));
  TRY(check_groups(request));
  for (const JobGroup& group : request.groups) {
    if (!is_name(group.name)) return invalid("field 'groups': each needs a 'name' of at most {} bytes", kLongestName);
    Status needs = check_wishes(group.each);
    if (needs.ok()) needs = check_numbers(group.each);
    if (!needs.ok()) return invalid("group '{}': {}", excerpt(group.name), needs.error().message);
  }
  return check_numbers(request);
}

namespace {

Json object_of(const JobRequest& r);

Json group_object(const JobGroup& group) {
  Json json = {{"name", group.name}};
  if (!group.within.empty()) json["within"] = group.within;
  json.update(object_of(group.each));
  return json;
}

Json object_of(const JobRequest& r) {
  const JobRequest none;
  Json json = Json::object();
  const auto put = [&](const char* name, const auto& value, const auto& fallback) {
    if (value != fallback) json[name] = value;
  };
  const auto put_duration = [&](const char* name, Duration value, Duration fallback) {
    if (value != fallback) json[name] = seconds_of(value);
  };
  const auto put_instant = [&](const char* name, Instant value, Instant fallback) {
    if (value != fallback) json[name] = format_utc(value);
  };
  put("name", r.name, none.name);
  put("queue", r.queue, none.queue);
  put("user", r.user, none.user);
  if (!r.tags.empty()) json["tags"] = text_object(r.tags);
  put("command", r.command, none.command);
  put("script", r.script, none.script);
  put("arguments", r.arguments, none.arguments);
  put("image", r.image, none.image);
  put("folder", r.folder, none.folder);
  if (!r.environment.empty()) json["environment"] = text_object(r.environment);
  put("output_path", r.output_path, none.output_path);
  put("error_path", r.error_path, none.error_path);
  put("gpus", r.gpus, none.gpus);
  put("gpu_milli", r.gpu_milli, none.gpu_milli);
  put("gpu_memory", r.gpu_memory.count(), none.gpu_memory.count());
  put("mig_profile", r.mig_profile, none.mig_profile);
  put("shares_with", r.shares_with, none.shares_with);
  put("work_kind", r.work_kind, none.work_kind);
  put("max_slowdown_percent", r.max_slowdown_percent, none.max_slowdown_percent);
  put("gpu_models", r.gpu_models, none.gpu_models);
  put("cpu_milli", r.cpu_milli, none.cpu_milli);
  put("memory", r.memory.count(), none.memory.count());
  for (const Label& label : r.node_labels)
    json["node_labels"][label.key] = label.value;
  put("machines", r.machines, none.machines);
  for (const Label& label : r.labels)
    json["labels"][label.key] = label.value;
  put("affinity", r.affinity, none.affinity);
  put("anti_affinity", r.anti_affinity, none.anti_affinity);
  for (const JobGroup& group : r.groups)
    json["groups"].push_back(group_object(group));
  if (r.groups.empty()) put("tasks", r.tasks, none.tasks);
  if (r.groups.empty()) put("min_tasks", r.min_tasks, none.min_tasks);
  put("required_topology", r.required_topology, none.required_topology);
  put("preferred_topology", r.preferred_topology, none.preferred_topology);
  put("priority", r.priority, none.priority);
  put("preemptible", r.preemptible, none.preemptible);
  put("on_hold", r.on_hold, none.on_hold);
  put_duration("time_limit", r.time_limit, none.time_limit);
  put_duration("expected", r.expected, none.expected);
  put_duration("min_runtime", r.min_runtime, none.min_runtime);
  put_instant("not_before", r.not_before, none.not_before);
  put_instant("deadline", r.deadline, none.deadline);
  put("deferrable", r.deferrable, none.deferrable);
  put("retries", r.retries, none.retries);
  put_duration("checkpoint_interval", r.checkpoint.interval, none.checkpoint.interval);
  put_duration("checkpoint_save", r.checkpoint.save, none.checkpoint.save);
  put_duration("checkpoint_restart", r.checkpoint.restart, none.checkpoint.restart);
  put_duration("grace", r.grace, none.grace);
  put("after", r.after, none.after);
  put("makes", r.makes, none.makes);
  put("array", r.array, none.array);
  put("at_once", r.at_once, none.at_once);
  put("study", r.study, none.study);
  put("rung_first", r.rungs.first_rung, none.rungs.first_rung);
  put("rung_last", r.rungs.most, none.rungs.most);
  put("rung_reduction", r.rungs.reduction, none.rungs.reduction);
  put_duration("simulated_duration", r.simulated_duration, none.simulated_duration);
  return json;
}

}  // namespace

std::string to_json(const JobRequest& r) { return object_of(r).dump(-1, ' ', false, Json::error_handler_t::replace); }

namespace {

/// Texts and numbers, as they are.
std::vector<std::string> names_in(JsonFields& fields, const char* field) {
  std::vector<std::string> names;
  if (!fields.has(field)) return names;
  simdjson::dom::array list;
  if (fields.raw(field).get_array().get(list) != simdjson::SUCCESS) {
    fields.wrong(field, "a list of jobs");
    return names;
  }
  for (const simdjson::dom::element item : list) {
    std::string_view text;
    int64_t number = 0;
    if (item.get_string().get(text) == simdjson::SUCCESS)
      names.emplace_back(text);
    else if (item.get_int64().get(number) == simdjson::SUCCESS)
      names.push_back(std::to_string(number));
    else
      fields.wrong(field, "a list of jobs such as \"agency-17\"");
  }
  return names;
}

int32_t small(JsonFields& fields, const char* name, int64_t most, int32_t fallback) {
  return static_cast<int32_t>(fields.integer(name, 0, most, fallback));
}

/// Of a task, and how many there are together.
void read_needs(JsonFields& fields, JobRequest& r) {
  const JobRequest none;
  r.gpus = small(fields, "gpus", INT32_MAX, none.gpus);
  r.gpu_milli = small(fields, "gpu_milli", INT32_MAX, none.gpu_milli);
  r.gpu_memory = fields.size("gpu_memory", none.gpu_memory);
  r.mig_profile = fields.text("mig_profile");
  r.shares_with = fields.text("shares_with");
  r.work_kind = fields.text("work_kind");
  r.max_slowdown_percent = small(fields, "max_slowdown_percent", INT32_MAX, none.max_slowdown_percent);
  r.gpu_models = fields.texts("gpu_models");
  r.cpu_milli = fields.integer("cpu_milli", 0, kMostAmount, none.cpu_milli);
  r.memory = fields.size("memory", none.memory);
  r.node_labels = labels_of(fields, "node_labels");
  r.tasks = small(fields, "tasks", INT32_MAX, none.tasks);
  r.min_tasks = small(fields, "min_tasks", INT32_MAX, none.min_tasks);
  r.required_topology = fields.text("required_topology");
  r.preferred_topology = fields.text("preferred_topology");
}

Status read_groups(JsonFields& fields, JobRequest& r) {
  const Status read = fields.each_object("groups", [&](simdjson::dom::element element, const std::string& where) -> Status {
    JsonFields one(element, where);
    JobGroup& group = r.groups.emplace_back();
    group.name = one.text("name");
    group.within = one.text("within");
    read_needs(one, group.each);
    return one.finish();
  });
  TRY(read);
  if (!r.groups.empty() && (fields.has("tasks") || fields.has("min_tasks")))
    return invalid("{}: fields 'tasks' and 'min_tasks' are the sums of the groups': leave them out", fields.where());
  sum_up_groups(r);
  return {};
}

/// @param after_names  where `after` goes when it has names; nullptr: it has ids.
Result<JobRequest> read_fields(simdjson::dom::element json, std::vector<std::string>* after_names) {
  const JobRequest none;
  JsonFields fields(json, "job request");
  JobRequest r;
  r.name = fields.text("name");
  r.queue = fields.text("queue");
  r.user = fields.text("user");
  r.tags = fields.pairs("tags");
  std::ranges::sort(r.tags);
  r.command = fields.texts("command");
  r.script = fields.text("script");
  r.arguments = fields.texts("arguments");
  r.image = fields.text("image");
  r.folder = fields.text("folder");
  r.environment = fields.pairs("environment");
  r.output_path = fields.text("output_path");
  r.error_path = fields.text("error_path");
  read_needs(fields, r);
  r.machines = fields.texts("machines");
  r.labels = labels_of(fields, "labels");
  r.affinity = fields.texts("affinity");
  r.anti_affinity = fields.texts("anti_affinity");
  TRY(read_groups(fields, r));
  r.priority = small(fields, "priority", INT32_MAX, none.priority);
  r.preemptible = fields.flag("preemptible", none.preemptible);
  r.on_hold = fields.flag("on_hold", none.on_hold);
  r.time_limit = fields.duration("time_limit", none.time_limit);
  r.expected = fields.duration("expected", none.expected);
  r.min_runtime = fields.duration("min_runtime", none.min_runtime);
  r.not_before = fields.instant("not_before", none.not_before);
  r.deadline = fields.instant("deadline", none.deadline);
  r.deferrable = fields.flag("deferrable", none.deferrable);
  r.retries = small(fields, "retries", INT32_MAX, none.retries);
  r.checkpoint.interval = fields.duration("checkpoint_interval", none.checkpoint.interval);
  r.checkpoint.save = fields.duration("checkpoint_save", none.checkpoint.save);
  r.checkpoint.restart = fields.duration("checkpoint_restart", none.checkpoint.restart);
  r.grace = fields.duration("grace", none.grace);
  if (after_names == nullptr)
    r.after = fields.integers("after", 1, UINT32_MAX);
  else
    *after_names = names_in(fields, "after");
  r.makes = fields.text("makes");
  r.array = small(fields, "array", INT32_MAX, none.array);
  r.at_once = small(fields, "at_once", INT32_MAX, none.at_once);
  r.study = fields.text("study");
  r.rungs.first_rung = fields.integer("rung_first", 0, kMostOfRungs, none.rungs.first_rung);
  r.rungs.most = fields.integer("rung_last", 0, kMostOfRungs, none.rungs.most);
  r.rungs.reduction = fields.integer("rung_reduction", 0, kMostOfRungs, none.rungs.reduction);
  r.simulated_duration = fields.duration("simulated_duration", none.simulated_duration);
  TRY(fields.finish());
  return r;
}

Result<JobRequest> parse(std::string_view json, std::vector<std::string>* after_names) {
  JsonParser parser;
  TRY_ASSIGN(const simdjson::dom::element element, parser.parse(json, "job request"));
  TRY_ASSIGN(JobRequest request, read_fields(element, after_names));
  if (const Status checked = check_request(request); !checked.ok()) return invalid("job request: {}", checked.error().message);
  return request;
}

}  // namespace

Result<JobRequest> read_job_request(simdjson::dom::element json) { return read_fields(json, nullptr); }
Result<JobRequest> parse_job_request(std::string_view json) { return parse(json, nullptr); }
Result<JobRequest> parse_job_request(std::string_view json, std::vector<std::string>& after) { return parse(json, &after); }

}  // namespace stint
