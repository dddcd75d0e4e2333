// A JSON document of any size, given piece by piece: what is entered is never held whole, what is taken is one value at a time.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace stint {

struct JsonCursor;

/// Documents may follow each other, as pages of an interface do when they are saved to one file.
class JsonPieces {
 public:
  enum class Plan : uint8_t { kSkip, kTake, kEnter };
  /// Keys from the root down; of an element of an array "". The root itself is empty.
  using Path = std::vector<std::string>;

  /// @param plan  what to do with the value there. One that is entered and is neither object nor array is skipped.
  /// @param take  gets the text of each value that is taken, valid until it returns.
  JsonPieces(std::string source, std::function<Plan(const Path&)> plan,
             std::function<Status(const Path&, std::string_view json)> take)
      : source_(std::move(source)), plan_(std::move(plan)), take_(std::move(take)) {}

  /// @return error of `take`; kInvalidInput for what is no JSON, and a single value above kMaxRecordBytes.
  Status feed(std::string_view bytes);
  Status finish();

 private:
  struct Level {
    bool array = false;
    bool empty = true;  // nothing stood in it yet
    bool after_value = false;
  };
  enum class Step : uint8_t { kOn, kMore };

  Status read();
  Result<Step> read_one(JsonCursor& in);
  Result<Step> read_value(JsonCursor& in);
  void close_level();
  [[nodiscard]] Error not_json() const;

  const std::string source_;
  const std::function<Plan(const Path&)> plan_;
  const std::function<Status(const Path&, std::string_view json)> take_;
  std::string buffer_;
  size_t worth_trying_ = 0;
  std::vector<Level> levels_;
  Path path_;
  std::string key_;
};

}  // namespace stint
