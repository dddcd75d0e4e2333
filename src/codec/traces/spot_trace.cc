#include "codec/traces/spot_trace.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"
#include "codec/csv_table.h"
#include "codec/json_cursor.h"

namespace stint {
namespace {

constexpr int64_t kMostTickSeconds = 24 * 3600;
constexpr int64_t kMostTicks = 1'000'000'000;

/// The members of the document that count; the cursor stands behind what was read.
class TraceParser {
 public:
  TraceParser(const std::string& text, const std::string& source)
      : text_(text), source_(source), cursor_{text.data(), text.data() + text.size()} {}

  Result<SpotTrace> parse() {
    SpotTrace trace;
    trace.name = spot_trace_name(source_);
    bool have_data = false;
    TRY(each_member([&](const std::string& key) -> Status {
      if (key == "metadata") return each_member([&](const std::string& inner) { return metadata(inner, trace); });
      if (key != "data") return skip();
      have_data = true;
      return data(trace);
    }));
    cursor_.skip_blanks();
    if (!cursor_.at_end()) return wrong("something follows the document");
    if (trace.tick_s == 0) return invalid("{}: no metadata.gap_seconds: how long is a tick?", source_);
    if (!have_data) return invalid("{}: no data: expected the instances available in each tick", source_);
    return trace;
  }

 private:
  [[nodiscard]] Error wrong(std::string_view what) const {
    const char* at = std::min(cursor_.at, cursor_.end);
    const auto line = 1 + std::count(text_.data(), at, '\n');
    const std::string_view rest(at, static_cast<size_t>(cursor_.end - at));
    return invalid("{}:{}: {} at `{}`", source_, line, what, excerpt(rest, 20));
  }

  /// Calls member(key) for each member of an object, with the cursor on its value.
  template <typename Member>
  Status each_member(Member&& member) {
    cursor_.skip_blanks();
    if (!cursor_.take('{')) return wrong("expected an object");
    cursor_.skip_blanks();
    if (cursor_.take('}')) return {};
    std::string key;
    do {
      cursor_.skip_blanks();
      JsonCursor ahead = cursor_;
      if (ahead.string(key) != JsonStep::kDone) return wrong("expected a member's name");
      cursor_ = ahead;
      cursor_.skip_blanks();
      if (!cursor_.take(':')) return wrong("expected a colon");
      cursor_.skip_blanks();
      TRY(member(key));
      cursor_.skip_blanks();
    } while (cursor_.take(','));
    return cursor_.take('}') ? Status{} : Status{wrong("expected a comma or the end of the object")};
  }

  Status skip() {
    JsonCursor ahead = cursor_;
    if (ahead.skip_value() != JsonStep::kDone) return wrong("expected a value");
    cursor_ = ahead;
    return {};
  }

  /// A number that is whole and in [least, most].
  Result<int64_t> whole(int64_t least, int64_t most, std::string_view what) {
    const char* end = cursor_.at;
    while (end < cursor_.end && (std::string_view("+-.eE").find(*end) != std::string_view::npos || (*end >= '0' && *end <= '9')))
      ++end;
    const std::optional<double> value = parse_number({cursor_.at, static_cast<size_t>(end - cursor_.at)});
    if (!value || *value < static_cast<double>(least) || *value > static_cast<double>(most) ||
        *value != static_cast<double>(static_cast<int64_t>(*value)))
      return wrong(fmt::format("{}: expected a whole number from {} to {}", what, least, most));
    cursor_.at = end;
    return static_cast<int64_t>(*value);
  }

  Status metadata(const std::string& key, SpotTrace& trace) {
    if (key != "gap_seconds") return skip();
    TRY_ASSIGN(trace.tick_s, whole(1, kMostTickSeconds, "gap_seconds"));
    return {};
  }

  Status data(SpotTrace& trace) {
    trace.available.clear();
    if (!cursor_.take('[')) return wrong("data: expected an array");
    cursor_.skip_blanks();
    if (cursor_.take(']')) return {};
    do {
      cursor_.skip_blanks();
      TRY_ASSIGN(const int64_t instances, whole(0, kMostTicks, "data"));
      trace.available.push_back(instances > 0 ? 1 : 0);
      cursor_.skip_blanks();
    } while (cursor_.take(','));
    return cursor_.take(']') ? Status{} : Status{wrong("expected a comma or the end of the array")};
  }

  const std::string& text_;
  const std::string& source_;
  JsonCursor cursor_;
};

}  // namespace

std::string spot_trace_name(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);  // npos + 1 = 0
  for (const std::string_view suffix : {".gz", ".json"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return std::string(name);
}

Result<SpotTrace> read_spot_trace(std::string_view bytes, const std::string& source) {
  const std::string text(bytes);  // the cursor needs a NUL behind it
  return TraceParser(text, source).parse();
}

Result<std::vector<SpotWindow>> read_spot_windows(std::string_view bytes, std::span<const SpotTrace> traces,
                                                  const std::string& source) {
  constexpr std::array<std::string_view, 4> kColumns = {"trace", "sample", "start_tick", "length_ticks"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kColumns));
  std::map<std::string, uint32_t, std::less<>> ids;
  for (uint32_t i = 0; i < traces.size(); ++i)
    ids.emplace(traces[i].name, i);
  std::set<std::pair<uint32_t, int64_t>> seen;
  std::vector<SpotWindow> windows;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) return windows;
    const std::string_view name = table.text("trace");
    const auto id = ids.find(name);
    if (id == ids.end()) return table.wrong("no trace `{}` among {}: name its file too", excerpt(name), traces.size());
    const auto ticks = static_cast<int64_t>(traces[id->second].available.size());
    TRY_ASSIGN(const int64_t sample, table.whole("sample", kMostTicks));
    TRY_ASSIGN(const int64_t start, table.whole("start_tick", ticks));
    TRY_ASSIGN(const int64_t length, table.whole("length_ticks", ticks - start));
    if (!seen.emplace(id->second, sample).second) return table.wrong("sample {} of {} stands twice", sample, name);
    windows.push_back({id->second, sample, static_cast<uint32_t>(start), static_cast<uint32_t>(length)});
  }
}

}  // namespace stint
