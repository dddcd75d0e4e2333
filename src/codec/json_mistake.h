// Where a text that should be JSON is wrong, for whoever wrote it.
#pragma once

#include <string>
#include <string_view>

namespace stint {

/// "line 3, column 5: unexpected string literal; expected '}'"; empty = the text is JSON.
std::string json_mistake(std::string_view text);

/// The same, or `otherwise` where nothing is wrong by the rules of JSON: too deep, or a number too large.
std::string json_mistake_or(std::string_view text, std::string_view otherwise);

/// What an exception of the JSON library says, without the tag that it begins with.
std::string json_complaint(std::string_view what);

}  // namespace stint
