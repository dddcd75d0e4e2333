// tar and ZIP archives as streams, by libarchive: what is in them file by file, and tar written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stint {

/// As many bytes of a file's beginning as tell an archive (is_archive()).
inline constexpr size_t kArchiveHead = 512;

enum class ArchiveKind : uint8_t { kNone, kTar, kZip };
/// @param head  the first kArchiveHead bytes, or all where there are fewer.
ArchiveKind archive_kind(std::string_view head);

/// Gives an archive's bytes in pieces of any size, each valid until the next call; empty at the end.
using ArchiveBytes = std::function<Result<std::string_view>()>;

/// What is told of the files in an archive. Regular files only: folders, links and devices are passed over.
struct ArchiveEvents {
  std::function<Status(const std::string& name)> begin;
  std::function<Status(std::string_view bytes)> data;
  std::function<Status()> end;
};

/// Reads to the end of `next`. @param source  for messages.
/// @return error of `next` or of an event; when the archive is damaged, cut off, encrypted or packed in a way that is not read; when
/// it unpacks to too much (check_unpacked()).
Status read_archive(const std::string& source, ArchiveKind kind, const ArchiveBytes& next, const ArchiveEvents& events);

/// Gives each file of a tar archive to one who expects one file; a file that is no archive is given as it is.
/// @param path  "-" = standard input; may be gzip. @return error when there is more than one file in it, or none.
Status read_one_file(const std::string& path, const std::function<Status(std::string_view)>& use);

/// Writes a tar archive of regular files that only their owner reads. The bytes depend on names, sizes, times and content alone.
class TarWriter {
 public:
  using Sink = std::function<Status(std::string_view bytes)>;
  explicit TarWriter(Sink sink);
  TarWriter(TarWriter&&) noexcept;
  TarWriter& operator=(TarWriter&&) noexcept;
  ~TarWriter();

  /// Begins a file. @param size  of what data() will bring.
  Status begin(std::string_view name, uint64_t size, int64_t modified_s);
  Status data(std::string_view bytes);
  /// After the last file.
  Status finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stint
