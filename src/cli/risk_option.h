// --max-risk, alike in audit and plan all.
#pragma once

#include <string>

#include "advise/audit.h"
#include "cli/parser.h"

namespace stint {

struct RiskOption {
  std::string most = "high";

  [[nodiscard]] Level level() const {
    return most == name_of(Level::kLow) ? Level::kLow : most == name_of(Level::kMedium) ? Level::kMedium : Level::kHigh;
  }
};

inline void add_risk_option(Command& command, RiskOption& risk) {
  command.add_option("--max-risk", risk.most, "nothing riskier than this (default: high)")
      ->check(one_of({"low", "medium", "high"}));
}

}  // namespace stint
