#include "backends/local/device_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "backends/system_error.h"
#include "base/text.h"
#include "host/descriptor.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr std::string_view kController = "devices";
constexpr uint32_t kMajors = 512;  // Linux: include/linux/fs.h, CHRDEV_MAJOR_MAX

bool names_controller(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::ranges::find(words, word) != words.end();
}

/// Where the hierarchy is mounted. /proc/mounts: what, where, kind, options.
std::string mounted_at() {
  const std::string mounts = read_kernel_file("/proc/mounts");
  for (const std::string_view line : split(mounts, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() > 3 && words[2] == "cgroup" && names_controller(words[3], kController)) return std::string(words[1]);
  }
  return "";
}

/// This process's place in it. /proc/self/cgroup: "5:devices:/system.slice/stint.service".
std::string own_place() {
  const std::string groups = read_kernel_file("/proc/self/cgroup");
  for (const std::string_view line : split(groups, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() > 2 && names_controller(parts[1], kController)) return parts[2] == "/" ? "" : std::string(parts[2]);
  }
  return "";
}

bool write_line(const Descriptor& file, std::string_view line) {
  return file.valid() && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

Descriptor open_control(const std::string& path) { return Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC)); }

}  // namespace

Result<std::string> find_device_groups() {
  const std::string root = mounted_at();
  if (root.empty()) return make_error(ErrorCode::kUnavailable, "no device controller of cgroup version 1 is mounted");
  std::string folder = root + own_place();
  // In a container the place may be told as the machine sees it.
  if (::access(folder.c_str(), F_OK) != 0) folder = root;
  const DeviceNumber any{195, 0};
  const std::string trial = fmt::format("{}/stint-trial-{}", folder, ::getpid());
  TRY(make_device_group(trial, {any}, {any}));
  remove_device_group(trial);
  return folder;
}

Status make_device_group(const std::string& group, const std::vector<DeviceNumber>& guarded,
                         const std::vector<DeviceNumber>& allowed) {
  if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) return system_error(group, "cannot be made");
  std::set<uint32_t> majors;
  for (const DeviceNumber& device : guarded)
    majors.insert(device.major);
  const auto refuse = [&](const std::string& line) {
    const Error refused = system_error(group, fmt::format("does not take '{}'", line));
    remove_device_group(group);
    return refused;
  };
  // Exceptions from "all" are taken back one by one alone, so nothing is allowed first, then all majors but those guarded.
  if (!write_line(open_control(group + "/devices.deny"), "a")) return refuse("a");
  const Descriptor allow = open_control(group + "/devices.allow");
  // Where the group above lacks one, so does this.
  (void)write_line(allow, "b *:* rwm");
  for (uint32_t major = 0; major < kMajors; ++major)
    if (!majors.contains(major)) (void)write_line(allow, fmt::format("c {}:* rwm", major));
  for (const DeviceNumber& device : allowed)
    if (const std::string line = fmt::format("c {}:{} rwm", device.major, device.minor); !write_line(allow, line))
      return refuse(line);
  return {};
}

bool enter_device_group(const std::string& group) {
  return group.empty() || write_line(open_control(group + "/cgroup.procs"), "0");
}

void remove_device_group(const std::string& group) {
  if (!group.empty()) (void)::rmdir(group.c_str());
}

}  // namespace stint
