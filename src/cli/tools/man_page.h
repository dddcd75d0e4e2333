// Manual pages made of the commands themselves, in the man macros that every man program reads.
//
// Source: groff_man(7), man-pages(7).
#pragma once

#include <string>
#include <string_view>

#include "cli/command_tree.h"

namespace stint {

/// stint(1): the commands with a line each. @param version  of the program.
std::string man_page_of_program(const CommandNode& root, std::string_view version);

/// stint-COMMAND(1): one command and those below it. @param command  of the root's.
std::string man_page_of_command(const CommandNode& root, const CommandNode& command, std::string_view version);

}  // namespace stint
