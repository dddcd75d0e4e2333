#include "host/disk_room.h"

#include <sys/statvfs.h>

namespace stint {
namespace {

DiskRoom room_of(const struct statvfs& told) {
  const auto bytes = [&told](fsblkcnt_t blocks) { return Bytes::of(static_cast<int64_t>(blocks * told.f_frsize)); };
  return {.free = bytes(told.f_bavail), .size = bytes(told.f_blocks)};
}

}  // namespace

std::optional<DiskRoom> disk_room(const std::string& path) {
  struct statvfs told = {};
  return ::statvfs(path.c_str(), &told) == 0 ? std::optional(room_of(told)) : std::nullopt;
}

std::optional<DiskRoom> disk_room(int descriptor) {
  struct statvfs told = {};
  return ::fstatvfs(descriptor, &told) == 0 ? std::optional(room_of(told)) : std::nullopt;
}

}  // namespace stint
