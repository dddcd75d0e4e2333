#include "daemon/engine/pipeline.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_mistake.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;

/// As deep as any request may be: nesting is the parser's stack.
bool too_deep(std::string_view json) {
  int depth = 0, deepest = 0;
  for (const char c : json) {
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest > kDeepestJson;
}

struct NamedStage {
  JobRequest request;
  std::vector<std::string> after;
};

/// The job's own fields, then those that hold for all.
Result<NamedStage> read_stage(Json job, const Json& shared, size_t number) {
  if (!job.is_object()) return invalid("pipeline: jobs {}: no object", number);
  NamedStage stage;
  if (const auto after = job.find("after"); after != job.end()) {
    if (!after->is_array()) return invalid("pipeline: jobs {}: field 'after' must be a list of names of its stages", number);
    for (const Json& name : *after) {
      if (!name.is_string()) return invalid("pipeline: jobs {}: field 'after' must be a list of names of its stages", number);
      stage.after.push_back(name.get<std::string>());
    }
    job.erase(after);
  }
  for (const auto& [field, value] : shared.items())
    if (!job.contains(field)) job[field] = value;
  Result<JobRequest> request = parse_job_request(job.dump(-1, ' ', false, Json::error_handler_t::replace));
  if (!request.ok()) return invalid("pipeline: jobs {}: {}", number, request.error().message);
  if (request->name.empty())
    return invalid("pipeline: jobs {}: field 'name' is missing: stages wait for each other by name", number);
  stage.request = std::move(request).value();
  return stage;
}

}  // namespace

Result<std::vector<PipelineStage>> parse_pipeline(std::string_view text) {
  if (too_deep(text)) return invalid("pipeline: nested more than {} deep", kDeepestJson);
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return invalid("pipeline: not valid JSON: {}", json_mistake(text));
  if (!json.is_object()) return invalid("pipeline: no JSON object");
  Json shared = Json::object();
  for (const auto& [field, value] : json.items()) {
    if (field == "queue" || field == "user" || field == "tags")
      shared[field] = value;
    else if (field == "name" ? !value.is_string() : field != "jobs")
      return invalid("pipeline: field '{}' is not known here: give name, queue, user, tags and jobs", excerpt(field));
  }
  const auto jobs = json.find("jobs");
  if (jobs == json.end() || !jobs->is_array() || jobs->empty() || jobs->size() > kMostStages)
    return invalid("pipeline: field 'jobs' must be a list of 1 to {} jobs", kMostStages);
  std::vector<NamedStage> named;
  std::map<std::string, size_t, std::less<>> places;
  for (const Json& job : *jobs) {
    TRY_ASSIGN(NamedStage stage, read_stage(job, shared, named.size() + 1));
    if (!places.emplace(stage.request.name, named.size()).second)
      return invalid("pipeline: stage '{}' stands twice", excerpt(stage.request.name));
    named.push_back(std::move(stage));
  }
  // Again and again the first that waits for nothing that is not in line yet.
  std::vector<PipelineStage> stages;
  std::vector<size_t> line_of(named.size(), SIZE_MAX);
  for (bool moved = true; moved && stages.size() < named.size();) {
    moved = false;
    for (size_t i = 0; i < named.size(); ++i) {
      if (line_of[i] != SIZE_MAX) continue;
      PipelineStage stage;
      bool ready = true;
      for (const std::string& name : named[i].after) {
        const auto place = places.find(name);
        if (place == places.end())
          return invalid("pipeline: stage '{}' waits for '{}', which is not in it", named[i].request.name, excerpt(name));
        ready = ready && line_of[place->second] != SIZE_MAX;
        if (ready) stage.after.push_back(line_of[place->second]);
      }
      if (!ready) continue;
      line_of[i] = stages.size();
      stage.request = std::move(named[i].request);
      stages.push_back(std::move(stage));
      moved = true;
    }
  }
  if (stages.size() == named.size()) return stages;
  const auto stuck = std::ranges::find(line_of, SIZE_MAX);
  return invalid("pipeline: stage '{}' waits, over others, for itself",
                 named[static_cast<size_t>(stuck - line_of.begin())].request.name);
}

}  // namespace stint
