// How full the disk is: what is there for everybody, root's own reserve left out.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"

namespace stint {

struct DiskRoom {
  Bytes free;
  Bytes size;
};
/// Of the file system that `path` lies on. @return none when it does not tell
std::optional<DiskRoom> disk_room(const std::string& path);
std::optional<DiskRoom> disk_room(int descriptor);

}  // namespace stint
