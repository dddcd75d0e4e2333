#include "cli/run/local_job_options.h"

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "documents/workload_row.h"
#include "host/disk_room.h"

namespace stint {
namespace {

/// As it was given; else a twentieth of the disk, at most a gibibyte.
Result<Bytes> read_disk_reserve(const DaemonOptions& options, const LocalJobArguments& arguments) {
  if (!arguments.disk_reserve.empty()) {
    const auto reserve = parse_size(arguments.disk_reserve);
    if (!reserve || *reserve < Bytes())
      return invalid("--disk-reserve {}: give a size, such as 1GiB, or 0", excerpt(arguments.disk_reserve));
    return *reserve;
  }
  constexpr int64_t kPart = 20;
  std::error_code ignored;
  std::filesystem::path at = std::filesystem::absolute(options.state_folder, ignored);
  while (!std::filesystem::exists(at, ignored) && at != at.parent_path())
    at = at.parent_path();
  const auto room = disk_room(at.string());
  return room ? std::min(Bytes::gibi(int64_t{1}), Bytes::of(room->size.count() / kPart)) : Bytes();
}

/// Whose jobs the starter's are, and what they may take, is said where root alone can say it.
Status check_beside_starter(const DaemonOptions& options, const LocalJobArguments& arguments) {
  if (options.starter.empty()) return {};
  const std::pair<bool, const char*> given[] = {{!options.jobs_as.empty(), "--jobs-as"},
                                                {!options.jobs_as_range.empty(), "--jobs-as-range"},
                                                {!options.jobs_home.empty(), "--jobs-home"},
                                                {!options.job_devices.empty(), "--job-device"},
                                                {!options.gpu_scrub.empty(), "--gpu-scrub"},
                                                {options.job_processes != 0, "--job-processes"},
                                                {!arguments.job_memory.empty(), "--job-memory"},
                                                {!arguments.log_limit.empty(), "--job-log-limit"},
                                                {!options.cgroup.empty(), "--cgroup"},
                                                {options.insecure_shared_user, "--insecure-shared-user"},
                                                {options.simulate, "--simulate"}};
  for (const auto& [is, name] : given)
    if (is)
      return invalid(
          "{} beside --starter: give it to `stint starter` (with the package STINT_STARTER_OPTIONS in /etc/default/stint)", name);
  return {};
}

}  // namespace

void add_local_job_options(Command& command, DaemonOptions& options, LocalJobArguments& arguments) {
  command.add_option("--jobs-as", options.jobs_as, "the system's user that all jobs run as; the daemon must be root for that");
  command.add_option(
      "--jobs-as-range", options.jobs_as_range,
      "user ids such as 70000-79999: each user of a client has one for ever, with a home, a /tmp and processes that others "
      "do not see; the daemon must be root for that");
  command.add_option("--jobs-home", options.jobs_home, "with --jobs-as-range: folder for their homes; else STATE-jobs");
  command.add_option(
      "--disk-reserve", arguments.disk_reserve,
      "of the disk with the state folder, kept for the daemon's records: with less free what jobs print is not kept, then "
      "no job comes in (default: a twentieth, at most 1GiB)");
  command.add_option(
      "--job-device", options.job_devices,
      "file or folder below /dev that jobs of other accounts find beside the usual ones and their GPUs; may be repeated");
  command.add_option("--gpu-scrub", options.gpu_scrub,
                     "program that overwrites the memory of a GPU before another client's job gets it: called with the GPU's "
                     "index and UUID, ends "
                     "with 0; until it does, no job begins there");
  command.add_option("--job-processes", options.job_processes,
                     "processes and threads that each task of a job may have; else 16384, at most a quarter of the machine's");
  command.add_option(
      "--job-memory", arguments.job_memory,
      "memory of each task of a job that names none, such as 4GiB; 0 = no limit. Else its share of the machine's, by "
      "its GPUs or CPUs, where --cgroup limits tasks as a whole");
  command.add_option(
      "--job-log-limit", arguments.log_limit,
      "bytes such as 256MiB (the default) that a task's output, and its errors, may take; the oldest go first. 0 = no limit");
  command.add_option("--cgroup", options.cgroup,
                     "folder of the cgroup v2 tree for limits of CPU and memory; made when it is missing");
}

Status read_local_job_options(DaemonOptions& options, const LocalJobArguments& arguments) {
  TRY(check_beside_starter(options, arguments));
  for (std::string& device : options.job_devices) {
    constexpr std::string_view kDev = "/dev/";
    if (!device.starts_with(kDev) || device.size() == kDev.size() || device.find("..") != std::string::npos)
      return invalid("--job-device {}: give a file or folder below /dev, such as /dev/kvm", excerpt(device));
    device.erase(0, kDev.size());
  }
  if (options.job_processes < 0) return invalid("--job-processes: give a number above 0");
  if (!arguments.log_limit.empty()) {
    const auto limit = parse_size(arguments.log_limit);
    if (!limit || *limit < Bytes())
      return invalid("--job-log-limit {}: give a size, such as 256MiB", excerpt(arguments.log_limit));
    options.job_log_limit = *limit;
  }
  if (!arguments.job_memory.empty()) {
    options.job_memory = parse_size(arguments.job_memory);
    if (!options.job_memory || *options.job_memory < Bytes())
      return invalid("--job-memory {}: give a size, such as 4GiB, or 0 for no limit", excerpt(arguments.job_memory));
  }
  TRY_ASSIGN(options.disk_reserve, read_disk_reserve(options, arguments));
  return {};
}

}  // namespace stint
