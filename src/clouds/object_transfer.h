// Files to and from an object store: in parts at the same time, proven by SHA-256, gone on with where a process was cut off.
#pragma once

#include <string>

#include "base/result.h"
#include "clouds/object_store.h"

namespace stint {

struct TransferOptions {
  int64_t part_bytes =
      int64_t{16} << 20;  ///< grows where a file would have more than 9,000 parts; a smaller file is sent in one piece
  int streams = 4;        ///< parts at the same time, where the store takes them in any order
};

struct FileContent {
  int64_t size = 0;
  std::string sha256;  ///< 64 hexadecimal digits
};

/// What an object of that size is cut into: a multiple of 256 KiB.
int64_t part_bytes_for(int64_t size, const TransferOptions& options);

/// Sends a file whose content is known. Parts that the store has already from an upload that was cut off are not sent again.
/// The object appears when its last byte is there and all were those that the hash names; else nothing appears.
/// @return kInvalidInput when the file is not, or no longer, what `content` says; kConflict as PutOptions says.
Status send_file(ObjectStore& store, const std::string& path, const std::string& key, const FileContent& content,
                 IfThere if_there = IfThere::kReplace, const TransferOptions& options = {});

/// Fetches an object into a new file and syncs it. @return kInvalidInput, without the file, when the bytes are not what `content` says.
Status fetch_file(ObjectStore& store, const std::string& key, const std::string& path, const FileContent& content,
                  const TransferOptions& options = {});

/// The same of an object whose writer noted no hash, into a file that may be there. @param info  as the store listed it.
/// @return kConflict when another object took its place meanwhile.
Status fetch_listed(ObjectStore& store, const ObjectInfo& info, const std::string& path, const TransferOptions& options = {});

}  // namespace stint
