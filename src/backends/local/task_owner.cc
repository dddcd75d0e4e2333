#include "backends/local/task_owner.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "backends/local/task_folder.h"
#include "base/text.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

/// Longer chains are no process tree.
constexpr int kMostParents = 64;

}  // namespace

std::string program_of(int64_t pid) { return std::string(trim(read_kernel_file(fmt::format("/proc/{}/comm", pid)))); }

void TaskOwners::read_leaders() {
  std::set<std::string> there;
  std::error_code failed;
  for (fs::directory_iterator it(state_folder_ + "/tasks", failed), end; !failed && it != end; it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const auto key = parse_key(name);
    if (!key) continue;
    there.insert(name);
    if (known_.contains(name)) continue;
    const auto started = TaskFolder(it->path().string()).started();
    if (!started.ok() || !*started || (*started)->when.boot_id != boot_id()) continue;
    known_[name] = (*started)->pid;
    leaders_[(*started)->pid] = {*key, (*started)->start_ticks};
  }
  for (auto it = known_.begin(); it != known_.end();) {
    if (there.contains(it->first)) {
      ++it;
      continue;
    }
    const auto leader = leaders_.find(it->second);
    if (leader != leaders_.end() && format_key(leader->second.key) == it->first) leaders_.erase(leader);
    it = known_.erase(it);
  }
}

/// Of the task that this process was the first of. Its number may have gone to another process since.
std::optional<LaunchKey> TaskOwners::leads(int64_t pid) const {
  const auto it = leaders_.find(pid);
  if (it == leaders_.end()) return std::nullopt;
  const auto ticks = start_ticks_of(pid);
  // While a session has members its number is given to no other process: a leader that is gone is still the one.
  return !ticks || *ticks == it->second.start_ticks ? std::optional(it->second.key) : std::nullopt;
}

std::optional<LaunchKey> TaskOwners::owner_of(int64_t pid) {
  read_leaders();
  int64_t at = pid;
  for (int steps = 0; steps < kMostParents && at > 1; ++steps) {
    const auto place = place_of_process(at);
    if (!place) break;
    if (const auto key = leads(place->session)) return key;
    at = place->parent;
  }
  const std::string environment = read_kernel_file(fmt::format("/proc/{}/environ", pid));
  const std::string mark = fmt::format("STINT_LAUNCH={}/tasks/", state_folder_);
  for (const std::string_view variable : split(environment, '\0'))
    if (variable.starts_with(mark)) return parse_key(variable.substr(mark.size()));
  return std::nullopt;
}

}  // namespace stint
