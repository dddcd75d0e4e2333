// Reads the openb trace (Alibaba cluster-trace-gpu-v2023): nodes, pods, and orders of arrival.
//
//   nodes     CSV: sn,cpu_milli,memory_mib,gpu,model
//   pods      CSV: name,cpu_milli,memory_mib,num_gpu,gpu_milli and, where pods ask for models, gpu_spec.
//             gpu_milli is per GPU and 1000 unless num_gpu is 1; gpu_spec names the models that will do, separated by `|`
//   arrivals  a line per order: its seed, then row numbers of the pods file, counted from 0, separated by blanks
//
// A replay of half a trace proves nothing: the first row that is not as it should be is an error, with its line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/pod_trace.h"

namespace stint {

/// @param source  file name, for messages. Errors name it and the line.
Result<std::vector<PodTraceNode>> read_openb_nodes(std::string_view bytes, const std::string& source);
Result<std::vector<PodTracePod>> read_openb_pods(std::string_view bytes, const std::string& source);
/// @param pods  how many there are: larger numbers are an error.
Result<std::vector<PodArrivals>> read_openb_arrivals(std::string_view bytes, size_t pods, const std::string& source);

}  // namespace stint
