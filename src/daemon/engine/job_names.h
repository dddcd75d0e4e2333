// What jobs are called: a client and the number that its jobs are counted by, whether they are in memory or rows of the log.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/engine/engine_books.h"

namespace stint {

/// Name of the side stream of a client whose row n is the id of its n-th job since clients have their own counts: this and the
/// client's name.
inline const std::string kNumberStream = "jobs of ";

class JobNames {
 public:
  struct View {
    EventLog& log;
    const FleetConfig& fleet;
    const std::vector<JobBook>& jobs;
    const int64_t& unnumbered;
    const std::map<std::string, int64_t, std::less<>>& numbered;
  };
  explicit JobNames(const View& view) : s_(view) {}

  /// As users call it; "unknown" where no job has that id, or the log cannot be read.
  [[nodiscard]] std::string public_id_of(int64_t id) const;
  /// The id of the job with that number of the client's.
  [[nodiscard]] std::optional<int64_t> find(const std::string& client, int64_t number) const;
  /// The number that the next job of a client gets, those staged apart.
  [[nodiscard]] int64_t next(std::string_view client) const;

 private:
  View s_;
};

}  // namespace stint
