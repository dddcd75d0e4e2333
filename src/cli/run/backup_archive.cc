#include "cli/run/backup_archive.h"

#include <fcntl.h>
#include <stdlib.h>  // mkdtemp
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "collect/archive.h"
#include "daemon/identity/audit_log.h"
#include "host/descriptor.h"
#include "host/file.h"
#include "host/sealed.h"
#include "host/sha256.h"
#include "store/database_copy.h"
#include "store/govern_file.h"
#include "store/govern_postgres.h"

namespace stint {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "stint-backup/1";
constexpr const char* kManifestName = "manifest.json";
constexpr const char* kConfigName = "config.json";
/// Beside the databases: what the last audit found, what was decided on it, and which user has which account for jobs.
constexpr std::array kOtherFiles = {"audit.json", "decisions.json", "changes.json", "accounts.json"};
constexpr size_t kMostManifestBytes = size_t{64} << 20;

Error cannot(const std::string& path, std::string_view what) {
  return make_error(ErrorCode::kUnavailable, "{}: cannot be {}: {}", path, what, std::strerror(errno));
}

/// A folder beside `path` that goes with this object, unless it has been given its own name.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> beside(const std::string& path) {
    std::string name = path + ".part-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) return cannot(name, "made");
    return TemporaryFolder(name);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Gives it its name; an empty folder of that name is replaced.
  Status rename_to(const std::string& name) {
    if (::rename(path_.c_str(), name.c_str()) != 0) return cannot(name, "put in place");
    path_.clear();
    return {};
  }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

Status sync_path(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() || ::fsync(file.get()) != 0) return cannot(path, "synced");
  return {};
}

std::string folder_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

/// Names in an archive lead into its folder and nowhere else.
bool is_name(std::string_view name) {
  if (name.starts_with("logs/")) name.remove_prefix(5);
  return !name.empty() && name.size() < 90 && name.front() != '.' &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string_view::npos;
}

/// Where a file of the archive lies in a state folder: logs belong to the local backend's.
std::string place_of(const std::string& name) { return name.starts_with("logs/") ? "work/" + name : name; }

Result<BackupManifest> parse_manifest(std::string_view text, const std::string& source) {
  const Json json = Json::parse(text, nullptr, false);
  BackupManifest manifest;
  try {
    if (const std::string format = json.at("format").get<std::string>(); format != kFormat)
      return invalid("{}: a backup of format {}, and this program reads {}: use a newer stint", source, excerpt(format), kFormat);
    TRY_ASSIGN(manifest.made_at, parse_instant(json.at("made_at").get<std::string>()));
    manifest.stint_version = json.at("stint").get<std::string>();
    manifest.audit_records = json.at("audit").at("records").get<int64_t>();
    manifest.audit_head = json.at("audit").at("head").get<std::string>();
    for (const Json& file : json.at("files")) {
      manifest.files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<uint64_t>(),
                                file.at("sha256").get<std::string>(), file.at("schema_version").get<int64_t>()});
      if (!is_name(manifest.files.back().name))
        return invalid("{}: its manifest names a file '{}', which no backup has", source, excerpt(manifest.files.back().name));
    }
  } catch (const Json::exception& e) {
    return invalid("{}: its manifest cannot be read ({}): is it a backup of `stint backup`?", source, e.what());
  }
  return manifest;
}

// ── What holds for a folder of copies, when it is made and when it is unpacked ──

struct AuditEnd {
  int64_t records = 0;
  std::string head;
};

/// Follows the chain from its beginning.
Result<AuditEnd> verify_audit_log(const std::string& folder) {
  const std::string path = folder + "/govern.db";
  if (!is_regular_file(path)) return AuditEnd{};
  TRY_ASSIGN(GovernFile file, GovernFile::open(path));
  AuditVerifier verifier;
  TRY(file.read_audit(0, INT64_MAX, "", [&](const AuditRow& row) { return verifier.check(row); }));
  return AuditEnd{verifier.rows(), verifier.head()};
}

