#include "collect/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "host/file.h"
#include "host/inflate.h"

namespace stint {
namespace {

constexpr std::string_view kRemedy = "fetch the file again, or unpack it and import what is in it";

struct ReadCloser {
  void operator()(archive* a) const { archive_read_free(a); }
};
struct WriteCloser {
  void operator()(archive* a) const { archive_write_free(a); }
};

/// One reading of an archive. libarchive asks for bytes; an error of theirs is kept, for libarchive passes on a number alone.
class ArchiveReading {
 public:
  ArchiveReading(const std::string& source, ArchiveKind kind, const ArchiveBytes& next, const ArchiveEvents& events)
      : source_(source), kind_(kind), next_(next), events_(events), archive_(archive_read_new()) {}

  Status run() {
    CHECK(archive_ != nullptr, "no memory for an archive");
    archive* a = archive_.get();
    if (kind_ == ArchiveKind::kTar)
      archive_read_support_format_tar(a);
    else
      archive_read_support_format_zip_streamable(a);
    if (archive_read_open(a, this, nullptr, &give, nullptr) != ARCHIVE_OK) return damaged("its beginning");
    for (;;) {
      archive_entry* entry = nullptr;
      const int told = archive_read_next_header(a, &entry);
      if (told == ARCHIVE_EOF) break;
      if (told != ARCHIVE_OK && told != ARCHIVE_WARN) return damaged(last_.empty() ? "its beginning" : "what follows " + last_);
      TRY(member(*entry));
    }
    return to_the_end();
  }

 private:
  static la_ssize_t give(archive* a, void* self, const void** bytes) {
    auto& reading = *static_cast<ArchiveReading*>(self);
    const auto piece = reading.next_();
    if (!piece.ok()) {
      reading.error_ = piece.error();
      archive_set_error(a, EIO, "no bytes");
      return -1;
    }
    reading.note(*piece);
    *bytes = piece->data();
    return static_cast<la_ssize_t>(piece->size());
  }

  void note(std::string_view piece) {
    packed_ += piece.size();
    // The last block, to see at the end whether it is the mark.
    if (piece.size() >= kArchiveHead) {
      tail_ = piece.substr(piece.size() - kArchiveHead);
    } else {
      tail_ += piece;
      if (tail_.size() > kArchiveHead) tail_.erase(0, tail_.size() - kArchiveHead);
    }
  }

  Status member(archive_entry& entry) {
    const char* name = archive_entry_pathname(&entry);
    last_ = name == nullptr ? "a file without a name" : excerpt(name);
    if (archive_entry_is_encrypted(&entry) != 0)
      return invalid("{}: {}: is encrypted: unpack it and import the file", source_, last_);
    if (archive_entry_filetype(&entry) != AE_IFREG || archive_entry_hardlink(&entry) != nullptr || name == nullptr) return {};
    TRY(events_.begin(name));
    uint64_t expected = 0;
    for (;;) {
      const void* bytes = nullptr;
      size_t size = 0;
      la_int64_t offset = 0;
      const int told = archive_read_data_block(archive_.get(), &bytes, &size, &offset);
      if (told == ARCHIVE_EOF) break;
      if (told != ARCHIVE_OK) return damaged(last_);
      // What sparse files leave out is zeros, of which a few bytes of an archive can name any number.
      if (std::cmp_not_equal(offset, expected))
        return invalid("{}: {}: is a sparse file: unpack it and import the file", source_, last_);
      expected += size;
      unpacked_ += size;
      TRY(check_unpacked(source_, packed_, unpacked_));
      if (size > 0) TRY(events_.data({static_cast<const char*>(bytes), size}));
    }
    if (archive_entry_size_is_set(&entry) != 0 && std::cmp_less(expected, archive_entry_size(&entry))) return damaged(last_);
    return events_.end();
  }

  /// libarchive takes an archive that ends between two files for whole.
  Status to_the_end() {
    for (;;) {
      TRY_ASSIGN(const std::string_view piece, next_());
      if (piece.empty()) break;
      note(piece);
    }
    if (kind_ == ArchiveKind::kTar && (tail_.size() < kArchiveHead || tail_.find_first_not_of('\0') != std::string::npos))
      return invalid("{}: the tar archive is cut off after {}: {}", source_, last_, kRemedy);
    return {};
  }

  Error damaged(const std::string& where) const {
    if (error_) return *error_;
    const char* why = archive_error_string(archive_.get());
    return invalid("{}: {}: cannot be unpacked{}: {}", source_, where, why == nullptr ? "" : " (" + excerpt(why) + ")", kRemedy);
  }

