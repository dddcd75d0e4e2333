#include "backends/local/kept_logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

OutputFiles files_of_log(const std::string& logs_folder, const LaunchKey& key) {
  const OutputFiles files = output_files(logs_folder + "/" + format_key(key));
  const OutputFiles left = output_files(cut_base(logs_folder, key));
  const auto is_there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  return {.output = !is_there(files.output) && is_there(left.output) ? left.output : files.output,
          .error = !is_there(files.error) && is_there(left.error) ? left.error : files.error,
          .order = files.order};
}

}  // namespace stint
