// What the Capacity of each cloud takes beside its settings.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "clouds/cloud_http.h"

namespace stint {

using UserDataMaker = std::function<Result<std::string>(const std::string& machine, const std::string& provider)>;

struct CloudCapacityOptions {
  Environment environment = process_environment();
  int page = 0;  ///< machines of one answer of a list; 0 = the most that the cloud gives
  /// The own part of a machine's user data, made at each order for one by that name, at that provider; empty = as the settings say.
  /// Called by any thread.
  UserDataMaker user_data;
  std::optional<Duration> look_every;  ///< at operations under way; none = as the cloud advises
};

}  // namespace stint
