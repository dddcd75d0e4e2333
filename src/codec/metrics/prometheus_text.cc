// Prometheus text exposition and OpenMetrics, as exporters serve it and promtool dumps it.
// https://prometheus.io/docs/instrumenting/exposition_formats/ ; OpenMetrics 1.0, "ABNF".
//
// Speed comes from repetition. An exposition repeats its series scrape after scrape in the same order, so each
// series remembers the one that followed it: when the line begins with that text, nothing of the line is looked
// at but its value. Otherwise the text up to the value is looked up by hash, and only a text never seen before is
// taken apart into labels.
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <unordered_map>

#include "base/text.h"
#include "codec/decimal.h"
#include "codec/metrics/label_mapping.h"
#include "codec/metrics/prometheus_series.h"

namespace stint {
namespace {

/// Series beyond this many are taken apart at every line instead of remembered.
constexpr size_t kMostRemembered = size_t{1} << 20;
constexpr size_t kTextBatch = 256;

enum class Fate : uint8_t { kKept, kUnknownMetric, kRefused };

struct TextSeries {
  std::string text;  ///< `name{labels}` as written
  TextSeries* next = nullptr;
  Fate fate = Fate::kUnknownMetric;
  bool dcgm_blanks = false;
  Metric metric = Metric::kUtilization;
  double factor = 1;
  SeriesId id;                     ///< invalid until the first value: blanks alone make no series
  std::unique_ptr<SeriesKey> key;  ///< until then
  std::string refusal;
};

/// Multiply and fold, 16 bytes a step; for the table only, equality is checked.
struct TextHash {
  size_t operator()(std::string_view text) const {
    constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15ULL;
    uint64_t a = text.size() * kMultiplier;
    uint64_t b = ~a;
    const char* p = text.data();
    size_t left = text.size();
    for (; left >= 16; left -= 16, p += 16) {
      uint64_t words[2];
      std::memcpy(words, p, sizeof words);
      a = (a ^ words[0]) * kMultiplier;
      b = (b ^ words[1]) * kMultiplier;
      a ^= a >> 29;
      b ^= b >> 31;
    }
    char tail[16] = {};
    std::memcpy(tail, p, left);
    uint64_t words[2];
    std::memcpy(words, tail, sizeof words);
    a = (a ^ words[0]) * kMultiplier;
    b = (b ^ words[1]) * kMultiplier;
    a = (a ^ (a >> 32) ^ b) * kMultiplier;
    return a ^ (a >> 29);
  }
};

class PrometheusTextImporter final : public Importer {
 public:
  PrometheusTextImporter(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {
    batch_.reserve(kTextBatch);
  }

  Status feed(std::string_view bytes) override {
    if (!carry_.empty()) {
      const size_t newline = bytes.find('\n');
      carry_.append(bytes.substr(0, newline == std::string_view::npos ? newline : newline + 1));
      if (carry_.size() > kMaxRecordBytes) return too_long();
      if (newline == std::string_view::npos) return {};
      bytes.remove_prefix(newline + 1);
      TRY(read_lines(carry_));
      carry_.clear();
    }
    const size_t last_newline = bytes.rfind('\n');
    const size_t whole = last_newline == std::string_view::npos ? 0 : last_newline + 1;
    TRY(read_lines(bytes.substr(0, whole)));
    carry_.assign(bytes.substr(whole));
    if (carry_.size() > kMaxRecordBytes) return too_long();
    return {};
  }

  Status finish() override {
    // A line without its newline may have lost digits of its value or time.
    if (!trim(carry_).empty() && trim(carry_).front() != '#')
      sink_.reject(line_ + 1, "the last line does not end in a newline: the file is cut short");
    deliver_batch();
    return {};
  }

 private:
  /// @param lines  each ends in a newline.
  Status read_lines(std::string_view lines) {
    const char* p = lines.data();
    const char* const end = p + lines.size();
    while (p != end) {
      ++line_;
      TextSeries* const guess = last_ == nullptr ? nullptr : last_->next;
      if (guess != nullptr && static_cast<size_t>(end - p) > guess->text.size() &&
          std::memcmp(p, guess->text.data(), guess->text.size()) == 0 && p[guess->text.size()] == ' ') {
        TRY_ASSIGN(const char* const next, read_plain_sample(*guess, p + guess->text.size()));
        if (next != nullptr) {
          last_ = guess;
          p = next;
          continue;
        }
      }
      const auto* const newline = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
      TRY(read_line({p, static_cast<size_t>(newline - p)}));
      p = newline + 1;
    }
    return {};
  }

  /// The usual ` VALUE [TIME]\n` behind a known series. @return what follows, nullptr when it is not as usual.
  Result<const char*> read_plain_sample(TextSeries& series, const char* p) {
    while (*p == ' ')
      ++p;
    double value = 0;
    p = read_number(p, value);
    if (p == nullptr) return p;
    std::optional<Instant> at = options_.at;
    if (*p == ' ') {
      while (*p == ' ')
        ++p;
      if (is_digit(*p)) {
        p = read_unix_time(p, at.emplace());
        if (p == nullptr) return p;
      }
    }
    if (*p == '\r') ++p;
    if (*p != '\n') return nullptr;
    TRY(take(series, value, at));
    return p + 1;
  }

  Status read_line(std::string_view line) {
    line = trim(line);
    if (line.empty() || line.front() == '#') return {};
    TextSeries* series = find(line);
    if (series == nullptr) {
      const auto length = parts_.parse(line);
      if (!length.ok()) {
        sink_.reject(line_, fmt::format("{}: {}", length.error().message, excerpt(line)));
        return {};
      }
      const auto known = series_by_text_.find(line.substr(0, *length));  // an exemplar has braces too
      series = known != series_by_text_.end() ? known->second : add(line.substr(0, *length));
    }
    return read_sample(*series, line.substr(series->text.size()));
  }

  /// By the text up to the last brace, or up to the first blank where there is none.
  TextSeries* find(std::string_view line) {
    const size_t brace = line.rfind('}');
    const size_t length = brace != std::string_view::npos ? brace + 1 : line.find_first_of(" \t");
    const auto it = series_by_text_.find(line.substr(0, length));
    return it == series_by_text_.end() ? nullptr : it->second;
  }

  /// @param text  just taken apart into parts_.
  TextSeries* add(std::string_view text) {
    const bool remember = series_by_text_.size() < kMostRemembered;
    TextSeries& series = remember ? series_.emplace_back() : (unremembered_ = TextSeries());
    series.text = text;
    auto mapped = map_series(parts_.name(), parts_.labels(), options_);
    if (!mapped.ok()) {
      series.fate = Fate::kRefused;
      series.refusal = mapped.error().message;
    } else if (mapped->has_value()) {
      series.fate = Fate::kKept;
      series.factor = (*mapped)->factor;
      series.dcgm_blanks = (*mapped)->dcgm_blanks;
      series.metric = (*mapped)->key.metric;
      series.key = std::make_unique<SeriesKey>(std::move((*mapped)->key));
    }
    if (remember) series_by_text_.emplace(series.text, &series);
    return &series;
  }

  /// Any sample: ` VALUE [TIME] [# exemplar]`.
  Status read_sample(TextSeries& series, std::string_view rest) {
    const std::string_view whole = rest;
    const std::string_view value_text = take_word(rest);
    const auto value = parse_any_number(value_text);
    std::optional<Instant> at = options_.at;
    std::string_view word = take_word(rest);
    bool sound = value.has_value();
    if (!word.empty() && word.front() != '#') {
      at = parse_unix_time(word);
      sound = sound && at.has_value();
      word = take_word(rest);
    }
    if (!sound || (!word.empty() && word.front() != '#')) {
      sink_.reject(line_, fmt::format("'{}' is no value with an optional time", excerpt(trim(whole))));
      return {};
    }
    if (&series != &unremembered_) {
      if (last_ != nullptr) last_->next = &series;
      last_ = &series;
    }
    return take(series, *value, at);
  }

  static std::string_view take_word(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
    rest.remove_prefix(word.size());
    return word;
  }

  Status take(TextSeries& series, double value, std::optional<Instant> at) {
    if (series.fate != Fate::kKept) {
      if (series.fate == Fate::kRefused) sink_.reject(line_, series.refusal);
      return {};
    }
    if (!at)
      return invalid("{}:{}: the sample has no time: pass --at TIME, the time the file was scraped", options_.source, line_);
    if (!std::isfinite(value) || (series.dcgm_blanks && is_dcgm_blank(value))) {
      if (!series.id.valid()) return {};
      deliver_batch();
      sink_.stale(series.id, *at);
      return {};
    }
    if (!is_plausible(series.metric, value * series.factor)) {
      sink_.reject(line_, implausible(series.metric, value * series.factor));
      return {};
    }
    if (!series.id.valid()) {
      series.id = sink_.series(*series.key);
      series.key.reset();
    }
    if (series.id != batch_id_ || batch_.size() == kTextBatch) {
      deliver_batch();
      batch_id_ = series.id;
    }
    batch_.push_back({*at, value * series.factor});
    return {};
  }

  void deliver_batch() {
    if (!batch_.empty()) sink_.samples(batch_id_, batch_);
    batch_.clear();
  }

  [[nodiscard]] Error too_long() const {
    return invalid("{}:{}: a line is longer than {} bytes: is this a text exposition?", options_.source, line_ + 1,
                   kMaxRecordBytes);
  }

  ImportOptions options_;
  Sink& sink_;
  std::string carry_;  ///< a line whose end is still to come
  uint64_t line_ = 0;
  PrometheusSeriesText parts_;
  std::deque<TextSeries> series_;
  TextSeries unremembered_;
  std::unordered_map<std::string_view, TextSeries*, TextHash> series_by_text_;
  TextSeries* last_ = nullptr;  ///< of the line before
  SeriesId batch_id_;
  std::vector<Sample> batch_;
};

}  // namespace

std::unique_ptr<Importer> make_prometheus_text_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<PrometheusTextImporter>(options, sink);
}

}  // namespace stint
