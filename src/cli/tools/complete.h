// What may stand next on a command line, and the few lines of shell that ask.
//
// The shells' functions know nothing of the commands: they call `stint complete -- WORDS` and offer what it prints. So completion
// is that of the program that is installed, and alike in all shells.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_tree.h"

namespace stint {

struct Candidate {
  std::string value;
  std::string help;  ///< one line; may be empty
  bool operator==(const Candidate&) const = default;
};

struct Completion {
  std::vector<Candidate> candidates;
  bool files = false;  ///< names of files fit, too
  // A value whose names only a running daemon or a History knows:
  std::string kind;    ///< "JOB", "QUEUE"; empty = none is to come
  std::string typed;   ///< of it
  std::string before;  ///< what stands before it in the same word: "--queue="
};

/// @param words  after "stint": whole ones, and last the one being typed, empty when there is none yet. `--by=cl` may come as one
///   word or, as bash cuts it, as three.
Completion complete(const CommandNode& root, std::span<const std::string> words);

/// Offers those of the values that begin with what was typed.
void offer(Completion& completion, std::span<const Candidate> values);

/// A line each: "value\tVALUE\tHELP", and "files" when those fit.
std::string to_lines(const Completion& completion);

/// @param shell  "bash", "zsh" or "fish".
std::string_view completion_script(std::string_view shell);

}  // namespace stint
