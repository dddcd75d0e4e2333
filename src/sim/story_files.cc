// The files of a story, in the order of their import: who is who first, then what ran, then what it cost.
#include <algorithm>
#include <memory>
#include <set>

#include "sim/story.h"
#include "sim/story_bill.h"
#include "sim/story_tables.h"
#include "sim/story_telemetry.h"

namespace stint {
namespace {

/// What the writers work on; every file holds a share of it.
struct Source {
  Source(const Story& told, uint64_t seed) : story(told), trace(story, seed) {}
  Story story;
  StoryTrace trace;
};
using SharedSource = std::shared_ptr<const Source>;

void add_telemetry(std::vector<StoryFile>& files, const SharedSource& source) {
  bool prometheus = false;
  for (size_t n = 0; n < source->story.nodes.size(); ++n) {
    const StoryNode& node = source->story.nodes[n];
    const std::string& name = node.node.name;
    switch (node.telemetry) {
      case StoryTelemetry::kNvidiaSmi:
        files.push_back({"nvidia-smi/" + name + ".csv", "nvidia-smi", name,
                         [source, n](const TextOut& out) { write_nvidia_smi(source->story, source->trace, n, out); }});
        break;
      case StoryTelemetry::kDcgmText:
        files.push_back({"dcgm/" + name + ".prom", "dcgm", name,
                         [source, n](const TextOut& out) { write_dcgm_text(source->story, source->trace, n, out); }});
        break;
      case StoryTelemetry::kPrometheus: prometheus = true; break;
    }
  }
  if (!prometheus) return;
  for (const std::string_view metric : kStoryDcgmMetrics)
    files.push_back({"prometheus/" + std::string(metric) + ".json", "prometheus", "",
                     [source, metric](const TextOut& out) { write_prometheus(source->story, source->trace, metric, out); }});
}

/// "2026-10"
std::string month_name(const Story& story) { return format_utc(story.period.begin).substr(0, 7); }

void add_bills(std::vector<StoryFile>& files, const SharedSource& source) {
  const std::string month = month_name(source->story);
  std::set<std::string> providers;
  for (const StoryNode& node : source->story.nodes)
    providers.insert(node.node.provider);
  // A company on AWS alone exports FOCUS; where AWS is one of several, its classic report is what people have.
  const bool alone = providers.size() == 1;
  for (const std::string& provider : providers) {
    const FocusVersion version = provider == "gcp" ? FocusVersion::k1_0 : FocusVersion::k1_2;
    if (provider == "aws" && !alone)
      files.push_back(
          {"bills/aws-cur-" + month + ".csv", "cur", "", [source](const TextOut& out) { write_cur(source->story, out); }});
    else
      files.push_back({"bills/" + provider + "-focus-" + month + ".csv", "focus", "",
                       [source, provider, version](const TextOut& out) { write_focus(source->story, provider, version, out); }});
  }
}

}  // namespace

std::vector<StoryFile> files_of(const Story& story, uint64_t seed) {
  const SharedSource source = std::make_shared<const Source>(story, seed);
  std::vector<StoryFile> files;
  files.push_back({"inventory.csv", "inventory", "", [source](const TextOut& out) { write_inventory(source->story, out); }});
  files.push_back({"tenants.csv", "tenants", "", [source](const TextOut& out) { write_tenants(source->story, out); }});
  if (!story.runs.empty())
    files.push_back(
        {"sacct-" + month_name(story) + ".txt", "sacct", "", [source](const TextOut& out) { write_sacct(source->story, out); }});
  add_telemetry(files, source);
  add_bills(files, source);
  if (!story.folder.empty())
    for (StoryFile& file : files)
      file.path = story.folder + "/" + file.path;
  return files;
}

}  // namespace stint
