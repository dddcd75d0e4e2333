// A folder of files as a provider delivers a bill: CUR's and FOCUS' parts with a manifest beside them, or parts alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

/// Manifests, checksums, statements for other databases: what lies beside the data of a bill.
bool is_side_file(std::string_view base_name);

/// The files of the delivery in `folder` and the folders in it, in their order. Where manifests lie there, the newest of each period
/// says which; else all that are not beside the data.
/// @return error when a file that a manifest names is not there, or when there is none at all.
Result<std::vector<std::string>> files_of_delivery(const std::string& folder);

}  // namespace stint
