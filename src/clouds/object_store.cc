#include "clouds/object_store.h"

#include "clouds/s3_store.h"

namespace stint {

Result<std::unique_ptr<ObjectStore>> open_object_store(const ObjectUrl& url, const ObjectStoreOptions& options) {
  if (url.provider == CloudProvider::kAws) return open_s3_store(url, options);
  return invalid("{}: only s3:// is read and written (Amazon S3, and with AWS_ENDPOINT_URL_S3 what speaks like it)", url.base());
}

}  // namespace stint
