#include "backends/supervise/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>

#include "backends/system_error.h"
#include "base/text.h"
#include "host/descriptor.h"
#include "host/file.h"
#include "host/sha256.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kList = "SHA256SUMS";
constexpr std::string_view kBesideList = ".sha256";
constexpr std::string_view kLatest = "latest";
constexpr size_t kPieceBytes = size_t{4} << 20;

Instant instant_of(const statx_timestamp& t) { return Instant::from_ns(t.tv_sec * 1'000'000'000 + t.tv_nsec); }

/// Adds a regular file to the checkpoint; others are passed over, and so is one that goes away meanwhile.
void add_file(const std::string& folder, const std::string& name, Checkpoint& to) {
  struct statx status = {};
  if (::statx(AT_FDCWD, (folder + "/" + name).c_str(), AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS | STATX_BTIME, &status) != 0 ||
      !S_ISREG(status.stx_mode))
    return;
  const CheckpointFile file{
      .name = name, .size = Bytes::of(static_cast<int64_t>(status.stx_size)), .modified = instant_of(status.stx_mtime)};
  to.modified = to.files.empty() ? file.modified : std::max(to.modified, file.modified);
  if ((status.stx_mask & STATX_BTIME) != 0) {
    const Instant born = instant_of(status.stx_btime);
    to.born = to.born ? std::min(*to.born, born) : born;
  }
  to.size = to.size + file.size;
  to.files.push_back(file);
}

/// @return one without files when it is none.
Checkpoint look_at(const std::string& folder, const fs::directory_entry& entry) {
  std::error_code failed;
  Checkpoint c;
  c.name = entry.path().filename().string();
  const fs::file_status status = entry.symlink_status(failed);
  if (!can_be_a_checkpoint(c.name)) return c;
  if (fs::is_regular_file(status)) {
    add_file(folder, c.name, c);
    const size_t before = c.files.size();
    if (before > 0) add_file(folder, beside_list_of(c.name), c);
    c.has_list = c.files.size() > before;
  } else if (fs::is_directory(status)) {
    c.is_folder = true;
    for (fs::recursive_directory_iterator it(entry.path(), failed), end; !failed && it != end; it.increment(failed))
      add_file(folder, fs::relative(it->path(), folder, failed).string(), c);
    c.has_list = std::any_of(c.files.begin(), c.files.end(),
                             [&](const CheckpointFile& f) { return f.name == c.name + "/" + std::string(kList); });
  }
  std::sort(c.files.begin(), c.files.end(), [](const CheckpointFile& a, const CheckpointFile& b) { return a.name < b.name; });
  return c;
}

/// Compares the hashes with the list's. `HASH  NAME` or `HASH *NAME`, a line each.
Status check_list(const std::string& folder, const Checkpoint& checkpoint, const std::map<std::string, std::string>& hashes) {
  const std::string list = checkpoint.is_folder ? checkpoint.name + "/" + std::string(kList) : beside_list_of(checkpoint.name);
  const std::string base = checkpoint.is_folder ? checkpoint.name + "/" : "";
  TRY_ASSIGN(const std::string text, read_all(folder + "/" + list));
  int lines = 0;
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (line.empty()) continue;
    ++lines;
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.size() < blank + 3)
      return invalid("{}/{}:{}: is no line of a list of hashes", folder, list, lines);
    std::string_view name = line.substr(blank + 2);
    if (name.starts_with("./")) name.remove_prefix(2);
    const auto found = hashes.find(base + std::string(name));
    if (found == hashes.end()) return invalid("{}/{}: '{}' of its list is missing", folder, checkpoint.name, excerpt(name));
    if (found->second != to_lower(line.substr(0, blank)))
      return invalid("{}/{}: '{}' is not what its list says: damaged, or still being written", folder, checkpoint.name,
                     excerpt(name));
  }
  if (lines == 0) return invalid("{}/{}: names no file", folder, list);
  return {};
}

Status sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid() || ::fsync(folder.get()) != 0) return system_error(path, "cannot be synced");
  return {};
}

