// Files of an object store as imports: which they are, and how each is brought here.
//
// Of a bill the files of one period are one import, as in a folder (delivery_folder.h), so that a month that did not change is not
// fetched again: an import is known by the addresses and ETags of its objects. Of other formats each object is an import.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "clouds/object_store.h"
#include "collect/file_import.h"

namespace stint {

/// @param url  of an object, of a folder, or of the manifest of a delivery.
/// @return imports whose `fetch` holds the store; in order of their periods or names. An error names the object and what to do.
Result<std::vector<FileImport>> imports_of_objects(const std::string& url, const ImportFormat& format,
                                                   const ObjectStoreOptions& options = {});

}  // namespace stint
