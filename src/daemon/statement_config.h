// When the daemon writes each client's statement of a month: the object `statements` of its configuration. docs/daemon/configuration.md.
#pragma once

#include <string>

#include "base/result.h"

namespace stint {

struct StatementConfig {
  /// Of the month after, UTC, 1–28: by then the bills of the month are imported. 0 = on demand only.
  int day = 0;
  std::string basis = "effective";  ///< or "billed", as `stint bill --basis`
  std::string idle = "separate";    ///< or "spread", as `stint bill --idle`
};

class JsonFields;
/// @param fields  of that object; all are asked for here.
Result<StatementConfig> read_statement_config(JsonFields& fields);

}  // namespace stint
