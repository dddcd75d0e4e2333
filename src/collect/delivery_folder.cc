#include "collect/delivery_folder.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "codec/bills/delivery_manifest.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr size_t kMaxManifestBytes = size_t{16} << 20;
constexpr size_t kMaxFiles = 100'000;

Result<DeliveryFiles> files_in(const std::string& folder) {
  DeliveryFiles files;
  std::error_code error;
  auto at = std::filesystem::recursive_directory_iterator(folder, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const std::string base = at->path().filename().string();
    std::error_code ignored;
    if (base.starts_with('.') || base == "__MACOSX") {
      if (at->is_directory(ignored)) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file(ignored)) continue;
    add_to_delivery(files, at->path().string());
    if (files.data.size() + files.manifests.size() > kMaxFiles)
      return invalid("{}: more than {} files: name the folder of one delivery", folder, kMaxFiles);
  }
  if (error) return make_error(ErrorCode::kUnavailable, "{}: cannot be read: {}", folder, error.message());
  std::ranges::sort(files.data);
  std::ranges::sort(files.manifests);
  return files;
}

/// How many parts of two paths agree from their ends on.
size_t common_tail(std::string_view a, std::string_view b) {
  size_t parts = 0;
  for (;;) {
    const size_t x = a.rfind('/'), y = b.rfind('/');
    if (a.substr(x == std::string_view::npos ? 0 : x + 1) != b.substr(y == std::string_view::npos ? 0 : y + 1)) return parts;
    ++parts;
    if (x == std::string_view::npos || y == std::string_view::npos) return parts;
    a = a.substr(0, x), b = b.substr(0, y);
  }
}

/// `BILLING_PERIOD=2026-10` of a path; "" = it lies in no such folder.
std::string billing_folder(std::string_view path) {
  for (const std::string_view part : split(path.substr(0, path.rfind('/') + 1), '/'))
    if (to_lower(part).starts_with("billing_period=")) return std::string(part);
  return {};
}

/// The file that the manifest means: that whose path agrees with `name` in the most parts.
Result<std::string> find_listed(const std::vector<std::string>& data, const std::string& name, const std::string& manifest) {
  size_t best = 0;
  const std::string* found = nullptr;
  for (const std::string& path : data) {
    const size_t parts = common_tail(path, name);
    if (parts > best) best = parts, found = &path;
  }
  if (found == nullptr)
    return make_error(ErrorCode::kNotFound, "{}: names {}, which is not in the folder: fetch the whole delivery", manifest, name);
  return *found;
}

}  // namespace

bool is_side_file(std::string_view base_name) {
  constexpr std::array<std::string_view, 8> kEndings = {".sql", ".md5", ".sha256", ".crc", ".md", ".txt", ".yml", ".yaml"};
  const std::string lower = to_lower(base_name);
  return base_name.starts_with('.') || base_name.starts_with("_SUCCESS") || is_delivery_manifest(base_name) ||
         std::ranges::any_of(kEndings, [&](std::string_view ending) { return lower.ends_with(ending); });
}

bool is_delivery_manifest(std::string_view base_name) {
  return contains_ignoring_case(base_name, "manifest") && to_lower(base_name).ends_with(".json");
}

void add_to_delivery(DeliveryFiles& files, const std::string& path) {
  const std::string_view base = std::string_view(path).substr(path.rfind('/') + 1);
  if (is_delivery_manifest(base))
    files.manifests.push_back(path);
  else if (!base.empty() && !is_side_file(base))
    files.data.push_back(path);
}

Result<std::vector<Delivery>> deliveries_of(const DeliveryFiles& there, const std::string& folder,
                                            const std::function<Result<std::string>(const std::string& path)>& read_manifest) {
  struct Listed {
    std::string path;
    DeliveryManifest manifest;
  };
  std::map<std::string, Listed> newest;  // by period
  for (const std::string& path : there.manifests) {
    TRY_ASSIGN(const std::string text, read_manifest(path));
    if (text.size() > kMaxManifestBytes) continue;
    auto manifest = parse_delivery_manifest(text);
    if (!manifest) continue;
    // AWS lays a copy into the folder of each delivery: the one above it is the newest.
    const auto order = [](const Listed& l) { return std::tuple(l.manifest.made, -std::ranges::count(l.path, '/'), l.path); };
    Listed listed{path, std::move(*manifest)};
    const auto [at, added] = newest.try_emplace(listed.manifest.period, listed);
    if (!added && order(at->second) < order(listed)) at->second = std::move(listed);
  }
  std::vector<Delivery> deliveries;
  if (newest.empty()) {
    std::map<std::string, std::vector<std::string>> by_folder;
    for (const std::string& path : there.data)
      by_folder[billing_folder(path)].push_back(path);
    for (auto& [period, files] : by_folder)
      deliveries.push_back({period, std::move(files)});
  } else {
    std::set<std::string> once;
    for (const auto& [period, listed] : newest) {
      Delivery delivery{period, {}};
      for (const std::string& name : listed.manifest.files) {
        TRY_ASSIGN(std::string path, find_listed(there.data, name, listed.path));
        if (once.insert(path).second) delivery.files.push_back(std::move(path));
      }
      if (!delivery.files.empty()) deliveries.push_back(std::move(delivery));
    }
  }
  if (deliveries.empty()) return invalid("{}: holds no files of a bill", folder);
  return deliveries;
}

Result<std::vector<std::string>> files_of_delivery(const std::string& folder) {
  TRY_ASSIGN(const DeliveryFiles there, files_in(folder));
  TRY_ASSIGN(const std::vector<Delivery> deliveries, deliveries_of(there, folder, read_all));
  std::vector<std::string> files;
  for (const Delivery& delivery : deliveries)
    files.insert(files.end(), delivery.files.begin(), delivery.files.end());
  return files;
}

}  // namespace stint
