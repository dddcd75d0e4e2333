// How much jobs slow each other on one GPU, as `stint bench share` measured it on the user's own: it takes the place of what other people's pairs
// say (advise/share/interference.h).
//
// One CSV row per job, neighbour and occasion (docs/formats.md); the file may grow, the newest row of a pair counts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "model/change.h"

namespace stint {

struct PairMeasurement {
  std::string gpu_model;
  SharingMode mode = SharingMode::kTimeSlice;  ///< kMps or kTimeSlice
  std::string workload;                        ///< whose time it is
  std::string neighbour;                       ///< which ran all the while; may be the same
  double median = 1;                           ///< × as long as alone; above zero, as are the next two
  double lowest = 1;
  double highest = 1;
  int64_t repeats = 0;
  std::string source;
  Instant as_of;
};

/// @param file  its name, for messages. @return error with file:line at the first row that makes no sense.
Result<std::vector<PairMeasurement>> parse_pairs(std::string_view file, std::string_view csv);
/// The file whole, header included. Commas, quotes and line ends in names become spaces.
std::string write_pairs(std::span<const PairMeasurement> rows);

/// The newest of each pair.
class MeasuredPairs {
 public:
  MeasuredPairs() = default;
  explicit MeasuredPairs(std::span<const PairMeasurement> rows);
  /// × as long as alone, never below 1; none: not measured.
  [[nodiscard]] std::optional<double> slowed(std::string_view gpu_model, SharingMode mode, std::string_view workload,
                                             std::string_view neighbour) const;
  [[nodiscard]] bool empty() const { return newest_.empty(); }

 private:
  using Key = std::tuple<std::string, SharingMode, std::string, std::string>;
  std::map<Key, PairMeasurement> newest_;
};

}  // namespace stint
