#include "backends/local/kept_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <memory>

#include "backends/system_error.h"
#include "host/descriptor.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 3> kEndings = {".out", ".err", ".order"};
constexpr int64_t kStatusUnit = 512;  // stat(2): unit of st_blocks

std::string cut_base(const std::string& logs_folder, const LaunchKey& key) { return logs_folder + "/cut/" + format_key(key); }

constexpr int64_t kLogBlock = 4096;  // of file systems: only whole ones are given back

/// Takes the front away, so that about `most` bytes of the disk stay, and says so where what is left begins.
Status take_front(const std::string& path, int64_t most) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0)
    return errno == ENOENT ? Status() : system_error(path, "cannot be shortened");
  if (!S_ISREG(status.st_mode) || status.st_blocks * kStatusUnit <= most) return {};
  // Of the block in which it begins, and of the last, all counts; the last one stays.
  const off_t front = std::min<off_t>(status.st_size - most + 2 * kLogBlock - 1, status.st_size - 1) / kLogBlock * kLogBlock;
  if (front <= 0) return {};
  if (::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, front) != 0)
    return ::ftruncate(file.get(), 0) == 0 ? Status() : system_error(path, "cannot be shortened");
  const std::string mark =
      fmt::format("\n[stint: {} bytes before this were taken away: logs of running jobs took too much]\n", front);
  if (front + std::ssize(mark) < status.st_size) (void)!::pwrite(file.get(), mark.data(), mark.size(), front);
  return {};
}

int64_t blocks_of(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_blocks * kStatusUnit : 0;
}

/// A file of that length that takes no room.
Status leave_length(const std::string& path, off_t length) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid() || ::ftruncate(file.get(), length) != 0) return system_error(path, "cannot be made");
  return {};
}

}  // namespace

std::vector<KeptLog> kept_logs(const std::string& logs_folder) {
  std::map<LaunchKey, Bytes> bytes;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(logs_folder.c_str()), ::closedir);
  while (const dirent* entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    for (const std::string_view ending : kEndings) {
      const auto key = name.ends_with(ending) ? parse_key(name.substr(0, name.size() - ending.size())) : std::nullopt;
      struct stat status = {};
      if (!key || ::fstatat(::dirfd(folder.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      bytes[*key] = bytes[*key] + Bytes::of(status.st_blocks * kStatusUnit);
    }
  }
  std::vector<KeptLog> logs;
  logs.reserve(bytes.size());
  for (const auto& [key, taken] : bytes)
    logs.push_back({key, taken});
  return logs;
}

Status cut_log(const std::string& logs_folder, const LaunchKey& key) {
  if (::mkdir((logs_folder + "/cut").c_str(), 0700) != 0 && errno != EEXIST)
    return system_error(logs_folder + "/cut", "cannot be made");
  const OutputFiles files = output_files(logs_folder + "/" + format_key(key));
  const OutputFiles left = output_files(cut_base(logs_folder, key));
  for (const auto& [from, to] : {std::pair(&files.output, &left.output), std::pair(&files.error, &left.error)}) {
    struct stat status = {};
    if (::lstat(from->c_str(), &status) != 0) continue;
    TRY(leave_length(*to, status.st_size));
  }
  // The order last: what is left without it is still a log.
  for (const std::string* path : {&files.output, &files.error, &files.order})
    if (::unlink(path->c_str()) != 0 && errno != ENOENT) return system_error(*path, "cannot be taken away");
  return {};
}

Status shorten_log(const std::string& logs_folder, const LaunchKey& key, Bytes most) {
  const OutputFiles files = output_files(logs_folder + "/" + format_key(key));
  const int64_t output = blocks_of(files.output), error = blocks_of(files.error);
  const int64_t whole = std::max(most.count() - blocks_of(files.order), 2 * kLogBlock);
  if (output + error <= whole) return {};
  // Each may have half, and what the other does not need of its own.
  const int64_t of_output = std::max(whole / 2, whole - error), of_error = std::max(whole / 2, whole - output);
  TRY(take_front(files.output, of_output));
  return take_front(files.error, of_error);
}

OutputFiles files_of_log(const std::string& logs_folder, const LaunchKey& key) {
  const OutputFiles files = output_files(logs_folder + "/" + format_key(key));
  const OutputFiles left = output_files(cut_base(logs_folder, key));
  const auto is_there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  return {.output = !is_there(files.output) && is_there(left.output) ? left.output : files.output,
          .error = !is_there(files.error) && is_there(left.error) ? left.error : files.error,
          .order = files.order};
}

}  // namespace stint
