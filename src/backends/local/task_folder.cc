#include "backends/local/task_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "host/clock.h"
#include "host/file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

/// kNotFound where the file, or the reader of a pipe, is not there.
Error folder_error(std::string_view path, std::string_view what) {
  const int code = errno;
  return make_error(code == ENOENT || code == ENXIO ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}: {}: {}", path, what,
                    std::strerror(code));
}

/// Fields of /proc/PID/stat from the state (field 3) on: the command before it may hold blanks and brackets.
std::vector<std::string> stat_fields(const std::string& pid) {
  const std::string text = read_kernel_file("/proc/" + pid + "/stat");
  const size_t bracket = text.rfind(')');
  std::vector<std::string> fields;
  if (bracket == std::string::npos) return fields;
  for (const std::string_view field : split(trim(std::string_view(text).substr(bracket + 1)), ' '))
    fields.emplace_back(field);
  return fields;
}

// Positions in stat_fields(); proc(5) counts from 1 and the state is its field 3.
constexpr size_t kParent = 4 - 3;
constexpr size_t kSession = 6 - 3;
constexpr size_t kStartTime = 22 - 3;

std::vector<int64_t> all_processes() {
  std::vector<int64_t> pids;
  std::error_code failed;
  for (fs::directory_iterator it("/proc", failed), end; !failed && it != end; it.increment(failed))
    if (const auto pid = parse_int(it->path().filename().string())) pids.push_back(*pid);
  std::sort(pids.begin(), pids.end());
  return pids;
}

/// @param setting  NAME=VALUE
bool has_in_environment(int64_t pid, const std::string& setting) {
  const std::string environment = read_kernel_file("/proc/" + std::to_string(pid) + "/environ");
  for (const std::string_view one : split(environment, '\0'))
    if (one == setting) return true;
  return false;
}

struct flock whole_file(short kind) {
  struct flock lock = {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  return lock;
}

/// none = there is no such file.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto bytes = read_all(path);
  if (bytes.ok()) return std::optional(std::move(bytes).value());
  if (bytes.error().code == ErrorCode::kNotFound) return std::optional<std::string>();
  return bytes.error();
}

}  // namespace

