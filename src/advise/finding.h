// Finding: a Change with its evidence, what it saves, its risk, and how to apply it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "advise/prove/proof.h"
#include "base/money.h"
#include "catalog/price_doubt.h"
#include "model/change.h"
#include "model/price.h"

namespace stint {

enum class Level { kLow, kMedium, kHigh };
std::string_view name_of(Level l);

struct Evidence {
  std::string label;  ///< "mean utilisation"
  std::string value;  ///< "7.2 %", with unit
};

struct Finding {
  std::string id;     ///< stable for the same History: "F-" + 8 hex digits of kind and nodes
  std::string title;  ///< one line for a CFO
  Change change;
  Money saving_per_month;  ///< within the combined plan; these sum to bill − plan
  Money alone_per_month;   ///< if it were the only change
  Level confidence = Level::kMedium;
  Level risk = Level::kMedium;
  Level effort = Level::kMedium;
  std::vector<Evidence> evidence;
  std::vector<std::string> arithmetic;  ///< the sum, step by step, as text that can be checked by hand
  std::vector<std::string> caveats;
  std::vector<std::string> apply;              ///< shell commands or configuration, ready to paste
  std::optional<Proof> proof;                  ///< none = no replay was asked for
  int step = 0;                                ///< place in the order of application, from 1; 0 = not in the plan
  std::vector<PriceRow> prices = {};           ///< of the catalogue, that its saving rests on
  PriceDoubt price_doubt = PriceDoubt::kNone;  ///< the worst of them
  std::string remedy = {};                     ///< of a rejected one: what would let it into the plan, where that is known
  std::vector<Finding> instead = {};  ///< of a proposal: what is tried in its place where it saves nothing or does not survive
};

}  // namespace stint
