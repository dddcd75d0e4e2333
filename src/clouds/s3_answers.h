// What S3 answers, as values. Pure. Source: Amazon S3 API Reference.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clouds/object_store.h"

namespace stint {

struct S3Listing {
  std::vector<ObjectInfo> objects;
  std::string next;  ///< what asks for the next page; "" = this was the last
};
/// ListObjectsV2 with `encoding-type=url`.
Result<S3Listing> parse_s3_listing(std::string_view xml);

/// InitiateMultipartUploadResult.
Result<std::string> parse_s3_upload_id(std::string_view xml);
/// ListMultipartUploads with `encoding-type=url`, in their order: the latest of a key is the last.
Result<std::vector<UnfinishedUpload>> parse_s3_uploads(std::string_view xml);
struct S3Parts {
  std::vector<ObjectPart> parts;
  int next = 0;  ///< the number to ask for parts behind; 0 = there are no more
};
Result<S3Parts> parse_s3_parts(std::string_view xml);
/// The body of CompleteMultipartUpload.
std::string s3_completion(const std::vector<ObjectPart>& parts);

/// An ETag as headers and documents write it.
std::string without_quotes(std::string text);

/// The region that an error says the bucket is in; "" = it says none.
std::string s3_region_of_error(std::string_view xml);

}  // namespace stint
