#include "store/kept_columns.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "base/check.h"

namespace stint {
namespace {

/// Deflate looks 32 KiB back: larger blocks would take no less, and one line of a month costs a whole block to read.
constexpr size_t kBlockBytes = size_t{256} << 10;
/// Deflate's own limit is 1,032: a block that claims more is damaged.
constexpr uint64_t kMostUnpackRatio = 1'040;

void append_leb128(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  out += static_cast<char>(value);
}

std::optional<uint64_t> take_leb128(std::string_view bytes, size_t& at) {
  uint64_t value = 0;
  for (int shift = 0; at < bytes.size() && shift < 63; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::string deflated(std::string_view bytes) {
  uLongf length = compressBound(bytes.size());
  std::string out(length, '\0');
  const int done = compress2(reinterpret_cast<Bytef*>(out.data()), &length, reinterpret_cast<const Bytef*>(bytes.data()),
                             bytes.size(), Z_BEST_SPEED);
  CHECK(done == Z_OK, "zlib: {} for {} bytes", done, bytes.size());
  out.resize(length);
  return out;
}

/// @return none for what is not `length` bytes deflated.
std::optional<std::string> inflated(std::string_view packed, int64_t length) {
  if (length < 0 || static_cast<uint64_t>(length) / kMostUnpackRatio > packed.size()) return std::nullopt;
  std::string out(static_cast<size_t>(length), '\0');
  auto got = static_cast<uLongf>(length);
  const int done =
      uncompress(reinterpret_cast<Bytef*>(out.data()), &got, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
  if (done != Z_OK || got != out.size()) return std::nullopt;
  return out;
}

}  // namespace

Result<Statement> KeptColumnsWriter::prepare(Database& database) {
  return database.prepare("INSERT INTO bill_source (first_line, last_line, import_id, bytes, texts) VALUES (?, ?, ?, ?, ?)");
}

Status KeptColumnsWriter::add(int64_t line, std::string_view text) {
  if (block_.empty()) first_ = last_ = line;
  append_leb128(block_, static_cast<uint64_t>(line - last_));
  append_leb128(block_, text.size());
  block_ += text;
  last_ = line;
  return block_.size() < kBlockBytes ? Status() : flush();
}

Status KeptColumnsWriter::flush() {
  if (block_.empty()) return {};
  const std::string packed = deflated(block_);
  insert_.bind(1, first_);
  insert_.bind(2, last_);
  insert_.bind(3, import_id_);
  insert_.bind(4, static_cast<int64_t>(block_.size()));
  insert_.bind_blob(5, packed);
  block_.clear();
  return insert_.run();
}

Result<KeptColumnsReader> KeptColumnsReader::prepare(Database& database) {
  TRY_ASSIGN(Statement find, database.prepare("SELECT first_line, last_line, bytes, texts FROM bill_source WHERE first_line <= ? "
                                              "ORDER BY first_line DESC LIMIT 1"));
  return KeptColumnsReader(std::move(find), database.path());
}

/// The row that `find_` is at.
Status KeptColumnsReader::take_block() {
  first_ = find_.integer(0);
  last_ = find_.integer(1);
  kept_.clear();
  const auto damaged = [&] {
    last_ = first_ - 1;
    return invalid(
        "{}: what is kept of the columns of bill lines {} to {} is damaged: restore the file from a backup, or take the bill "
        "out and import it again",
        path_, find_.integer(0), find_.integer(1));
  };
  auto text = inflated(find_.bytes(3), find_.integer(2));
  if (!text) return damaged();
  text_ = std::move(*text);
  int64_t line = first_;
  for (size_t at = 0; at < text_.size();) {
    const auto step = take_leb128(text_, at);
    const auto length = take_leb128(text_, at);
    if (!step || !length || *step > static_cast<uint64_t>(last_ - line) || *length > text_.size() - at) return damaged();
    line += static_cast<int64_t>(*step);
    kept_.push_back({line, at, static_cast<size_t>(*length)});
    at += *length;
  }
  return {};
}

Result<std::string> KeptColumnsReader::of_line(int64_t line) {
  if (line < first_ || line > last_) {
    find_.bind(1, line);
    TRY_ASSIGN(const bool some, find_.step());
    const Status taken = some ? take_block() : Status();
    find_.reset();
    TRY(taken);
    if (!some || line > last_) return std::string();
  }
  const auto found = std::ranges::lower_bound(kept_, line, {}, &Kept::line);
  if (found == kept_.end() || found->line != line) return std::string();
  return text_.substr(found->begin, found->length);
}

Status check_kept_columns(Database& database) {
  TRY_ASSIGN(KeptColumnsReader reader, KeptColumnsReader::prepare(database));
  TRY_ASSIGN(Statement blocks, database.prepare("SELECT first_line FROM bill_source ORDER BY 1"));
  for (;;) {
    TRY_ASSIGN(const bool row, blocks.step());
    if (!row) return {};
    TRY(reader.of_line(blocks.integer(0)));
  }
}

}  // namespace stint
