#include "backends/local/task_room.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "backends/local/device_group.h"
#include "backends/system_error.h"
#include "host/descriptor.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

enum RoomTrial : int { kTrialGood, kTrialNoMounts, kTrialNoProc, kTrialStillShown };

/// What is mounted from now on is this process's and its children's alone.
bool leave_mounts() { return ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) == 0; }

bool bind_mount(const std::string& from, const std::string& to) {
  return ::mount(from.c_str(), to.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

bool hide_processes() { return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible") == 0; }

bool is_below_tmp(const std::string& path) { return path.starts_with("/tmp/") || path.starts_with("/var/tmp/"); }

/// /var/tmp may be a link to /tmp, or not there.
bool is_real_folder(const char* path) {
  struct stat status = {};
  return ::lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/// A folder that only its user may enter. Its parent is root's, so that no other can have put a link there.
Status give_folder(const std::string& path, const RunAs& user) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    if (::chown(path.c_str(), user.uid, user.gid) != 0) return system_error(path, "cannot be given to its user");
    return {};
  }
  if (errno != EEXIST) return system_error(path, "cannot be made");
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return system_error(path, "cannot be looked at");
  if (!S_ISDIR(status.st_mode) || status.st_uid != user.uid)
    return make_error(ErrorCode::kConflict, "{}: is not a folder of user {}: move it away", path, user.uid);
  return {};
}

/// A task that has its own /tmp finds its home below the machine's there again.
bool show_home(const std::string& home, int folder) {
  for (size_t end = home.find('/', 5); end != std::string::npos; end = home.find('/', end + 1))
    if (::mkdir(home.substr(0, end).c_str(), 0711) != 0 && errno != EEXIST) return false;
  if (::mkdir(home.c_str(), 0711) != 0 && errno != EEXIST) return false;
  return bind_mount(fmt::format("/proc/self/fd/{}", folder), home);
}

}  // namespace

RoomMeans find_room_means(uint32_t uid) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (!leave_mounts() || !bind_mount("/tmp", "/tmp")) ::_exit(kTrialNoMounts);
    if (!hide_processes()) ::_exit(kTrialNoProc);
    if (::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) ::_exit(kTrialNoMounts);
    ::_exit(::access("/proc/1", F_OK) == 0 ? kTrialStillShown : kTrialGood);
  }
  int status = -1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int found = pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kTrialNoMounts);
  RoomMeans means{.mounts = found != kTrialNoMounts, .hides = found == kTrialGood, .why_not = ""};
  if (!means.mounts) means.why_not = "mount namespaces are not permitted: CAP_SYS_ADMIN is needed";
  if (means.mounts && !means.hides)
    means.why_not =
        found == kTrialNoProc ? "/proc cannot be mounted with hidepid" : "hidepid hides nothing: Linux 5.8 or newer is needed";
  return means;
}

void RoomMeans::tell(bool apart, std::vector<std::string>& notes) const {
  if (!mounts)
    notes.push_back(
        fmt::format("No private /tmp ({}): a job sees the names of others' files in /tmp and /var/tmp, and their content where "
                    "they allow it.",
                    why_not));
  if (!mounts)
    notes.push_back(fmt::format(
        "GPUs are granted by CUDA_VISIBLE_DEVICES alone ({}): a job can use GPUs that it was not given, unbilled.", why_not));
  if (!hides)
    notes.push_back(fmt::format("Processes are not hidden ({}): a job sees the command lines of others' processes{}.", why_not,
                                apart ? ", not their environment" : ""));
}

Status check_reachable(const std::string& path, const RoomMeans& means) {
  if (means.mounts && is_below_tmp(path)) return {};
  for (fs::path at = fs::path(path).parent_path(); at != at.parent_path(); at = at.parent_path()) {
    struct stat status = {};
    if (::stat(at.c_str(), &status) != 0) return system_error(at.string(), "cannot be looked at");
    if ((status.st_mode & S_IXOTH) == 0)
      return invalid(
          "{}: jobs cannot get to their homes, as {} lets only its user and group pass: name another folder with --jobs-home",
          path, at.string());
  }
  return {};
}

Status make_room(const TaskPlan& plan) {
  const TaskRoom& room = plan.room;
  if (!plan.launch.run_as) return {};
  if (!room.home.empty()) TRY(give_folder(room.home, *plan.launch.run_as));
  if (room.temporary.empty()) return {};
  if (::mkdir(room.temporary.c_str(), 0700) != 0 && errno != EEXIST) return system_error(room.temporary, "cannot be made");
  for (const char* name : {"/tmp", "/var"})
    TRY(give_folder(room.temporary + name, *plan.launch.run_as));
  return {};
}

const char* enter_room(const TaskRoom& room, const std::string& home) {
  if (room.temporary.empty() && !room.hides_processes && !room.own_devices) return nullptr;
  if (!leave_mounts()) return "mounts";
  if (!room.temporary.empty()) {
    const Descriptor at_home(is_below_tmp(home) ? ::open(home.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
    const Descriptor temporary(::open(room.temporary.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string from = fmt::format("/proc/self/fd/{}", temporary.get());
    if (!temporary.valid() || !bind_mount(from + "/tmp", "/tmp")) return "private /tmp";
    if (is_real_folder("/var/tmp") && !bind_mount(from + "/var", "/var/tmp")) return "private /var/tmp";
    if (at_home.valid() && !show_home(home, at_home.get())) return "home below /tmp";
  }
  if (room.own_devices && !show_devices(room.gpu_files, room.more_devices)) return "private /dev";
  if (room.hides_processes && !hide_processes()) return "hidden processes";
  return nullptr;
}

void leave_room(const TaskRoom& room) {
  remove_device_group(room.device_group);
  std::error_code ignored;
  if (!room.temporary.empty()) fs::remove_all(room.temporary, ignored);
}

}  // namespace stint
