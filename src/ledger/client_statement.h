// What one client is charged for, and nothing of the others: its own part of every bill line, by project, workload and machine,
// with how common cost and idle money were split.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ledger/cost_statement.h"

namespace stint {

/// Only the client's postings and GPU-hours; of each line its own part. Idle money belongs to no client and is not in it.
Ledger ledger_of_client(const Ledger& whole, std::string_view client);

/// A client's share of what all clients pay for together.
struct SharedCost {
  Money whole;
  Money own;
};

struct MachineAmount {
  std::string provider, region, instance_type;
  Market market = Market::kUnknown;
  Money amount;  ///< compute money only
};

struct ClientStatement {
  std::string client;  ///< "" = what no client is named for
  CostStatement projects;
  CostStatement workloads;
  std::vector<MachineAmount> machines;  ///< descending by amount
  SharedCost common;                    ///< support, tax, untagged services: by GPU money; within projects and workloads
  SharedCost idle;                      ///< own: 0 unless idle money is spread
  Money total;                          ///< projects.total + idle.own
};

/// One for each client, descending by total: they and what is left of idle money sum to the ledger.
std::vector<ClientStatement> make_client_statements(const Ledger& ledger, IdleTreatment idle);

}  // namespace stint
