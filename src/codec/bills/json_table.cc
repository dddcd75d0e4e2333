#include "codec/bills/json_table.h"

#include <simdjson.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "codec/bills/source_columns.h"
#include "codec/csv_or_json.h"
#include "codec/json_cursor.h"
#include "codec/json_mistake.h"

namespace stint {
namespace {

std::string table_key(std::string_view name) {
  std::string out = to_lower(name);
  std::erase_if(out, [](char c) { return c == '.' || c == '_'; });
  return out;
}

constexpr int kMaxTableDepth = 8;

}  // namespace

struct JsonTableImporter::Impl {
  ImportOptions options;
  std::unique_ptr<Importer> csv;
  std::unordered_map<std::string, size_t> slots;
  std::vector<std::string> values;
  JsonTableColumns columns;
  std::vector<std::string> members;  // of the first object, as they are written there
  std::string path;
  size_t other_members = 0;
  std::string key, row, rest, member_text;
  std::string buffer;
  simdjson::dom::parser parser;
  uint64_t objects = 0;
  size_t worth_trying = 0;
  bool in_array = false, array_ended = false, after_object = false;

  void add_field(std::string_view text) {
    row += '"';
    for (const char c : text) {
      if (c == '"') row += '"';
      row += c == '\n' || c == '\r' ? ' ' : c;
    }
    row += "\",";
  }

  Status end_row() {
    row.back() = '\n';
    const Status done = csv->feed(row);
    row.clear();
    return done;
  }

  /// @param whole  the value lies within one that is a column as a whole.
  void take_value(const simdjson::dom::element& value, int depth, bool whole) {
    using simdjson::dom::element_type;
    const auto slot = slots.find(key);
    if (value.type() == element_type::OBJECT && depth < kMaxTableDepth) {
      const size_t outer = key.size(), outer_path = path.size();
      for (const auto& [name, inner] : simdjson::dom::object(value)) {
        for (const char c : name)
          if (c != '.' && c != '_') key += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
        if (!path.empty()) path += '.';
        path += name;
        take_value(inner, depth + 1, whole || slot != slots.end());
        key.resize(outer);
        path.resize(outer_path);
      }
      // The object as a whole may be a column, too: a map of tags.
    }
    if (objects == 1 && !path.empty()) members.push_back(path);
    if (slot != slots.end())
      put_text(value, values[slot->second]);
    else if (!columns.rest.empty() && !whole && !path.empty() &&
             (value.type() != element_type::OBJECT || depth >= kMaxTableDepth))
      take_rest(value);
  }

  static void put_text(const simdjson::dom::element& value, std::string& out) {
    using simdjson::dom::element_type;
    switch (value.type()) {
      case element_type::NULL_VALUE: out.clear(); break;
      case element_type::STRING: out = std::string_view(value); break;
      case element_type::DOUBLE: out = fmt::format("{}", double(value)); break;
      default: out = simdjson::minify(value);
    }
  }

  /// A member that is no column.
  void take_rest(const simdjson::dom::element& value) {
    put_text(value, member_text);
    if (member_text.empty() || member_text == "[]") return;
    rest += rest.empty() ? '{' : ',';
    append_quoted_json(rest, path);
    rest += ':';
    append_quoted_json(rest, member_text);
  }

  Status put_header() {
    std::set<std::string> there;
    for (const std::string& member : members)
      there.insert(table_key(member));
    for (const std::string_view name : columns.all) {
      const bool required = std::ranges::find(columns.required, name) != columns.required.end();
      add_field(!required || there.contains(table_key(name)) ? name : std::string_view());
    }
    if (!columns.rest.empty()) add_field(columns.rest);
    for (const std::string& member : members)
      if (!slots.contains(table_key(member)) && there.erase(table_key(member)) > 0) ++other_members, add_field(member);
    return end_row();
  }

  Status take_object(std::string_view json) {
    ++objects;
    simdjson::dom::element root;
    if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
      return invalid("{}: object {}: no JSON ({})", options.source, objects,
                     json_mistake_or(json, simdjson::error_message(error)));
    for (std::string& value : values)
      value.clear();
    key.clear();
    path.clear();
    rest.clear();
    take_value(root, 0, false);
    if (objects == 1) TRY(put_header());
    for (const std::string& value : values)
      add_field(value);
    if (!columns.rest.empty()) {
      if (!rest.empty()) rest += '}';
      add_field(rest);
    }
    row.append(other_members, ',');
    return end_row();
  }

  /// Takes what is complete off the front of the buffer.
  Status read(bool at_end) {
    JsonCursor in{buffer.data(), buffer.data() + buffer.size()};
    const char* done = in.at;
    Status status;
    for (;;) {
      in.skip_blanks();
      done = in.at;
      if (in.at_end()) break;
      if (objects == 0 && !in_array && in.take('[')) {
        in_array = true;
      } else if (in_array && in.take(']')) {
        in_array = false, array_ended = true;
      } else if (in_array && after_object && in.take(',')) {
        after_object = false;
      } else if (*in.at == '{' && !array_ended && !(in_array && after_object)) {
        const JsonStep step = in.skip_value();
        if (step == JsonStep::kBad) return invalid("{}: object {}: no JSON", options.source, objects + 1);
        if (step == JsonStep::kMore) {
          if (at_end) return invalid("{}: ends in the middle of object {}: the file is cut short", options.source, objects + 1);
          break;
        }
        TRY(take_object({done, static_cast<size_t>(in.at - done)}));
        after_object = true;
      } else {
        return invalid("{}: after object {}: an object expected: one a line, or an array of them", options.source, objects);
      }
    }
    buffer.erase(0, static_cast<size_t>(done - buffer.data()));
    if (buffer.size() > kMaxRecordBytes)
      return invalid("{}: object {}: longer than {} MiB", options.source, objects + 1, kMaxRecordBytes >> 20);
    // One that needed more is not read over and over.
    worth_trying = buffer.size() + buffer.size() / 2;
    return {};
  }
};

JsonTableImporter::JsonTableImporter(const ImportOptions& options, Sink& sink, const JsonTableColumns& columns,
                                     const MakeCsv& make)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  ImportOptions of_csv = options;
  of_csv.header_line = 0;
  impl_->csv = make(of_csv, sink);
  impl_->columns = columns;
  impl_->values.resize(columns.all.size());
  for (size_t i = 0; i < columns.all.size(); ++i)
    impl_->slots.emplace(table_key(columns.all[i]), i);
}

JsonTableImporter::~JsonTableImporter() = default;

Status JsonTableImporter::feed(std::string_view bytes) {
  impl_->buffer.append(bytes);
  return impl_->buffer.size() < impl_->worth_trying ? Status() : impl_->read(false);
}

Status JsonTableImporter::finish() {
  TRY(impl_->read(true));
  if (impl_->in_array) return invalid("{}: the array does not end: the file is cut short", impl_->options.source);
  return impl_->csv->finish();
}

std::unique_ptr<Importer> make_csv_or_json_importer(const ImportOptions& options, Sink& sink, const JsonTableColumns& columns,
                                                    const JsonTableImporter::MakeCsv& make) {
  const auto make_json = [columns, make](const ImportOptions& o, Sink& s) -> std::unique_ptr<Importer> {
    return std::make_unique<JsonTableImporter>(o, s, columns, make);
  };
  return std::make_unique<CsvOrJsonImporter>(options, sink, make, make_json);
}

}  // namespace stint
