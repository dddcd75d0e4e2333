// In which order a task's output and its errors came: each stream is a file that the task writes itself, so their order is noted beside
// them while they grow.
//
// The keeper is woken by the kernel when a file grows, at most 50 times a second, and notes how long both are then. Lengths end with a
// line where there is one, so that no line is torn when both are read as one. A task that writes to one stream alone has one note.
// Between two notes output stands before errors. Without notes (no inotify, an older daemon's task) errors stand behind all output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/log_piece.h"
#include "base/result.h"
#include "base/time.h"
#include "base/units.h"
#include "host/descriptor.h"

namespace stint {

struct LogQuery;  // backends/backend.h

/// Lengths of both at one instant; neither is ever less than before.
struct OutputLengths {
  int64_t output = 0;
  int64_t error = 0;
  bool operator==(const OutputLengths&) const = default;
};

/// The files of one launch.
struct OutputFiles {
  std::string output, error;  ///< empty = the task names its own file: not kept here
  std::string order;
};
/// Beside each other: BASE.out, BASE.err and BASE.order.
OutputFiles output_files(const std::string& base);

/// Notes the order while the task runs. One thread.
class OutputOrder {
 public:
  static constexpr Duration kPause = Duration::milliseconds(20);  ///< between two looks

  /// Both files are there. What cannot be opened is not noted: nothing that a task does depends on it.
  explicit OutputOrder(const OutputFiles& files);
  /// To be polled for reading; -1 = it cannot be told when they grow.
  [[nodiscard]] int descriptor() const { return events_.get(); }
  /// Notes how long both are, up to their last whole line.
  void look();
  /// The task has ended: notes them whole.
  void finish();

 private:
  void note(const OutputLengths& now);
  Descriptor events_, output_, error_, order_;
  std::vector<OutputLengths> last_;  ///< the last two notes
  int64_t notes_ = 0;
};

/// Keeps each file within a limit: when it takes more of the disk, its older half is taken away, and what is left stays where it is in
/// the file. What a task writes between two looks comes on top. While the disk has less room than it must keep, the limit is kScarce.
class OutputCap {
 public:
  static constexpr Bytes kScarce = Bytes::of(64 << 10);
  /// Both files are there. @param most  of each; 0 = no limit. @param keep_free  of the disk, for those who cannot do without; 0 = nothing
  OutputCap(const OutputFiles& files, Bytes most, Bytes keep_free = Bytes());
  void hold() const;

 private:
  Descriptor output_, error_;
  int64_t most_;
  Bytes keep_free_;
};

/// A piece of one file. @param offset  below 0: from so many bytes before the end. Where the front was taken away, what is left begins
/// behind it.
/// @return nothing of a file that is not there: it has printed nothing yet. An error for what is no regular file.
Result<LogPiece> read_log(const std::string& path, int64_t offset, int64_t limit);

/// A piece of both streams in the order in which they came. What was read once stays as it was while they grow.
/// @param ended  the task has: nothing more comes, and what has no note stands at the end.
Result<LogPiece> read_merged_log(const OutputFiles& files, int64_t offset, int64_t limit, bool ended);
/// What is asked for of a launch whose files these are.
Result<LogPiece> read_log(const OutputFiles& files, const LogQuery& query);

}  // namespace stint
