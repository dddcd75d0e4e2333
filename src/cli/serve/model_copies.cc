#include "cli/serve/model_copies.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "host/file.h"
#include "host/sha256.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMark = ".stint-copies-of";  // holds the place; its folder is ours
constexpr const char* kComing = ".coming";         // behind the name of a file that is not proven yet

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

Result<ModelCopies> ModelCopies::open(const std::string& place, const std::string& folder, const std::string& token) {
  TRY_ASSIGN(std::unique_ptr<ModelOrigin> origin, open_model_origin(place, token));
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
