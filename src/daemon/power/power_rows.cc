#include "daemon/power/power_rows.h"

#include <string_view>

namespace stint {
namespace {

constexpr std::string_view kOwner = "owner\t";

}  // namespace

PowerRows read_power_rows(const std::vector<std::string>& rows) {
  PowerRows read;
  std::set<std::string> off;
  for (const std::string& row : rows) {
    if (row.starts_with("off "))
      off.insert(row.substr(4));
    else if (row.starts_with("on "))
      off.erase(row.substr(3));
    else if (row.starts_with(kOwner))
      read.owner = row.substr(kOwner.size());
    else if (row != "since")
      read.book.push_back(row);
  }
  read.off.assign(off.begin(), off.end());
  return read;
}

std::string owner_row(const std::string& owner) { return std::string(kOwner) + owner; }

}  // namespace stint
