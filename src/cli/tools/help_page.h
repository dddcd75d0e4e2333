// What --help prints, made of the commands themselves: fits the terminal, commands in groups, and the options that all commands
// of the daemon share in one line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/command_tree.h"
#include "report/table.h"

namespace stint {

/// The group of options that name the daemon and say who asks; `stint help connection` explains them.
inline constexpr std::string_view kConnectionGroup = "Connection";
/// The groups of the program's commands, in the order in which help shows them.
std::span<const std::string_view> command_groups();

/// The page of one command, or of the program.
std::string help_page(const CommandNode& command, Screen screen);
/// The options that help pages leave out, explained once.
std::string connection_page(const CommandNode& root, Screen screen);

/// A line that the parser refused, read for the first name that does not exist. @param words  after the program's name.
/// @return what is wrong with it and the name that was probably meant; empty = all names exist.
std::string explain_unknown_name(const CommandNode& root, std::span<const std::string> words);
/// The command that the words name, as far as they name one: the program itself where they name none.
const CommandNode& command_named(const CommandNode& root, std::span<const std::string> words);

}  // namespace stint
