#include "backends/local/cgroup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "host/descriptor.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr int64_t kPeriodMicroseconds = 100'000;

/// The kernel takes a value in one write or not at all.
bool write_control(const std::string& path, std::string_view value) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.valid() && ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

/// A group that has processes itself hands no controllers down, unless it is the root, which has no type.
void make_room_in(const std::string& group) {
  if (::access((group + "/cgroup.type").c_str(), F_OK) != 0) return;
  const std::string members = read_kernel_file(group + "/cgroup.procs");
  const auto pids = split(members, '\n');
  if (std::find(pids.begin(), pids.end(), std::to_string(::getpid())) == pids.end()) return;
  const std::string beside = group + "/daemon";
  if (::mkdir(beside.c_str(), 0755) == 0 || errno == EEXIST) (void)write_control(beside + "/cgroup.procs", "0");
}

bool lists(const std::string& text, std::string_view word) {
  const auto words = split(trim(text), ' ');
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

Result<CgroupTree> CgroupTree::open(const std::string& folder) {
  const std::filesystem::path path(folder);
  const auto refuse = [&](std::string_view why) {
    return make_error(ErrorCode::kUnavailable,
                      "{}: {}: name a folder of the cgroup v2 tree that this user may write, as systemd's Delegate=yes gives one",
                      folder, why);
  };
  const std::string parent = path.parent_path().string();
  if (::access((path / "cgroup.procs").c_str(), F_OK) != 0) {
    if (::access((parent + "/cgroup.procs").c_str(), F_OK) != 0) return refuse("is not in a cgroup v2 tree");
    if (::mkdir(folder.c_str(), 0755) != 0) return refuse(std::strerror(errno));
  }
  if (::access(folder.c_str(), W_OK) != 0 || ::access((path / "cgroup.procs").c_str(), W_OK) != 0)
    return refuse(std::strerror(errno));
  make_room_in(parent);
  // One by one: a refused controller must not keep the others back.
  for (const std::string& level : {parent, folder})
    for (const std::string_view controller : {"+cpu", "+memory", "+pids"})
      (void)write_control(level + "/cgroup.subtree_control", controller);
  const std::string handed_down = read_kernel_file(folder + "/cgroup.subtree_control");
  return CgroupTree{.folder = folder,
                    .limits_cpu = lists(handed_down, "cpu"),
                    .limits_memory = lists(handed_down, "memory"),
                    .limits_processes = lists(handed_down, "pids")};
}

Status TaskCgroup::create(int64_t cpu_milli, Bytes memory, int64_t processes) const {
  if (!present()) return {};
  if (::mkdir(folder_.c_str(), 0755) != 0 && errno != EEXIST)
    return make_error(ErrorCode::kUnavailable, "{}: cannot be made: {}", folder_, std::strerror(errno));
  const auto set = [&](const char* name, const std::string& value) -> Status {
    const std::string path = folder_ + "/" + name;
    if (::access(path.c_str(), F_OK) != 0 || write_control(path, value)) return {};
    return make_error(ErrorCode::kUnavailable, "{}: does not take '{}': {}", path, value, std::strerror(errno));
  };
  if (cpu_milli > 0) TRY(set("cpu.max", fmt::format("{} {}", cpu_milli * kPeriodMicroseconds / 1000, kPeriodMicroseconds)));
  if (memory > Bytes()) {
    TRY(set("memory.max", std::to_string(memory.count())));
    // Memory moved out to disk would be a way around the limit.
    TRY(set("memory.swap.max", "0"));
    TRY(set("memory.oom.group", "1"));
  }
  if (processes > 0) TRY(set("pids.max", std::to_string(processes)));
  return {};
}

bool TaskCgroup::limits_memory() const { return present() && ::access((folder_ + "/memory.max").c_str(), F_OK) == 0; }

bool TaskCgroup::limits_processes() const { return present() && ::access((folder_ + "/pids.max").c_str(), F_OK) == 0; }

bool TaskCgroup::enter() const { return !present() || write_control(folder_ + "/cgroup.procs", "0"); }

void TaskCgroup::kill_all() const {
  if (present()) (void)write_control(folder_ + "/cgroup.kill", "1");
}

std::vector<int64_t> TaskCgroup::processes() const {
  std::vector<int64_t> pids;
  if (!present()) return pids;
  const std::string text = read_kernel_file(folder_ + "/cgroup.procs");
  for (const std::string_view line : split(text, '\n'))
    if (const auto pid = parse_int(line)) pids.push_back(*pid);
  return pids;
}

int64_t TaskCgroup::out_of_memory_kills() const {
  if (!present()) return 0;
  const std::string text = read_kernel_file(folder_ + "/memory.events");
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with("oom_kill ")) return parse_int(line.substr(9)).value_or(0);
  return 0;
}

void TaskCgroup::remove() const {
  if (present()) (void)::rmdir(folder_.c_str());
}

}  // namespace stint
