#include "clouds/s3_answers.h"

#include "base/text.h"
#include "clouds/xml.h"
#include "host/http_target.h"

namespace stint {
namespace {

Result<XmlElement> s3_document(std::string_view text, std::string_view root) {
  auto xml = parse_xml(text);
  if (!xml.ok()) return invalid("S3's answer cannot be read: {}", xml.error().message);
  if (xml->name != root) return invalid("S3 answers <{}> instead of <{}>", excerpt(xml->name), root);
  return xml;
}

Result<int64_t> s3_number(const XmlElement& element, std::string_view name) {
  const auto number = parse_int(element.text_of(name));
  if (!number || *number < 0) return invalid("S3 answers the {} '{}'", name, excerpt(element.text_of(name)));
  return *number;
}

/// S3 writes a blank in an encoded key as `+`.
std::string decoded_key(const XmlElement& element, bool encoded) {
  std::string key = element.find("Key") == nullptr ? "" : element.find("Key")->text;
  if (!encoded) return key;
  for (char& c : key)
    if (c == '+') c = ' ';
  return unescape_url(key).value_or(key);
}

}  // namespace

std::string without_quotes(std::string text) {
  std::erase(text, '"');
  return text;
}

Result<S3Listing> parse_s3_listing(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, s3_document(text, "ListBucketResult"));
  const bool encoded = xml.text_of("EncodingType") == "url";
  S3Listing listing;
  for (const XmlElement& e : xml.children) {
    if (e.name != "Contents") continue;
    ObjectInfo info{.key = decoded_key(e, encoded), .tag = without_quotes(e.text_of("ETag"))};
    TRY_ASSIGN(info.size, s3_number(e, "Size"));
    TRY_ASSIGN(info.modified, parse_instant(e.text_of("LastModified")));
    listing.objects.push_back(std::move(info));
  }
  if (xml.text_of("IsTruncated") == "true") {
    listing.next = xml.text_of("NextContinuationToken");
    if (listing.next.empty()) return invalid("S3's listing is cut off and says not where it goes on");
  }
  return listing;
}

Result<std::string> parse_s3_upload_id(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, s3_document(text, "InitiateMultipartUploadResult"));
  std::string id = xml.text_of("UploadId");
  if (id.empty()) return invalid("S3 begins an upload and gives it no id");
  return id;
}

Result<std::vector<UnfinishedUpload>> parse_s3_uploads(std::string_view text) {
  TRY_ASSIGN(const XmlElement xml, s3_document(text, "ListMultipartUploadsResult"));
  const bool encoded = xml.text_of("EncodingType") == "url";
  std::vector<UnfinishedUpload> uploads;
  for (const XmlElement& e : xml.children)
    if (e.name == "Upload") uploads.push_back({.key = decoded_key(e, encoded), .id = e.text_of("UploadId")});
  return uploads;
}

Result<S3Parts> parse_s3_parts(std::string_view text) {
  // moto writes ListPartsResponse.
  TRY_ASSIGN(
      const XmlElement xml,
      s3_document(text, text.find("<ListPartsResponse") == std::string_view::npos ? "ListPartsResult" : "ListPartsResponse"));
  S3Parts found;
  for (const XmlElement& e : xml.children) {
    if (e.name != "Part") continue;
    TRY_ASSIGN(const int64_t number, s3_number(e, "PartNumber"));
    if (number < 1 || number > 10'000) return invalid("S3 answers the part number {}", number);
    ObjectPart part{.number = static_cast<int>(number), .tag = e.text_of("ETag"), .digest = without_quotes(e.text_of("ETag"))};
    TRY_ASSIGN(part.size, s3_number(e, "Size"));
    found.parts.push_back(std::move(part));
  }
  if (xml.text_of("IsTruncated") == "true") {
    TRY_ASSIGN(const int64_t next, s3_number(xml, "NextPartNumberMarker"));
    if (next < 1 || next > 10'000) return invalid("S3's parts go on behind {}", next);
    found.next = static_cast<int>(next);
  }
  return found;
}

std::string s3_region_of_error(std::string_view text) {
  const auto xml = parse_xml(text);
  const XmlElement* error = xml.ok() ? xml->find_below("Error") : nullptr;
  return error == nullptr ? "" : error->text_of("Region");
}

std::string s3_completion(const std::vector<ObjectPart>& parts) {
  std::string body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const ObjectPart& part : parts)
    body += fmt::format("<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>", part.number, escape_xml(part.tag));
  return body + "</CompleteMultipartUpload>";
}

}  // namespace stint
