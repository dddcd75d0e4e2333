// SHA256SUMS at the top of a model repository that is fetched: which files it has and what their bytes must be, as `sha256sum */model.json */*/*`
// writes it.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

inline constexpr size_t kSha256Digits = 64;
inline constexpr const char* kModelSumsFile = "SHA256SUMS";

/// Hash, 64 hexadecimal digits, by path: `NAME/model.json`, `NAME/VERSION/…`. Of names as models and files of theirs have them, so that
/// no path leads elsewhere.
using ModelSums = std::map<std::string, std::string, std::less<>>;

/// @param source  for messages, which name the line.
Result<ModelSums> read_model_sums(std::string_view text, const std::string& source);
std::string write_model_sums(const ModelSums& sums);

}  // namespace stint
