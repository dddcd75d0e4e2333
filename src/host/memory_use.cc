#include "host/memory_use.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "base/text.h"
#include "host/file.h"

namespace stint {
namespace {

/// The number behind `name` in lines of `name 123` or `name: 123 kB`.
std::optional<int64_t> number_of(const std::string& text, std::string_view name) {
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(":")) line.remove_prefix(1);
    const auto words = split(trim(line), ' ');
    if (const std::optional<int64_t> number = parse_int(words.front())) return number;
  }
  return std::nullopt;
}

/// The limit of the group this process is in, or of the nearest one around it that has one.
std::optional<MemoryUse> group_use(const std::string& proc, const std::string& cgroups) {
  std::string group;
  const std::string groups = read_kernel_file(proc + "/self/cgroup");
  for (const std::string_view line : split(groups, '\n'))
    if (line.starts_with("0::")) group = line.substr(3);
  for (; group.size() > 1; group.resize(group.rfind('/'))) {
    const std::string folder = cgroups + group;
    const std::optional<int64_t> limit = parse_int(trim(read_kernel_file(folder + "/memory.max")));  // "max": none
    const std::optional<int64_t> current = parse_int(trim(read_kernel_file(folder + "/memory.current")));
    if (!limit || !current) continue;
    const int64_t cached = number_of(read_kernel_file(folder + "/memory.stat"), "inactive_file").value_or(0);
    return MemoryUse{Bytes::of(*limit), Bytes::of(*current - cached), {}};
  }
  return std::nullopt;
}

}  // namespace

Result<MemoryUse> memory_use(std::optional<Bytes> limit, const std::string& proc, const std::string& cgroups) {
  const std::string statm = read_kernel_file(proc + "/self/statm");
  const auto pages = split(trim(statm), ' ');
  const std::optional<int64_t> resident = pages.size() > 1 ? parse_int(pages[1]) : std::nullopt;
  if (!resident) return make_error(ErrorCode::kUnavailable, "{}/self/statm: does not tell this process's memory", proc);
  const Bytes own = Bytes::of(*resident * sysconf(_SC_PAGESIZE));
  if (limit) return MemoryUse{*limit, own, own};
  if (std::optional<MemoryUse> group = group_use(proc, cgroups)) {
    group->own = own;
    return *group;
  }
  const std::string meminfo = read_kernel_file(proc + "/meminfo");
  const std::optional<int64_t> total = number_of(meminfo, "MemTotal");
  const std::optional<int64_t> available = number_of(meminfo, "MemAvailable");
  if (!total || !available)
    return make_error(ErrorCode::kUnavailable, "{}/meminfo: does not tell MemTotal and MemAvailable", proc);
  return MemoryUse{Bytes::of(*total << 10), Bytes::of((*total - *available) << 10), own};
}

Result<OwnMemory> own_memory(const std::string& proc) {
  const std::string status = read_kernel_file(proc + "/self/status");
  const auto anonymous = number_of(status, "RssAnon"), resident = number_of(status, "VmRSS"), peak = number_of(status, "VmHWM");
  if (!anonymous || !resident || !peak)
    return make_error(ErrorCode::kUnavailable, "{}/self/status: does not tell RssAnon, VmRSS and VmHWM", proc);
  return OwnMemory{Bytes::of(*anonymous << 10), Bytes::of(*resident << 10), Bytes::of(*peak << 10)};
}

void reset_own_peak() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  (void)!write(file, "5", 1);
  close(file);
}

void give_back_large_blocks() {
  constexpr int kLarge = 4 << 20, kTop = 8 << 20;
  mallopt(M_MMAP_THRESHOLD, kLarge);
  mallopt(M_TRIM_THRESHOLD, kTop);
}

}  // namespace stint
