#include "backends/output_order.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include "backends/backend.h"

#include "host/disk_room.h"

namespace stint {
namespace {

constexpr int64_t kMostNotes = 20'000;      // then the rest is one: a log that alternates for ever must not fill the disk
constexpr size_t kNoteBytes = 34;           // two numbers of 16 hexadecimal digits, a blank, a line end
constexpr int64_t kLongestLine = 64 << 10;  // a longer one is torn

int64_t length_of(const Descriptor& file) {
  struct stat status = {};
  return file.valid() && ::fstat(file.get(), &status) == 0 ? status.st_size : 0;
}

/// The end of the last whole line of [from, to); `from` where there is none yet. Progress bars end theirs with a carriage return.
int64_t last_line_end(const Descriptor& file, int64_t from, int64_t to) {
  const int64_t begin = std::max(from, to - kLongestLine);
  std::string bytes(static_cast<size_t>(to - begin), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), begin);
  if (got < 0) return from;
  bytes.resize(static_cast<size_t>(got));
  const size_t end = bytes.find_last_of("\n\r");
  if (end != std::string::npos) return begin + static_cast<int64_t>(end) + 1;
  return begin > from ? to : from;
}

Descriptor open_for_reading(const std::string& path) {
  return path.empty() ? Descriptor() : Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

/// Ascending in both; what is no note, and all behind it, is passed over.
std::vector<OutputLengths> read_notes(const std::string& path) {
  std::vector<OutputLengths> notes;
  const Result<LogPiece> file = read_log(path, 0, kMostNotes * static_cast<int64_t>(kNoteBytes));
  if (!file.ok()) return notes;
  const auto number = [&](size_t at) -> int64_t {
    int64_t value = 0;
    for (size_t i = at; i < at + 16; ++i) {
      const char c = file->bytes[i];
      const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
      if (digit < 0 || value > std::numeric_limits<int64_t>::max() / 16) return -1;
      value = value * 16 + digit;
    }
    return value;
  };
  for (size_t at = 0; at + kNoteBytes <= file->bytes.size(); at += kNoteBytes) {
    const OutputLengths note{.output = number(at), .error = number(at + 17)};
    const OutputLengths before = notes.empty() ? OutputLengths() : notes.back();
    if (note.output < before.output || note.error < before.error) break;
    notes.push_back(note);
  }
  return notes;
}

/// A stretch of one of the files.
struct Stretch {
  const std::string* file = nullptr;
  int64_t from = 0, to = 0;
};

std::vector<Stretch> stretches(const OutputFiles& files, std::vector<OutputLengths> notes, bool ended, const OutputLengths& now) {
  if (notes.empty() && !ended) notes.push_back({.output = now.output, .error = 0});
  if (ended) notes.push_back(now);
  std::vector<Stretch> all;
  OutputLengths at;
  for (const OutputLengths& note : notes) {
    // A file that is shorter than noted was cut by somebody.
    const OutputLengths to{.output = std::clamp(note.output, at.output, std::max(now.output, at.output)),
                           .error = std::clamp(note.error, at.error, std::max(now.error, at.error))};
    if (to.output > at.output) all.push_back({.file = &files.output, .from = at.output, .to = to.output});
    if (to.error > at.error) all.push_back({.file = &files.error, .from = at.error, .to = to.error});
    at = to;
  }
  return all;
}

}  // namespace

OutputFiles output_files(const std::string& base) {
  return {.output = base + ".out", .error = base + ".err", .order = base + ".order"};
}

OutputOrder::OutputOrder(const OutputFiles& files)
    : events_(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      output_(open_for_reading(files.output)),
      error_(open_for_reading(files.error)),
      order_(::open(files.order.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600)) {
  for (const std::string* path : {&files.output, &files.error})
    if (events_.valid() && !path->empty()) (void)::inotify_add_watch(events_.get(), path->c_str(), IN_MODIFY);
}

void OutputOrder::look() {
  alignas(inotify_event) std::array<char, 4096> scrap = {};
  while (events_.valid() && ::read(events_.get(), scrap.data(), scrap.size()) > 0) {
  }
  const OutputLengths before = last_.empty() ? OutputLengths() : last_.back();
  OutputLengths now = before;
  if (const int64_t length = length_of(output_); length > before.output)
    now.output = last_line_end(output_, before.output, length);
  if (const int64_t length = length_of(error_); length > before.error) now.error = last_line_end(error_, before.error, length);
  note(now);
}

void OutputOrder::finish() {
  look();
  const OutputLengths before = last_.empty() ? OutputLengths() : last_.back();
  note({.output = std::max(before.output, length_of(output_)), .error = std::max(before.error, length_of(error_))});
}

void OutputOrder::note(const OutputLengths& now) {
  const OutputLengths last = last_.empty() ? OutputLengths() : last_.back();
  if (now == last || !order_.valid()) return;
  const OutputLengths before = last_.size() < 2 ? OutputLengths() : last_.front();
  // One stretch of one stream goes on: its note is written anew. Where there is no room for more, so is the last one.
  const bool goes_on = !last_.empty() && ((last.error == before.error && now.error == last.error) ||
                                          (last.output == before.output && now.output == last.output));
  if (goes_on || notes_ == kMostNotes) {
    last_.back() = now;
  } else {
    ++notes_;
    last_.push_back(now);
    if (last_.size() > 2) last_.erase(last_.begin());
  }
  const std::string line = fmt::format("{:016x} {:016x}\n", now.output, now.error);
  (void)!::pwrite(order_.get(), line.data(), line.size(), (notes_ - 1) * static_cast<int64_t>(kNoteBytes));
}

OutputCap::OutputCap(const OutputFiles& files, Bytes most, Bytes keep_free) : most_(most.count()), keep_free_(keep_free) {
  if (most_ == 0 && keep_free_ == Bytes()) return;
  const auto open = [](const std::string& path) {
    return path.empty() ? Descriptor() : Descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  };
  output_ = open(files.output);
  error_ = open(files.error);
}

void OutputCap::hold() const {
  constexpr int64_t kBlock = 4096;         // of file systems: only whole ones are given back
  constexpr int64_t kBytesOfStatus = 512;  // stat(2): unit of st_blocks
  for (const Descriptor* file : {&output_, &error_}) {
    if (!file->valid()) continue;
    int64_t most = most_ == 0 ? INT64_MAX : most_;
    if (keep_free_ > Bytes())
      if (const auto room = disk_room(file->get()); room && room->free < keep_free_) most = std::min(most, kScarce.count());
    struct stat status = {};
    if (::fstat(file->get(), &status) != 0 || status.st_blocks * kBytesOfStatus <= most) continue;
    const int64_t front = (status.st_size - most / 2) / kBlock * kBlock;
    if (front <= 0) continue;
    // A file system without holes: all goes.
    if (::fallocate(file->get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, front) != 0) (void)!::ftruncate(file->get(), 0);
  }
}

Result<LogPiece> read_log(const std::string& path, int64_t offset, int64_t limit) {
  LogPiece piece;
  const Descriptor file = open_for_reading(path);
  if (!file.valid()) return piece;
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return make_error(ErrorCode::kNotFound, "the log is no regular file");
  piece.size = status.st_size;
  piece.offset = std::clamp<int64_t>(offset < 0 ? piece.size + offset : offset, 0, piece.size);
  off_t first = ::lseek(file.get(), 0, SEEK_DATA);
  if (first < 0 && errno == ENXIO) first = status.st_size;  // nothing of it is left
  if (first > piece.offset) piece.offset = std::min<int64_t>(first, piece.size);
  piece.bytes.resize(static_cast<size_t>(std::min(limit, piece.size - piece.offset)));
  const ssize_t got = ::pread(file.get(), piece.bytes.data(), piece.bytes.size(), piece.offset);
  piece.bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return piece;
}

Result<LogPiece> read_merged_log(const OutputFiles& files, int64_t offset, int64_t limit, bool ended) {
  TRY_ASSIGN(const LogPiece output, read_log(files.output, 0, 0));
  TRY_ASSIGN(const LogPiece error, read_log(files.error, 0, 0));
  const std::vector<Stretch> all = stretches(files, read_notes(files.order), ended, {.output = output.size, .error = error.size});
  LogPiece piece;
  for (const Stretch& stretch : all)
    piece.size += stretch.to - stretch.from;
  piece.offset = std::clamp<int64_t>(offset < 0 ? piece.size + offset : offset, 0, piece.size);
  int64_t begin = 0;  // of the stretch, in the whole
  for (const Stretch& stretch : all) {
    const int64_t have = piece.offset + static_cast<int64_t>(piece.bytes.size());
    const int64_t end = begin + stretch.to - stretch.from;
    int64_t want = std::min(end - have, limit - static_cast<int64_t>(piece.bytes.size()));
    if (have >= begin && want > 0) {
      TRY_ASSIGN(const LogPiece part, read_log(*stretch.file, stretch.from + have - begin, want));
      if (const int64_t gone = std::min(part.offset - (stretch.from + have - begin), end - have); gone > 0) {
        if (!piece.bytes.empty()) break;  // the next piece begins behind it
        piece.offset += gone;
        want = std::min(want, end - piece.offset);
      }
      piece.bytes += part.bytes.substr(0, static_cast<size_t>(want));
      if (static_cast<int64_t>(part.bytes.size()) < want) break;
    }
    begin = end;
  }
  return piece;
}

Result<LogPiece> read_log(const OutputFiles& files, const LogQuery& query) {
  if (query.output && query.error) return read_merged_log(files, query.offset, query.limit, query.ended);
  return read_log(query.output ? files.output : files.error, query.offset, query.limit);
}

}  // namespace stint
