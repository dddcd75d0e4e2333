// Documents of the Kubernetes API, one after another, cut into objects as the bytes come: lists item by item, so that memory is that of the
// largest object.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/json_cursor.h"

namespace stint {

class KubernetesStream {
 public:
  /// @param object  as JSON, valid until the call ends. @param kind  by the list that it stands in (`Pod` of a PodList); "" = not told.
  using Take = std::function<void(std::string_view object, const std::string& kind)>;

  /// @param source  for messages.
  KubernetesStream(std::string source, Take take) : source_(std::move(source)), take_(std::move(take)) {}

  /// The next piece, cut anywhere. @return error when it is no JSON, or an object is larger than an importer may hold.
  Status feed(std::string_view bytes);
  /// @return error when an object is cut short.
  Status finish();

  [[nodiscard]] uint64_t objects() const { return objects_; }
  [[nodiscard]] uint64_t lists() const { return lists_; }
  /// Of the list that was begun last, as far as it was read: where its next page begins, "" = it has none; the version it shows.
  [[nodiscard]] const std::string& next_page() const { return next_page_; }
  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  enum class AtEnd { kNo, kYes };
  enum class Place { kBetween, kInObject, kInItems, kBehindItems };

  /// Takes what is complete off the front of the buffer.
  Status read(AtEnd at_end);
  // Each returns kMore also where nothing is left to read. The cursor counts only on kDone.
  JsonStep between(JsonCursor& in);
  /// Looks for the `items` of a list. An object that has none is one by itself, and needed whole.
  JsonStep in_object(JsonCursor& in);
  JsonStep in_items(JsonCursor& in);
  JsonStep behind_items(JsonCursor& in);
  void hand_out(std::string_view json, const std::string& kind);
  void read_list_meta(std::string_view json);

  const std::string source_;
  const Take take_;
  std::string buffer_, list_kind_, next_page_, version_;
  size_t worth_trying_ = 0;
  Place place_ = Place::kBetween;
  uint64_t objects_ = 0, lists_ = 0;
};

}  // namespace stint
