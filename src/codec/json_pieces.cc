#include "codec/json_pieces.h"

#include <fmt/format.h>

#include "codec/importer.h"
#include "codec/json_cursor.h"

namespace stint {
namespace {

/// Deeper nothing is entered.
constexpr size_t kMostLevels = 16;

}  // namespace

Status JsonPieces::feed(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < worth_trying_ ? Status() : read();
}

Status JsonPieces::finish() {
  buffer_ += '\n';  // a number at the end is whole
  TRY(read());
  JsonCursor in{buffer_.data(), buffer_.data() + buffer_.size()};
  in.skip_blanks();
  if (!levels_.empty() || !in.at_end()) return invalid("{}: not JSON (it ends in the middle: the file is cut short)", source_);
  return {};
}

Error JsonPieces::not_json() const {
  std::string where;
  for (const std::string& key : path_)
    where += fmt::format("{}{}", where.empty() ? "" : ".", key.empty() ? "[]" : key);
  return invalid("{}: not JSON{}", source_, where.empty() ? "" : " (at " + where + ")");
}

void JsonPieces::close_level() {
  levels_.pop_back();
  if (levels_.empty()) return;
  path_.pop_back();
  levels_.back().after_value = true;
}

/// Takes what is whole off the front of the buffer.
Status JsonPieces::read() {
  JsonCursor in{buffer_.data(), buffer_.data() + buffer_.size()};
  const char* done = in.at;
  for (;;) {
    in.skip_blanks();
    done = in.at;
    if (in.at_end()) break;
    TRY_ASSIGN(const Step step, read_one(in));
    if (step == Step::kMore) break;
  }
  buffer_.erase(0, static_cast<size_t>(done - buffer_.data()));
  if (buffer_.size() > kMaxRecordBytes) return invalid("{}: a value in it is longer than {} MiB", source_, kMaxRecordBytes >> 20);
  // A value that needed more is not read over and over.
  worth_trying_ = buffer_.size() + buffer_.size() / 2;
  return {};
}

/// One token or value. kMore: nothing changed.
Result<JsonPieces::Step> JsonPieces::read_one(JsonCursor& in) {
  if (levels_.empty()) return read_value(in);
  Level& level = levels_.back();
  if ((level.empty || level.after_value) && in.take(level.array ? ']' : '}')) {
    close_level();
    return Step::kOn;
  }
  if (level.after_value) {
    if (!in.take(',')) return not_json();
    level.after_value = false;
    return Step::kOn;
  }
  if (level.array) {
    path_.emplace_back();
  } else {
    const JsonStep step = in.string(key_);
    if (step == JsonStep::kMore) return Step::kMore;
    if (step == JsonStep::kBad) return not_json();
    in.skip_blanks();
    if (in.at_end()) return Step::kMore;
    if (!in.take(':')) return not_json();
    in.skip_blanks();
    if (in.at_end()) return Step::kMore;
    path_.push_back(key_);
  }
  const size_t depth = levels_.size();
  TRY_ASSIGN(const Step step, read_value(in));
  if (step == Step::kMore) {
    path_.pop_back();
    return step;
  }
  levels_[depth - 1].empty = false;
  if (levels_.size() > depth) return step;  // entered
  path_.pop_back();
  levels_.back().after_value = true;
  return step;
}

Result<JsonPieces::Step> JsonPieces::read_value(JsonCursor& in) {
  const Plan plan = plan_(path_);
  if (plan == Plan::kEnter && levels_.size() < kMostLevels && (*in.at == '{' || *in.at == '[')) {
    levels_.push_back({.array = *in.at == '['});
    ++in.at;
    return Step::kOn;
  }
  const char* const begin = in.at;
  const JsonStep step = in.skip_value();
  if (step == JsonStep::kMore) return Step::kMore;
  if (step == JsonStep::kBad) return not_json();
  if (plan == Plan::kTake) TRY(take_(path_, {begin, static_cast<size_t>(in.at - begin)}));
  return Step::kOn;
}

}  // namespace stint
