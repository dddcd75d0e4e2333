// What a supervisor tells: a line on standard error for people, and a line of JSON for programs.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"

namespace stint {

class SupervisorLog {
 public:
  /// @param events_file  appended to; "" = none. One that cannot be written is said once, and the work goes on.
  explicit SupervisorLog(std::string events_file) : events_file_(std::move(events_file)) {}
  using Fields = std::vector<std::pair<std::string_view, std::string>>;
  /// @param event  "checkpoint", "restart", …: docs/formats.md lists them with their fields.
  void tell(Instant at, std::string_view event, const std::string& sentence, const Fields& fields = {});

 private:
  std::string events_file_;
};

}  // namespace stint
