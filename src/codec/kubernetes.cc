// Importer "kubernetes": objects of the Kubernetes API as JSON. What `kubectl get nodes,pods,… -A -o json` prints (a List), what the API
// answers (a PodList, whose items do not say their kind), single objects, and any number of these one after another.
//
// A list is read item by item, so that memory is that of the largest object and of what is kept of the others (codec/kubernetes_snapshot.h).
#include "base/text.h"
#include "codec/importer.h"
#include "codec/json_cursor.h"
#include "codec/kubernetes_snapshot.h"

namespace stint {
namespace {

class KubernetesImporter final : public Importer {
 public:
  KubernetesImporter(const ImportOptions& options, Sink& sink)
      : options_(options), sink_(sink), snapshot_({.at = options.at, .client_label = options.client_label}) {}

  Status feed(std::string_view bytes) override {
    buffer_.append(bytes);
    return buffer_.size() < worth_trying_ ? Status() : read(AtEnd::kNo);
  }

  Status finish() override {
    TRY(read(AtEnd::kYes));
    if (place_ != Place::kBetween)
      return invalid("{}: ends in the middle of object {}: the file is cut short, fetch it again", options_.source, objects_ + 1);
    if (objects_ == 0 && lists_ == 0)
      return invalid("{}: no object of the Kubernetes API: give what `kubectl get nodes,pods -A -o json` prints",
                     options_.source);
    snapshot_.give(sink_);
    return {};
  }

 private:
  enum class AtEnd { kNo, kYes };
  enum class Place { kBetween, kInObject, kInItems, kBehindItems };

  /// Takes what is complete off the front of the buffer.
  Status read(AtEnd at_end) {
    JsonCursor in{buffer_.data(), buffer_.data() + buffer_.size()};
    for (;;) {
      const char* const before = in.at;
      JsonStep step = JsonStep::kMore;
      TRY_ASSIGN(step, place_ == Place::kBetween    ? between(in)
                       : place_ == Place::kInObject ? in_object(in)
                       : place_ == Place::kInItems  ? in_items(in)
                                                    : behind_items(in));
      if (step == JsonStep::kDone) continue;
      if (step == JsonStep::kBad)
        return invalid("{}: not JSON after object {}: give what kubectl printed with -o json, as it came", options_.source,
                       objects_);
      in.at = before;
      break;
    }
    if (at_end == AtEnd::kYes) {
      in.skip_blanks();
      if (place_ == Place::kBetween && in.at < in.end)
        return invalid("{}: ends in the middle of object {}: the file is cut short, fetch it again", options_.source,
                       objects_ + 1);
    }
    buffer_.erase(0, static_cast<size_t>(in.at - buffer_.data()));
    if (buffer_.size() > kMaxRecordBytes)
      return invalid("{}: object {}: longer than {} MiB", options_.source, objects_ + 1, kMaxRecordBytes >> 20);
    worth_trying_ = buffer_.size() + buffer_.size() / 2;
    return {};
  }

  /// @return kMore also where nothing is left to read. The cursor counts only on kDone.
  Result<JsonStep> between(JsonCursor& in) {
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    if (*in.at != '{') return JsonStep::kBad;
    place_ = Place::kInObject;
    return JsonStep::kDone;
  }

  /// Looks for the `items` of a list. An object that has none is one by itself, and needed whole.
  Result<JsonStep> in_object(JsonCursor& in) {
    const char* const begin = in.at;
    std::string kind, key;
    (void)in.take('{');
    for (bool first = true;; first = false) {
      in.skip_blanks();
      if (in.at_end()) return JsonStep::kMore;
      if (in.take('}')) {
        place_ = Place::kBetween;
        if (kind.ends_with("List"))  // "items": null
          ++lists_;
        else
          take({begin, static_cast<size_t>(in.at - begin)}, {});
        return JsonStep::kDone;
      }
      if (!first && !in.take(',')) return JsonStep::kBad;
      in.skip_blanks();
      if (const JsonStep step = in.string(key); step != JsonStep::kDone) return step;
      in.skip_blanks();
      if (in.at_end()) return JsonStep::kMore;
      if (!in.take(':')) return JsonStep::kBad;
      in.skip_blanks();
      if (in.at_end()) return JsonStep::kMore;
      if (key == "items" && in.take('[')) {
        list_kind_ = kind.ends_with("List") ? kind.substr(0, kind.size() - 4) : "";
        ++lists_;
        place_ = Place::kInItems;
        return JsonStep::kDone;
      }
      if (key == "kind" && *in.at == '"') {
        if (const JsonStep step = in.string(kind); step != JsonStep::kDone) return step;
      } else if (const JsonStep step = in.skip_value(); step != JsonStep::kDone) {
        return step;
      }
    }
  }

  Result<JsonStep> in_items(JsonCursor& in) {
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    if (in.take(']')) {
      place_ = Place::kBehindItems;
      return JsonStep::kDone;
    }
    (void)in.take(',');
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    const char* const begin = in.at;
    if (*begin != '{') return JsonStep::kBad;
    const JsonStep step = in.skip_value();
    if (step == JsonStep::kDone) take({begin, static_cast<size_t>(in.at - begin)}, list_kind_);
    return step;
  }

  Result<JsonStep> behind_items(JsonCursor& in) {
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    if (in.take('}')) {
      place_ = Place::kBetween;
      return JsonStep::kDone;
    }
    if (!in.take(',')) return JsonStep::kBad;
    in.skip_blanks();
    std::string key;
    if (const JsonStep step = in.string(key); step != JsonStep::kDone) return step;
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    if (!in.take(':')) return JsonStep::kBad;
    return in.skip_value();
  }

  void take(std::string_view json, const std::string& kind) {
    ++objects_;
    auto object = decoder_.decode(json, kind);
    if (object.ok())
      snapshot_.add(std::move(*object));
    else
      sink_.reject(0, fmt::format("object {}: {}", objects_, object.error().message));
  }

  const ImportOptions options_;
  Sink& sink_;
  KubernetesSnapshot snapshot_;
  KubernetesDecoder decoder_;
  std::string buffer_, list_kind_;
  size_t worth_trying_ = 0;
  Place place_ = Place::kBetween;
  uint64_t objects_ = 0, lists_ = 0;
};

}  // namespace

std::unique_ptr<Importer> make_kubernetes_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<KubernetesImporter>(options, sink);
}

}  // namespace stint
