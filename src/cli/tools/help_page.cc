#include "cli/tools/help_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/nearest.h"
#include "base/text.h"
#include "report/utf8.h"

namespace stint {
namespace {

constexpr size_t kHelpColumns = 100;     // where nothing limits the width
constexpr size_t kMostNameColumns = 28;  // a longer name has the line for itself
constexpr size_t kLeastTextColumns = 24;

constexpr std::array<std::string_view, 6> kGroups = {"Understand", "Decide", "Run", "Govern", "Serve", "Tools"};

struct Entry {
  std::string name;
  std::string text;
};

size_t help_width(Screen screen) { return screen.width > 0 ? screen.width : kHelpColumns; }

std::string sentence_of(std::string_view text) {
  std::string out(text);
  if (!out.empty() && std::string_view(".?!").find(out.back()) == std::string_view::npos) out += '.';
  return out;
}

/// Names in one column, what they are in the next.
std::string two_columns(const std::vector<Entry>& entries, size_t width) {
  size_t names = 0;
  for (const Entry& entry : entries)
    if (const size_t size = display_width(entry.name); size <= kMostNameColumns) names = std::max(names, size);
  if (names + 4 + kLeastTextColumns > width) names = 4;
  std::string out;
  for (const Entry& entry : entries) {
    const size_t size = display_width(entry.name);
    const std::string text = wrapped(entry.text, width, names + 4);
    out += "  " + entry.name;
    if (text.empty())
      out += "\n";
    else if (size <= names)
      out += std::string(names - size, ' ') + "  " + text.substr(names + 4);
    else
      out += "\n" + text;
  }
  return out;
}

/// A help text that already names the choices says what each is.
bool names_all(std::string_view help, const std::vector<std::string>& choices) {
  return std::all_of(choices.begin(), choices.end(),
                     [&](const std::string& choice) { return help.find(choice) != std::string_view::npos; });
}

Entry entry_of(const OptionInfo& option) {
  Entry entry{.name = fmt::format("{}", fmt::join(option.names, ", ")), .text = option.help};
  if (option.takes_value()) entry.name += (option.names.empty() ? "" : " ") + option.placeholder;
  if (option.names.empty() && option.repeatable) entry.name += "...";
  std::vector<std::string> facts;
  if (!option.choices.empty() && !names_all(option.help, option.choices))
    facts.push_back(fmt::format("one of {}", fmt::join(option.choices, ", ")));
  if (!option.range.empty()) facts.push_back(option.range);
  if (!option.standard.empty()) facts.push_back("default: " + option.standard);
  if (option.required) facts.emplace_back("required");
  if (!facts.empty()) entry.text += fmt::format(" ({})", fmt::join(facts, "; "));
  return entry;
}

std::string usage(const CommandNode& command, size_t width) {
  std::string out = "Usage: " + command.path;
  for (const OptionInfo& option : command.options)
    if (option.required) out += fmt::format(" {} {}", option.names.back(), option.placeholder);
  if (!command.options.empty()) out += " [options]";
  if (!command.commands.empty()) out += command.works_alone ? " [command]" : " command";
  for (const OptionInfo& argument : command.arguments) {
    const std::string name = argument.placeholder + (argument.repeatable ? "..." : "");
    out += argument.required ? " " + name : " [" + name + "]";
  }
  return wrapped(out, width);
}

bool is_command_line(std::string_view line) {
  const std::string_view text = trim(line);
  return text.starts_with("stint ") || text.starts_with("Example: stint ");
}

/// A line as it is where it fits; else broken: a command so that a shell still reads it as one.
std::string fitted_line(std::string_view line, size_t width) {
  if (display_width(line) <= width) return std::string(line) + "\n";
  const size_t blanks = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = line.substr(blanks);
  if (!is_command_line(line)) {
    // "  name   what it is" goes on below the second column.
    const size_t gap = text.find("  ");
    const size_t second = gap == std::string_view::npos ? std::string_view::npos : text.find_first_not_of(' ', gap);
    if (second == std::string_view::npos || blanks + second + kLeastTextColumns > width) return wrapped(text, width, blanks);
    return std::string(line.substr(0, blanks + second)) +
           wrapped(text.substr(second), width, blanks + second).substr(blanks + second);
  }
  return fitted_command(line, width) + "\n";
}

std::string notes_page(const CommandNode& command, size_t width) {
  std::string out;
  for (const std::string_view line : split(command.notes, '\n'))
    out += fitted_line(line, width);
  return command.notes.empty() ? "" : "\n" + out;
}

std::string commands_page(const CommandNode& command, size_t width) {
  const auto in_group = [&](std::string_view group) {
    std::vector<Entry> entries;
    for (const CommandNode& below : command.commands)
      if (below.group == group) entries.push_back({below.name, below.help});
    return entries;
  };
  std::string out;
  const auto add = [&](std::string_view heading, const std::vector<Entry>& entries) {
    if (!entries.empty()) out += fmt::format("\n{}:\n{}", heading, two_columns(entries, width));
  };
  add("Commands", in_group(""));
  for (const std::string_view group : kGroups)
    add(group, in_group(group));
  return out;
}

/// Where a line stands after the words that were understood.
struct Understood {
  const CommandNode* command = nullptr;
  std::string problem;
};

Understood read_names(const CommandNode& root, std::span<const std::string> words) {
  Understood at{&root, ""};
  bool arguments = false;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") break;
    if (word.size() > 1 && word.starts_with('-')) {
      const bool number = word.find_first_not_of("0123456789.", 1) == std::string::npos;
      const bool is_long = word.starts_with("--");
      const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
      const OptionInfo* option = at.command->option(name);
      if (option == nullptr && !number && at.problem.empty()) {
        std::vector<std::string> names;
        for (const OptionInfo& one : at.command->options)
          names.insert(names.end(), one.names.begin(), one.names.end());
        at.problem = fmt::format("`{}` has no option {}{}", at.command->path, name, did_you_mean(name, names));
      }
      // The value of an unknown name cannot be told from an argument: what follows is not judged.
      if (option == nullptr && !number) return at;
      if (option != nullptr && option->takes_value() && word.size() == name.size()) ++i;
    } else if (const CommandNode* below = arguments ? nullptr : at.command->any_command(word); below != nullptr) {
      at.command = below;
    } else {
      if (!arguments && !at.command->commands.empty() && at.command->arguments.empty() && at.problem.empty()) {
        std::vector<std::string> names;
        for (const CommandNode& one : at.command->commands)
          names.push_back(one.name);
        at.problem = (at.command == &root ? "there is" : fmt::format("`{}` has", at.command->path)) +
                     fmt::format(" no command '{}'{}", excerpt(word), did_you_mean(word, names));
      }
      arguments = true;
    }
  }
  return at;
}

}  // namespace

