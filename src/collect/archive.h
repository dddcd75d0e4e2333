// What readers of archives tell about the files in them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// Regular files only: folders, links and devices are passed over.
struct ArchiveEvents {
  std::function<Status(const std::string& name)> begin;
  std::function<Status(std::string_view bytes)> data;
  std::function<Status()> end;
};

}  // namespace stint
