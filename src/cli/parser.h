// The parser of the command line, behind an interface of ours: what a command's file needs in order to say its options.
//
// CLI11 does the work, in parser.cc alone: its templates are dear to compile, and every command's file includes this header.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace stint {

class Command;
struct ParserStore;
std::optional<int> parse_line(Command& program, std::vector<std::string> arguments);

/// A test that a value must pass.
class ValueCheck {
 public:
  explicit ValueCheck(std::shared_ptr<const CLI::Validator> validator) : validator_(std::move(validator)) {}
  [[nodiscard]] const CLI::Validator& validator() const { return *validator_; }

 private:
  std::shared_ptr<const CLI::Validator> validator_;
};

ValueCheck in_range(int least, int most);
ValueCheck in_range(int64_t least, int64_t most);
ValueCheck in_range(size_t least, size_t most);
ValueCheck in_range(double least, double most);
ValueCheck one_of(std::initializer_list<const char*> choices);
ValueCheck positive_number();
ValueCheck non_negative_number();
ValueCheck existing_file();
/// @param trouble  says what is wrong with a value; empty = nothing.
ValueCheck passes(std::function<std::string(const std::string&)> trouble);

/// An option, a flag or an argument of a command; lives as long as the program's parser.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option* required();
  /// Help shows the value that the variable has now as the one that holds when nothing is given.
  Option* capture_default_str();
  Option* check(const ValueCheck& check);
  Option* needs(Option* other);
  Option* needs(std::string_view other);
  Option* excludes(Option* other);
  Option* excludes(std::string_view other);
  /// What help calls the value: "FILE".
  Option* type_name(std::string_view name);
  /// One value may be several, parted by this.
  Option* delimiter(char parts);
  /// Whether several values may follow one naming of the option.
  Option* allow_extra_args(bool allow);
  /// It takes so many values at once.
  Option* expected(int values);
  Option* envname(std::string_view variable);
  /// Help shows the options of a group by themselves; "" hides it.
  Option* group(std::string_view name);
  [[nodiscard]] bool empty() const;  ///< not given

 private:
  CLI::Option* option_;
};

/// The program, one of its commands, or a group of a command's options; lives as long as the program's parser.
class Command {
 public:
  Command(CLI::App* app, ParserStore* store) : app_(app), store_(store) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  Command* add_subcommand(std::string_view name, std::string_view help);
  /// Options of which `require_option` wants some.
  Command* add_option_group(std::string_view name, std::string_view help);

  /// @param name  "-o,--output", or "file" for an argument by its place. @param variable  takes the value; must outlive the parse.
  Option* add_option(std::string_view name, std::string& variable, std::string_view help = {});
  Option* add_option(std::string_view name, int& variable, std::string_view help = {});
  Option* add_option(std::string_view name, int64_t& variable, std::string_view help = {});
  Option* add_option(std::string_view name, uint64_t& variable, std::string_view help = {});
  Option* add_option(std::string_view name, double& variable, std::string_view help = {});
  Option* add_option(std::string_view name, std::vector<std::string>& variable, std::string_view help = {});
  Option* add_option(std::string_view name, std::vector<int>& variable, std::string_view help = {});
  Option* add_option(std::string_view name, std::vector<double>& variable, std::string_view help = {});
  Option* add_option(std::string_view name, std::optional<double>& variable, std::string_view help = {});
  Option* add_option(std::string_view name, std::optional<int64_t>& variable, std::string_view help = {});
  Option* add_option(std::string_view name, std::optional<uint64_t>& variable, std::string_view help = {});
  Option* add_flag(std::string_view name, bool& variable, std::string_view help = {});
  Option* add_flag_callback(std::string_view name, std::function<void()> when_given, std::string_view help = {});
  /// The same flag for this command and all below it that have the option `beside`.
  void add_flag_beside(std::string_view beside, std::string_view name, const std::function<void()>& when_given,
                       std::string_view help);
  void remove_option(std::string_view name);

  Command* require_subcommand(size_t least, size_t most);
  Command* require_subcommand(size_t exactly) { return require_subcommand(exactly, exactly); }
  Command* require_option(size_t exactly);
  /// Options it does not know are looked for in the command above.
  Command* fallthrough();
  /// What follows the first argument that is neither an option nor an option's value belongs to that argument: `submit train.sh --lr 1`.
  Command* first_word_ends_options();
  /// Whether such a word ended them in the line that was parsed, and not "--".
  [[nodiscard]] bool word_ended_options() const;
  /// "" hides it from help.
  Command* group(std::string_view name);
  Command* footer(std::string_view text);
  /// Called when the command was given and its line is sound; may call missing_argument() and wrong_usage().
  Command* callback(std::function<void()> when_given);

  /// The name of the command below this one that was given; empty = none.
  [[nodiscard]] std::string chosen_subcommand() const;

  /// What was left over, "--" included.
  [[nodiscard]] std::vector<std::string> remaining() const;

  /// The command below this one that has the name; null = none.
  [[nodiscard]] Command* find_subcommand(std::string_view name);

  [[nodiscard]] CLI::App& parser() { return *app_; }
  [[nodiscard]] const CLI::App& parser() const { return *app_; }

 private:
  friend std::optional<int> parse_line(Command& program, std::vector<std::string> arguments);
  CLI::App* app_;
  ParserStore* store_;
};

/// A program without commands yet; --help and --version are there.
std::shared_ptr<Command> make_program(std::string_view name, std::string_view help, std::string_view version);

/// Parses a line. @param arguments  without the program's name.
/// @return what the program exits with at once, help or the error being printed; nullopt = go on.
std::optional<int> parse_line(Command& program, std::vector<std::string> arguments);

/// Ends the parse: something that must be given is not. @param what  "--p99 or --p95".
[[noreturn]] void missing_argument(const std::string& what);
/// Ends the parse: what is given does not go together.
[[noreturn]] void wrong_usage(const std::string& message);

}  // namespace stint
