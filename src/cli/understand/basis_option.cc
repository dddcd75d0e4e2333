#include "cli/understand/basis_option.h"

#include "cli/parser.h"

namespace stint {

void add_basis_option(Command& command, BasisOption& option) {
  command.add_option("--basis", option.text, "effective: commitments spread over what they cover; billed: as invoiced")
      ->check(one_of({"effective", "billed"}))
      ->capture_default_str();
}

}  // namespace stint
