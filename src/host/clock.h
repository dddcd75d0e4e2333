// The wall clock. Below host/ no code asks for the time: it is handed down as a value.
#pragma once

#include <string>

#include "base/time.h"

namespace stint {

Instant now();
/// By the kernel's clock of the time since boot, suspended time included, which no one sets.
Duration since_boot();
/// Of this boot of the machine; "" = not known.
std::string boot_id();

}  // namespace stint