/// Keeps to a rate over many small writes.
class Pace {
 public:
  explicit Pace(const CopyOptions& options) : options_(options), began_(std::chrono::steady_clock::now()) {}
  void moved(size_t bytes) {
    if (options_.bytes_per_second <= 0) return;
    moved_ += static_cast<double>(bytes);
    const Duration due = Duration::from_seconds(moved_ / static_cast<double>(options_.bytes_per_second));
    const Duration taken = Duration::nanoseconds(std::chrono::nanoseconds(std::chrono::steady_clock::now() - began_).count());
    if (due > taken) options_.sleep(due - taken);
  }

 private:
  const CopyOptions& options_;
  std::chrono::steady_clock::time_point began_;
  double moved_ = 0;
};

Status write_whole(int to, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(to, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "cannot be written");
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

/// @return the hash of what went through.
Result<std::string> copy_file(const std::string& from, const std::string& to, Pace& pace) {
  const Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status = {};
  if (!in.valid() || ::fstat(in.get(), &status) != 0) return system_error(from, "cannot be read");
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, status.st_mode & 0777));
  if (!out.valid()) return system_error(to, "cannot be written");
  Sha256 hash;
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t n = ::read(in.get(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(from, "cannot be read");
    if (n == 0) break;
    const std::string_view bytes(piece.data(), static_cast<size_t>(n));
    hash.update(bytes);
    TRY(write_whole(out.get(), bytes, to));
    pace.moved(bytes.size());
  }
  // The order of checkpoints is that of their times.
  const timespec times[] = {status.st_atim, status.st_mtim};
  if (::futimens(out.get(), times) != 0 || ::fsync(out.get()) != 0) return system_error(to, "cannot be written");
  return hash.digest();
}

/// Puts `draft` in the place of `target`, which may be a folder with something in it.
Status replace(const fs::path& draft, const fs::path& target) {
  if (::rename(draft.c_str(), target.c_str()) == 0) return {};
  if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR && errno != EISDIR)
    return system_error(target.string(), "cannot be replaced");
  // Both change places in one step, so that a whole checkpoint has that name at every instant.
  if (::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) != 0)
    return system_error(target.string(), "cannot be replaced");
  std::error_code ignored;
  fs::remove_all(draft, ignored);
  return {};
}

}  // namespace

bool can_be_a_checkpoint(std::string_view name) {
  return !name.starts_with('.') && !name.ends_with(".tmp") && !name.ends_with(".partial") && !name.ends_with(kBesideList);
}

std::string beside_list_of(std::string_view name) { return std::string(name) + std::string(kBesideList); }

std::string digest_of_hashes(const std::map<std::string, std::string>& hashes) {
  Sha256 all;
  for (const auto& [name, hash] : hashes)
    all.update(fmt::format("{}  {}\n", hash, name));
  return all.digest();
}

