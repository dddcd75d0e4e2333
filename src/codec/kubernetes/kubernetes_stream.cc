#include "codec/kubernetes/kubernetes_stream.h"

#include <nlohmann/json.hpp>

#include "codec/importer.h"

namespace stint {

Status KubernetesStream::feed(std::string_view bytes) {
  buffer_.append(bytes);
  return buffer_.size() < worth_trying_ ? Status() : read(AtEnd::kNo);
}

Status KubernetesStream::finish() {
  TRY(read(AtEnd::kYes));
  if (place_ != Place::kBetween)
    return invalid("{}: ends in the middle of object {}: the file is cut short, fetch it again", source_, objects_ + 1);
  return {};
}

Status KubernetesStream::read(AtEnd at_end) {
  JsonCursor in{buffer_.data(), buffer_.data() + buffer_.size()};
  for (;;) {
    const char* const before = in.at;
    JsonStep step = JsonStep::kMore;
    switch (place_) {
      case Place::kBetween: step = between(in); break;
      case Place::kInObject: step = in_object(in); break;
      case Place::kInItems: step = in_items(in); break;
      case Place::kBehindItems: step = behind_items(in); break;
    }
    if (step == JsonStep::kDone) continue;
    if (step == JsonStep::kBad)
      return invalid("{}: not JSON after object {}: give what kubectl printed with -o json, as it came", source_, objects_);
    in.at = before;
    break;
  }
  if (at_end == AtEnd::kYes) {
    in.skip_blanks();
    if (place_ == Place::kBetween && in.at < in.end)
      return invalid("{}: ends in the middle of object {}: the file is cut short, fetch it again", source_, objects_ + 1);
  }
  buffer_.erase(0, static_cast<size_t>(in.at - buffer_.data()));
  if (buffer_.size() > kMaxRecordBytes)
    return invalid("{}: object {}: longer than {} MiB", source_, objects_ + 1, kMaxRecordBytes >> 20);
  worth_trying_ = buffer_.size() + buffer_.size() / 2;
  return {};
}

JsonStep KubernetesStream::between(JsonCursor& in) {
  in.skip_blanks();
  if (in.at_end()) return JsonStep::kMore;
  if (*in.at != '{') return JsonStep::kBad;
  place_ = Place::kInObject;
  return JsonStep::kDone;
}

JsonStep KubernetesStream::in_object(JsonCursor& in) {
  const char* const begin = in.at;
  std::string kind, key;
  std::string_view meta;
  (void)in.take('{');
  for (bool first = true;; first = false) {
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    if (in.take('}')) {
      place_ = Place::kBetween;
      if (kind.ends_with("List")) {  // "items": null
        ++lists_;
        read_list_meta(meta);
      } else {
        hand_out({begin, static_cast<size_t>(in.at - begin)}, {});
      }
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
      read_list_meta(meta);
      list_kind_ = kind.ends_with("List") ? kind.substr(0, kind.size() - 4) : "";
      ++lists_;
      place_ = Place::kInItems;
      return JsonStep::kDone;
    }
    if (key == "kind" && *in.at == '"') {
      if (const JsonStep step = in.string(kind); step != JsonStep::kDone) return step;
    } else {
      const char* const value = in.at;
      if (const JsonStep step = in.skip_value(); step != JsonStep::kDone) return step;
      if (key == "metadata") meta = {value, static_cast<size_t>(in.at - value)};
    }
  }
}

JsonStep KubernetesStream::in_items(JsonCursor& in) {
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
  if (step == JsonStep::kDone) hand_out({begin, static_cast<size_t>(in.at - begin)}, list_kind_);
  return step;
}

JsonStep KubernetesStream::behind_items(JsonCursor& in) {
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
  in.skip_blanks();
  const char* const value = in.at;
  const JsonStep step = in.skip_value();
  if (step == JsonStep::kDone && key == "metadata") read_list_meta({value, static_cast<size_t>(in.at - value)});
  return step;
}

void KubernetesStream::hand_out(std::string_view json, const std::string& kind) {
  ++objects_;
  take_(json, kind);
}

void KubernetesStream::read_list_meta(std::string_view json) {
  const auto meta = nlohmann::json::parse(json.empty() ? "{}" : json, nullptr, false);
  const auto text = [&](const char* name) {
    const auto it = meta.is_object() ? meta.find(name) : meta.end();
    return meta.is_object() && it != meta.end() && it->is_string() ? it->get<std::string>() : std::string();
  };
  next_page_ = text("continue");
  version_ = text("resourceVersion");
}

}  // namespace stint
