// --basis: as billed, or with commitments spread over what they cover.
#pragma once

#include <string>

#include "ledger/ledger.h"

namespace stint {

class Command;

struct BasisOption {
  std::string text = std::string(name_of(CostBasis::kEffective));
  [[nodiscard]] CostBasis value() const {
    return text == name_of(CostBasis::kBilled) ? CostBasis::kBilled : CostBasis::kEffective;
  }
};
void add_basis_option(Command& command, BasisOption& option);

}  // namespace stint
