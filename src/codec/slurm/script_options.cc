#include "codec/slurm/script_options.h"

#include "base/text.h"

namespace stint {
namespace {

constexpr std::string_view kMark = "#STINT";
constexpr size_t kMostWords = 1'000;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// One line's words. @return what is wrong; empty = nothing.
std::string_view split_words(std::string_view text, int line, std::vector<ScriptWord>& words) {
  for (size_t i = 0; i < text.size();) {
    if (is_blank(text[i])) {
      ++i;
      continue;
    }
    if (text[i] == '#') return "";  // at a word's beginning: a comment
    ScriptWord word{"", line};
    char quote = '\0';
    for (; i < text.size() && (quote != '\0' || !is_blank(text[i])); ++i) {
      const char c = text[i];
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return "a control character";
      const bool escapes = c == '\\' && quote != '\'';
      if (c == quote) {
        quote = '\0';
      } else if (quote == '\0' && (c == '"' || c == '\'')) {
        quote = c;
      } else if (escapes) {
        if (++i == text.size()) return "a backslash at the end";
        word.text += text[i];
      } else {
        word.text += c;
      }
    }
    if (quote != '\0') return "a quote that is not closed";
    if (words.size() == kMostWords) return "more than 1,000 words";
    words.push_back(std::move(word));
  }
  return "";
}

}  // namespace

Result<std::vector<ScriptWord>> read_script_options(std::string_view script, std::string_view source) {
  std::vector<ScriptWord> words;
  int number = 0;
  while (!script.empty()) {
    ++number;
    const size_t end = script.find('\n');
    std::string_view line = script.substr(0, end);
    script.remove_prefix(end == std::string_view::npos ? script.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!trim(line).empty() && line[0] != '#') break;
    if (!line.starts_with(kMark) || (line.size() > kMark.size() && !is_blank(line[kMark.size()]))) continue;
    const std::string_view wrong = split_words(line.substr(kMark.size()), number, words);
    if (!wrong.empty()) return invalid("{}:{}: {} in a #STINT line", source, number, wrong);
  }
  return words;
}

}  // namespace stint
