// What Azure Blob Storage answers, as values. Pure. Source: "Blob service REST API", version 2021-12-02.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "clouds/object_store.h"

namespace stint {

struct AzureListing {
  std::vector<ObjectInfo> objects;
  std::string next;  ///< asks for the next page; "" = this was the last
};
/// List Blobs. @return kInvalidInput when it is no such answer, as below.
Result<AzureListing> parse_azure_listing(std::string_view xml);
/// Get Block List: those that are not committed. A block's id says which part it is and what its bytes are (azure_block_id()).
Result<std::vector<ObjectPart>> parse_azure_blocks(std::string_view xml);
/// All of the same length, as Azure wants them. @param digest  of the part, 32 hexadecimal digits.
std::string azure_block_id(int number, std::string_view digest);
/// The body of Put Block List.
std::string azure_block_list(const std::vector<ObjectPart>& parts);
/// @param header_code  `x-ms-error-code`; "" = the document says it.
CloudFault parse_azure_error(int status, std::string_view header_code, std::string_view xml);

}  // namespace stint
