// What a run of `stint run` writes down beside its copies in an object store: one small object a record, numbered from 1 without end.
//
//   PREFIX/log/0000000012.json      a record; made only where there is none of that number
//   PREFIX/data/WRITER-DIGEST/…     the files of a checkpoint; none counts before a record names them
//
// Of two runs that copy to one place at the same time one gets the next number and goes on; the other learns that it lost. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/supervise/checkpoint.h"
#include "base/result.h"

namespace stint {

struct CopiedFile {
  CheckpointFile file;
  std::string sha256;
  uint32_t mode = 0644;
  bool operator==(const CopiedFile&) const = default;
};

struct CopyRecord {
  enum class Kind : uint8_t {
    kClaim,       ///< the place is this writer's from here on
    kCheckpoint,  ///< all files of the checkpoint are there
  };
  int64_t number = 0;
  Kind kind = Kind::kClaim;
  std::string writer;  ///< hexadecimal digits: whose folder it is
  std::string run;     ///< of `stint run`: another one for each
  std::string host;
  Instant at;  ///< by the writer's clock
  // Of a checkpoint alone:
  std::string name, digest, data;  ///< data: `data/WRITER-DIGEST/`
  bool is_folder = false, has_list = false;
  std::vector<CopiedFile> files;
  std::string state;  ///< the writer's SupervisorState, as JSON; "" = none

  [[nodiscard]] Checkpoint checkpoint() const;
  bool operator==(const CopyRecord&) const = default;
};

/// `log/0000000012.json`
std::string key_of_record(int64_t number);
/// 0 = it is none.
int64_t number_of_record(std::string_view key);

std::string to_json(const CopyRecord& record);
/// @param where  for messages. @return kInvalidInput for what is no record, and for names that lead out of a folder.
Result<CopyRecord> parse_copy_record(std::string_view json, const std::string& where);

}  // namespace stint
