// Object stores behind one interface: S3 and what speaks like it, Google Cloud Storage, Azure Blob.
//
// An object appears whole or not at all. Every call repeats what may pass (cloud_failure.h) before it fails. Files go through
// object_transfer.h, which cuts them into parts.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "clouds/cloud_http.h"
#include "clouds/object_url.h"

namespace stint {

struct ObjectInfo {
  std::string key;
  int64_t size = 0;
  Instant modified;
  std::string sha256;  ///< as its writer noted it; "" = not noted, and in listings
  std::string tag;     ///< changes with its content: the ETag, without quotes; "" = not told
};

enum class IfThere : uint8_t {
  kReplace,
  kRefuse,  ///< kConflict when an object of that key is there: of two writers one wins
};

struct PutOptions {
  IfThere if_there = IfThere::kReplace;
  std::string sha256;  ///< noted with the object; "" = none
};

/// A part that the store holds of an upload that is not complete.
struct ObjectPart {
  int number = 0;  ///< from 1
  int64_t size = 0;
  std::string tag;     ///< what the store calls it
  std::string digest;  ///< of its bytes, as digest_of_part() of the store gives it; "" = not known
};

/// One that was begun and neither completed nor given up: its parts are paid for and show nowhere.
struct UnfinishedUpload {
  std::string key, id;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  ObjectStore() = default;
  ObjectStore(const ObjectStore&) = delete;
  ObjectStore& operator=(const ObjectStore&) = delete;

  /// `s3://bucket/`, for messages.
  [[nodiscard]] virtual std::string name() const = 0;
  /// Why a call failed last; kServer before any did. Of calls side by side, one of them.
  [[nodiscard]] virtual CloudFailure last_failure() const = 0;
  virtual Status put(const std::string& key, std::string bytes, const PutOptions& options) = 0;
  /// @param length  of the range; −1 = all behind `offset`.
  virtual Result<std::string> get(const std::string& key, int64_t offset, int64_t length) = 0;
  Result<std::string> get(const std::string& key) { return get(key, 0, -1); }
  /// @return kNotFound when there is none.
  virtual Result<ObjectInfo> head(const std::string& key) = 0;
  /// All whose keys begin with the prefix, in order of keys.
  virtual Result<std::vector<ObjectInfo>> list(const std::string& prefix) = 0;
  /// No error when it is not there.
  virtual Status remove(const std::string& key) = 0;
  /// An address by which whoever has it may read the object for so long. The store is not asked: it need not be there.
  /// @return kUnavailable with credentials that sign none, and which do.
  virtual Result<std::string> link(const std::string& key, Duration lasts) = 0;

  // ---- in parts -----------------------------------------------------------------------------------------------------

  /// May parts be sent at the same time, and gone on with by another process?
  enum class Parts : uint8_t { kInAnyOrder, kInOrder };
  [[nodiscard]] virtual Parts parts() const = 0;
  /// All parts but the last must be multiples of 256 KiB and at least 5 MiB.
  /// @return what names the upload. One that another process began for the same object may be gone on with, where the store shows it.
  virtual Result<std::string> begin_upload(const std::string& key, const PutOptions& options) = 0;
  virtual Result<std::vector<ObjectPart>> parts_of(const std::string& key, const std::string& upload) = 0;
  [[nodiscard]] virtual std::string digest_of_part(std::string_view bytes) const = 0;
  struct PartPlace {
    int number = 1;
    int64_t offset = 0;
    int64_t total = 0;  ///< bytes of the whole object
  };
  virtual Result<ObjectPart> put_part(const std::string& key, const std::string& upload, PartPlace place, std::string bytes) = 0;
  /// @param parts  all of them, in order.
  virtual Status complete_upload(const std::string& key, const std::string& upload, const std::vector<ObjectPart>& parts,
                                 const PutOptions& options) = 0;
  virtual void abort_upload(const std::string& key, const std::string& upload) = 0;
  /// Of keys that begin with the prefix, as far as the store shows them; the latest of a key is the last.
  virtual Result<std::vector<UnfinishedUpload>> unfinished_uploads(const std::string& prefix) = 0;
};

struct ObjectStoreOptions {
  Environment environment = process_environment();
  int64_t send_bytes_per_second = 0;  ///< over each connection; 0 = as fast as it goes
  /// Of the provider, for encryption at rest: a KMS key's id or ARN (S3), a key's resource name (Google), an encryption scope (Azure).
  std::string encryption_key;
  int tries = 8;  ///< of one request
  std::function<void(Duration)> sleep;
};

/// For any number of threads at the same time.
Result<std::unique_ptr<ObjectStore>> open_object_store(const ObjectUrl& url, const ObjectStoreOptions& options = {});

}  // namespace stint
