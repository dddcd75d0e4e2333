#include "clouds/object_store.h"

#include "clouds/s3_store.h"

namespace stint {

Result<std::unique_ptr<ObjectStore>> open_object_store(const ObjectUrl& url, const ObjectStoreOptions& options) {
  if (url.provider == CloudProvider::kAws) return open_s3_store(url, options);
  return invalid("{}: only s3:// is read and written", url.base());
}

}  // namespace stint
