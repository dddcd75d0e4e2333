// The `#STINT` lines of a job script: what `stint submit` would be told by flags, kept with the work.
//
//   #!/bin/bash
//   #STINT --gpus 2 --time-limit 4h
//   #STINT --tag project="night run"   # a comment
//   python train.py
//
// They stand at the top: the first line that is neither empty nor a comment ends them. Words are split as a shell would, with
// single and double quotes and backslashes, but nothing is expanded. Drawn in docs/formats.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

struct ScriptWord {
  std::string text;
  int line = 0;  ///< from 1
};

/// @param source  the script's name, for messages. @return its words in order; an error naming the line for an open quote, a control
///   character, or more than 1,000 words.
Result<std::vector<ScriptWord>> read_script_options(std::string_view script, std::string_view source);

}  // namespace stint
