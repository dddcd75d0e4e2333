// Amazon S3, and stores that speak its protocol at another address (AWS_ENDPOINT_URL_S3). Source: Amazon S3 API Reference.
#pragma once

#include "clouds/object_store.h"

namespace stint {

Result<std::unique_ptr<ObjectStore>> open_s3_store(const ObjectUrl& url, const ObjectStoreOptions& options);

}  // namespace stint
