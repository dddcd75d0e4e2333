#include "backends/launch/launch_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "host/file.h"
#include "host/secret.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

Error launch_folder_error(const std::string& path, const char* what) {
  return make_error(ErrorCode::kUnavailable, "{}: {}: {}", path, what, std::strerror(errno));
}

Status sync_launch_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return launch_folder_error(path, "cannot be synced");
  return {};
}

/// Without what was cut off behind the last end of line.
std::string_view whole_rows(std::string_view text) {
  const size_t end = text.rfind('\n');
  return end == std::string_view::npos ? "" : text.substr(0, end);
}

}  // namespace

Result<LaunchState> read_launch(const std::string& folder, Instant now) {
  const std::string plan_file = folder + "/launch.json", log_file = folder + "/log";
  const auto json = read_all(plan_file);
  if (!json.ok())
    return make_error(ErrorCode::kNotFound, "{}: no such launch; `stint cloud ls --launches` names those there are",
                      fs::path(folder).filename().string());
  TRY_ASSIGN(LaunchPlan plan, parse_launch_plan(*json, plan_file));
  std::error_code failed;
  std::string log;
  if (fs::exists(log_file, failed)) {
    TRY_ASSIGN(log, read_all(log_file));
  }
  LaunchRecord record;
  std::vector<std::string> book_rows;
  size_t line = 0;
  for (const std::string_view row : split(whole_rows(log), '\n')) {
    ++line;
    if (row.starts_with("book\t")) {
      book_rows.emplace_back(row.substr(5));
    } else if (row.starts_with("launch\t")) {
      if (const Status read = record.read_row(row.substr(7)); !read.ok())
        return invalid("{}:{}: {}", log_file, line, read.error().message);
    } else if (!row.empty()) {
      return invalid("{}:{}: '{}' is no row", log_file, line, excerpt(row));
    }
  }
  auto book = CapacityBook::recover(capacity_rules_of(plan), book_rows, now);
  if (!book.ok()) return invalid("{}: {}", log_file, book.error().message);
  return LaunchState{.plan = std::move(plan), .book = std::move(*book), .record = std::move(record)};
}

std::vector<std::string> launches_in(const std::string& state_folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& each : fs::directory_iterator(state_folder, failed))
    if (fs::exists(each.path() / "launch.json", failed)) names.push_back(each.path().filename().string());
  std::ranges::sort(names);
  return names;
}

Status make_launch_folder(const std::string& folder) {
  std::error_code failed;
  fs::create_directories(fs::path(folder).parent_path(), failed);
  if (fs::exists(folder + "/launch.json", failed))
    return make_error(ErrorCode::kConflict, "there is a launch {0} already: go on with --resume {0}, or name another with --name",
                      fs::path(folder).filename().string());
  // One that ended before its plan was kept has left nothing but its code.
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return launch_folder_error(folder, "cannot be made");
  return {};
}

Status keep_launch_plan(const std::string& folder, const LaunchPlan& plan) {
  // Its environment may hold secrets.
  TRY(write_secret(folder + "/launch.json", to_json(plan)));
  TRY(sync_launch_folder(folder));
  return sync_launch_folder(fs::path(folder).parent_path().string());
}

Result<LaunchFolder> LaunchFolder::open(const std::string& folder) {
  std::error_code failed;
  if (!fs::exists(folder + "/launch.json", failed))
    return make_error(ErrorCode::kNotFound, "{}: no such launch; `stint cloud ls --launches` names those there are",
                      fs::path(folder).filename().string());
  auto lock = LockFile::take(folder + "/lock");
  if (!lock.ok()) return lock.error();
  const std::string log_file = folder + "/log";
  Descriptor log(::open(log_file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!log.valid()) return launch_folder_error(log_file, "cannot be written");
  // What a crash has cut off goes, so that the next row stands on a line of its own.
  TRY_ASSIGN(const std::string text, read_all(log_file));
  const size_t end = text.rfind('\n');
  if (::ftruncate(log.get(), end == std::string::npos ? 0 : static_cast<off_t>(end + 1)) != 0)
    return launch_folder_error(log_file, "cannot be written");
  TRY(sync_launch_folder(folder));
  return LaunchFolder(folder, std::move(*lock), std::move(log));
}

Status LaunchFolder::append(const std::vector<std::string>& book_rows, const std::vector<std::string>& launch_rows) {
  std::string text;
  for (const std::string& row : book_rows)
    text += "book\t" + row + "\n";
  for (const std::string& row : launch_rows)
    text += "launch\t" + row + "\n";
  if (text.empty()) return {};
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = ::write(log_.get(), text.data() + written, text.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return launch_folder_error(path_ + "/log", "cannot be written");
    written += static_cast<size_t>(n);
  }
  if (::fdatasync(log_.get()) != 0) return launch_folder_error(path_ + "/log", "cannot be synced");
  return {};
}

}  // namespace stint
