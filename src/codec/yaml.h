// YAML as JSON values, for configuration files of others; by libyaml. And JSON values as YAML, for people to read.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// One document; JSON is YAML. Scalars stay text: `01234` is no number here, for a token may look like one. Plain `null`, `~` and nothing are
/// null, plain `true` and `false` are themselves. Of two values of one name the file is refused, as are documents of more than 100,000
/// values once aliases are followed, or nested deeper than 64.
/// @return error naming the line.
Result<nlohmann::json> parse_yaml(std::string_view text);

/// In block style, members in their order, with a line break at its end. Texts are in quotes unless no reader of YAML takes them for anything
/// else. @param json  what the JSON library reads; no document when it is none.
Result<std::string> yaml_of_json(std::string_view json);

}  // namespace stint