Status TaskFolder::create(const TaskPlan& plan) const {
  const fs::path target(path_);
  // Beside it, under a name no key has; a rename makes it appear whole.
  const TaskFolder draft((target.parent_path() / ("." + target.filename().string())).string());
  std::error_code failed;
  fs::remove_all(draft.path(), failed);
  if (::mkdir(draft.path().c_str(), 0700) != 0) return folder_error(draft.path(), "cannot be made");
  const auto give_up = [&](const Error& error) {
    fs::remove_all(draft.path(), failed);
    return error;
  };
  if (const Status written = write_file_atomically(draft.launch_file(), to_json(plan)); !written.ok())
    return give_up(written.error());
  if (::mkfifo(draft.file("control").c_str(), 0600) != 0) return give_up(folder_error(draft.file("control"), "cannot be made"));
  // A folder is not renamed over one that holds something.
  if (::rename(draft.path().c_str(), path_.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST) return give_up(folder_error(path_, "cannot be made"));
  return give_up(make_error(ErrorCode::kConflict, "{}: is there already", path_));
}

Result<Descriptor> TaskFolder::take_lock() const {
  const std::string path = file("lock");
  Descriptor lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return folder_error(path, "cannot be opened");
  // Belongs to the open file and not to the process: a keeper that inherits the descriptor inherits the lock.
  struct flock whole = whole_file(F_WRLCK);
  if (::fcntl(lock.get(), F_OFD_SETLK, &whole) == 0) return lock;
  if (errno == EAGAIN || errno == EACCES) return Descriptor();
  return folder_error(path, "cannot be locked");
}

bool TaskFolder::is_locked() const {
  const Descriptor lock(::open(file("lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.valid()) return false;
  struct flock whole = whole_file(F_WRLCK);
  return ::fcntl(lock.get(), F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

Result<bool> TaskFolder::claim() const {
  const Descriptor made(::open(file("claimed").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!made.valid() && errno != EEXIST) return folder_error(file("claimed"), "cannot be made");
  if (!made.valid()) return false;
  // Lies in the folder: after a power cut too, what has begun is not begun again.
  const Descriptor folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.valid()) (void)::fsync(folder.get());
  return true;
}

bool TaskFolder::is_claimed() const { return ::access(file("claimed").c_str(), F_OK) == 0; }

Result<Descriptor> TaskFolder::open_control() const {
  // Both ways: an end that reads is always there, so that a writer gets no SIGPIPE and a reader sees no end.
  Descriptor control(::open(file("control").c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!control.valid()) return folder_error(file("control"), "cannot be opened");
  return control;
}

Status TaskFolder::tell_keeper(std::string_view line) const {
  if (!is_locked()) return make_error(ErrorCode::kNotFound, "{}: no keeper looks after this task any more", path_);
  TRY_ASSIGN(const Descriptor control, open_control());
  // So short a write goes in one piece or not at all.
  const ssize_t n = ::write(control.get(), line.data(), line.size());
  if (n == static_cast<ssize_t>(line.size())) return {};
  return folder_error(file("control"), "takes no request");
}

Result<std::optional<TaskStarted>> TaskFolder::started() const {
  TRY_ASSIGN(const auto bytes, read_if_there(started_file()));
  if (!bytes) return std::optional<TaskStarted>();
  TRY_ASSIGN(TaskStarted started, parse_task_started(*bytes, started_file()));
  return std::optional(std::move(started));
}

Result<std::optional<TaskEnded>> TaskFolder::ended() const {
  TRY_ASSIGN(const auto bytes, read_if_there(ended_file()));
  if (!bytes) return std::optional<TaskEnded>();
  TRY_ASSIGN(TaskEnded ended, parse_task_ended(*bytes, ended_file()));
  return std::optional(std::move(ended));
}

std::optional<int64_t> start_ticks_of(int64_t pid) {
  const auto fields = stat_fields(std::to_string(pid));
  return fields.size() > kStartTime ? parse_int(fields[kStartTime]) : std::nullopt;
}

std::optional<ProcessPlace> place_of_process(int64_t pid) {
  const auto fields = stat_fields(std::to_string(pid));
  if (fields.size() <= kSession) return std::nullopt;
  return ProcessPlace{parse_int(fields[kParent]).value_or(0), parse_int(fields[kSession]).value_or(0)};
}

std::vector<int64_t> children_of(int64_t parent) {
  std::vector<int64_t> found;
  for (const int64_t pid : all_processes())
    if (const auto fields = stat_fields(std::to_string(pid)); fields.size() > kParent && parse_int(fields[kParent]) == parent)
      found.push_back(pid);
  return found;
}

std::vector<int64_t> processes_with(std::string_view variable, std::string_view value) {
  std::vector<int64_t> found;
  const std::string mark = fmt::format("{}={}", variable, value);
  for (const int64_t pid : all_processes()) {
    const auto fields = stat_fields(std::to_string(pid));
    if (pid != ::getpid() && !fields.empty() && fields[0] != "Z" && has_in_environment(pid, mark)) found.push_back(pid);
  }
  return found;
}

std::vector<int64_t> processes_of(const TaskFolder& folder, const std::optional<TaskStarted>& started) {
  std::vector<int64_t> found;
  if (started && started->when.boot_id != boot_id()) return found;
  // While a session has members its number is given to no new process: if its leader is gone or is the one that was
  // recorded, the members are the task's.
  const std::optional<int64_t> leader = started ? start_ticks_of(started->pid) : std::nullopt;
  const bool session_is_ours = started && (!leader || *leader == started->start_ticks);
  const std::string session = started ? std::to_string(started->pid) : "";
  const std::string mark = "STINT_LAUNCH=" + folder.mark();
  for (const int64_t pid : all_processes()) {
    const std::string name = std::to_string(pid);
    const auto fields = stat_fields(name);
    if (fields.size() <= kStartTime || fields[0] == "Z") continue;
    if (pid != ::getpid() && ((session_is_ours && fields[kSession] == session) || has_in_environment(pid, mark)))
      found.push_back(pid);
  }
  return found;
}

}  // namespace stint
