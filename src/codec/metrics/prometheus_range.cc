// Answers of Prometheus' query_range and query, and what promtool prints with -o json.
// https://prometheus.io/docs/prometheus/latest/querying/api/, "Range queries", "Range vectors".
//
// An answer can be larger than memory, so it is read as a stream: a machine of states whose smallest step is one
// sample. A step that meets the end of the bytes changes nothing and is done again when more have come; only what
// is not yet read is held. Answers may follow one another in one file (pages under the 11,000-point limit).
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "codec/decimal.h"
#include "codec/json_cursor.h"
#include "codec/metrics/label_mapping.h"

namespace stint {
namespace {

constexpr size_t kRangeBatch = 4096;

class PrometheusRangeImporter final : public Importer {
 public:
  PrometheusRangeImporter(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {
    batch_.reserve(kRangeBatch);
  }

  Status feed(std::string_view bytes) override {
    buffer_.append(bytes);
    // A step that needed more is not tried again before it is likely to succeed: a long one would be read over and over.
    if (buffer_.size() < worth_trying_) return {};
    TRY(read());
    return {};
  }

  Status finish() override {
    TRY(read());
    if (state_ != State::kStart || !trim(buffer_).empty())
      return invalid("{}: ends in the middle of an answer (byte {}): the file is cut short", options_.source,
                     consumed_ + buffer_.size());
    if (answers_ == 0) return invalid("{}: empty: a query_range answer is expected", options_.source);
    return {};
  }

 private:
  enum class State : uint8_t { kStart, kTop, kData, kResults, kSeries, kValues };

  Status read() {
    JsonCursor in{buffer_.data(), buffer_.data() + buffer_.size()};
    const char* done = in.at;
    JsonStep step = JsonStep::kDone;
    for (;;) {
      in.skip_blanks();
      step = do_step(in);
      if (step != JsonStep::kDone) break;
      done = in.at;
    }
    if (state_ == State::kValues) done = in.at;
    if (step == JsonStep::kBad) {
      const size_t at = consumed_ + static_cast<size_t>(in.at - buffer_.data());
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("{}: byte {}: {}", options_.source, at, problem_.empty() ? "no valid JSON" : problem_)};
    }
    const auto used = static_cast<size_t>(done - buffer_.data());
    consumed_ += used;
    buffer_.erase(0, used);
    if (buffer_.size() > kMaxRecordBytes)
      return invalid("{}: byte {}: an element is longer than {} bytes", options_.source, consumed_, kMaxRecordBytes);
    worth_trying_ = buffer_.size() + buffer_.size() / 2;
    return {};
  }

  JsonStep do_step(JsonCursor& in) {
    switch (state_) {
      case State::kStart: return start(in);
      case State::kTop: return member(in, '}', [&](std::string_view key) { return top_member(in, key); });
      case State::kData: return member(in, '}', [&](std::string_view key) { return data_member(in, key); });
      case State::kResults: return result(in);
      case State::kSeries: return member(in, '}', [&](std::string_view key) { return series_member(in, key); });
      case State::kValues: return values(in);
    }
    return JsonStep::kBad;
  }

  JsonStep bad(std::string problem) {
    problem_ = std::move(problem);
    return JsonStep::kBad;
  }

  JsonStep start(JsonCursor& in) {
    if (in.take('{')) {
      status_.clear(), error_type_.clear(), error_.clear(), result_type_.clear();
      state_ = State::kTop;
      return JsonStep::kDone;
    }
    if (in.take('[')) {  // promtool prints the result alone
      status_ = "success";
      return enter_results(State::kStart);
    }
    return in.at_end() ? JsonStep::kMore : bad("a JSON object is expected");
  }

  JsonStep enter_results(State after) {
    after_results_ = after;
    state_ = State::kResults;
    return JsonStep::kDone;
  }

  /// `"key": value` through `read_value(key)`, or the object's end.
  template <typename ReadValue>
  JsonStep member(JsonCursor& in, char close, const ReadValue& read_value) {
    if (in.take(',')) in.skip_blanks();
    if (in.take(close)) return end_object(in);
    if (const JsonStep s = in.string(key_); s != JsonStep::kDone) return s;
    in.skip_blanks();
    if (!in.take(':')) return in.at_end() ? JsonStep::kMore : JsonStep::kBad;
    in.skip_blanks();
    if (in.at_end()) return JsonStep::kMore;
    return read_value(key_);
  }

