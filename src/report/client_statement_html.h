// One client's statement as one self-contained page to send or print: its own lines only.
#pragma once

#include <string>

#include "ledger/client_statement.h"

namespace stint {

std::string client_statement_html(const ClientStatement& statement);

}  // namespace stint
