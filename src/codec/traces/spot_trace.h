// Reads recorded spot capacity and the windows of it that are replayed.
//
//   trace    JSON: {"metadata": {"gap_seconds": S, …}, "data": [N, N, …], …}; S whole seconds a tick, N instances that were
//            available in each tick. Other members (prices) are passed over.
//   windows  CSV: trace,sample,start_tick,length_ticks; trace is the name of a trace's file without .json and .gz
//
// A replay of half the windows proves nothing: the first thing that is not as it should be is an error, with its line.
// Source: github.com/skypilot-org/spot-traces.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/spot_trace.h"

namespace stint {

/// "a/us-west-2a_v100_1.json.gz" → "us-west-2a_v100_1".
std::string spot_trace_name(std::string_view path);

/// @param source  path, for the name and for messages. Errors name it and the line.
Result<SpotTrace> read_spot_trace(std::string_view bytes, const std::string& source);

/// @param traces  those that windows may be of, in any order. A window beyond the end of its trace is an error.
Result<std::vector<SpotWindow>> read_spot_windows(std::string_view bytes, std::span<const SpotTrace> traces,
                                                  const std::string& source);

}  // namespace stint