  JsonStep end_object(JsonCursor& in) {
    if (state_ == State::kSeries) return end_series(in);
    if (state_ == State::kData) {
      state_ = State::kTop;
      return JsonStep::kDone;
    }
    state_ = State::kStart;
    ++answers_;
    if (status_ == "error")
      return bad(fmt::format("Prometheus answered with an error: {}: {}", error_type_.empty() ? "unknown" : error_type_,
                             excerpt(error_, 300)));
    if (status_.empty() && result_type_.empty()) return bad("this is no answer of query_range: it has neither status nor result");
    return JsonStep::kDone;
  }

  JsonStep top_member(JsonCursor& in, std::string_view key) {
    if (key == "status") return in.string(status_);
    if (key == "error") return in.string(error_);
    if (key == "errorType") return in.string(error_type_);
    if (key == "warnings" && *in.at == '[') return warnings(in);
    if (key == "data" && in.take('{')) {
      state_ = State::kData;
      return JsonStep::kDone;
    }
    return data_member(in, key);
  }

  JsonStep data_member(JsonCursor& in, std::string_view key) {
    if (key == "resultType") {
      if (const JsonStep s = in.string(result_type_); s != JsonStep::kDone) return s;
      if (result_type_ == "matrix" || result_type_ == "vector") return JsonStep::kDone;
      return bad(fmt::format("the result is a {}: query a range or an instant vector", excerpt(result_type_)));
    }
    if (key == "result" && in.take('[')) {
      if (result_type_.empty()) result_type_ = "matrix";
      return enter_results(state_);
    }
    return in.skip_value();
  }

  JsonStep warnings(JsonCursor& in) {
    const JsonCursor whole = in;
    if (const JsonStep s = in.skip_value(); s != JsonStep::kDone) return s;
    JsonCursor list{whole.at + 1, in.at};
    std::string text;
    for (;;) {
      list.skip_blanks();
      if (list.take(',')) continue;
      if (list.string(text) != JsonStep::kDone) return JsonStep::kDone;
      sink_.reject(0, "Prometheus warns: " + text);
    }
  }

  JsonStep result(JsonCursor& in) {
    if (in.take(',')) in.skip_blanks();
    if (in.take(']')) {
      state_ = after_results_;
      if (state_ == State::kStart) ++answers_;
      return JsonStep::kDone;
    }
    if (in.take('{')) {
      state_ = State::kSeries;
      metric_seen_ = false;
      early_values_.clear();
      return JsonStep::kDone;
    }
    return in.at_end() ? JsonStep::kMore : bad("a series is expected: query a range or an instant vector");
  }

  JsonStep series_member(JsonCursor& in, std::string_view key) {
    if (key == "metric") return metric_seen_ ? bad("a series has two metrics") : metric(in);
    if (key != "values" && key != "value") return in.skip_value();
    if (*in.at != '[') return bad(fmt::format("{} is no array", key));
    if (!metric_seen_) {  // members have no order by right: keep the samples until it is known whose they are
      const char* const begin = in.at;
      if (const JsonStep s = in.skip_value(); s != JsonStep::kDone) return s;
      const std::string_view text(begin, static_cast<size_t>(in.at - begin));
      early_values_ = key == "value" ? fmt::format("[{}]", text) : std::string(text);
      return JsonStep::kDone;
    }
    if (key == "value") return pair(in);
    ++in.at;
    state_ = State::kValues;
    return JsonStep::kDone;
  }

  JsonStep end_series(JsonCursor&) {
    state_ = State::kResults;
    if (!early_values_.empty()) {
      if (!metric_seen_) return bad("a series has no metric");
      JsonCursor early{early_values_.data() + 1, early_values_.data() + early_values_.size()};
      state_ = State::kValues;
      JsonStep s = JsonStep::kDone;
      while (state_ == State::kValues && s == JsonStep::kDone)
        s = values(early);
      if (s != JsonStep::kDone) return JsonStep::kBad;
      state_ = State::kResults;
    }
    deliver_batch();
    return JsonStep::kDone;
  }

  JsonStep metric(JsonCursor& in) {
    const JsonCursor whole = in;
    if (*in.at != '{') return bad("metric is no object");
    if (const JsonStep s = in.skip_value(); s != JsonStep::kDone) return s;
    JsonCursor object{whole.at + 1, in.at};
    std::vector<std::pair<std::string, std::string>> members;
    for (;;) {
      object.skip_blanks();
      if (object.take(',')) object.skip_blanks();
      if (object.take('}')) break;
      auto& [name, value] = members.emplace_back();
      bool sound = object.string(name) == JsonStep::kDone;
      object.skip_blanks();
      sound = sound && object.take(':');
      object.skip_blanks();
      if (!sound || object.string(value) != JsonStep::kDone) return bad("metric has a member that is no text");
    }
    begin_series(members);
    return JsonStep::kDone;
  }

