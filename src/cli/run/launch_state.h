// Launches by the folders that their controllers keep; `stint cloud ls|sweep --launches`.
#pragma once

#include <string>

#include "base/result.h"

namespace stint {

/// @param given  by --state; "" = STINT_LAUNCHES, else ~/.local/state/stint/launches.
std::string launch_state_folder(const std::string& given);

Status list_launches(const std::string& state_folder, bool as_json);
/// Ends machines that no launch knows, and all of launches that are over. One whose controller runs looks after itself.
Status sweep_launches(const std::string& state_folder, bool as_json);

}  // namespace stint