std::string Checkpoint::signature() const {
  std::string text;
  for (const CheckpointFile& file : files)
    text += fmt::format("{} {} {}\n", file.name, file.size.count(), file.modified.ns());
  return fingerprint_of_bytes(text);
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const auto number = [&](std::string_view& text) {
        while (text.size() > 1 && text[0] == '0' && is_digit(text[1]))
          text.remove_prefix(1);
        size_t n = 0;
        while (n < text.size() && is_digit(text[n]))
          ++n;
        const std::string_view digits = text.substr(0, n);
        text.remove_prefix(n);
        return digits;
      };
      const std::string_view x = number(a), y = number(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else {
      if (a[0] != b[0]) return a[0] < b[0];
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.size() != b.size()) return a.size() < b.size();
  return whole_a < whole_b;
}

Result<std::vector<Checkpoint>> list_checkpoints(const std::string& folder) {
  std::vector<Checkpoint> found;
  std::error_code failed;
  fs::directory_iterator it(folder, failed);
  if (failed == std::errc::no_such_file_or_directory) return found;
  for (const fs::directory_iterator end; !failed && it != end; it.increment(failed))
    if (Checkpoint c = look_at(folder, *it); !c.files.empty()) found.push_back(std::move(c));
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: cannot be read: {}", folder, failed.message());
  std::sort(found.begin(), found.end(), [](const Checkpoint& a, const Checkpoint& b) {
    return a.modified != b.modified ? a.modified > b.modified : natural_less(b.name, a.name);
  });
  return found;
}

Result<std::string> digest_of(const std::string& folder, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> hashes;
  for (const CheckpointFile& file : checkpoint.files) {
    TRY_ASSIGN(hashes[file.name], sha256_of_file(folder + "/" + file.name));
  }
  if (checkpoint.has_list) TRY(check_list(folder, checkpoint, hashes));
  return digest_of_hashes(hashes);
}

Status point_latest_at(const std::string& folder, const std::string& name) {
  const fs::path link = fs::path(folder) / kLatest;
  std::error_code failed;
  const fs::file_status there = fs::symlink_status(link, failed);
  if (fs::exists(there) && !fs::is_symlink(there))
    return make_error(ErrorCode::kConflict, "{}: is not a link: left as it is; STINT_RESTORE_FROM names the newest checkpoint",
                      link.string());
  const fs::path draft = fs::path(folder) / ".latest.new";
  fs::remove(draft, failed);
  if (::symlink(name.c_str(), draft.c_str()) != 0 || ::rename(draft.c_str(), link.c_str()) != 0)
    return system_error(link.string(), "cannot be made");
  return {};
}

Status set_aside(const std::string& folder, const std::string& name) {
  const fs::path to = fs::path(folder) / (".damaged-" + name);
  std::error_code failed;
  fs::remove_all(to, failed);
  fs::rename(fs::path(folder) / name, to, failed);
  if (failed) return make_error(ErrorCode::kUnavailable, "{}/{}: cannot be set aside: {}", folder, name, failed.message());
  // Its list goes with it; most have none.
  fs::rename(fs::path(folder) / (name + std::string(kBesideList)), to.string() + std::string(kBesideList), failed);
  return {};
}

std::string draft_of(const std::string& to, const std::string& name) { return to + "/.partial-" + name; }

Status install_draft(const std::string& to, const Checkpoint& checkpoint) {
  const fs::path draft = draft_of(to, checkpoint.name);
  std::error_code failed;
  for (fs::recursive_directory_iterator it(draft, failed), end; !failed && it != end; it.increment(failed))
    if (it->is_directory()) TRY(sync_folder(it->path().string()));
  // The list first: a checkpoint that waits for its list is none yet, one that lacks it would be taken as it is.
  const std::string list = beside_list_of(checkpoint.name);
  if (!checkpoint.is_folder && checkpoint.has_list) TRY(replace(draft / list, fs::path(to) / list));
  TRY(replace(draft / checkpoint.name, fs::path(to) / checkpoint.name));
  fs::remove_all(draft, failed);
  return sync_folder(to);
}

Status remove_checkpoint(const std::string& folder, const std::string& name) {
  const std::string draft = draft_of(folder, name);
  std::error_code failed;
  fs::remove_all(draft, failed);
  if (::rename((folder + "/" + name).c_str(), draft.c_str()) != 0 && errno != ENOENT)
    return system_error(folder + "/" + name, "cannot be taken away");
  fs::remove(folder + "/" + beside_list_of(name), failed);
  fs::remove_all(draft, failed);
  if (failed) return make_error(ErrorCode::kUnavailable, "{}: cannot be taken away: {}", draft, failed.message());
  return {};
}

Status copy_checkpoint(const std::string& from, const Checkpoint& checkpoint, const std::string& digest, const std::string& to,
                       const CopyOptions& options) {
  std::error_code failed;
  fs::create_directories(to, failed);
  const fs::path draft = draft_of(to, checkpoint.name);
  fs::remove_all(draft, failed);
  std::map<std::string, std::string> hashes;
  Pace pace(options);
  // Files keep their names below the draft, so that it holds `step-7/model.bin` or `step-7.pt` and its list.
  for (const CheckpointFile& file : checkpoint.files) {
    const fs::path target = draft / file.name;
    fs::create_directories(target.parent_path(), failed);
    TRY_ASSIGN(hashes[file.name], copy_file(from + "/" + file.name, target.string(), pace));
  }
  Status done = digest_of_hashes(hashes) == digest ? install_draft(to, checkpoint)
                                                   : Status(invalid("{}/{}: changed while it was copied", from, checkpoint.name));
  if (!done.ok()) fs::remove_all(draft, failed);
  return done;
}

}  // namespace stint
