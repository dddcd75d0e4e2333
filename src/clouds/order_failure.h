// Why an order to a cloud was not carried out, or is not known to have been.
#pragma once

#include <string>

#include "clouds/cloud_failure.h"

namespace stint {

struct OrderFailure {
  CloudFailure failure = CloudFailure::kNetwork;
  bool may_be_done = false;  ///< one of the tries was left without an answer that says otherwise
  std::string text;          ///< what, the class, the provider's words, the remedy
};

}  // namespace stint
