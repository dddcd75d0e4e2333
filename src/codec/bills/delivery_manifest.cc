// Sources: AWS Data Exports user guide, "Understanding export delivery" and "Cost and Usage Reports manifest files" (`dataFiles`;
// `reportKeys`, `billingPeriod`); Microsoft Learn, "Tutorial: Create and manage exported data", manifest (`blobs`, `runInfo`).
#include "codec/bills/delivery_manifest.h"

#include <nlohmann/json.hpp>

namespace stint {
namespace {

using ManifestJson = nlohmann::json;

std::string manifest_text(const ManifestJson& object, const char* key) {
  if (!object.is_object()) return {};
  const auto at = object.find(key);
  return at == object.end() || !at->is_string() ? std::string() : at->get<std::string>();
}

const ManifestJson& manifest_member(const ManifestJson& object, const char* key) {
  static const ManifestJson kNone;
  const auto at = object.find(key);
  return at == object.end() ? kNone : *at;
}

/// `s3://bucket/a/b.csv` → `a/b.csv`.
std::string without_bucket(std::string name) {
  const size_t scheme = name.find("://");
  if (scheme == std::string::npos) return name;
  const size_t slash = name.find('/', scheme + 3);
  return slash == std::string::npos ? std::string() : name.substr(slash + 1);
}

/// `…/BILLING_PERIOD=2026-10/…`: the part that says which table it is of.
std::string partition_of(const std::string& file) {
  const size_t equals = file.find('=');
  if (equals == std::string::npos) return {};
  const size_t begin = file.rfind('/', equals) == std::string::npos ? 0 : file.rfind('/', equals) + 1;
  return file.substr(begin, file.find('/', equals) - begin);
}

}  // namespace

std::optional<DeliveryManifest> parse_delivery_manifest(std::string_view json) {
  const ManifestJson parsed = ManifestJson::parse(json.begin(), json.end(), nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  DeliveryManifest manifest;
  bool listed = false;
  for (const char* key : {"dataFiles", "reportKeys", "blobs"}) {
    const ManifestJson& files = manifest_member(parsed, key);
    if (!files.is_array()) continue;
    listed = true;
    for (const ManifestJson& file : files) {
      std::string name = file.is_string() ? file.get<std::string>() : manifest_text(file, "blobName");
      if (name = without_bucket(std::move(name)); !name.empty()) manifest.files.push_back(std::move(name));
    }
  }
  if (!listed) return std::nullopt;
  const ManifestJson& period = manifest_member(parsed, "billingPeriod");
  const ManifestJson& run = manifest_member(parsed, "runInfo");
  const ManifestJson& exported = manifest_member(parsed, "exportConfig");
  manifest.period = manifest_text(period, "start") + manifest_text(run, "startDate") + manifest_text(exported, "exportName");
  if (!manifest.files.empty()) manifest.period += partition_of(manifest.files.front());
  manifest.made = manifest_text(run, "submittedTime") + manifest_text(parsed, "createdAt");
  return manifest;
}

}  // namespace stint
