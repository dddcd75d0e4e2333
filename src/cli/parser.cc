#include "cli/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <set>

#include "cli/cli.h"
#include "cli/command_tree.h"
#include "cli/output.h"
#include "cli/tools/help_page.h"

namespace stint {

/// Owns the parser and our handles on its parts, whose addresses stay.
struct ParserStore {
  CLI::App program;
  std::deque<Command> commands;
  std::deque<Option> options;
  std::set<const CLI::App*> ended_by_words;  ///< commands whose options end at the first word
  bool word_ended_options = false;           ///< in the line that was parsed

  Command* keep(CLI::App* app) { return &commands.emplace_back(app, this); }
  Option* keep(CLI::Option* option) { return &options.emplace_back(option); }
};

namespace {

ValueCheck keep_check(CLI::Validator validator) {
  return ValueCheck(std::make_shared<const CLI::Validator>(std::move(validator)));
}

std::string command_wanted(const CommandNode& command) {
  constexpr size_t kMostNamed = 12;  // the program's own commands are too many for a line
  std::vector<std::string> names;
  for (const CommandNode& below : command.commands)
    names.push_back(below.name);
  if (names.size() > kMostNamed) return "a command must follow";
  return fmt::format("behind `{}` one of its commands must follow: {}", command.path, fmt::join(names, ", "));
}

template <typename Value>
CLI::Option* add_value(CLI::App& app, std::string_view name, Value& variable, std::string_view help) {
  return app.add_option(std::string(name), variable, std::string(help));
}

void add_flag_beside(CLI::App& app, const std::string& beside, const std::string& name, const std::function<void()>& when_given,
                     const std::string& help) {
  if (app.get_option_no_throw(beside) != nullptr && app.get_option_no_throw(name) == nullptr)
    app.add_flag_callback(name, when_given, help);
  for (CLI::App* below : app.get_subcommands([](CLI::App*) { return true; }))
    add_flag_beside(*below, beside, name, when_given, help);
}

/// Where the first word lies that is neither an option nor its value, if it ends the options of its command.
std::optional<size_t> first_word(CLI::App* command, const std::vector<std::string>& arguments,
                                 const std::set<const CLI::App*>& words) {
  for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() > 1 && argument[0] == '-') {
      const CLI::Option* option = nullptr;
      for (const CLI::App* at = command; at != nullptr && option == nullptr; at = at->get_parent())
        option = at->get_option_no_throw(argument);
      if (option != nullptr && option->get_items_expected_max() > 0) ++i;  // its value
      continue;
    }
    const auto below = command->get_subcommands([&argument](const CLI::App* c) { return c->check_name(argument); });
    if (!below.empty())
      command = below.front();
    else
      return words.contains(command) ? std::optional(i) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

ValueCheck in_range(int least, int most) { return keep_check(CLI::Range(least, most)); }
ValueCheck in_range(int64_t least, int64_t most) { return keep_check(CLI::Range(least, most)); }
ValueCheck in_range(size_t least, size_t most) { return keep_check(CLI::Range(least, most)); }
ValueCheck in_range(double least, double most) { return keep_check(CLI::Range(least, most)); }
ValueCheck one_of(std::initializer_list<const char*> choices) {
  return keep_check(CLI::IsMember(std::vector<std::string>(choices.begin(), choices.end())));
}
ValueCheck positive_number() { return keep_check(CLI::PositiveNumber); }
ValueCheck non_negative_number() { return keep_check(CLI::NonNegativeNumber); }
ValueCheck existing_file() { return keep_check(CLI::ExistingFile); }
ValueCheck passes(std::function<std::string(const std::string&)> trouble) {
  return keep_check(CLI::Validator([trouble = std::move(trouble)](const std::string& value) { return trouble(value); }, ""));
}

Option* Option::required() {
  option_->required();
  return this;
}
Option* Option::capture_default_str() {
  option_->capture_default_str();
  return this;
}
Option* Option::check(const ValueCheck& check) {
  option_->check(check.validator());
  return this;
}
Option* Option::needs(Option* other) {
  option_->needs(other->option_);
  return this;
}
Option* Option::needs(std::string_view other) {
  option_->needs(std::string(other));
  return this;
}
Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}
Option* Option::excludes(std::string_view other) {
  option_->excludes(std::string(other));
  return this;
}
Option* Option::type_name(std::string_view name) {
  option_->type_name(std::string(name));
  return this;
}
Option* Option::delimiter(char parts) {
  option_->delimiter(parts);
  return this;
}
Option* Option::allow_extra_args(bool allow) {
  option_->allow_extra_args(allow);
  return this;
}
Option* Option::expected(int values) {
  option_->expected(values);
  return this;
}
Option* Option::envname(std::string_view variable) {
  option_->envname(std::string(variable));
  return this;
}
Option* Option::group(std::string_view name) {
  option_->group(std::string(name));
  return this;
}
bool Option::empty() const { return option_->empty(); }

Command* Command::add_subcommand(std::string_view name, std::string_view help) {
  return store_->keep(app_->add_subcommand(std::string(name), std::string(help)));
}
Command* Command::add_option_group(std::string_view name, std::string_view help) {
  return store_->keep(app_->add_option_group(std::string(name), std::string(help)));
}

Option* Command::add_option(std::string_view name, std::string& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, int& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, int64_t& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, uint64_t& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, double& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, std::vector<std::string>& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, std::vector<int>& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, std::vector<double>& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, std::optional<double>& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, std::optional<int64_t>& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_option(std::string_view name, std::optional<uint64_t>& variable, std::string_view help) {
  return store_->keep(add_value(*app_, name, variable, help));
}
Option* Command::add_flag(std::string_view name, bool& variable, std::string_view help) {
  return store_->keep(app_->add_flag(std::string(name), variable, std::string(help)));
}
Option* Command::add_flag_callback(std::string_view name, std::function<void()> when_given, std::string_view help) {
  return store_->keep(app_->add_flag_callback(std::string(name), std::move(when_given), std::string(help)));
}
void Command::add_flag_beside(std::string_view beside, std::string_view name, const std::function<void()>& when_given,
                              std::string_view help) {
  stint::add_flag_beside(*app_, std::string(beside), std::string(name), when_given, std::string(help));
}
void Command::remove_option(std::string_view name) { app_->remove_option(app_->get_option(std::string(name))); }

Command* Command::require_subcommand(size_t least, size_t most) {
  app_->require_subcommand(least, most);
  return this;
}
Command* Command::require_option(size_t exactly) {
  app_->require_option(exactly, exactly);
  return this;
}
Command* Command::fallthrough() {
  app_->fallthrough();
  return this;
}
Command* Command::group(std::string_view name) {
  app_->group(std::string(name));
  return this;
}
Command* Command::footer(std::string_view text) {
  app_->footer(std::string(text));
  return this;
}
Command* Command::callback(std::function<void()> when_given) {
  app_->callback(std::move(when_given));
  return this;
}

Command* Command::first_word_ends_options() {
  store_->ended_by_words.insert(app_);
  return this;
}
bool Command::word_ended_options() const { return store_->word_ended_options; }

std::string Command::chosen_subcommand() const {
  const auto chosen = app_->get_subcommands();
  return chosen.empty() ? "" : chosen.front()->get_name();
}

Command* Command::find_subcommand(std::string_view name) {
  for (CLI::App* below : app_->get_subcommands([](CLI::App*) { return true; }))
    if (below->get_name() == name) return store_->keep(below);
  return nullptr;
}

std::vector<std::string> Command::remaining() const { return app_->remaining(); }

std::shared_ptr<Command> make_program(std::string_view name, std::string_view help, std::string_view version) {
  auto store = std::make_shared<ParserStore>();
  CLI::App& app = store->program;
  app.name(std::string(name));
  app.description(std::string(help));
  app.set_help_flag("-h,--help", "print this help and exit");
  app.set_version_flag("--version", std::string(version), "print the version and exit");
  Command* const program = store->keep(&app);
  return {std::move(store), program};
}

std::optional<int> parse_line(Command& program, std::vector<std::string> arguments) {
  const std::vector<std::string> words = arguments;
  const auto word = first_word(program.app_, arguments, program.store_->ended_by_words);
  program.store_->word_ended_options = word.has_value();
  if (word) arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(*word), "--");
  std::reverse(arguments.begin(), arguments.end());  // as the parser wants them
  try {
    program.parser().parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const CommandNode root = command_tree(program);
    return write_output("", help_page(command_named(root, words), screen_of_stdout())).ok() ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.parser().exit(error);  // --version
    const CommandNode root = command_tree(program);
    const std::string unknown = explain_unknown_name(root, words);
    const CommandNode& command = command_named(root, words);
    const bool lacks_command = !command.works_alone && std::string_view(error.what()) == CLI::RequiredError::Subcommand(1).what();
    tell("stint: {}\n", !unknown.empty() ? unknown : lacks_command ? command_wanted(command) : std::string(error.what()));
    tell("`{} --help` lists what there is.\n", command.path);
    return static_cast<int>(ExitCode::kUsage);
  }
  return std::nullopt;
}

void missing_argument(const std::string& what) { throw CLI::RequiredError(what); }
void wrong_usage(const std::string& message) { throw CLI::ValidationError(message); }

}  // namespace stint
