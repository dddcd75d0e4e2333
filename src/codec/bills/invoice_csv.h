// What providers' invoices say, from CSV: columns provider, account, month (2026-10), total; also invoice and currency (USD). Other
// columns are passed over. docs/formats.md, "Invoices".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ledger/invoice.h"

namespace stint {

/// @param source  file name, for messages. @return at least one total; an error naming file and line of the first wrong row.
Result<std::vector<InvoiceTotal>> read_invoices(std::string_view bytes, const std::string& source);

}  // namespace stint
