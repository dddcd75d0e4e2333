#include "clouds/object_store.h"

#include "clouds/azure_store.h"
#include "clouds/gcs_store.h"
#include "clouds/s3_store.h"

namespace stint {

Result<std::unique_ptr<ObjectStore>> open_object_store(const ObjectUrl& url, const ObjectStoreOptions& options) {
  switch (url.provider) {
    case CloudProvider::kAws: return open_s3_store(url, options);
    case CloudProvider::kGoogle: return open_gcs_store(url, options);
    case CloudProvider::kAzure: return open_azure_store(url, options);
  }
  return invalid("{}: no such object store", url.base());
}

}  // namespace stint
