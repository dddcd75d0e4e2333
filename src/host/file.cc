#include "host/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/text.h"
#include "host/descriptor.h"
#include "host/inflate.h"
#include "host/sealed.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

Error system_error(std::string_view path, std::string_view what) {
  const int code = errno;
  return make_error(code == ENOENT ? ErrorCode::kNotFound : ErrorCode::kUnavailable, "{}: {}: {}", path, what,
                    std::strerror(code));
}

ssize_t read_some(int fd, char* to, size_t size) {
  for (;;) {
    const ssize_t n = ::read(fd, to, size);
    if (n >= 0 || errno != EINTR) return n;
  }
}

class Fingerprint {
 public:
  Fingerprint() : state_(XXH3_createState()) { XXH3_128bits_reset(state_.get()); }
  void update(std::string_view bytes) { XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()); }
  [[nodiscard]] std::string digest() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

/// With what to do about it.
Error open_error(const std::string& path) {
  const int code = errno;
  if (code == EACCES)
    return make_error(ErrorCode::kUnavailable, "{}: this user may not read it: allow that, or run as who may", path);
  if (code != ENOENT) return system_error(path, "cannot be read");
  std::error_code unknown;
  const std::filesystem::path folder = path.starts_with('/') ? "" : std::filesystem::current_path(unknown);
  return make_error(ErrorCode::kNotFound, "{}: there is no such file{}: check the name", path,
                    folder.empty() ? "" : " in " + folder.string());
}

Result<Descriptor> open_for_reading(const std::string& path) {
  if (path == "-") return Descriptor(STDIN_FILENO);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return open_error(path);
  struct stat status = {};
  if (::fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
    ::close(fd);
    return invalid("{}: is a folder: name a file", path);
  }
  return Descriptor(fd);
}

}  // namespace

struct InputFile::Impl {
  enum class Coding { kNotSeen, kPlain, kGzip };

  Impl(std::string name, Descriptor fd, int64_t size) : path(std::move(name)), descriptor(std::move(fd)), total_bytes(size) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (coding == Coding::kGzip) inflateEnd(&stream);
  }

  /// Appends to `raw` what one read gives; `at_end` when that is nothing.
  Status fill() {
    raw.resize(kPieceBytes);
    const ssize_t n = read_some(descriptor.get(), raw.data(), raw.size());
    if (n < 0) return system_error(path, "cannot be read");
    raw.resize(static_cast<size_t>(n));
    at_end = n == 0;
    consumed += n;
    fingerprint.update({raw.data(), raw.size()});
    return {};
  }

  Status begin() {
    TRY(fill());
    // A pipe may give one byte first; two are needed to tell.
    if (raw.size() == 1) {
      char second = 0;
      const ssize_t n = read_some(descriptor.get(), &second, 1);
      if (n < 0) return system_error(path, "cannot be read");
      if (n == 1) {
        raw.push_back(second);
        ++consumed;
        fingerprint.update({&second, 1});
      }
    }
    const bool gzip = raw.size() >= 2 && static_cast<unsigned char>(raw[0]) == 0x1f && static_cast<unsigned char>(raw[1]) == 0x8b;
    coding = gzip ? Coding::kGzip : Coding::kPlain;
    if (!gzip) return {};
    constexpr int kGzipWindow = 15 + 16;
    CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "zlib cannot start");
    stream.next_in = reinterpret_cast<Bytef*>(raw.data());
    stream.avail_in = static_cast<uInt>(raw.size());
    unpacked.resize(kPieceBytes);
    return {};
  }

  Result<std::string_view> read_plain() {
    if (!first_piece_given) {
      first_piece_given = true;
    } else {
      TRY(fill());
    }
    return std::string_view(raw.data(), raw.size());
  }

  Result<std::string_view> read_gzip() {
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data());
    stream.avail_out = static_cast<uInt>(unpacked.size());
    while (stream.avail_out > 0) {
      if (stream.avail_in == 0 && !at_end) {
        TRY(fill());
        stream.next_in = reinterpret_cast<Bytef*>(raw.data());
        stream.avail_in = static_cast<uInt>(raw.size());
      }
      if (stream.avail_in == 0 && member_ended) break;
      if (stream.avail_in == 0 && at_end)
        return invalid("{}: gzip data end in the middle: the file is cut off; fetch it again", path);
      if (member_ended) {
        // Another member, or padding with zeros as some tools write it.
        if (*stream.next_in == 0) {
          --stream.avail_in, ++stream.next_in;
          continue;
        }
        inflateReset(&stream);
        member_ended = false;
      }
      const int code = inflate(&stream, Z_NO_FLUSH);
      if (code == Z_STREAM_END) {
        member_ended = true;
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        return invalid("{}: gzip data are damaged near byte {} ({}): fetch the file again", path, consumed - stream.avail_in,
                       stream.msg == nullptr ? "no detail" : stream.msg);
      }
    }
    unpacked_bytes += unpacked.size() - stream.avail_out;
    TRY(check_unpacked(path, static_cast<uint64_t>(consumed), unpacked_bytes));
    return std::string_view(unpacked.data(), unpacked.size() - stream.avail_out);
  }

  std::string path;
  Descriptor descriptor;
  int64_t total_bytes = 0;
  int64_t consumed = 0;
  Coding coding = Coding::kNotSeen;
  bool at_end = false;
  bool first_piece_given = false;
  bool member_ended = false;
  std::vector<char> raw;
  std::vector<char> unpacked;
  uint64_t unpacked_bytes = 0;
  z_stream stream = {};
  Fingerprint fingerprint;
};

