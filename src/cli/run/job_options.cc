#include "cli/run/job_options.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;
using K = JobFlagKind;

constexpr std::array kFlags = {
    JobFlag{"--name", "name", K::kText, "the job's name; else the command's first word"},
    JobFlag{"--queue", "queue", K::kText, "queue, such as agency/vision"},
    JobFlag{"--user", "user", K::kText, "on whose behalf; for admins of the client"},
    JobFlag{"--tag", "tags", K::kPairs, "KEY=VALUE, for bills and rules; repeatable"},
    JobFlag{"--image", "image", K::kText, "of a container to run in, where the daemon's engine is a Kubernetes"},
    JobFlag{"--folder", "folder", K::kText, "to run in; else where you are, in an image its own"},
    JobFlag{"--env", "environment", K::kPairs, "NAME=VALUE for the job's environment; repeatable"},
    JobFlag{"--output", "output_path", K::kText, "file for what it prints; else kept with the job, for `stint logs`"},
    JobFlag{"--error", "error_path", K::kText, "file for its errors; likewise"},
    JobFlag{"--gpus", "gpus", K::kInteger, "GPUs of each task, on one machine"},
    JobFlag{"--gpu-milli", "gpu_milli", K::kInteger, "thousandths of one GPU, in place of --gpus"},
    JobFlag{"--gpu-memory", "gpu_memory", K::kText, "memory of one GPU, such as 20GiB, in place of --gpus"},
    JobFlag{"--mig", "mig_profile", K::kText, "MIG profile, such as 1g.10gb or \"2x1g.10gb 3g.40gb\", in place of --gpus"},
    JobFlag{"--shares-with", "shares_with", K::kText,
            "of a part of a GPU: a word of yours; beside parts of your client's jobs with the same one alone"},
    JobFlag{"--work-kind", "work_kind", K::kText,
            "of a part of a GPU: what the operator calls such work, where it was measured who slows whom"},
    JobFlag{"--max-slowdown-percent", "max_slowdown_percent", K::kInteger,
            "of a part of a GPU: neighbours on it may slow it by so much together; else by any"},
    JobFlag{"--gpu-model", "gpu_models", K::kTexts, "any of these models; repeatable"},
    JobFlag{"--cpu-milli", "cpu_milli", K::kInteger, "thousandths of a core for each task"},
    JobFlag{"--memory", "memory", K::kText, "host memory of each task, such as 64GiB"},
    JobFlag{"--node-label", "node_labels", K::kPairs, "KEY=VALUE that the machine must carry; repeatable"},
    JobFlag{"--label", "labels", K::kPairs, "KEY=VALUE by which neighbours know its tasks; repeatable"},
    JobFlag{"--affinity", "affinity", K::kTextList, "only where a task with these labels is: app=cache@rack; repeatable"},
    JobFlag{"--anti-affinity", "anti_affinity", K::kTextList, "only where none is, and none comes: app=train@node; repeatable"},
    JobFlag{
        "--group", "groups", K::kGroups,
        "of a gang whose tasks differ: NAME:FIELD=VALUE,… such as trainers:tasks=4,gpus=8,required_topology=rack; repeatable"},
    JobFlag{"--tasks", "tasks", K::kInteger, "tasks that start together"},
    JobFlag{"--min-tasks", "min_tasks", K::kInteger, "fewer never run"},
    JobFlag{"--required-topology", "required_topology", K::kText,
            "all tasks on machines with the same value of this label: rack, zone, gpu_model; else it waits"},
    JobFlag{"--preferred-topology", "preferred_topology", K::kText, "likewise where that fits"},
    JobFlag{"--priority", "priority", K::kInteger, "0 to 1000, higher first; 50 when not given"},
    JobFlag{"--not-preemptible", "preemptible", K::kFalse, "never stopped for others"},
    JobFlag{"--hold", "on_hold", K::kTrue, "wait for `stint release`"},
    JobFlag{"--time-limit", "time_limit", K::kText, "such as 4h: stopped then"},
    JobFlag{"--expected", "expected", K::kText, "how long it will run, where you know"},
    JobFlag{"--min-runtime", "min_runtime", K::kText, "not stopped for others before"},
    JobFlag{"--not-before", "not_before", K::kText, "such as 2026-10-01T20:00:00Z"},
    JobFlag{"--deadline", "deadline", K::kText, "should have ended by then"},
    JobFlag{"--deferrable", "deferrable", K::kTrue,
            "may wait for a cheaper hour as long as its deadline holds; needs --time-limit"},
    JobFlag{"--retries", "retries", K::kInteger, "starts again after so many failures"},
    JobFlag{"--checkpoint-interval", "checkpoint_interval", K::kText, "how often it saves: what it loses when stopped"},
    JobFlag{"--checkpoint-save", "checkpoint_save", K::kText, "how long saving takes"},
    JobFlag{"--checkpoint-restart", "checkpoint_restart", K::kText, "how long starting again takes"},
    JobFlag{"--grace", "grace", K::kText, "between the request to leave and the end by force"},
    JobFlag{"--after", "after", K::kTexts, "starts when these jobs have succeeded: agency-17,agency-18"},
    JobFlag{"--makes", "makes", K::kText, "what it leaves, in a word of yours: skipped when a job of that word has succeeded"},
    JobFlag{"--array", "array", K::kInteger, "so many jobs alike, told apart by STINT_ARRAY_INDEX"},
    JobFlag{"--at-once", "at_once", K::kInteger, "of an array: so many at a time"},
    JobFlag{"--study", "study", K::kText, "of a search: a trial of it, stopped when it is hopeless (stint trial)"},
    JobFlag{"--rung-first", "rung_first", K::kInteger,
            "of its study: epochs (or the like) before the first report; 1 when not given"},
    JobFlag{"--rung-last", "rung_last", K::kInteger, "of its study: epochs of a finished trial; 81 when not given"},
    JobFlag{"--rung-reduction", "rung_reduction", K::kInteger,
            "of its study: 1 in so many goes on at each rung; 3 when not given"},
    JobFlag{"--simulated-duration", "simulated_duration", K::kText, "on simulated machines it runs this long"},
};

