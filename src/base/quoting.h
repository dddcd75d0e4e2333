// Text put into a language so that it stays text: one function for each language that Stint writes.
//
// Names come from bills, labels and job requests that anybody may write. Whoever makes a command or a fragment of configuration puts every
// name through the function of the language it stands in; one language inside another takes both, the inner one first.
#pragma once

#include <string>
#include <string_view>

namespace stint {

/// POSIX shell: unchanged when it is plain, else in single quotes. What is no printed character becomes a blank, so that it stays on its line.
std::string shell_quoted(std::string_view text);
/// The same where a command expects a name, and never taken for an option.
std::string shell_operand(std::string_view text);
/// A command of shell as a line of a crontab: cron reads an unescaped % as the end of the command.
std::string crontab_command(std::string_view command);
/// JSON, and YAML's double-quoted style: the quotes are included; what YAML does not print is escaped, what is no UTF-8 is U+FFFD.
std::string json_quoted(std::string_view text);
/// Terraform: json_quoted(), and no template (${…}, %{…}) begins in it.
std::string hcl_quoted(std::string_view text);
/// SQL: a text, `'it''s'`.
std::string sql_quoted(std::string_view text);
/// SQL: a name of a column or table, `"a""b"`.
std::string sql_name(std::string_view name);
/// On the line of a comment, in any of these languages: what is no printed character is a blank.
std::string one_line(std::string_view text);

}  // namespace stint
