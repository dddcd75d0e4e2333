// When the daemon audits its own history: the object `audit` of its configuration. docs/daemon/configuration.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct AuditConfig {
  Duration every = kHour * 24;               ///< after the last one; 0 = on demand alone
  Duration window = kHour * (24 * 30);       ///< how far back it looks
  std::vector<std::string> allowed_regions;  ///< that work may move to, as `stint audit --allow-region`
};

class JsonFields;
/// @param fields  of that object; all are asked for here.
Result<AuditConfig> read_audit_config(JsonFields& fields);

}  // namespace stint
