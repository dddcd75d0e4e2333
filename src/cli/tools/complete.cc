#include "cli/tools/complete.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"

namespace stint {
namespace {

constexpr std::string_view kBash = R"sh(# Completion of stint for bash. In ~/.bashrc: source <(stint completion bash)
_stint() {
  local kind value help
  COMPREPLY=()
  while IFS=$'\t' read -r kind value help; do
    case $kind in
      value) COMPREPLY+=("$value") ;;
      files) compopt -o default ;;
    esac
  done < <("$1" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _stint stint
)sh";

constexpr std::string_view kZsh = R"sh(#compdef stint
# Completion of stint for zsh. In ~/.zshrc, after compinit: source <(stint completion zsh)
_stint() {
  local kind value help files
  local -a values
  while IFS=$'\t' read -r kind value help; do
    case $kind in
      value) values+=("${value//:/\\:}${help:+:$help}") ;;
      files) files=yes ;;
    esac
  done < <("${words[1]}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#values )) && _describe -t values stint values
  if [[ -n $files ]]; then
    [[ $PREFIX == -*=* ]] && compset -P '*='
    _files
  fi
}
if [[ ${funcstack[1]} == _stint ]]; then _stint "$@"; else compdef _stint stint; fi
)sh";

constexpr std::string_view kFish =
    R"sh(# Completion of stint for fish. In ~/.config/fish/config.fish: stint completion fish | source
function __stint_complete
  set -l words (commandline -opc)
  set -l current (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] "$current" 2>/dev/null)
    set -l parts (string split \t -- $line)
    switch $parts[1]
      case value
        printf '%s\t%s\n' $parts[2] "$parts[3]"
      case files
        __fish_complete_path "$current"
    end
  end
end
complete -c stint -f -a '(__stint_complete)'
)sh";

/// Names come from the daemon's users: neither a tab nor a line's end may begin another candidate.
std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

/// Where a command line stands after its whole words.
struct Position {
  const CommandNode* command = nullptr;
  const OptionInfo* option = nullptr;  ///< whose value is to come
  size_t arguments = 0;                ///< given so far
  bool all_arguments = false;          ///< behind --
};

void advance(Position& at, const std::string& word) {
  if (at.option != nullptr) {
    if (word != "=") at.option = nullptr;  // bash cuts at '='
    return;
  }
  if (at.all_arguments) return;
  if (word == "--") {
    at.all_arguments = true;
  } else if (word.starts_with('-') && word.size() > 1) {
    const size_t equals = word.find('=');
    const OptionInfo* option = at.command->option(word.substr(0, equals));
    if (option != nullptr && option->takes_value() && equals == std::string::npos) at.option = option;
  } else if (const CommandNode* below = at.arguments == 0 ? at.command->command(word) : nullptr; below != nullptr) {
    at.command = below;
  } else {
    ++at.arguments;
  }
}

void offer_values(Completion& out, const OptionInfo& option, std::string_view typed, std::string_view before) {
  for (const std::string& choice : option.choices)
    if (choice.starts_with(typed)) out.candidates.push_back({std::string(before) + choice, ""});
  out.files = option.choices.empty() && option.takes_path();
  if (option.choices.empty()) out.kind = option.type;
  out.typed = typed;
  out.before = before;
}

void offer_options(Completion& out, const CommandNode& command, std::string_view typed) {
  for (const OptionInfo& option : command.options)
    for (const std::string& name : option.names)
      if (name.starts_with(typed)) out.candidates.push_back({name, option.help});
}

/// Arguments come in order; the last may take all that follow.
const OptionInfo* next_argument(const Position& at) {
  const auto& arguments = at.command->arguments;
  if (at.arguments < arguments.size()) return &arguments[at.arguments];
  return !arguments.empty() && arguments.back().repeatable ? &arguments.back() : nullptr;
}

}  // namespace

Completion complete(const CommandNode& root, std::span<const std::string> words) {
  Completion out;
  if (words.empty()) return out;
  Position at{.command = &root};
  for (const std::string& word : words.first(words.size() - 1))
    advance(at, word);
  const std::string& typed = words.back();
  if (at.option != nullptr) {
    offer_values(out, *at.option, typed == "=" ? "" : typed, "");
  } else if (at.all_arguments) {
    out.files = true;
  } else if (typed.starts_with('-')) {
    const size_t equals = typed.find('=');
    const OptionInfo* option = at.command->option(typed.substr(0, equals));
    if (equals == std::string::npos)
      offer_options(out, *at.command, typed);
    else if (option != nullptr)
      offer_values(out, *option, typed.substr(equals + 1), typed.substr(0, equals + 1));
  } else {
    if (at.arguments == 0)
      for (const CommandNode& below : at.command->commands)
        if (below.name.starts_with(typed)) out.candidates.push_back({below.name, below.help});
    if (const OptionInfo* argument = next_argument(at)) offer_values(out, *argument, typed, "");
  }
  return out;
}

void offer(Completion& completion, std::span<const Candidate> values) {
  for (const Candidate& value : values)
    if (value.value.starts_with(completion.typed)) completion.candidates.push_back({completion.before + value.value, value.help});
}

std::string to_lines(const Completion& completion) {
  std::string out;
  for (const Candidate& candidate : completion.candidates)
    out += fmt::format("value\t{}\t{}\n", one_line(candidate.value), one_line(candidate.help));
  return completion.files ? out + "files\n" : out;
}

std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return kBash;
  if (shell == "zsh") return kZsh;
  CHECK(shell == "fish", "no script for the shell '{}'", shell);
  return kFish;
}

}  // namespace stint
