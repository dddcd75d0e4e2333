#include "store/columns.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "codec/bills/source_columns.h"

namespace stint {
namespace {

using Json = nlohmann::json;

/// Compact; bytes that are no UTF-8 become U+FFFD, since JSON cannot hold them.
std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json parse(std::string_view text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }

/// Importers put their source's columns last, and those need no parsing here. Within a string a quote is escaped, so that what is
/// looked for begins a pair, and what stands between two pairs tells whether another one follows.
/// @return the text of the list without them; the text as it is where they do not come last.
std::string_view without_source_columns(std::string_view stored, std::string& room) {
  static const std::string kBegin = fmt::format(R"(["{}",")", kSourceColumnsTag);
  const size_t begin = stored.find(kBegin);
  if (begin == std::string_view::npos || !stored.ends_with(R"("]])") || stored.find(R"("],[")", begin) != std::string_view::npos)
    return stored;
  if (begin <= 1) return "[]";
  room.assign(stored, 0, begin - 1);  // the comma goes, too
  room += ']';
  return room;
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
  std::string room;
  const std::string_view stored = without_source_columns(s.bytes(i), room);
  if (stored == "[]") return tags;
  const Json list = parse(stored);
  if (!list.is_array()) return std::nullopt;
  for (const Json& pair : list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) return std::nullopt;
    if (auto key = pair[0].get<std::string>(); key != kSourceColumnsTag)
      tags.emplace_back(std::move(key), pair[1].get<std::string>());
  }
  return tags;
}

std::string Column<std::vector<Tag>>::source_columns(std::string_view stored) {
  // Most lines have none.
  if (stored.find(kSourceColumnsTag) == std::string_view::npos) return {};
  const Json list = parse(stored);
  if (!list.is_array()) return {};
  for (const Json& pair : list)
    if (pair.is_array() && pair.size() == 2 && pair[0] == kSourceColumnsTag && pair[1].is_string())
      return pair[1].get<std::string>();
  return {};
}

std::string Column<std::vector<RunAllocation>>::to_json(const std::vector<RunAllocation>& v) {
  Json list = Json::array();
  for (const RunAllocation& a : v)
    list.push_back({{"node", a.node}, {"gpus", a.gpu_indexes}, {"count", a.gpu_count}});
  return dump(list);
}

namespace {

bool take_text(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& text, auto& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

/// As to_json() writes it, without escapes: a month has a hundred thousand of them, and most of reading them was reading JSON.
/// @return none for JSON that is written in another way.
std::optional<std::vector<RunAllocation>> read_plain_allocations(std::string_view text) {
  std::vector<RunAllocation> out;
  if (!take_text(text, "[")) return std::nullopt;
  while (!text.starts_with(']')) {
    RunAllocation& a = out.emplace_back();
    if ((out.size() > 1 && !take_text(text, ",")) || !take_text(text, R"({"count":)") || !take_number(text, a.gpu_count) ||
        !take_text(text, R"(,"gpus":[)"))
      return std::nullopt;
    while (!text.starts_with(']')) {
      if (!a.gpu_indexes.empty() && !take_text(text, ",")) return std::nullopt;
      if (!take_number(text, a.gpu_indexes.emplace_back())) return std::nullopt;
    }
    if (!take_text(text, R"(],"node":")")) return std::nullopt;
    const size_t end = text.find_first_of("\"\\");
    if (end == std::string_view::npos || text[end] != '"') return std::nullopt;
    a.node = text.substr(0, end);
    text.remove_prefix(end);
    if (!take_text(text, "\"}")) return std::nullopt;
  }
  return text == "]" ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<RunAllocation>> Column<std::vector<RunAllocation>>::read(const Statement& s, int i) {
  if (auto plain = read_plain_allocations(s.bytes(i))) return plain;
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
