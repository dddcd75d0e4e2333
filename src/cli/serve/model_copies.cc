#include "cli/serve/model_copies.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "clouds/object_transfer.h"
#include "host/file.h"
#include "host/http_client.h"
#include "host/sha256.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".stint-copies-of";  // holds the place; its folder is ours
constexpr const char* kComing = ".coming";         // behind the name of a file that is not proven yet
constexpr size_t kMostSums = size_t{64} << 20;

class ObjectOrigin final : public ModelOrigin {
 public:
  ObjectOrigin(std::unique_ptr<ObjectStore> store, std::string folder) : store_(std::move(store)), folder_(std::move(folder)) {}
  Result<std::string> sums() override { return store_->get(folder_ + kModelSumsFile); }
  Status fetch(const std::string& path, const std::string& sha256, const std::string& to) override {
    TRY_ASSIGN(const ObjectInfo info, store_->head(folder_ + path));
    return fetch_file(*store_, folder_ + path, to, {.size = info.size, .sha256 = sha256});
  }

 private:
  const std::unique_ptr<ObjectStore> store_;
  const std::string folder_;  // "" or with a slash at its end
};

class HttpOrigin final : public ModelOrigin {
 public:
  /// @param base  with a slash at its end
  HttpOrigin(std::string base, const std::string& token)
      : base_(std::move(base)),
        client_({.credentials = {.bearer_token = token}, .max_body_bytes = kMostSums, .bytes = HttpBytes::kVerbatim}) {}
  Result<std::string> sums() override {
    TRY_ASSIGN(HttpResponse answer, client_.get(base_ + kModelSumsFile));
    if (answer.status != 200) return refused(kModelSumsFile, answer.status);
    return std::move(answer.body);
  }
  Status fetch(const std::string& path, const std::string& sha256, const std::string& to) override {
    std::ofstream file(to, std::ios::binary);
    Sha256 hash;
    TRY_ASSIGN(const HttpResponse answer, client_.follow({.url = base_ + path}, [&](std::string_view piece) {
      hash.update(piece);
      file.write(piece.data(), static_cast<std::streamsize>(piece.size()));
      return file.good();
    }));
    file.close();
    const bool whole = answer.status == 200 && file.good() && hash.digest() == sha256;
    if (whole) return {};
    std::remove(to.c_str());
    if (answer.status != 200) return refused(path, answer.status);
    if (!file.good()) return make_error(ErrorCode::kUnavailable, "{}: cannot be written: is the disk full?", to);
    return invalid("{}{}: its bytes are not those that {} names: cut off, or changed since", base_, path, kModelSumsFile);
  }

 private:
  [[nodiscard]] Error refused(std::string_view path, int status) const {
    return make_error(status == 404 ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}{}: status {}", base_, path, status);
  }
  const std::string base_;
  HttpClient client_;
};

bool is_this_machine(std::string_view url) {
  return url.starts_with("http://127.0.0.1:") || url.starts_with("http://127.0.0.1/") || url.starts_with("http://[::1]") ||
         url.starts_with("http://localhost:") || url.starts_with("http://localhost/");
}

/// Empty, or marked as ours for this place.
Status take_folder(const std::string& folder, const std::string& place) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (!fs::is_directory(folder, failure)) return make_error(ErrorCode::kUnavailable, "{}: cannot be made", folder);
  const std::string mark = folder + "/" + kMark;
  if (fs::exists(mark, failure)) {
    TRY_ASSIGN(const std::string of, read_all(mark));
    if (of == place) return {};
    return invalid("{}: holds copies of {}: name another folder, or take it away", folder, excerpt(of, 200));
  }
  if (!fs::is_empty(folder, failure))
    return invalid("{}: is not empty, and holds no copies made before: what {} has would take the place of what lies there",
                   folder, place);
  return write_file_atomically(mark, place);
}

bool is_of(std::string_view path, std::string_view model) {
  return path.starts_with(model) && path.substr(model.size()).starts_with('/');
}

}  // namespace

