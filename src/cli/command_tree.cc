#include "cli/command_tree.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "base/text.h"
#include "cli/parser.h"

namespace stint {
namespace {

/// CLI11 describes a type with its checks as "TEXT:{a,b}" or "INT:INT in [1 - 9]".
void take_type(OptionInfo& info, const std::string& type) {
  const size_t colon = type.find(':');
  info.type = info.placeholder = type.substr(0, colon);
  if (colon == std::string::npos) return;
  std::string_view check = std::string_view(type).substr(colon + 1);
  if (check.starts_with('{') && check.ends_with('}')) {
    for (const std::string_view choice : split(check.substr(1, check.size() - 2), ','))
      info.choices.emplace_back(choice.substr(0, choice.find("->")));
  } else if (const size_t bracket = check.find("in ["); bracket != std::string_view::npos && check.ends_with(']')) {
    check = check.substr(bracket + 4, check.size() - bracket - 5);
    const size_t dash = check.find(" - ");
    info.range = dash == std::string_view::npos ? check : fmt::format("{} to {}", check.substr(0, dash), check.substr(dash + 3));
  }
}

OptionInfo option_info(const CLI::Option& option) {
  OptionInfo info{.standard = option.get_default_str(),
                  .help = option.get_description(),
                  .required = option.get_required(),
                  .repeatable = option.get_items_expected_max() > 1};
  for (const std::string& name : option.get_snames())
    info.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames())
    info.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) take_type(info, option.get_type_name());
  if (info.names.empty()) info.placeholder = option.get_name(true);
  return info;
}

std::string_view kind_of_value(std::string_view option) {
  static const std::map<std::string_view, std::string_view> kinds = {
      {"job", "JOB"},
      {"--after", "JOB"},
      {"--history", "FILE"},
      {"--output", "FILE"},
      {"--html", "FILE"},
      {"--invoices", "FILE"},
      {"--config", "FILE"},
      {"--token-file", "FILE"},
      {"--ca-file", "FILE"},
      {"--certificate", "FILE"},
      {"--key", "FILE"},
      {"--measured", "FILE"},
      {"--tls-certificate", "FILE"},
      {"--tls-key", "FILE"},
      {"--tls-client-ca", "FILE"},
      {"--tls-client-crl", "FILE"},
      {"--save", "FILE"},
      {"--series", "FILE"},
      {"--jobs-format", "FORMAT"},
      {"--workload", "FILE"},
      {"--latency", "FILE"},
      {"--events", "FILE"},
      {"--folder", "FOLDER"},
      {"--checkpoint-dir", "FOLDER"},
      {"--sync-to", "FOLDER"},
      {"--sync-kms-key", "KEY"},
      {"--kms-key", "KEY"},
      {"--cgroup", "FOLDER"},
      {"--out", "FOLDER"},
      {"--server", "URL"},
      {"--url", "URL"},
      {"--listen", "ADDRESS"},
      {"--queue", "QUEUE"},
      {"--user", "USER"},
      {"--jobs-as", "USER"},
      {"--jobs-as-range", "FIRST-LAST"},
      {"--jobs-home", "FOLDER"},
      {"--disk-reserve", "SIZE"},
      {"--job-device", "PATH"},
      {"--gpu-scrub", "PROGRAM"},
      {"--job-processes", "NUMBER"},
      {"--job-log-limit", "SIZE"},
      {"--client", "CLIENT"},
      {"--role", "ROLE"},
      {"--tag", "KEY=VALUE"},
      {"--node-label", "KEY=VALUE"},
      {"--env", "NAME=VALUE"},
      {"--region", "REGION"},
      {"--provider", "PROVIDER"},
      {"--policy", "POLICY"},
      {"--change", "CHANGE"},
      {"--fleet", "FLEET"},
      {"--time-limit", "DURATION"},
      {"--life", "DURATION"},
      {"--interval", "DURATION"},
      {"--notice", "DURATION"},
      {"--pause", "DURATION"},
      {"--longest-pause", "DURATION"},
      {"--at", "TIME"},
      {"--since", "TIME"},
      {"--until", "TIME"},
      {"--not-before", "TIME"},
  };
  const auto found = kinds.find(option);
  return found == kinds.end() ? "" : found->second;
}