  void begin_series(const std::vector<std::pair<std::string, std::string>>& members) {
    metric_seen_ = true;
    kept_ = false;
    id_ = SeriesId();
    std::vector<SeriesLabel> labels;
    std::string_view name;
    for (const auto& [label, value] : members) {
      if (label == "__name__")
        name = value;
      else
        labels.push_back({label, value});
    }
    if (name.empty()) {
      sink_.reject(0, "a series has no __name__, so it is not known what it measures: query the metric itself");
      return;
    }
    auto mapped = map_series(name, labels, options_);
    if (!mapped.ok()) {
      sink_.reject(0, mapped.error().message);
    } else if (mapped->has_value()) {
      kept_ = true;
      mapped_ = std::move(**mapped);
    }
  }

  /// Samples until the array or the bytes end; when they end, `in` stands behind the last whole sample.
  JsonStep values(JsonCursor& in) {
    for (;;) {
      while (read_plain_pair(in))
        continue;
      const JsonCursor before = in;
      in.skip_blanks();
      if (in.take(',')) in.skip_blanks();
      if (in.take(']')) {
        state_ = State::kSeries;
        return JsonStep::kDone;
      }
      const JsonStep s = pair(in);
      if (s == JsonStep::kMore) in = before;
      if (s != JsonStep::kDone) return s;
    }
  }

  /// `[TIME,"VALUE"]` and a comma after it, written as Prometheus does. The NUL behind the buffer ends every number.
  bool read_plain_pair(JsonCursor& in) {
    const char* p = in.at;
    if (*p != '[') return false;
    Instant at;
    p = read_unix_time(p + 1, at);
    if (p == nullptr || p[0] != ',' || p[1] != '"') return false;
    double value = 0;
    p = read_number(p + 2, value);
    if (p == nullptr || p[0] != '"' || p[1] != ']') return false;
    p += 2;
    if (*p == ',') ++p;
    in.at = p;
    take(at, value);
    return true;
  }

  /// Any other way to write a pair.
  JsonStep pair(JsonCursor& in) {
    const JsonCursor whole = in;
    if (const JsonStep s = in.skip_value(); s != JsonStep::kDone) return s;
    JsonCursor inner{whole.at, in.at};
    std::string text;
    std::optional<Instant> at;
    std::optional<double> value;
    if (inner.take('[')) {
      inner.skip_blanks();
      const char* const begin = inner.at;
      while (!inner.at_end() && *inner.at != ',' && *inner.at != ']')
        ++inner.at;
      at = parse_unix_time(trim({begin, static_cast<size_t>(inner.at - begin)}));
      if (inner.take(',')) {
        inner.skip_blanks();
        if (inner.string(text) == JsonStep::kDone) value = parse_any_number(text);
      }
      inner.skip_blanks();
      if (!inner.take(']')) value.reset();
    }
    if (at && value)
      take(*at, *value);
    else
      sink_.reject(0, fmt::format("'{}' is no sample: [seconds, \"value\"] is expected",
                                  excerpt({whole.at, static_cast<size_t>(in.at - whole.at)})));
    return JsonStep::kDone;
  }

  void take(Instant at, double value) {
    if (!kept_) return;
    if (!std::isfinite(value) || (mapped_.dcgm_blanks && is_dcgm_blank(value))) {
      if (!id_.valid()) return;
      deliver_batch();
      sink_.stale(id_, at);
      return;
    }
    if (const Metric metric = mapped_.key.metric; !is_plausible(metric, value * mapped_.factor)) {
      sink_.reject(0, implausible(metric, value * mapped_.factor));
      return;
    }
    if (!id_.valid()) id_ = sink_.series(mapped_.key);
    batch_.push_back({at, value * mapped_.factor});
    if (batch_.size() == kRangeBatch) deliver_batch();
  }

  void deliver_batch() {
    if (!batch_.empty()) sink_.samples(id_, batch_);
    batch_.clear();
  }

  ImportOptions options_;
  Sink& sink_;
  std::string buffer_;       ///< what is not yet read; a NUL follows it, as std::string promises
  size_t consumed_ = 0;      ///< bytes of the input before it
  size_t worth_trying_ = 0;  ///< size of buffer_ from which another attempt is made
  State state_ = State::kStart;
  State after_results_ = State::kTop;
  uint64_t answers_ = 0;
  std::string problem_;
  std::string key_;
  // The answer being read.
  std::string status_, error_type_, error_, result_type_;
  // The series being read.
  bool metric_seen_ = false;
  bool kept_ = false;
  MappedSeries mapped_;
  SeriesId id_;  ///< invalid until the first value
  std::string early_values_;
  std::vector<Sample> batch_;
};

}  // namespace

std::unique_ptr<Importer> make_prometheus_range_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<PrometheusRangeImporter>(options, sink);
}

}  // namespace stint
