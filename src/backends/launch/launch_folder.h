// The durable state of one launch on the machine of its controller: a folder of its own.
//
//   launch.json   the plan; made first and never changed
//   code.tar.gz   the working directory as it was then
//   log           rows of what has happened, `book` or `launch` and a tab before each (capacity_rows.cc, launch_record.h)
//   lock          held by the controller
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capacity/capacity_book.h"
#include "host/descriptor.h"
#include "host/lock_file.h"
#include "launch/launch_plan.h"
#include "launch/launch_record.h"

namespace stint {

/// What a folder says.
struct LaunchState {
  LaunchPlan plan;
  CapacityBook book;
  LaunchRecord record;
};
/// @return error naming file and line. Of its last row what was cut off by a crash is passed over: its order was never given.
Result<LaunchState> read_launch(const std::string& folder, Instant now);

/// Names of the launches in a folder of such folders, in order.
std::vector<std::string> launches_in(const std::string& state_folder);

/// Makes a folder for a new launch. @return kConflict when there is one of that name.
Status make_launch_folder(const std::string& folder);
/// From now on it is a launch: the plan is on the disk.
Status keep_launch_plan(const std::string& folder, const LaunchPlan& plan);

/// The folder in the hand of its one controller.
class LaunchFolder {
 public:
  /// @return kConflict when another controller has it, kNotFound when there is no such launch.
  static Result<LaunchFolder> open(const std::string& folder);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string code_file() const { return path_ + "/code.tar.gz"; }
  /// On the disk when it returns.
  Status append(const std::vector<std::string>& book_rows, const std::vector<std::string>& launch_rows);

 private:
  LaunchFolder(std::string path, LockFile lock, Descriptor log)
      : path_(std::move(path)), lock_(std::move(lock)), log_(std::move(log)) {}
  std::string path_;
  LockFile lock_;
  Descriptor log_;
};

}  // namespace stint
