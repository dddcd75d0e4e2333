// Import from a live Prometheus (or anything that speaks its HTTP API: Thanos, Mimir, VictoriaMetrics).
//
// Asks which of the metrics Stint knows the server has, then reads each by query_range in windows that stay
// under the server's 11,000 points per series and under a bounded size of the answer.
// Source: https://prometheus.io/docs/prometheus/latest/querying/api/
#pragma once

#include <string>

#include "collect/file_import.h"
#include "host/http_client.h"

namespace stint {

struct PrometheusImport {
  std::string url;  ///< http://host:9090, with the path prefix where there is one
  Interval window;  ///< widened to whole hours at its beginning, so that imports that overlap agree
  Duration step = Duration::seconds(60);
  HttpOptions http;
  ImportOptions options;                              ///< `source` is filled in from `url` when empty
  Duration first_retry_after = Duration::seconds(1);  ///< doubled with each of kPrometheusAttempts
};
inline constexpr int kPrometheusAttempts = 4;

/// One import of everything the server has about GPUs in the window. Windows that overlap earlier ones count once
/// (Rollup::merge); the same address, window and step again change nothing.
/// @param progress  told about windows in ns of time read × metrics, not bytes.
/// @return error with the address and the remedy when the server cannot be asked; nothing is then stored.
Result<ImportOutcome> import_prometheus(HistoryFile& history, const PrometheusImport& import, Instant now,
                                        const ImportProgress& progress = {});

}  // namespace stint
