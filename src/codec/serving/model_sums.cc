#include "codec/serving/model_sums.h"

#include <algorithm>

#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kMostFiles = 100'000;

bool is_file_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.size() <= 128 && name[0] != '.' && name.find_first_not_of(kLetters) == std::string_view::npos;
}

bool is_model_path(std::string_view path) {
  const std::vector<std::string_view> parts = split(path, '/');
  return parts.size() >= 2 && parts.size() <= 8 && std::ranges::all_of(parts, is_file_name);
}

}  // namespace

Result<ModelSums> read_model_sums(std::string_view text, const std::string& source) {
  ModelSums sums;
  int64_t number = 0;
  for (const std::string_view whole : split(text, '\n')) {
    ++number;
    const std::string_view line = whole.ends_with('\r') ? whole.substr(0, whole.size() - 1) : whole;
    if (line.empty()) continue;
    // Behind the hash come a blank and, for text or binary, a blank or an asterisk.
    const bool parted = line.size() > kSha256Digits + 2 && line[kSha256Digits] == ' ' &&
                        (line[kSha256Digits + 1] == ' ' || line[kSha256Digits + 1] == '*');
    const std::string_view hash = line.substr(0, kSha256Digits);
    if (!parted || hash.find_first_not_of("0123456789abcdef") != std::string_view::npos)
      return invalid("{}:{}: expected a SHA-256 and a path, as sha256sum writes them", source, number);
    std::string_view path = line.substr(kSha256Digits + 2);
    if (path.starts_with("./")) path.remove_prefix(2);
    if (path == kModelSumsFile) continue;
    if (!is_model_path(path))
      return invalid(
          "{}:{}: {} is no file of a model: expected NAME/model.json or NAME/VERSION/FILE, of letters, digits, _ - and .", source,
          number, excerpt(path));
    if (!sums.emplace(path, hash).second) return invalid("{}:{}: {} is there twice", source, number, excerpt(path));
    if (sums.size() > kMostFiles) return invalid("{}: more than {} files", source, kMostFiles);
  }
  if (sums.empty()) return invalid("{}: names no files: `sha256sum */model.json */*/* > {}` makes it", source, kModelSumsFile);
  return sums;
}

std::string write_model_sums(const ModelSums& sums) {
  std::string text;
  for (const auto& [path, hash] : sums)
    text += hash + "  " + path + "\n";
  return text;
}

}  // namespace stint
