// Where the daemon looks for what GPUs do: the object `telemetry` of its configuration. docs/formats.md.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

/// An address that is asked for metrics.
struct ScrapeTarget {
  std::string url;
  std::string node;  ///< the machine its GPUs are in; empty = as its labels say
  std::string token_file, ca_file;
  Duration every;
  Duration timeout;
};

struct LiveConfig {
  bool local = true;         ///< look at this machine's GPUs
  std::string node;          ///< what this machine is called; empty = the only one configured, else its host name
  std::string nvml_library;  ///< empty = where the driver puts it
  Duration every = Duration::seconds(1);
  std::vector<ScrapeTarget> exporters;   ///< DCGM exporter and whatever else has a text exposition
  std::vector<ScrapeTarget> prometheus;  ///< servers with its HTTP API
  bool history = true;                   ///< keep what was seen in the state folder
  Duration history_every = Duration::minutes(5);
  Duration retention = Duration::hours(400 * 24);
};

class JsonFields;
/// @param fields  of that object; all are asked for here.
Result<LiveConfig> read_live_config(JsonFields& fields);

}  // namespace stint
