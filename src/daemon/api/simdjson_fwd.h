// The names of simdjson that stand in declarations: its own header is 30,000 lines.
#pragma once

namespace simdjson::dom {
class element;
class parser;
}  // namespace simdjson::dom
