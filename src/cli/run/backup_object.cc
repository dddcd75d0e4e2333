#include "cli/run/backup_object.h"

#include <unistd.h>

#include <filesystem>

#include "clouds/object_transfer.h"
#include "host/secret.h"
#include "host/sha256.h"

namespace stint {
namespace {

/// A name that nothing has yet; what gets it goes with this.
class PassingFile {
 public:
  explicit PassingFile(std::string beside) {
    while (beside.size() > 1 && beside.ends_with('/'))
      beside.pop_back();
    path_ = beside + ".backup-" + random_hex(8) + ".tar";
  }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;
  ~PassingFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct BackupObject {
  ObjectUrl url;
  std::unique_ptr<ObjectStore> store;
};

Result<BackupObject> open_backup_object(const std::string& url, const std::string& kms_key) {
  BackupObject object;
  TRY_ASSIGN(object.url, parse_object_url(url));
  if (object.url.key.empty() || object.url.key.ends_with('/'))
    return invalid("{}: names a folder: give the backup's own name, such as {}stint-2026-10-01.tar", url,
                   url.ends_with('/') ? url : url + "/");
  TRY_ASSIGN(object.store, open_object_store(object.url, {.encryption_key = kms_key}));
  return object;
}

}  // namespace

Result<BackupManifest> make_backup_object(const BackupOptions& options, const std::string& url, const std::string& kms_key,
                                          Instant now) {
  TRY_ASSIGN(const BackupObject object, open_backup_object(url, kms_key));
  // Asked first: a large state need not be read for nothing.
  const auto there = object.store->head(object.url.key);
  if (there.ok()) return make_error(ErrorCode::kConflict, "{}: is there already: name a new object", url);
  if (there.error().code != ErrorCode::kNotFound) return there.error();
  const PassingFile file(options.state_folder);
  TRY_ASSIGN(BackupManifest manifest, make_backup(options, file.path(), now));
  TRY_ASSIGN(const std::string sha256, sha256_of_file(file.path()));
  std::error_code failed;
  const FileContent content{.size = static_cast<int64_t>(std::filesystem::file_size(file.path(), failed)), .sha256 = sha256};
  TRY(send_file(*object.store, file.path(), object.url.key, content, IfThere::kRefuse));
  return manifest;
}

Result<BackupManifest> with_fetched_backup(const std::string& url, const std::string& beside,
                                           const std::function<Result<BackupManifest>(const std::string& file)>& use) {
  TRY_ASSIGN(const BackupObject object, open_backup_object(url, ""));
  TRY_ASSIGN(const ObjectInfo info, object.store->head(object.url.key));
  const PassingFile file(beside);
  // One that another program put there has no hash noted; the archive proves itself all the same.
  if (info.sha256.empty())
    TRY(fetch_listed(*object.store, info, file.path()));
  else
    TRY(fetch_file(*object.store, object.url.key, file.path(), {.size = info.size, .sha256 = info.sha256}));
  return use(file.path());
}

}  // namespace stint
