#include "collect/object_delivery.h"

#include <algorithm>
#include <map>

#include "base/counted.h"
#include "clouds/object_transfer.h"
#include "codec/bills/delivery_manifest.h"
#include "collect/delivery_folder.h"
#include "host/file.h"

namespace stint {
namespace {

constexpr size_t kMostObjects = 100'000;

/// A store and what it listed, by key. Held by the imports that come of it.
struct Shelf {
  std::unique_ptr<ObjectStore> store;
  std::map<std::string, ObjectInfo> objects;

  [[nodiscard]] std::string url_of(const std::string& key) const { return store->name() + key; }
  [[nodiscard]] Result<const ObjectInfo*> find(const std::string& url) const {
    const auto at = objects.find(url.substr(store->name().size()));
    if (at == objects.end()) return make_error(ErrorCode::kNotFound, "{}: no such object", url);
    return &at->second;
  }
};

/// Addresses, ETags and sizes: another object at the same place is another import.
Result<std::string> fingerprint_of_objects(const Shelf& shelf, const std::vector<std::string>& urls) {
  std::string all;
  for (const std::string& url : urls) {
    TRY_ASSIGN(const ObjectInfo* const info, shelf.find(url));
    all += fmt::format("{}\n{}\n{}\n{}\n", url, info->tag, info->size, format_utc(info->modified));
  }
  return fingerprint_of_bytes(all);
}

Result<LocalFile> fetch_here(const Shelf& shelf, const std::string& url) {
  TRY_ASSIGN(const ObjectInfo* const info, shelf.find(url));
  TRY_ASSIGN(TemporaryFile file, TemporaryFile::create());
  TRY(fetch_listed(*shelf.store, *info, file.path()));
  return LocalFile(std::move(file));
}

/// The object of that key, or what lies in the folder of that name.
Status list_objects(Shelf& shelf, const ObjectUrl& url) {
  const std::string folder = url.key.empty() || url.key.ends_with('/') ? url.key : url.key + "/";
  TRY_ASSIGN(std::vector<ObjectInfo> listed, shelf.store->list(url.key));
  const bool is_object = std::ranges::any_of(listed, [&](const ObjectInfo& info) { return info.key == url.key; });
  std::string beside;
  size_t others = 0;
  for (ObjectInfo& info : listed) {
    if (is_object ? info.key == url.key : info.key.starts_with(folder)) {
      if (!info.key.ends_with('/')) shelf.objects.try_emplace(info.key, info);  // consoles make empty objects for folders
    } else if (++others == 1) {
      beside = info.key;
    }
  }
  if (shelf.objects.empty())
    return make_error(ErrorCode::kNotFound, "{}: neither an object nor a folder with any{}", url.text(),
                      others > 0 ? fmt::format("; {} as {} begin so: name the folder whole", counted(others, "key"), beside)
                                 : std::string(url.provider == CloudProvider::kAws ? ": `aws s3 ls` shows what is there" : ""));
  if (shelf.objects.size() > kMostObjects)
    return invalid("{}: more than {} objects: name the folder of one delivery", url.text(), kMostObjects);
  return {};
}

/// The files that a manifest names by their keys, which lie in the same bucket.
Result<std::vector<Delivery>> delivery_of_manifest(Shelf& shelf, const ObjectUrl& url) {
  TRY_ASSIGN(const std::string text, shelf.store->get(url.key));
  auto manifest = parse_delivery_manifest(text);
  if (!manifest) return invalid("{}: no list of the files of a delivery (`dataFiles`, `reportKeys` or `blobs`)", url.text());
  Delivery delivery{manifest->period, {}};
  for (const std::string& key : manifest->files) {
    const auto info = shelf.store->head(key);
    if (!info.ok())
      return Error{info.error().code,
                   fmt::format("{}: names {}, which cannot be had: {}", url.text(), shelf.url_of(key), info.error().message)};
    shelf.objects.try_emplace(key, *info);
    delivery.files.push_back(shelf.url_of(key));
  }
  if (delivery.files.empty()) return invalid("{}: names no files", url.text());
  return std::vector<Delivery>{std::move(delivery)};
}

Result<std::vector<Delivery>> deliveries_at(Shelf& shelf, const ObjectUrl& url, bool bill) {
  const std::string base = url.key.substr(url.key.rfind('/') + 1);
  if (bill && is_delivery_manifest(base)) return delivery_of_manifest(shelf, url);
  TRY(list_objects(shelf, url));
  std::vector<Delivery> single;
  DeliveryFiles there;
  for (const auto& [key, info] : shelf.objects) {
    if (bill)
      add_to_delivery(there, shelf.url_of(key));
    else
      single.push_back({"", {shelf.url_of(key)}});
  }
  if (!bill) return single;
  return deliveries_of(there, url.text(), [&](const std::string& of) -> Result<std::string> {
    return shelf.store->get(of.substr(shelf.store->name().size()));
  });
}

}  // namespace

Result<std::vector<FileImport>> imports_of_objects(const std::string& url, const ImportFormat& format,
                                                   const ObjectStoreOptions& options) {
  TRY_ASSIGN(const ObjectUrl at, parse_object_url(url));
  const auto shelf = std::make_shared<Shelf>();
  TRY_ASSIGN(shelf->store, open_object_store(at, options));
  TRY_ASSIGN(const std::vector<Delivery> deliveries, deliveries_at(*shelf, at, is_bill(format)));
  std::vector<FileImport> imports;
  for (const Delivery& delivery : deliveries) {
    FileImport& one = imports.emplace_back();
    one.format = &format;
    one.path = delivery.files.front();
    one.parts.assign(delivery.files.begin() + 1, delivery.files.end());
    if (!one.parts.empty())
      one.name = fmt::format("{}{} ({})", url, delivery.period.empty() ? "" : ", " + delivery.period,
                             counted(delivery.files.size(), "file"));
    TRY_ASSIGN(one.fingerprint, fingerprint_of_objects(*shelf, delivery.files));
    one.fetch = [shelf](const std::string& of) { return fetch_here(*shelf, of); };
  }
  return imports;
}

}  // namespace stint
