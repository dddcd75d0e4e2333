#include "codec/yaml.h"

#include <yaml.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/quoting.h"
#include "base/text.h"

namespace stint {
namespace {

constexpr int kMostYamlValues = 100'000;
constexpr int kDeepestYaml = 64;

/// libyaml takes time by the square of how deep brackets stand in each other. Brackets within quotes count here too: a thousand more of them
/// open than closed are in no configuration.
bool nests_too_deep(std::string_view text) {
  constexpr int kMostOpen = 1'000;
  int open = 0;
  for (const char c : text) {
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kMostOpen) return true;
  }
  return false;
}

class YamlReader {
 public:
  explicit YamlReader(std::string_view text) {
    CHECK(yaml_parser_initialize(&parser_) != 0, "libyaml cannot start");
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  }
  ~YamlReader() {
    if (loaded_) yaml_document_delete(&document_);
    yaml_parser_delete(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  Result<nlohmann::json> read() {
    if (yaml_parser_load(&parser_, &document_) == 0)
      return invalid("line {}: {}", parser_.problem_mark.line + 1,
                     parser_.problem == nullptr ? "no YAML" : std::string(parser_.problem));
    loaded_ = true;
    yaml_node_t* root = yaml_document_get_root_node(&document_);
    if (root == nullptr) return nlohmann::json();
    return value_of(*root, 0);
  }

 private:
  Result<nlohmann::json> value_of(const yaml_node_t& node, int depth) {
    const size_t line = node.start_mark.line + 1;
    if (++values_ > kMostYamlValues) return invalid("line {}: more than {} values", line, kMostYamlValues);
    if (depth > kDeepestYaml) return invalid("line {}: nested deeper than {}", line, kDeepestYaml);
    if (node.type == YAML_SCALAR_NODE) return scalar(node);
    return node.type == YAML_SEQUENCE_NODE ? list(node, depth) : map(node, depth);
  }

  static nlohmann::json scalar(const yaml_node_t& node) {
    const std::string text(reinterpret_cast<const char*>(node.data.scalar.value), node.data.scalar.length);
    if (node.data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
      if (text.empty() || text == "~" || text == "null") return {};
      if (text == "true" || text == "false") return text == "true";
    }
    return text;
  }

  Result<nlohmann::json> list(const yaml_node_t& node, int depth) {
    auto out = nlohmann::json::array();
    for (const int* item = node.data.sequence.items.start; item < node.data.sequence.items.top; ++item) {
      TRY_ASSIGN(nlohmann::json value, value_of(*yaml_document_get_node(&document_, *item), depth + 1));
      out.push_back(std::move(value));
    }
    return out;
  }

  Result<nlohmann::json> map(const yaml_node_t& node, int depth) {
    auto out = nlohmann::json::object();
    for (const yaml_node_pair_t* pair = node.data.mapping.pairs.start; pair < node.data.mapping.pairs.top; ++pair) {
      const yaml_node_t& key = *yaml_document_get_node(&document_, pair->key);
      const size_t line = key.start_mark.line + 1;
      if (key.type != YAML_SCALAR_NODE) return invalid("line {}: a name is no text", line);
      const std::string name(reinterpret_cast<const char*>(key.data.scalar.value), key.data.scalar.length);
      if (out.contains(name)) return invalid("line {}: '{}' is there twice", line, excerpt(name));
      TRY_ASSIGN(out[name], value_of(*yaml_document_get_node(&document_, pair->value), depth + 1));
    }
    return out;
  }

  yaml_parser_t parser_ = {};
  yaml_document_t document_ = {};
  bool loaded_ = false;
  int values_ = 0;
};

/// Words that begin with a letter and are neither true, null, yes, off nor their like, in any case; numbers and dates begin otherwise.
bool needs_no_quotes(std::string_view text) {
  constexpr std::string_view kOthers = "-._/";
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !is_letter(text.front())) return false;
  for (const char c : text)
    if (!is_letter(c) && !(c >= '0' && c <= '9') && kOthers.find(c) == kOthers.npos) return false;
  for (const std::string_view word : {"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
    if (equals_ignoring_case(text, word)) return false;
  return true;
}

class YamlWriter {
 public:
  using Value = nlohmann::ordered_json;

  std::string write(const Value& value) {
    if (is_block(value))
      put_block(value, 0);
    else
      (out_ += scalar_text(value)) += '\n';
    return std::move(out_);
  }

 private:
  /// What takes lines of its own.
  static bool is_block(const Value& value) { return value.is_structured() && !value.empty(); }
  static std::string text_of(const std::string& text) { return needs_no_quotes(text) ? text : json_quoted(text); }
  static std::string scalar_text(const Value& value) {
    return value.is_string() ? text_of(value.get_ref<const std::string&>()) : value.dump();
  }

  void put_block(const Value& value, size_t indent) {
    bool in_line = std::exchange(after_dash_, false);
    for (const auto& [name, member] : value.items()) {
      if (!std::exchange(in_line, false)) out_.append(indent, ' ');
      if (value.is_array()) {
        out_ += "- ";
        put_member(member, indent + 2, true);
      } else {
        (out_ += text_of(name)) += ':';
        put_member(member, value.is_object() && member.is_array() ? indent : indent + 2, false);
      }
    }
  }
  /// @param dash  behind "- ": a block begins on the same line.
  void put_member(const Value& member, size_t indent, bool dash) {
    if (is_block(member)) {
      if (!dash) out_ += '\n';
      after_dash_ = dash;
      return put_block(member, indent);
    }
    if (!dash) out_ += ' ';
    (out_ += scalar_text(member)) += '\n';
  }

  std::string out_;
  bool after_dash_ = false;
};

}  // namespace

Result<nlohmann::json> parse_yaml(std::string_view text) {
  if (nests_too_deep(text)) return invalid("nested deeper than {}", kDeepestYaml);
  try {
    return YamlReader(text).read();
  } catch (const std::exception& error) {
    return invalid("no YAML: {}", error.what());
  }
}

Result<std::string> yaml_of_json(std::string_view json) {
  const auto value = nlohmann::ordered_json::parse(json, nullptr, false);
  if (value.is_discarded()) return invalid("no JSON");
  return YamlWriter().write(value);
}

}  // namespace stint