std::span<const std::string_view> command_groups() { return kGroups; }

std::string help_page(const CommandNode& command, Screen screen) {
  const size_t width = help_width(screen);
  std::string out = wrapped(sentence_of(command.help), width) + "\n" + usage(command, width);
  std::vector<Entry> arguments, options;
  std::vector<std::pair<std::string, std::vector<Entry>>> groups;
  size_t connection = 0;
  for (const OptionInfo& argument : command.arguments)
    arguments.push_back(entry_of(argument));
  for (const OptionInfo& option : command.options)
    if (option.group == kConnectionGroup) {
      ++connection;
    } else if (option.group.empty()) {
      options.push_back(entry_of(option));
    } else {
      if (groups.empty() || groups.back().first != option.group) groups.push_back({option.group, {}});
      groups.back().second.push_back(entry_of(option));
    }
  if (!arguments.empty()) out += "\nArguments:\n" + two_columns(arguments, width);
  out += commands_page(command, width);
  for (const auto& [what, entries] : groups)
    out += "\n" + wrapped(what + ":", width) + two_columns(entries, width);
  if (!options.empty()) out += "\nOptions:\n" + two_columns(options, width);
  if (connection > 0) out += "\n" + wrapped("Connection options: see `stint help connection`", width);
  return out + notes_page(command, width);
}

std::string connection_page(const CommandNode& root, Screen screen) {
  const size_t width = help_width(screen);
  std::vector<Entry> options;
  if (const CommandNode* queue = root.command("queue"); queue != nullptr)
    for (const OptionInfo& option : queue->options)
      if (option.group == kConnectionGroup) options.push_back(entry_of(option));
  return wrapped("How commands find the daemon, and say who asks. Every command that talks to the daemon takes these options.",
                 width) +
         "\nConnection options:\n" + two_columns(options, width);
}

std::string explain_unknown_name(const CommandNode& root, std::span<const std::string> words) {
  return read_names(root, words).problem;
}

const CommandNode& command_named(const CommandNode& root, std::span<const std::string> words) {
  return *read_names(root, words).command;
}

}  // namespace stint
