// A page for each client in a folder, and how the pages sum to the bill.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "ledger/client_statement.h"

namespace stint {

struct WrittenPage {
  std::string client;
  Money amount;
  std::string path;
};

/// What was written and how it sums to the bill: by_client + unattributed + idle = bill.
struct WrittenStatements {
  std::vector<WrittenPage> pages;
  Money by_client;     ///< of all clients, also those without a page
  Money unattributed;  ///< cost that names no client
  Money idle;          ///< charged to no client; 0 when it is spread
  Money bill;
};

/// Writes FOLDER/CLIENT.html for each wanted client; makes the folder.
/// @param clients  empty = all. @return kInvalidInput when one is not in the bill or the folder cannot be made.
Result<WrittenStatements> write_statements(const Ledger& ledger, IdleTreatment idle, const std::vector<std::string>& clients,
                                           const std::string& folder);

}  // namespace stint
