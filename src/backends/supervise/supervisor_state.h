// What a supervisor knows beyond one life: good checkpoints, and what saving, copying and loading take.
//
// Kept as `.stint-run.json` in the folder of the checkpoints and where they are copied to; docs/formats.md draws it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/supervise/checkpoint.h"

namespace stint {

/// A time measured again and again.
struct Measured {
  int64_t count = 0;
  Duration last;
  Duration total;
  void add(Duration d);
  [[nodiscard]] Duration mean() const;
};

struct KnownCheckpoint {
  std::string name;
  std::string signature;  ///< Checkpoint::signature() when it was proven good
  std::string digest;
  Instant saved_at;  ///< latest change of its files
  bool copied = false;
  bool operator==(const KnownCheckpoint&) const = default;
};

/// A run's place among the copies in an object store: see copy_record.h.
struct CopyPosition {
  std::string to;      ///< where the copies are: a folder or an address; "" = not known
  std::string writer;  ///< whose records are this folder's; "" = none yet
  int64_t last = 0;    ///< number of the newest record that is its own, or that it went on from
  bool operator==(const CopyPosition&) const = default;
};

struct SupervisorState {
  std::vector<KnownCheckpoint> checkpoints;  ///< good ones, in the order they were found
  Measured saving;                           ///< from the first byte of a checkpoint to its last, where the file system tells
  Measured interval;                         ///< between two good checkpoints of one run
  Measured copying;
  int64_t copied_bytes_per_second = 0;  ///< at the last copy that told; 0 = not known
  bool copied_at_a_bound = false;       ///< the pace was --sync-rate's: the way may be faster
  Measured loading;                     ///< from a start to the file STINT_READY_FILE, by commands that write it
  Measured lost;                        ///< work at each bad end: since the checkpoint it goes on from was saved
  int64_t starts = 0;
  int64_t alerts = 0;
  Duration supervised;  ///< time under a supervisor, pauses included
  CopyPosition copies;

  /// none = not known, or known with other files.
  [[nodiscard]] const KnownCheckpoint* find(const Checkpoint& checkpoint) const;
  void add(KnownCheckpoint known);
  void remove(std::string_view name);
};

/// `FOLDER/.stint-run.json`
std::string state_path_in(const std::string& folder);

std::string to_json(const SupervisorState& state);
/// @return kInvalidInput when it is no such record.
Result<SupervisorState> parse_supervisor_state(std::string_view json, const std::string& where);

}  // namespace stint