Result<int64_t> schema_version_of(const std::string& path) {
  if (!is_database(path)) return int64_t{0};
  TRY_ASSIGN(Database database, Database::open(path, DatabaseAccess::kReadWrite));
  return database.integer("PRAGMA user_version");
}

// ── Making one ──

Result<std::vector<std::string>> databases_in(const std::string& folder, bool may_be_none) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error) && is_database(entry.path().string())) paths.push_back(entry.path().string());
  if (error) return make_error(ErrorCode::kNotFound, "{}: cannot be read: {}", folder, error.message());
  if (paths.empty() && !may_be_none)
    return make_error(ErrorCode::kNotFound, "{}: no databases there: name the folder of `stint daemon --state`", folder);
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Without the front that was taken away (--job-log-limit): a job that prints for months must not make a backup of terabytes.
Status copy_log(const std::string& from, const std::string& to) {
  const Descriptor in(::open(from.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  const Descriptor out(::open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!in.valid() || !out.valid()) return cannot(from, "copied");
  const off_t first = ::lseek(in.get(), 0, SEEK_DATA);
  if (::lseek(in.get(), std::max<off_t>(first, 0), SEEK_SET) < 0) return cannot(from, "copied");
  std::string bytes(size_t{1} << 20, '\0');
  for (ssize_t got = 0; (got = ::read(in.get(), bytes.data(), bytes.size())) != 0;) {
    if (got < 0) return cannot(from, "copied");
    for (ssize_t done = 0; done < got;) {
      const ssize_t n = ::write(out.get(), bytes.data() + done, static_cast<size_t>(got - done));
      if (n < 0) return cannot(to, "written");
      done += n;
    }
  }
  return {};
}

/// Copies what jobs printed, each file as far as it goes now.
Status copy_logs(const std::string& state_folder, const std::string& folder, std::vector<std::string>& names) {
  std::error_code error;
  std::vector<std::string> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(state_folder + "/" + place_of("logs/"), error))
    if (entry.is_regular_file(error)) found.push_back("logs/" + entry.path().filename().string());
  std::sort(found.begin(), found.end());
  fs::create_directory(folder + "/logs", error);
  for (const std::string& name : found) {
    const std::string from = state_folder + "/" + place_of(name);
    TRY(copy_log(from, folder + "/" + name));
    names.push_back(name);
  }
  return {};
}

/// Users, tokens and the audit log that the log's database holds, as the file they would otherwise be. @return whether it holds any
Result<bool> copy_governance_of(const std::string& database, const std::string& path) {
  TRY_ASSIGN(const std::unique_ptr<GovernPostgres> from, GovernPostgres::open_to_read(database));
  if (!from) return false;
  TRY_ASSIGN(GovernFile to, GovernFile::open(path, GovernSecrets{.untouched = true}));
  TRY(copy_governance(*from, to));
  return true;
}

/// Copies all that belongs to a backup into `folder`. @return their names, in the order in which they are archived.
Result<std::vector<std::string>> gather(const BackupOptions& options, const std::string& folder) {
  TRY_ASSIGN(std::vector<std::string> databases, databases_in(options.state_folder, !options.database.empty()));
  const std::string govern = options.state_folder + "/govern.db";
  if (!options.database.empty()) {
    TRY_ASSIGN(const bool copied, copy_governance_of(options.database, folder + "/govern.db"));
    if (copied) std::erase(databases, govern);  // which then counts for nothing
    TRY(copy_databases(databases, folder));
    if (copied) databases.push_back(govern);
  } else {
    TRY(copy_databases(databases, folder));
  }
  TRY_ASSIGN(const std::string config, read_all(options.config_file));
  TRY(write_file_atomically(folder + "/" + kConfigName, config));
  std::vector<std::string> names = {kConfigName};
  for (const std::string& path : databases) {
    names.push_back(fs::path(path).filename().string());
    // SQLite makes files that the umask alone keeps from others.
    const std::string copy = folder + "/" + names.back();
    if (::chmod(copy.c_str(), 0600) != 0) return cannot(copy, "kept from others");
  }
  for (const std::string name : kOtherFiles) {
    std::string path = options.state_folder + "/" + name;
    // Where a starter gives jobs their accounts, the book is in its folder.
    if (!is_regular_file(path) && name == "accounts.json") path = (fs::path(options.state_folder) / "work" / name).string();
    if (!is_regular_file(path)) continue;
    TRY_ASSIGN(const std::string bytes, read_all(path));
    TRY(write_file_atomically(folder + "/" + name, bytes));
    names.push_back(name);
  }
  if (options.logs) TRY(copy_logs(options.state_folder, folder, names));
  return names;
}

/// An archive in the making, which is not there before it is whole.
class Archive {
 public:
  static Result<Archive> create(const std::string& path, const std::optional<SealKey>& key) {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return cannot(path, "written");
    return Archive(path, std::move(file), key);
  }
  Status add(std::string_view name, std::string_view bytes, Instant modified) {
    TRY(writer_.begin(name, bytes.size(), modified.ns() / 1'000'000'000));
    return writer_.data(bytes);
  }
  Status add_file(const BackupFile& file, const std::string& folder, Instant modified) {
    TRY(writer_.begin(file.name, file.bytes, modified.ns() / 1'000'000'000));
    const std::string path = folder + "/" + file.name;
    const Descriptor from(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::vector<char> piece(size_t{1} << 20);
    for (uint64_t left = file.bytes; left > 0;) {
      const ssize_t n = from.valid() ? ::read(from.get(), piece.data(), std::min<uint64_t>(left, piece.size())) : -1;
      if (n <= 0) return cannot(path, "read");
      TRY(writer_.data({piece.data(), static_cast<size_t>(n)}));
      left -= static_cast<uint64_t>(n);
    }
    return {};
  }
  Status finish() {
    TRY(writer_.finish());
    if (seal_) TRY(seal_->finish());
    if (::fsync(file_->get()) != 0 || file_->close() != 0) return cannot(path_, "written");
    return {};
  }

 private:
  Archive(std::string path, Descriptor file, const std::optional<SealKey>& key)
      : path_(std::move(path)),
        file_(std::make_unique<Descriptor>(std::move(file))),
        seal_(key ? std::make_unique<SealWriter>(*key, into_file()) : nullptr),
        writer_(seal_ ? TarWriter::Sink([seal = seal_.get()](std::string_view bytes) { return seal->write(bytes); })
                      : into_file()) {}

  [[nodiscard]] TarWriter::Sink into_file() const {
    return [fd = file_->get(), path = path_](std::string_view bytes) -> Status {
      while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot(path, "written");
        bytes.remove_prefix(static_cast<size_t>(n));
      }
      return {};
    };
  }

  std::string path_;
  std::unique_ptr<Descriptor> file_;
  std::unique_ptr<SealWriter> seal_;
  TarWriter writer_;
};

// ── Unpacking one ──

/// Takes the archive's files into a folder, each held against the manifest that comes first.
class Unpacker {
 public:
  Unpacker(std::string source, std::string folder) : source_(std::move(source)), folder_(std::move(folder)) {}

  Result<BackupManifest> unpack(const std::optional<SealKey>& key) {
    TRY_ASSIGN(InputFile input, InputFile::open(source_));
    TRY_ASSIGN(const ArchiveBytes source, bytes_of(input, key));
    TRY(read_archive(source_, ArchiveKind::kTar, source,
                     {.begin = [this](const std::string& name) { return begin(name); },
                      .data = [this](std::string_view bytes) { return data(bytes); },
                      .end = [this] { return end(); }}));
    if (!manifest_) return invalid("{}: holds no manifest: is it a backup of `stint backup`?", source_);
    if (next_ < manifest_->files.size()) return invalid("{}: {} is missing", source_, manifest_->files[next_].name);
    return *manifest_;
  }

 private:
  /// Of the archive, decrypted where it is encrypted. @param input  outlives what is returned
  Result<ArchiveBytes> bytes_of(InputFile& input, const std::optional<SealKey>& key) {
    while (start_.size() < kSealedStream.size()) {
      TRY_ASSIGN(const std::string_view piece, input.read());
      if (piece.empty()) break;
      start_ += piece;
    }
    const bool is_encrypted = start_.starts_with(kSealedStream);
    if (is_encrypted && !key) return invalid("{}: is encrypted: name the file with its key (--key)", source_);
    if (!is_encrypted && key)
      return invalid("{}: is not encrypted, so anybody may have written it: leave --key out if that is meant", source_);
    if (is_encrypted) start_.erase(0, kSealedStream.size());
    ArchiveBytes plain = [this, &input, told = false]() mutable -> Result<std::string_view> {
      if (told || start_.empty()) return input.read();
      told = true;
      return std::string_view(start_);
    };
    if (!is_encrypted) return plain;
    reader_ = std::make_unique<SealReader>(*key, std::move(plain));
    return ArchiveBytes([this]() -> Result<std::string_view> {
      Result<std::string_view> piece = reader_->read();
      if (!piece.ok()) return invalid("{}: {}", source_, piece.error().message);
      return piece;
    });
  }

  Status begin(const std::string& name) {
    hash_ = Sha256();
    size_ = 0;
    if (!manifest_) {
      if (name != kManifestName)
        return invalid("{}: does not begin with {}: is it a backup of `stint backup`?", source_, kManifestName);
      return {};
    }
    if (next_ >= manifest_->files.size() || manifest_->files[next_].name != name)
      return invalid("{}: holds {}, which its manifest does not name there", source_, excerpt(name));
    const std::string path = folder_ + "/" + place_of(name);
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    file_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    return file_.valid() ? Status() : cannot(path, "written");
  }

  Status data(std::string_view bytes) {
    size_ += bytes.size();
    if (!manifest_) {
      text_ += bytes;
      return text_.size() <= kMostManifestBytes ? Status() : invalid("{}: its manifest is too long to be one", source_);
    }
    hash_.update(bytes);
    while (!bytes.empty()) {
      const ssize_t n = ::write(file_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return cannot(folder_, "written to");
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return {};
  }

  Status end() {
    if (!manifest_) {
      TRY_ASSIGN(manifest_, parse_manifest(text_, source_));
      return {};
    }
    const BackupFile& file = manifest_->files[next_++];
    if (size_ != file.bytes || hash_.digest() != file.sha256)
      return invalid("{}: {} is not what was saved: its checksum differs. Use another backup", source_, file.name);
    if (::fsync(file_.get()) != 0 || file_.close() != 0) return cannot(folder_, "written to");
    return {};
  }

  std::string source_, folder_, text_;
  std::string start_;  ///< of the file, as far as it was looked at
  std::unique_ptr<SealReader> reader_;
  std::optional<BackupManifest> manifest_;
  size_t next_ = 0;  ///< of the manifest's files
  Descriptor file_;
  Sha256 hash_;
  uint64_t size_ = 0;
};

Result<std::optional<SealKey>> key_in(const std::string& path) {
  if (path.empty()) return std::optional<SealKey>();
  TRY_ASSIGN(SealKey key, SealKey::read(path));
  return std::optional<SealKey>(std::move(key));
}

Result<BackupManifest> unpack_and_check(const std::string& file, const std::string& folder, const std::string& key_file) {
  TRY_ASSIGN(const std::optional<SealKey> key, key_in(key_file));
  TRY_ASSIGN(BackupManifest manifest, Unpacker(file, folder).unpack(key));
  for (const BackupFile& one : manifest.files)
    if (const std::string path = folder + "/" + one.name; is_database(path)) TRY(check_database(path));
  TRY_ASSIGN(const AuditEnd audit, verify_audit_log(folder));
  if (audit.records != manifest.audit_records || audit.head != manifest.audit_head)
    return invalid("{}: its audit log ends with {} and not with {}: use another backup", file, audit.head, manifest.audit_head);
  return manifest;
}

}  // namespace

std::string to_json(const BackupManifest& manifest) {
  Json files = Json::array();
  for (const BackupFile& file : manifest.files)
    files.push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}, {"schema_version", file.schema_version}});
  const Json json = {{"format", kFormat},
                     {"made_at", format_utc(manifest.made_at)},
                     {"stint", manifest.stint_version},
                     {"audit", {{"records", manifest.audit_records}, {"head", manifest.audit_head}}},
                     {"files", files}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<BackupManifest> make_backup(const BackupOptions& options, const std::string& file, Instant now) {
  if (is_regular_file(file)) return make_error(ErrorCode::kConflict, "{}: is there already: name a new file", file);
  TRY_ASSIGN(const std::optional<SealKey> key, key_in(options.key_file));
  // What is in the open stays on the disk where it is in the open already.
  TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::beside(key ? options.state_folder : file));
  TRY_ASSIGN(const TemporaryFolder beside, TemporaryFolder::beside(file));
  TRY_ASSIGN(const std::vector<std::string> names, gather(options, folder.path()));
  BackupManifest manifest{.made_at = now, .stint_version = options.stint_version};
  TRY_ASSIGN(const AuditEnd audit, verify_audit_log(folder.path()));
  manifest.audit_records = audit.records;
  manifest.audit_head = audit.head;
  for (const std::string& name : names) {
    const std::string path = folder.path() + "/" + name;
    TRY_ASSIGN(const int64_t version, schema_version_of(path));
    TRY_ASSIGN(std::string hash, sha256_of_file(path));
    std::error_code error;
    manifest.files.push_back({name, fs::file_size(path, error), std::move(hash), version});
    if (error) return make_error(ErrorCode::kUnavailable, "{}: cannot be read: {}", path, error.message());
  }
  const std::string part = beside.path() + "/backup.tar";
  TRY_ASSIGN(Archive archive, Archive::create(part, key));
  TRY(archive.add(kManifestName, to_json(manifest), now));
  for (const BackupFile& one : manifest.files)
    TRY(archive.add_file(one, folder.path(), now));
  TRY(archive.finish());
  // A link does not replace what came there meanwhile.
  if (::link(part.c_str(), file.c_str()) != 0) return cannot(file, "put in place");
  TRY(sync_path(folder_of(file)));
  return manifest;
}

Result<BackupManifest> restore_backup(const std::string& file, const std::string& state_folder, const std::string& key_file) {
  std::string target = state_folder;
  while (target.size() > 1 && target.ends_with('/'))
    target.pop_back();
  std::error_code error;
  if (fs::exists(target, error) && !(fs::is_directory(target, error) && fs::is_empty(target, error)))
    return make_error(ErrorCode::kConflict,
                      "{}: is there and not empty: nothing is overwritten. Move it away, or name another folder", target);
  TRY_ASSIGN(TemporaryFolder folder, TemporaryFolder::beside(target));
  TRY_ASSIGN(BackupManifest manifest, unpack_and_check(file, folder.path(), key_file));
  TRY(sync_path(folder.path()));
  TRY(folder.rename_to(target));
  TRY(sync_path(folder_of(target)));
  return manifest;
}

Result<BackupManifest> check_backup(const std::string& file, const std::string& scratch_folder, const std::string& key_file) {
  TRY_ASSIGN(const TemporaryFolder folder, TemporaryFolder::beside(scratch_folder + "/stint-check"));
  return unpack_and_check(file, folder.path(), key_file);
}

}  // namespace stint
