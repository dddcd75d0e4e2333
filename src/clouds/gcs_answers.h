// What Google Cloud Storage's JSON API (v1) answers, as values. Pure. Source: "Cloud Storage JSON API reference".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clouds/object_store.h"

namespace stint {

struct GcsObject {
  ObjectInfo info;
  std::string md5;  ///< base64; "" = not told, as of composed objects
};
struct GcsListing {
  std::vector<GcsObject> objects;
  std::string next;  ///< asks for the next page; "" = this was the last
};
/// `objects.list`. @return kInvalidInput when it is no such answer, as below.
Result<GcsListing> parse_gcs_listing(std::string_view json);
/// The metadata of one object.
Result<GcsObject> parse_gcs_object(std::string_view json);
/// Code (the `reason`) and message of an error.
CloudFault parse_gcs_error(int status, std::string_view body);

}  // namespace stint
