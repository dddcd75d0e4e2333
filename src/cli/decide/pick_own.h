// The options of `stint pick --own`, and what it prints.
#pragma once

#include <string>
#include <vector>

#include "cli/cli.h"

namespace stint {

struct OwnArguments {
  std::string price;  ///< empty: owning is not asked about
  std::string resale = "0", per_month = "0", per_kwh = "0";
  int64_t gpus = 8;
  double years = 4;
  double kw = 0;
  double idle_kw = 0;
  double pue = 1.0;
  double use_pct = 100;
};

void add_own_options(Command& command, OwnArguments& own);
/// @param gpus  of which exactly one model is asked for. @param history  prices laid over the built-in ones; may be empty.
ExitCode run_pick_own(const OwnArguments& own, const std::vector<std::string>& gpus, const std::string& region,
                      const std::string& history, bool json);

}  // namespace stint