bool takes_value(const JobFlag& flag) { return flag.kind != K::kTrue && flag.kind != K::kFalse; }

const JobFlag* find_flag(std::string_view name) {
  const auto found = std::find_if(kFlags.begin(), kFlags.end(), [name](const JobFlag& f) { return f.flag == name; });
  return found == kFlags.end() ? nullptr : &*found;
}

Result<int64_t> integer(const JobFlag& flag, std::string_view text) {
  const auto value = parse_int(text);
  if (!value) return invalid("{}: '{}' is no integer", flag.flag, excerpt(text));
  return *value;
}

void put_list(const std::vector<std::string>& values, Json& field) {
  field = Json::array();
  for (const std::string& value : values)
    for (const std::string_view part : split(value, ','))
      field.push_back(trim(part));
}

Status put_pairs(const JobFlag& flag, const std::vector<std::string>& values, Json& field) {
  field = Json::object();
  for (const std::string& value : values) {
    const size_t equals = value.find('=');
    if (equals == std::string::npos || equals == 0) return invalid("{}: '{}': give KEY=VALUE", flag.flag, excerpt(value));
    field[value.substr(0, equals)] = value.substr(equals + 1);
  }
  return {};
}

/// A part of the text as the field's JSON.
Status put_in_group(std::string_view part, Json& group) {
  const size_t equals = part.find('=');
  const std::string_view field = trim(part.substr(0, equals));
  const std::string_view value = equals == std::string_view::npos ? std::string_view() : trim(part.substr(equals + 1));
  if (field.empty() || value.empty()) return invalid("--group: '{}': give FIELD=VALUE, such as gpus=8", excerpt(part));
  constexpr std::string_view kLabel = "node_labels.";
  constexpr std::array<std::string_view, 6> kCounts = {"tasks",     "min_tasks", "gpus",
                                                       "gpu_milli", "cpu_milli", "max_slowdown_percent"};
  if (field.starts_with(kLabel))
    group["node_labels"][std::string(field.substr(kLabel.size()))] = value;
  else if (field == "gpu_models")
    for (const std::string_view model : split(value, '|'))
      group["gpu_models"].push_back(trim(model));
  else if (const auto number = parse_int(value); number && std::ranges::find(kCounts, field) != kCounts.end())
    group[std::string(field)] = *number;
  else
    group[std::string(field)] = value;
  return {};
}

Status put_groups(const std::vector<std::string>& values, Json& field) {
  field = Json::array();
  for (const std::string& value : values) {
    const size_t colon = value.find(':');
    Json group = {{"name", trim(std::string_view(value).substr(0, colon))}};
    if (colon != std::string::npos)
      for (const std::string_view part : split(std::string_view(value).substr(colon + 1), ','))
        TRY(put_in_group(part, group));
    field.push_back(std::move(group));
  }
  return {};
}

Status put(const JobFlag& flag, const std::vector<std::string>& values, Json& request) {
  Json& field = request[std::string(flag.field)];
  switch (flag.kind) {
    case K::kTrue: field = true; return {};
    case K::kFalse: field = false; return {};
    case K::kPairs: return put_pairs(flag, values, field);
    case K::kTexts: put_list(values, field); return {};
    case K::kGroups: return put_groups(values, field);
    case K::kTextList: field = values; return {};
    case K::kText: field = values.back(); return {};
    case K::kInteger: {
      TRY_ASSIGN(const int64_t number, integer(flag, values.back()));
      field = number;
      return {};
    }
  }
  return {};
}

}  // namespace

std::span<const JobFlag> job_flags() { return kFlags; }

Result<JobValues> job_values_of_script(std::string_view script, std::string_view source) {
  TRY_ASSIGN(const std::vector<ScriptWord> words, read_script_options(script, source));
  JobValues values;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i].text;
    const std::string_view name = word.substr(0, word.find('='));
    const JobFlag* flag = find_flag(name);
    if (flag == nullptr)
      return invalid("{}:{}: '{}' is no flag of `stint submit`: its --help lists them", source, words[i].line, excerpt(word));
    std::string value;
    if (name.size() < word.size()) {
      if (!takes_value(*flag)) return invalid("{}:{}: {} takes no value", source, words[i].line, flag->flag);
      value = word.substr(name.size() + 1);
    } else if (takes_value(*flag)) {
      if (i + 1 == words.size()) return invalid("{}:{}: {} lacks its value", source, words[i].line, flag->flag);
      value = words[++i].text;
    }
    values[std::string(flag->flag)].push_back(std::move(value));
  }
  return values;
}

Result<Json> job_request_json(const JobValues& under, const JobValues& over) {
  Json request = Json::object();
  for (const JobFlag& flag : kFlags) {
    const JobValues& source = over.contains(flag.flag) ? over : under;
    const auto given = source.find(flag.flag);
    if (given != source.end()) TRY(put(flag, given->second, request));
  }
  return request;
}

}  // namespace stint
