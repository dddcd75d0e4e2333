// A folder of files as a provider delivers a bill: CUR's and FOCUS' parts with a manifest beside them, or parts alone.
//
// The same rules hold for a folder of an object store (object_delivery.h): they read names, and manifests through a function.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

/// Manifests, checksums, statements for other databases: what lies beside the data of a bill.
bool is_side_file(std::string_view base_name);
/// A provider's list of the files of a delivery.
bool is_delivery_manifest(std::string_view base_name);

/// What lies in a folder and the folders in it.
struct DeliveryFiles {
  std::vector<std::string> data, manifests;  ///< in order of names
};

/// Puts a file into the list it belongs to; what lies beside the data, and is no manifest, into none.
void add_to_delivery(DeliveryFiles& files, const std::string& path);

/// Files that are one bill, or what one export holds of several.
struct Delivery {
  std::string period;  ///< of the manifest, or the folder; "" = all there is
  std::vector<std::string> files;
};

/// Where manifests lie there, the newest of each period says which files; else those of each folder BILLING_PERIOD=… are a delivery;
/// else all are one. Ascending by period.
/// @param folder  for messages.
/// @return error when a file that a manifest names is not there, or when there is none at all.
Result<std::vector<Delivery>> deliveries_of(const DeliveryFiles& there, const std::string& folder,
                                            const std::function<Result<std::string>(const std::string& path)>& read_manifest);

/// The files of the delivery in `folder` and the folders in it, in their order. Where manifests lie there, the newest of each period
/// says which; else all that are not beside the data.
/// @return error when a file that a manifest names is not there, or when there is none at all.
Result<std::vector<std::string>> files_of_delivery(const std::string& folder);

}  // namespace stint
