#include "cli/tools/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/utf8.h"

namespace stint {
namespace {

/// Text as roff shows it: nothing in it is taken for markup, hyphens stay what a shell understands.
std::string plain(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const char c = text[at];
    if (!point.valid || point.code >= 0x80)
      out += fmt::format("\\[u{:04X}]", point.valid ? static_cast<uint32_t>(point.code) : 0xfffd);
    else if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'' || c == '`' || c == '^' || c == '~')
      out += c == '\'' ? "\\(aq" : c == '`' ? "\\(ga" : c == '^' ? "\\(ha" : "\\(ti";
    else if (c == '.' && (at == 0 || text[at - 1] == '\n'))
      out += "\\&.";
    else
      out += c;
    at += point.bytes;
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out.front() >= 'a' && out.front() <= 'z') out.front() = static_cast<char>(out.front() - 'a' + 'A');
  if (!out.empty() && out.back() != '.' && out.back() != '?') out += '.';
  return out;
}

std::string man_heading(const std::string& page, std::string_view version) {
  std::string upper = page;
  for (char& c : upper)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return fmt::format(".TH \"{}\" 1 \"\" \"Stint {}\" \"Stint\"\n.nh\n.ad l\n", plain(upper), plain(version));
}

std::string synopsis(const CommandNode& command) {
  std::string out = bold(command.path);
  for (const OptionInfo& option : command.options)
    if (option.required) out += fmt::format(" {} {}", bold(option.names.back()), italic(option.placeholder));
  out += " [" + italic("options") + "]";
  if (!command.commands.empty()) out += " " + italic("command");
  for (const OptionInfo& argument : command.arguments) {
    const std::string dots = argument.repeatable ? "..." : "";
    out += argument.required ? " " + italic(argument.placeholder) + dots : " [" + italic(argument.placeholder) + dots + "]";
  }
  return out + "\n";
}

std::string entry(const OptionInfo& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += (names.empty() ? "" : ", ") + bold(name);
  if (option.takes_value()) names += (names.empty() ? "" : " ") + italic(option.placeholder);
  // A help that begins with one of the choices explains them one by one.
  const bool literal = std::any_of(option.choices.begin(), option.choices.end(),
                                   [&](const std::string& choice) { return option.help.starts_with(choice); });
  std::string text = literal ? option.help + "." : sentence(option.help);
  if (!option.choices.empty()) text += fmt::format(" One of: {}.", fmt::join(option.choices, ", "));
  if (!option.range.empty()) text += fmt::format(" From {}.", option.range);
  if (!option.standard.empty()) text += fmt::format(" Default: {}.", option.standard);
  if (option.required) text += " Required.";
  return fmt::format(".TP\n{}\n{}\n", names, plain(text));
}

std::string entries(const CommandNode& command) {
  std::string out;
  for (const OptionInfo& argument : command.arguments)
    out += entry(argument);
  for (const OptionInfo& option : command.options)
    out += entry(option);
  return out;
}

/// What stands below the options in --help, line by line as it is there.
std::string notes(const CommandNode& command) {
  std::string out;
  for (const std::string_view line : split(command.notes, '\n'))
    out += line.empty() ? ".sp\n" : plain(line) + "\n";
  return command.notes.empty() ? "" : ".PP\n.nf\n" + out + ".fi\n";
}

/// A command below that of the page, and those below it.
std::string subsection(const CommandNode& command) {
  std::string out = fmt::format(".SS {}\n{}.PP\n{}\n{}{}", plain(command.path), synopsis(command), plain(sentence(command.help)),
                                entries(command), notes(command));
  for (const CommandNode& below : command.commands)
    out += subsection(below);
  return out;
}

std::string name_line(const std::string& page, std::string_view help) {
  return fmt::format(".SH NAME\n{} \\- {}\n", plain(page), plain(help));
}

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? "" : fmt::format(".SH {}\n{}", title, body);
}

std::string page_of(const CommandNode& root, const CommandNode& command) { return root.name + "-" + command.name; }

}  // namespace

std::string man_page_of_program(const CommandNode& root, std::string_view version) {
  std::string commands;
  std::string also;
  for (const CommandNode& command : root.commands) {
    commands += fmt::format(".TP\n{}\n{}\n", bold(command.path), plain(sentence(command.help)));
    also += fmt::format("{}{}(1)", also.empty() ? "" : ",\n", bold(page_of(root, command)));
  }
  return man_heading(root.name, version) + name_line(root.name, root.help) + section("SYNOPSIS", synopsis(root)) +
         section("COMMANDS", commands) + section("OPTIONS", entries(root)) + section("NOTES", notes(root)) +
         section("SEE ALSO", also + "\n");
}

std::string man_page_of_command(const CommandNode& root, const CommandNode& command, std::string_view version) {
  const std::string page = page_of(root, command);
  std::string below;
  for (const CommandNode& one : command.commands)
    below += subsection(one);
  return man_heading(page, version) + name_line(page, command.help) + section("SYNOPSIS", synopsis(command)) +
         section("OPTIONS", entries(command)) + section("COMMANDS", below) + section("NOTES", notes(command)) +
         section("SEE ALSO", bold(root.name) + "(1)\n");
}

}  // namespace stint
