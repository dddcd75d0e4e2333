// The statement as one self-contained HTML page, for the people who pay.
#pragma once

#include <string>

#include "ledger/cost_statement.h"

namespace stint {

std::string statement_html(const CostStatement& statement, const Ledger& ledger);

}  // namespace stint