constexpr std::string_view kUsualGroup = "Options", kUsualCommandGroup = "Subcommands";  // CLI11's

bool is_hidden(const CLI::App& app) { return app.get_group().empty(); }

void take_options(CommandNode& info, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    OptionInfo one = option_info(*option);
    if (!one.names.empty() && info.option(one.names.back()) != nullptr) continue;  // a group's --help is the command's
    if (option->get_group() != kUsualGroup) one.group = option->get_group();
    if (app.get_name().empty() && app.get_parent() != nullptr) one.group = app.get_description();
    (one.names.empty() ? info.arguments : info.options).push_back(std::move(one));
  }
}

CommandNode node_below(const CLI::App& app, const std::string& parent) {
  CommandNode info{.name = app.get_name(),
                   .group = app.get_group() == kUsualCommandGroup ? "" : app.get_group(),
                   .path = parent.empty() ? app.get_name() : parent + " " + app.get_name(),
                   .help = app.get_description()};
  const bool inherited = app.get_parent() != nullptr && app.get_footer() == app.get_parent()->get_footer();
  if (!inherited) info.notes = app.get_footer();
  info.works_alone = app.get_require_subcommand_min() == 0;
  take_options(info, app);
  // Where what a command does not know falls through to the one above, that one's options are its own, too.
  if (app.get_fallthrough() && app.get_parent() != nullptr) {
    CommandNode above;
    take_options(above, *app.get_parent());
    for (OptionInfo& option : above.options)
      if (info.option(option.names.back()) == nullptr) info.options.push_back(std::move(option));
  }
  for (const CLI::App* below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (below->get_name().empty())  // a group of options
      take_options(info, *below);
    else
      (is_hidden(*below) ? info.hidden : info.commands).push_back(node_below(*below, info.path));
  }
  return info;
}

void name_values_from(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    // The type alone, without the checks that get_type_name() adds to it.
    if (option->get_items_expected_max() == 0 || option->get_type_name() != "TEXT") continue;
    std::vector<std::string> names{option->get_name(true)};  // a positional's
    for (const std::string& name : option->get_lnames())
      names.push_back("--" + name);
    for (const std::string& name : names)
      if (const std::string_view kind = kind_of_value(name); !kind.empty()) option->type_name(std::string(kind));
  }
  for (CLI::App* below : app.get_subcommands([](CLI::App*) { return true; }))
    name_values_from(*below);
}

}  // namespace

namespace {

const CommandNode* named_in(const std::vector<CommandNode>& nodes, std::string_view wanted) {
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const CommandNode& one) { return one.name == wanted; });
  return found == nodes.end() ? nullptr : &*found;
}

}  // namespace

const CommandNode* CommandNode::command(std::string_view wanted) const { return named_in(commands, wanted); }

const CommandNode* CommandNode::any_command(std::string_view wanted) const {
  const CommandNode* shown = command(wanted);
  return shown != nullptr ? shown : named_in(hidden, wanted);
}

const OptionInfo* CommandNode::option(std::string_view wanted) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const OptionInfo& one) {
    return std::find(one.names.begin(), one.names.end(), wanted) != one.names.end();
  });
  return found == options.end() ? nullptr : &*found;
}

bool OptionInfo::takes_path() const { return takes_value() && (type == "TEXT" || type == "FILE" || type == "FOLDER"); }

void name_values(Command& program) { name_values_from(program.parser()); }

CommandNode command_tree(const Command& program) { return node_below(program.parser(), ""); }

}  // namespace stint
