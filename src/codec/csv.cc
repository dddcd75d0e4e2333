#include "codec/csv.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.h"

namespace stint {
namespace {

/// First `a` or `b` in [p, end), or end; eight bytes at a time.
const char* find_either(const char* p, const char* end, char a, char b) {
  constexpr uint64_t kOnes = 0x0101010101010101ULL;
  constexpr uint64_t kHighs = 0x8080808080808080ULL;
  if constexpr (std::endian::native == std::endian::little) {
    const uint64_t as = kOnes * static_cast<unsigned char>(a);
    const uint64_t bs = kOnes * static_cast<unsigned char>(b);
    for (; end - p >= 8; p += 8) {
      uint64_t word;
      std::memcpy(&word, p, sizeof word);
      const uint64_t x = word ^ as;
      const uint64_t y = word ^ bs;
      // A byte is zero where subtracting one borrows into its top bit; the lowest such mark is always true.
      const uint64_t marks = (((x - kOnes) & ~x) | ((y - kOnes) & ~y)) & kHighs;
      if (marks != 0) return p + std::countr_zero(marks) / 8;
    }
  }
  while (p < end && *p != a && *p != b)
    ++p;
  return p;
}

/// Newlines in `text`, of which most records have none.
uint64_t newlines_in(std::string_view text) {
  uint64_t n = 0;
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    ++n;
  return n;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

void CsvReader::begin_record() {
  state_ = State::kFieldStart;
  done_ = doubled_ = any_quoted_ = any_doubled_ = malformed_ = false;
  position_ = field_begin_ = 0;
  extents_.clear();
  carry_.clear();
}

void CsvReader::end_field(size_t end) {
  extents_.push_back({field_begin_, end, doubled_});
  doubled_ = false;
  state_ = State::kFieldStart;
}

/// Goes on at position_. @return true when the record's newline is passed.
bool CsvReader::scan(std::string_view text) {
  const char* const data = text.data();
  const char* const end = data + text.size();
  while (position_ < text.size()) {
    const char c = data[position_];
    switch (state_) {
      case State::kFieldStart:
        if (c == '"' && options_.quotes == CsvQuotes::kRfc4180) {
          state_ = State::kQuoted;
          any_quoted_ = true;
          field_begin_ = ++position_;
          break;
        }
        state_ = State::kBare;
        field_begin_ = position_;
        [[fallthrough]];
      case State::kBare: {
        const char* const stop = find_either(data + position_, end, options_.separator, '\n');
        position_ = static_cast<size_t>(stop - data);
        if (stop == end) return false;
        const bool newline = *stop == '\n';
        const bool crlf = newline && position_ > field_begin_ && data[position_ - 1] == '\r';
        end_field(position_ - (crlf ? 1 : 0));
        ++position_;
        if (newline) return true;
        break;
      }
      case State::kQuoted: {
        const void* const quote = std::memchr(data + position_, '"', text.size() - position_);
        if (quote == nullptr) {
          position_ = text.size();
          return false;
        }
        position_ = static_cast<size_t>(static_cast<const char*>(quote) - data) + 1;
        state_ = State::kQuoteSeen;
        break;
      }
      case State::kQuoteSeen:
        if (c == options_.separator || c == '\n') {
          end_field(position_ - 1);
          ++position_;
          if (c == '\n') return true;
        } else if (c == '"') {
          doubled_ = any_doubled_ = true;
          state_ = State::kQuoted;
          ++position_;
        } else if (c == '\r') {
          state_ = State::kQuoteThenCr;
          ++position_;
        } else {
          malformed_ = true;
          state_ = State::kBare;
        }
        break;
      case State::kQuoteThenCr:
        if (c == '\n') {
          end_field(position_ - 2);
          ++position_;
          return true;
        }
        malformed_ = true;
        state_ = State::kBare;
        break;
    }
  }
  return false;
}

/// Makes record_ of the extents over `text`, the record's bytes.
void CsvReader::publish(std::string_view text) {
  views_.clear();
  if (any_doubled_) unescaped_.reserve(text.size());  // never grows below: views into it stay true
  unescaped_.clear();
  for (const Extent& extent : extents_) {
    std::string_view field = text.substr(extent.begin, extent.end - extent.begin);
    if (extent.doubled) {
      const size_t start = unescaped_.size();
      for (size_t at = 0;;) {
        const size_t quote = field.find('"', at);
        if (quote == std::string_view::npos) {
          unescaped_.append(field.substr(at));
          break;
        }
        unescaped_.append(field.substr(at, quote + 1 - at));
        at = quote + 1;
        if (at < field.size() && field[at] == '"') ++at;
      }
      field = std::string_view(unescaped_).substr(start);
    }
    views_.push_back(field);
  }
  record_.line = next_line_;
  record_.last_line = next_line_ + (any_quoted_ ? newlines_in(text.substr(0, text.size() - 1)) : 0);
  next_line_ = record_.last_line + 1;
  record_.fields = views_;
  record_.malformed = malformed_;
  done_ = true;
}

/// @return false when `bytes` ended before it was decided whether a mark stands there.
bool CsvReader::skip_byte_order_mark(std::string_view& bytes) {
  while (mark_bytes_ >= 0) {
    if (bytes.empty()) return false;
    if (bytes.front() == kByteOrderMark[static_cast<size_t>(mark_bytes_)]) {
      bytes.remove_prefix(1);
      if (++mark_bytes_ == 3) mark_bytes_ = -1;
    } else {
      carry_.assign(kByteOrderMark.substr(0, static_cast<size_t>(mark_bytes_)));  // text after all
      mark_bytes_ = -1;
    }
  }
  return true;
}

Error CsvReader::too_long() const {
  return invalid("{}:{}: a record is longer than {} bytes: is a quote left open, or is this no CSV file?", options_.source,
                 next_line_, options_.max_record_bytes);
}

Result<bool> CsvReader::next(std::string_view& bytes) {
  if (done_) begin_record();
  if (!skip_byte_order_mark(bytes)) return false;
  while (!bytes.empty()) {
    const bool in_place = carry_.empty();
    const size_t had = carry_.size();
    // A record that began in an earlier piece takes as much of this one as it is likely to need.
    const size_t taken = in_place ? bytes.size() : std::min(bytes.size(), std::max<size_t>(1024, had));
    if (!in_place) carry_.append(bytes.substr(0, taken));
    const bool complete = scan(in_place ? bytes : std::string_view(carry_));
    if (position_ > options_.max_record_bytes) return too_long();
    if (!complete) {
      if (in_place) carry_.assign(bytes);
      bytes.remove_prefix(taken);
      continue;
    }
    const std::string_view text = (in_place ? bytes : std::string_view(carry_)).substr(0, position_);
    bytes.remove_prefix(position_ - had);
    if (text == "\n" || text == "\r\n") {
      ++next_line_;
      begin_record();
      continue;
    }
    publish(text);
    return true;
  }
  return false;
}

Result<bool> CsvReader::finish() {
  if (done_) begin_record();
  if (mark_bytes_ > 0) carry_.assign(kByteOrderMark.substr(0, static_cast<size_t>(mark_bytes_)));
  mark_bytes_ = -1;
  if (carry_.empty() || carry_ == "\r") return false;
  scan(carry_);
  if (state_ == State::kQuoted) {
    const auto lines_before = std::count(carry_.begin(), carry_.begin() + static_cast<std::ptrdiff_t>(field_begin_), '\n');
    return invalid("{}:{}: a quote opens here and never closes: the file is cut short or a quote is missing", options_.source,
                   next_line_ + static_cast<uint64_t>(lines_before));
  }
  size_t end = carry_.size();
  if (state_ == State::kFieldStart)
    field_begin_ = end;
  else if (state_ == State::kQuoteThenCr)
    end -= 2;
  else if (state_ == State::kQuoteSeen || (end > field_begin_ && carry_[end - 1] == '\r'))
    end -= 1;
  end_field(end);
  publish(carry_);
  return true;
}

Result<CsvHeader> CsvHeader::create(const CsvRecord& record, std::span<const std::string_view> required, CsvNames names) {
  CsvHeader header;
  for (const std::string_view field : record.fields)
    header.names_.emplace_back(trim(field));
  for (size_t i = 0; i < header.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const std::string& a = header.names_[i];
      const std::string& b = header.names_[j];
      if (a.empty() || !(names == CsvNames::kExact ? a == b : equals_ignoring_case(a, b))) continue;
      return invalid("line {}: column '{}' stands twice (columns {} and {}): which one counts? Remove one", record.line,
                     excerpt(a), j + 1, i + 1);
    }
  }
  std::string missing;
  for (const std::string_view name : required)
    if (header.find(name) < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  if (missing.empty()) return header;
  std::string found;
  for (const std::string& name : header.names_)
    found += fmt::format("{}{}", found.empty() ? "" : ", ", excerpt(name, 40));
  return invalid("line {}: the header lacks the column{} {}; found: {}", record.line,
                 missing.find(',') == std::string::npos ? "" : "s", missing, excerpt(found, 600));
}

int CsvHeader::find(std::string_view name) const {
  for (size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return static_cast<int>(i);
  for (size_t i = 0; i < names_.size(); ++i)
    if (equals_ignoring_case(names_[i], name)) return static_cast<int>(i);
  return -1;
}

int CsvHeader::find_any(std::span<const std::string_view> names) const {
  for (const std::string_view name : names)
    if (const int column = find(name); column >= 0) return column;
  return -1;
}

}  // namespace stint
