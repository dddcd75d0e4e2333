// Margin of clients or projects: a table, JSON, CSV.
#pragma once

#include <string>

#include "ledger/margin.h"
#include "report/table.h"

namespace stint {

std::string margin_text(const Margin& margin, Screen screen);
/// Amounts are decimal texts. Schema: docs/formats.md.
std::string margin_json(const Margin& margin);
std::string margin_csv(const Margin& margin);

}  // namespace stint
