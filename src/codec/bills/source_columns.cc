#include "codec/bills/source_columns.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "codec/bills/bill_fields.h"

namespace stint {
void append_quoted_json(std::string& out, std::string_view text) {
  // Most values need no escaping and are ASCII.
  const auto is_plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
  if (!std::ranges::all_of(text, is_plain)) {
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

void SourceColumns::read_header(const CsvHeader& header, const std::function<bool(const std::string& name)>& is_kept) {
  columns_.clear();
  rest_ = header.find(kRestColumn);
  for (size_t i = 0; i < header.size(); ++i)
    if (const std::string& name = header.names()[i]; !name.empty() && static_cast<int>(i) != rest_ && !is_kept(name)) {
      std::string key;
      append_quoted_json(key, name);
      columns_.emplace_back(static_cast<int>(i), key + ":");
    }
}

void SourceColumns::add_to(BillLine& line, const CsvRecord& record) {
  text_.clear();
  for (const auto& [index, name] : columns_) {
    const std::string_view value = bill_field(record, index);
    if (value.empty() || value == "[]" || value == "{}") continue;
    text_ += text_.empty() ? '{' : ',';
    text_ += name;
    append_quoted_json(text_, value);
  }
  if (const std::string_view rest = bill_field(record, rest_); rest.size() > 2) {  // more than {}
    text_ += text_.empty() ? '{' : ',';
    text_ += rest.substr(1, rest.size() - 2);
  }
  if (!text_.empty()) line.tags.emplace_back(kSourceColumnsTag, text_ + "}");
}

}  // namespace stint