  const std::string& source_;
  const ArchiveKind kind_;
  const ArchiveBytes& next_;
  const ArchiveEvents& events_;
  std::unique_ptr<archive, ReadCloser> archive_;
  std::optional<Error> error_;  ///< of next_
  std::string last_;            ///< name of the last file begun
  std::string tail_;            ///< the last bytes given, at most a block
  uint64_t packed_ = 0, unpacked_ = 0;
};

}  // namespace

ArchiveKind archive_kind(std::string_view head) {
  if (head.starts_with("PK\x03\x04") || head.starts_with("PK\x05\x06")) return ArchiveKind::kZip;
  constexpr size_t kMagicAt = 257;  // of POSIX' and GNU's headers
  return head.size() >= kArchiveHead && head.substr(kMagicAt).starts_with("ustar") ? ArchiveKind::kTar : ArchiveKind::kNone;
}

Status read_archive(const std::string& source, ArchiveKind kind, const ArchiveBytes& next, const ArchiveEvents& events) {
  CHECK(kind != ArchiveKind::kNone, "{} is no archive", source);
  return ArchiveReading(source, kind, next, events).run();
}

Status read_one_file(const std::string& path, const std::function<Status(std::string_view)>& use) {
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::string head;
  while (head.size() < kArchiveHead) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) break;
    head += piece;
  }
  if (archive_kind(head) != ArchiveKind::kTar) {
    TRY(use(head));
    for (;;) {
      TRY_ASSIGN(const std::string_view piece, file.read());
      if (piece.empty()) return {};
      TRY(use(piece));
    }
  }
  size_t files = 0;
  bool begun = false;
  const auto next = [&]() -> Result<std::string_view> {
    if (std::exchange(begun, true)) return file.read();
    return std::string_view(head);
  };
  bool used = false;  // of the file that is being read
  TRY(read_archive(path, ArchiveKind::kTar, next,
                   {.begin = [&](const std::string& name) -> Status {
                      // Archives made on Macs hold a file of attributes beside each.
                      used = !name.substr(name.rfind('/') + 1).starts_with("._");
                      if (!used) return {};
                      return ++files == 1 ? Status() : invalid("{}: holds more than one file: unpack it and name one", path);
                    },
                    .data = [&](std::string_view bytes) { return used ? use(bytes) : Status(); },
                    .end = [] { return Status(); }}));
  return files == 1 ? Status() : invalid("{}: the tar archive holds no file", path);
}

struct TarWriter::Impl {
  Sink sink;
  std::optional<Error> error;  ///< of the sink
  uint64_t left = 0;           ///< bytes of the file still to come
  std::unique_ptr<archive, WriteCloser> out{archive_write_new()};

  static la_ssize_t take(archive* a, void* self, const void* bytes, size_t size) {
    auto& impl = *static_cast<Impl*>(self);
    const Status taken = impl.sink({static_cast<const char*>(bytes), size});
    if (taken.ok()) return static_cast<la_ssize_t>(size);
    impl.error = taken.error();
    archive_set_error(a, EIO, "no room");
    return -1;
  }
  Status told(la_ssize_t result) const {
    if (result >= ARCHIVE_OK) return {};
    if (error) return *error;
    const char* why = archive_error_string(out.get());
    return make_error(ErrorCode::kUnavailable, "the archive cannot be written: {}", why == nullptr ? "unknown cause" : why);
  }
};

TarWriter::TarWriter(Sink sink) : impl_(std::make_unique<Impl>()) {
  impl_->sink = std::move(sink);
  archive* a = impl_->out.get();
  CHECK(a != nullptr, "no memory for an archive");
  archive_write_set_format_gnutar(a);  // files above 8 GiB, without headers beside them
  archive_write_set_bytes_in_last_block(a, 1);
  archive_write_open(a, impl_.get(), nullptr, &Impl::take, nullptr);
}
TarWriter::TarWriter(TarWriter&&) noexcept = default;
TarWriter& TarWriter::operator=(TarWriter&&) noexcept = default;
TarWriter::~TarWriter() = default;

Status TarWriter::begin(std::string_view name, uint64_t size, int64_t modified_s) {
  CHECK(impl_->left == 0, "{} bytes of the file before are missing", impl_->left);
  const std::unique_ptr<archive_entry, decltype(&archive_entry_free)> entry(archive_entry_new(), &archive_entry_free);
  archive_entry_set_pathname(entry.get(), std::string(name).c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_mtime(entry.get(), modified_s, 0);
  impl_->left = size;
  return impl_->told(archive_write_header(impl_->out.get(), entry.get()));
}

Status TarWriter::data(std::string_view bytes) {
  CHECK(bytes.size() <= impl_->left, "{} bytes more than the file has", bytes.size() - impl_->left);
  impl_->left -= bytes.size();
  return impl_->told(archive_write_data(impl_->out.get(), bytes.data(), bytes.size()));
}

Status TarWriter::finish() {
  CHECK(impl_->left == 0, "{} bytes of the last file are missing", impl_->left);
  return impl_->told(archive_write_close(impl_->out.get()));
}

}  // namespace stint
