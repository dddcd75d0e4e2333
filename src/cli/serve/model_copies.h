// A model repository that lies elsewhere, in an object store, behind HTTPS or in a registry, copied into a folder that `stint serve run` serves from.
//
// Its SHA256SUMS says which files there are and what their bytes must be; nothing takes its place in the folder before it is proven by its
// hash. The folder is ours alone: what SHA256SUMS does not name is taken away.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/serve/model_origin.h"
#include "codec/serving/model_sums.h"

namespace stint {

class ModelCopies {
 public:
  /// @param place  see open_model_origin(). @param folder  made where it is not; else it is empty,
  /// or of the same place. @param token  likewise
  static Result<ModelCopies> open(const std::string& place, const std::string& folder, const std::string& token);
  ModelCopies(std::string place, std::string folder, std::unique_ptr<ModelOrigin> origin)
      : place_(std::move(place)), folder_(std::move(folder)), origin_(std::move(origin)) {}

  /// Copies what has changed. @param model  of one alone; none: all. One thread at a time.
  Status refresh(const std::optional<std::string>& model);
  /// Whether the folder holds what the place had when all was copied last: it can be served from though the place cannot be reached.
  Status check() const;

 private:
  [[nodiscard]] std::string file_of(const std::string& path) const { return folder_ + "/" + path; }
  /// What was copied last.
  [[nodiscard]] Result<ModelSums> copied() const;
  Status copy(const std::string& path, const std::string& sha256);
  void drop_others(const ModelSums& sums, const std::string& model);

  std::string place_, folder_;
  std::unique_ptr<ModelOrigin> origin_;
};

}  // namespace stint