bool is_model_place(std::string_view text) {
  return is_object_url(text) || text.starts_with("https://") || text.starts_with("http://");
}

Result<ModelCopies> ModelCopies::open(const std::string& place, const std::string& folder, const std::string& token) {
  std::unique_ptr<ModelOrigin> origin;
  if (is_object_url(place)) {
    TRY_ASSIGN(const ObjectUrl url, parse_object_url(place));
    TRY_ASSIGN(std::unique_ptr<ObjectStore> store, open_object_store(url));
    origin =
        std::make_unique<ObjectOrigin>(std::move(store), url.key.empty() || url.key.ends_with('/') ? url.key : url.key + "/");
  } else {
    if (!place.starts_with("https://") && !is_this_machine(place))
      return invalid("{}: HTTP without TLS is for this machine alone: who is on the way could change models and their hashes",
                     place);
    origin = std::make_unique<HttpOrigin>(place.ends_with('/') ? place : place + "/", token);
  }
  TRY(take_folder(folder, place));
  return ModelCopies(place, folder, std::move(origin));
}

Status ModelCopies::copy(const std::string& path, const std::string& sha256) {
  const std::string file = file_of(path);
  if (const Result<std::string> there = sha256_of_file(file); there.ok() && *there == sha256) return {};
  std::error_code failure;
  fs::create_directories(fs::path(file).parent_path(), failure);
  const std::string coming = file + kComing;
  fs::remove(coming, failure);  // of a process that was ended
  TRY(origin_->fetch(path, sha256, coming));
  fs::rename(coming, file, failure);
  if (failure) return make_error(ErrorCode::kUnavailable, "{}: {}", file, failure.message());
  return {};
}

void ModelCopies::drop_others(const ModelSums& sums, const std::string& model) {
  std::vector<fs::path> gone;
  std::error_code failure;
  for (fs::recursive_directory_iterator at(folder_ + "/" + model, failure), end; !failure && at != end; at.increment(failure))
    if (std::error_code ignored;
        !at->is_directory(ignored) && !sums.contains(fs::relative(at->path(), folder_, ignored).string()))
      gone.push_back(at->path());
  for (const fs::path& path : gone) {
    fs::remove(path, failure);
    for (fs::path above = path.parent_path(); above != fs::path(folder_) && fs::is_empty(above, failure);
         above = above.parent_path())
      fs::remove(above, failure);
  }
}

Result<ModelSums> ModelCopies::copied() const {
  const std::string file = file_of(kModelSumsFile);
  TRY_ASSIGN(const std::string text, read_all(file));
  return read_model_sums(text, file);
}

Status ModelCopies::refresh(const std::optional<std::string>& model) {
  TRY_ASSIGN(const std::string text, origin_->sums());
  TRY_ASSIGN(ModelSums sums, read_model_sums(text, place_ + "/" + kModelSumsFile));
  if (model) {  // the others are as they were
    Result<ModelSums> before = copied();
    std::erase_if(sums, [&](const auto& entry) { return !is_of(entry.first, *model); });
    if (before.ok())
      for (auto& [path, sha256] : *before)
        if (!is_of(path, *model)) sums.emplace(path, std::move(sha256));
  }
  for (const auto& [path, sha256] : sums)
    if (!model || is_of(path, *model)) TRY(copy(path, sha256));
  std::error_code failure;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, failure))
    if (entry.is_directory(failure)) drop_others(sums, entry.path().filename().string());
  return write_file_atomically(file_of(kModelSumsFile), write_model_sums(sums));
}

Status ModelCopies::check() const {
  TRY_ASSIGN(const ModelSums sums, copied());
  for (const auto& [path, sha256] : sums) {
    TRY_ASSIGN(const std::string there, sha256_of_file(file_of(path)));
    if (there != sha256) return invalid("{}: its bytes are not those that {} names", file_of(path), kModelSumsFile);
  }
  return {};
}

}  // namespace stint
