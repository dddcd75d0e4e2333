// Azure Blob Storage: block blobs.
//
// A file in parts: blocks, side by side, which show nowhere until a list of them is committed. Azure knows no uploads: blocks that were sent
// wait a week with the blob's name, and any process that sends the same bytes finds them by their ids.
#pragma once

#include <memory>

#include "clouds/object_store.h"

namespace stint {

Result<std::unique_ptr<ObjectStore>> open_azure_store(const ObjectUrl& url, const ObjectStoreOptions& options);

}  // namespace stint
