// Google Cloud Storage, by its JSON API.
//
// A file in parts: each part is an object of its own under `KEY.stint-parts-HASH/`, and `compose` joins them, at most 32 at a time, into one
// that appears whole. So parts go side by side and are found again by any process that sends the same bytes.
#pragma once

#include <memory>

#include "clouds/object_store.h"

namespace stint {

Result<std::unique_ptr<ObjectStore>> open_gcs_store(const ObjectUrl& url, const ObjectStoreOptions& options);

}  // namespace stint
