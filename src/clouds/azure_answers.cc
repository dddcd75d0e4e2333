#include "clouds/azure_answers.h"

#include "base/text.h"
#include "clouds/digests.h"
#include "clouds/s3_answers.h"
#include "clouds/xml.h"
#include "host/http_target.h"

namespace stint {
namespace {

constexpr size_t kDigestDigits = 32;

Result<XmlElement> azure_document(std::string_view text, std::string_view root) {
  // Azure begins its documents with a byte order mark.
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  auto xml = parse_xml(text);
  if (!xml.ok()) return invalid("Azure's answer cannot be read: {}", xml.error().message);
  if (xml->name != root) return invalid("Azure answers <{}> instead of <{}>", excerpt(xml->name), root);
  return xml;
}

/// none = not one of ours.
std::optional<ObjectPart> part_of_block(const XmlElement& block) {
  const std::string name = block.text_of("Name");
  const auto id = from_base64(name);
  const auto size = parse_int(block.text_of("Size"));
  if (!id || !size || *size < 0 || id->size() < kDigestDigits + 2 || (*id)[id->size() - kDigestDigits - 1] != '-')
    return std::nullopt;
  const auto number = parse_int(std::string_view(*id).substr(0, id->size() - kDigestDigits - 1));
  if (!number || *number < 1 || *number > 50'000) return std::nullopt;
  return ObjectPart{
      .number = static_cast<int>(*number), .size = *size, .tag = name, .digest = id->substr(id->size() - kDigestDigits)};
}

}  // namespace

Result<AzureListing> parse_azure_listing(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, azure_document(text, "EnumerationResults"));
  AzureListing listing{.objects = {}, .next = xml.text_of("NextMarker")};
  const XmlElement* blobs = xml.find("Blobs");
  if (blobs == nullptr) return listing;
  for (const XmlElement& blob : blobs->children) {
    const XmlElement* properties = blob.name == "Blob" ? blob.find("Properties") : nullptr;
    if (properties == nullptr) continue;
    ObjectInfo info{.key = blob.text_of("Name"), .tag = without_quotes(properties->text_of("Etag"))};
    const auto size = parse_int(properties->text_of("Content-Length"));
    if (info.key.empty() || !size || *size < 0) return invalid("Azure lists a blob without name and length");
    info.size = *size;
    info.modified = parse_http_date(properties->text_of("Last-Modified")).value_or(Instant());
    listing.objects.push_back(std::move(info));
  }
  return listing;
}

Result<std::vector<ObjectPart>> parse_azure_blocks(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, azure_document(text, "BlockList"));
  std::vector<ObjectPart> parts;
  if (const XmlElement* blocks = xml.find("UncommittedBlocks"); blocks != nullptr)
    for (const XmlElement& block : blocks->children)
      if (const auto part = part_of_block(block)) parts.push_back(*part);
  return parts;
}

std::string azure_block_id(int number, std::string_view digest) { return to_base64(fmt::format("{:05}-{}", number, digest)); }

std::string azure_block_list(const std::vector<ObjectPart>& parts) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList>";
  for (const ObjectPart& part : parts)
    xml += "<Uncommitted>" + escape_xml(part.tag) + "</Uncommitted>";
  return xml + "</BlockList>";
}

CloudFault parse_azure_error(int status, std::string_view header_code, std::string_view text) {
  CloudFault fault{.failure = CloudFailure::kServer, .code = std::string(header_code), .message = ""};
  if (const auto xml = azure_document(text, "Error"); xml.ok()) {
    if (fault.code.empty()) fault.code = xml->text_of("Code");
    // What follows the first line names the request, for Microsoft's support.
    const std::string message = xml->text_of("Message");
    fault.message = message.substr(0, message.find('\n'));
  }
  if (fault.code.empty() && fault.message.empty()) fault.message = fmt::format("HTTP {}", status);
  fault.failure = classify_failure(status, fault.code);
  return fault;
}

}  // namespace stint
