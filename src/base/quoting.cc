#include "base/quoting.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace stint {
namespace {

bool is_plain_in_shell(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:=@,+").find(c) != std::string_view::npos;
}

/// Twice where it would end the text.
std::string between(char quote, std::string_view text) {
  std::string out(1, quote);
  for (const char c : text)
    out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

/// YAML 1.2, production 1 (c-printable), less what ends a line there.
bool is_printed_by_yaml(char32_t code) {
  return (code >= 0x20 && code < 0x7f) ||
         (code >= 0xa0 && code <= 0xfffd && code != 0xfeff && code != 0x2028 && code != 0x2029) || code >= 0x10000;
}

/// What is no printed character is a blank: line ends, escapes of terminals, bytes that are no UTF-8.
std::string printed(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    out += point.valid && is_printed_by_yaml(point.code) ? text.substr(at, point.bytes) : " ";
    at += point.bytes;
  }
  return out;
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain_in_shell)) return std::string(text);
  std::string out = "'";
  for (const char c : printed(text))
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string shell_operand(std::string_view text) { return (text.starts_with('-') ? "-- " : "") + shell_quoted(text); }

/// Source: Vixie cron and cronie, do_command.c: of `\%` and `\\` the first backslash goes; a backslash before anything else stays.
std::string crontab_command(std::string_view command) {
  const std::string text = printed(command);
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_not_of('\\', at), text.size());
    const bool before_percent = end < text.size() && text[end] == '%';
    const size_t backslashes = end - at;
    out.append(backslashes > 1 || before_percent ? 2 * backslashes : backslashes, '\\');
    if (before_percent) out += '\\';
    if (end < text.size()) out += text[end];
    at = end + 1;
  }
  return out;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    if (!point.valid)
      out += "\\ufffd";
    else if (point.code == '"' || point.code == '\\')
      (out += '\\') += static_cast<char>(point.code);
    else if (is_printed_by_yaml(point.code))
      out += text.substr(at, point.bytes);
    else
      out += fmt::format("\\u{:04x}", static_cast<uint32_t>(point.code));
    at += point.bytes;
  }
  return out + "\"";
}

std::string hcl_quoted(std::string_view text) {
  std::string out;
  for (const char c : json_quoted(text)) {
    if (c == '{' && !out.empty() && (out.back() == '$' || out.back() == '%')) out.insert(out.size() - 1, 1, out.back());
    out += c;
  }
  return out;
}

std::string sql_quoted(std::string_view text) { return between('\'', text); }
std::string sql_name(std::string_view name) { return between('"', name); }

std::string one_line(std::string_view text) { return printed(text); }

}  // namespace stint
