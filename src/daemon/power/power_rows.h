// The rows of `power` in the daemon's log, apart: the mark of who makes machines, the book's own rows, and those of older logs.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace stint {

struct PowerRows {
  std::string owner;  ///< "stint-0123456789abcdef": the mark on machines that this log's daemon makes; empty = none yet
  std::vector<std::string> book;  ///< for CapacityBook::recover()
  std::vector<std::string> off;   ///< by rows of older logs ("off NODE", "on NODE"): what is switched off
};

/// @param rows  of the stream, oldest first.
PowerRows read_power_rows(const std::vector<std::string>& rows);
/// The row that says whose mark it is.
std::string owner_row(const std::string& owner);

}  // namespace stint
