#include "store/columns.h"

#include <nlohmann/json.hpp>

#include "codec/focus_columns.h"

namespace stint {
namespace {

using Json = nlohmann::json;

/// Compact; bytes that are no UTF-8 become U+FFFD, since JSON cannot hold them.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

/// Most lines of a FOCUS bill have no tag beside their source's columns: those need no parsing. Within a string a quote is escaped, so
/// that what stands between two pairs tells whether there is a second one.
bool has_source_columns_only(std::string_view stored) {
  static const std::string kBegin = fmt::format(R"([["{}",")", kFocusColumnsTag);
  return stored.starts_with(kBegin) && stored.ends_with(R"("]])") && stored.find(R"("],[")") == std::string_view::npos;
}

}  // namespace

std::string Column<std::vector<Tag>>::to_json(const std::vector<Tag>& v) {
  if (v.empty()) return "[]";
  Json list = Json::array();
  for (const Tag& tag : v)
    list.push_back({tag.first, tag.second});
  return dump(list);
}

std::optional<std::vector<Tag>> Column<std::vector<Tag>>::read(const Statement& s, int i) {
  std::vector<Tag> tags;
  if (s.bytes(i) == "[]" || has_source_columns_only(s.bytes(i))) return tags;
  const Json list = parse(s.bytes(i));
  if (!list.is_array()) return std::nullopt;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) return std::nullopt;
    if (auto key = pair[0].get<std::string>(); key != kFocusColumnsTag)
      tags.emplace_back(std::move(key), pair[1].get<std::string>());
  }
  return tags;
}

std::string Column<std::vector<Tag>>::source_columns(std::string_view stored) {
  // Most lines have none.
  if (stored.find(kFocusColumnsTag) == std::string_view::npos) return {};
  const Json list = parse(stored);
  if (!list.is_array()) return {};
  for (const Json& pair : list)
    if (pair.is_array() && pair.size() == 2 && pair[0] == kFocusColumnsTag && pair[1].is_string())
      return pair[1].get<std::string>();
  return {};
}

std::string Column<std::vector<RunAllocation>>::to_json(const std::vector<RunAllocation>& v) {
  Json list = Json::array();
  for (const RunAllocation& a : v)
    list.push_back({{"node", a.node}, {"gpus", a.gpu_indexes}, {"count", a.gpu_count}});
  return dump(list);
}

std::optional<std::vector<RunAllocation>> Column<std::vector<RunAllocation>>::read(const Statement& s, int i) {
  const Json list = parse(s.bytes(i));
  if (!list.is_array()) return std::nullopt;
  std::vector<RunAllocation> allocations;
  for (const Json& entry : list) {
    if (!entry.is_object() || !entry.contains("node") || !entry["node"].is_string() || !entry.contains("gpus") ||
        !entry["gpus"].is_array() || !entry.contains("count") || !entry["count"].is_number_integer())
      return std::nullopt;
    RunAllocation& a = allocations.emplace_back();
    a.node = entry["node"].get<std::string>();
    a.gpu_count = entry["count"].get<int64_t>();
    for (const Json& index : entry["gpus"]) {
      if (!index.is_number_integer()) return std::nullopt;
      a.gpu_indexes.push_back(index.get<int>());
    }
  }
  return allocations;
}

}  // namespace stint
