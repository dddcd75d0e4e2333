// The commands and their options as plain values, taken from the parser itself: what help, completion and manual pages are made of,
// so that none of them says anything else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace stint {

class Command;

/// An option, a flag, or an argument without a name.
struct OptionInfo {
  std::vector<std::string> names;  ///< "-o", "--output"; empty = an argument told by its place
  std::string placeholder;         ///< "FILE", "YYYY-MM", an argument's own name; empty = a flag, which takes no value
  std::string type = "TEXT";       ///< likewise, also of an argument: "TEXT", "INT", "FILE"
  std::vector<std::string> choices;
  std::string range;     ///< "1 to 1000"; empty = none named
  std::string standard;  ///< value when it is not given; empty = none shown
  std::string help;
  std::string group;  ///< "Connection", or what the options of a group are about; empty = none
  bool required = false;
  bool repeatable = false;

  [[nodiscard]] bool takes_value() const { return !placeholder.empty(); }
  /// Whether the value may be the name of a file or folder.
  [[nodiscard]] bool takes_path() const;
};

struct CommandNode {
  std::string name;                   ///< "list"
  std::string group;                  ///< "Decide": under what heading the program's help shows it; empty = under none
  std::string path;                   ///< "stint change list"
  std::string help;                   ///< one line
  std::string notes;                  ///< what stands below the options in --help; empty where it is the parent's
  std::vector<OptionInfo> options;    ///< named ones, in their order of help
  std::vector<OptionInfo> arguments;  ///< by their place
  std::vector<CommandNode> commands;  ///< without those hidden from help
  std::vector<CommandNode> hidden;    ///< those: earlier names, and what no person calls
  bool works_alone = true;            ///< false = one of the commands below must follow

  [[nodiscard]] const CommandNode* command(std::string_view name) const;
  /// Also one that is hidden from help.
  [[nodiscard]] const CommandNode* any_command(std::string_view name) const;
  /// @param name  "--output" or "-o".
  [[nodiscard]] const OptionInfo* option(std::string_view name) const;
};

/// Gives values that are plain text to the parser the name of what they are, "FILE" in place of "TEXT", by the option's name: what
/// is called alike is of one kind in all commands.
void name_values(Command& program);

/// @param app  with all its subcommands.
CommandNode command_tree(const Command& program);

}  // namespace stint