InputFile::InputFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
InputFile::InputFile(InputFile&&) noexcept = default;
InputFile& InputFile::operator=(InputFile&&) noexcept = default;
InputFile::~InputFile() = default;

Result<InputFile> InputFile::open(const std::string& path) {
  TRY_ASSIGN(Descriptor descriptor, open_for_reading(path));
  struct stat status = {};
  const bool sized = ::fstat(descriptor.get(), &status) == 0 && S_ISREG(status.st_mode);
  auto impl = std::make_unique<Impl>(path == "-" ? "standard input" : path, std::move(descriptor), sized ? status.st_size : 0);
  TRY(impl->begin());
  return InputFile(std::move(impl));
}

Result<std::string_view> InputFile::read() {
  return impl_->coding == Impl::Coding::kGzip ? impl_->read_gzip() : impl_->read_plain();
}

int64_t InputFile::consumed_bytes() const { return impl_->consumed; }
int64_t InputFile::total_bytes() const { return impl_->total_bytes; }
std::string InputFile::fingerprint() const { return impl_->fingerprint.digest(); }

Result<std::string> fingerprint_of_file(const std::string& path) {
  TRY_ASSIGN(const Descriptor descriptor, open_for_reading(path));
  Fingerprint fingerprint;
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    const ssize_t n = read_some(descriptor.get(), piece.data(), piece.size());
    if (n < 0) return system_error(path, "cannot be read");
    if (n == 0) return fingerprint.digest();
    fingerprint.update({piece.data(), static_cast<size_t>(n)});
  }
}

std::string fingerprint_of_bytes(std::string_view bytes) {
  Fingerprint fingerprint;
  fingerprint.update(bytes);
  return fingerprint.digest();
}

bool is_regular_file(const std::string& path) {
  struct stat status = {};
  return path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<std::string> read_secret_file(const std::string& path) {
  if (path.empty()) return std::string();
  TRY_ASSIGN(std::string secret, read_kept_file(path));
  if (is_sealed(secret))
    return invalid("{}: is encrypted, and this use of it takes no key: put the plain secret into the file", path);
  return secret;
}

Result<std::string> read_kept_file(const std::string& path) {
  TRY(check_secret_file(path));
  TRY_ASSIGN(const std::string text, read_all(path));
  std::string secret(trim(text));
  if (secret.empty()) return invalid("{}: is empty: put the secret there", path);
  return secret;
}

std::string read_kernel_file(const std::string& path) {
  // Not by a stream: a process that ends while its file is read is an error there that throws.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  char piece[4096];
  for (ssize_t n = 0; file.valid() && (n = read_some(file.get(), piece, sizeof piece)) != 0;) {
    if (n < 0) return "";
    text.append(piece, static_cast<size_t>(n));
  }
  return text;
}

Result<std::string> read_all(const std::string& path) {
  constexpr size_t kMostBytes = size_t{1} << 30;
  TRY_ASSIGN(InputFile file, InputFile::open(path));
  std::string bytes;
  while (true) {
    TRY_ASSIGN(const std::string_view piece, file.read());
    if (piece.empty()) return bytes;
    bytes += piece;
    if (bytes.size() > kMostBytes) return invalid("{}: more than {} bytes: too large to be read whole", path, kMostBytes);
  }
}

Status write_file_atomically(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  Descriptor descriptor(::mkostemp(temporary.data(), O_CLOEXEC));
  if (descriptor.get() < 0) return system_error(path, "cannot be written");
  const auto give_up = [&] {
    Error error = system_error(path, "cannot be written");
    ::unlink(temporary.c_str());
    return error;
  };
  // The rights of the file it replaces, else what the user's mask allows; mkstemp gives none to others.
  struct stat status = {};
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0666 & ~mask;
  if (::fchmod(descriptor.get(), mode) != 0) return give_up();
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t n = ::write(descriptor.get(), left.data(), left.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return give_up();
    left.remove_prefix(static_cast<size_t>(n));
  }
  if (::fsync(descriptor.get()) != 0 || descriptor.close() != 0 || ::rename(temporary.c_str(), path.c_str()) != 0)
    return give_up();
  // The rename itself lies in the folder. Not every file system lets one sync a folder; then it does so by itself.
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const Descriptor parent(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent.get() >= 0) (void)::fsync(parent.get());
  return {};
}

}  // namespace stint
