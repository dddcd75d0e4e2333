#include "clouds/gcs_answers.h"

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "clouds/json_member.h"

namespace stint {
namespace {

/// Where the hash that its writer noted is kept.
constexpr const char* kGcsShaNote = "stint-sha256";

Result<GcsObject> gcs_object_of(const nlohmann::json& json) {
  GcsObject object;
  object.info.key = text_member(json, "name");
  // int64 travels as text.
  const auto size = parse_int(text_member(json, "size"));
  if (object.info.key.empty() || !size || *size < 0)
    return invalid("the answer of Cloud Storage has an object without name and size");
  object.info.size = *size;
  object.info.tag = text_member(json, "generation");
  object.md5 = text_member(json, "md5Hash");
  if (const auto updated = parse_instant(text_member(json, "updated")); updated.ok()) object.info.modified = *updated;
  if (const auto notes = json.find("metadata"); notes != json.end()) object.info.sha256 = text_member(*notes, kGcsShaNote);
  return object;
}

}  // namespace

Result<GcsObject> parse_gcs_object(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("the answer of Cloud Storage is no JSON object: {}", excerpt(text, 80));
  return gcs_object_of(json);
}

Result<GcsListing> parse_gcs_listing(std::string_view text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return invalid("the answer of Cloud Storage is no JSON object: {}", excerpt(text, 80));
  GcsListing listing{.objects = {}, .next = text_member(json, "nextPageToken")};
  if (const auto items = json.find("items"); items != json.end() && items->is_array())
    for (const nlohmann::json& item : *items) {
      TRY_ASSIGN(GcsObject object, gcs_object_of(item));
      listing.objects.push_back(std::move(object));
    }
  return listing;
}

CloudFault parse_gcs_error(int status, std::string_view body) {
  CloudFault fault;
  const nlohmann::json json = nlohmann::json::parse(body, nullptr, false);
  if (json.is_object())
    if (const auto error = json.find("error"); error != json.end()) {
      fault.message = text_member(*error, "message");
      if (const auto all = error->is_object() ? error->find("errors") : error->end(); error->is_object() && all != error->end())
        if (all->is_array() && !all->empty()) fault.code = text_member(all->front(), "reason");
    }
  if (fault.code.empty() && fault.message.empty()) fault.message = fmt::format("HTTP {}", status);
  fault.failure = classify_failure(status, fault.code);
  return fault;
}

}  // namespace stint
