// The wall clock. Below host/ nobody asks for the time: it is handed down as a value.
#pragma once

#include "base/time.h"

namespace stint {

Instant now();

}  // namespace stint
