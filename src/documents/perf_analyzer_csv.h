// The time of a batch as NVIDIA's perf_analyzer writes it: `perf_analyzer -m MODEL -b SIZE --concurrency-range 1 -f FILE`. The file does not say the
// size. Of the time of a request only the server's compute counts (input, inference, output, in microseconds): with one request at a time the
// request is the batch. At higher concurrency the server may join requests, so those rows are passed over.
//
// Source: Triton Inference Server, perf_analyzer, "Reports"; columns as its report writer (report_writer.cc) puts them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// Mean of the rows with one request at a time.
/// @param source  for messages. @return error naming it, and the line where one is wrong.
Result<Duration> read_perf_analyzer(std::string_view bytes, const std::string& source);

}  // namespace stint
