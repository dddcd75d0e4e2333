#include "codec/change_file.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/text.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;
using sim::ChangeList;

// Every object gets the number of its line as a member of this name, which no file can hold as it is no sensible name.
constexpr const char* kLine = "\x01line";
constexpr double kLongestHours = 100.0 * 366 * 24;
constexpr size_t kMostLists = 10'000;

/// Thrown and caught in this file only, like the exceptions of the JSON library.
struct Malformed : std::runtime_error {
  Malformed(const Json& where, const std::string& what) : std::runtime_error(what), line(line_of(where)) {}
  static int64_t line_of(const Json& object) {
    return object.is_object() && object.contains(kLine) ? object[kLine].get<int64_t>() : 1;
  }
  int64_t line;
};

/// Bytes that count their lines as they are read.
class CountingBytes {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  CountingBytes(const char* at, int64_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingBytes& operator++() {
    if (*at_++ == '\n') ++*line_;
    return *this;
  }
  bool operator==(const CountingBytes& other) const { return at_ == other.at_; }
  bool operator!=(const CountingBytes& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  int64_t* line_;
};

Json parse_with_lines(std::string_view bytes) {
  int64_t line = 1;
  std::vector<int64_t> begun;
  const auto note = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) begun.push_back(line);
    if (event == Json::parse_event_t::object_end) {
      parsed[kLine] = begun.back();
      begun.pop_back();
    }
    return true;
  };
  return Json::parse(CountingBytes(bytes.data(), &line), CountingBytes(bytes.data() + bytes.size(), &line), note);
}

const Json& member(const Json& object, const char* name) {
  const auto it = object.find(name);
  if (it == object.end()) throw Malformed(object, fmt::format("'{}' is missing", name));
  return *it;
}

std::string text_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) throw Malformed(object, fmt::format("'{}' is no text", name));
  return value.get<std::string>();
}

std::string text_or_empty(const Json& object, const char* name) {
  return object.contains(name) ? text_of(object, name) : std::string();
}

int64_t integer_of(const Json& object, const char* name, int64_t least, int64_t most) {
  const Json& value = member(object, name);
  if (!value.is_number_integer() || value.get<double>() < static_cast<double>(least) ||
      value.get<double>() > static_cast<double>(most))
    throw Malformed(object, fmt::format("'{}' is no integer from {} to {}", name, least, most));
  return value.get<int64_t>();
}

double number_of(const Json& object, const char* name, double least, double most) {
  const Json& value = member(object, name);
  if (!value.is_number() || !(value.get<double>() >= least && value.get<double>() <= most))
    throw Malformed(object, fmt::format("'{}' is no number from {:g} to {:g}", name, least, most));
  return value.get<double>();
}

std::vector<std::string> texts_of(const Json& object, const char* name) {
  const Json& value = member(object, name);
  std::vector<std::string> texts;
  if (!value.is_array()) throw Malformed(object, fmt::format("'{}' is no array", name));
  for (const Json& text : value) {
    if (!text.is_string()) throw Malformed(object, fmt::format("'{}' holds something that is no text", name));
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

template <typename T>
T taken(const Json& object, Result<T> value) {
  if (!value.ok()) throw Malformed(object, value.error().message);
  return std::move(value.value());
}

WeekHours hours_of(const Json& object) {
  WeekHours off;
  const Json& hours = member(object, "off_hours_of_week");
  if (!hours.is_array()) throw Malformed(object, "'off_hours_of_week' is no array");
  for (const Json& hour : hours) {
    if (!hour.is_number_unsigned() || hour.get<uint64_t>() >= off.size())
      throw Malformed(object, "'off_hours_of_week' holds something that is no integer from 0 to 167");
    off.set(hour.get<size_t>());
  }
  return off;
}

std::pair<std::string, int> seat_of(const Json& placement, const char* name) {
  const Json& seat = member(placement, name);
  if (!seat.is_object()) throw Malformed(placement, fmt::format("'{}' is no object with node and gpu", name));
  return {text_of(seat, "node"), static_cast<int>(integer_of(seat, "gpu", 0, 1000))};
}

ShareGpus share_of(const Json& object) {
  ShareGpus share{
      .mode = SharingMode::kMig, .nodes = texts_of(object, "nodes"), .keep = texts_of(object, "keep"), .placements = {}};
  const std::string mode = text_of(object, "mode");
  bool known = false;
  for (const SharingMode m : {SharingMode::kMig, SharingMode::kMps, SharingMode::kTimeSlice})
    if (name_of(m) == mode) {
      share.mode = m;
      known = true;
    }
  if (!known) throw Malformed(object, fmt::format("mode '{}' is not mig, mps or time-slice", excerpt(mode)));
  const Json& placements = member(object, "placements");
  if (!placements.is_array()) throw Malformed(object, "'placements' is no array");
  for (const Json& p : placements) {
    if (!p.is_object()) throw Malformed(object, "'placements' holds something that is no object");
    ShareGpus::Placement placement;
    placement.workload = text_of(p, "workload");
    std::tie(placement.from_node, placement.from_gpu) = seat_of(p, "from");
    std::tie(placement.to_node, placement.to_gpu) = seat_of(p, "to");
    placement.parts = std::llround(number_of(p, "share", 0, 1) * static_cast<double>(kWholeDevice));
    placement.mig_profile = text_or_empty(p, "mig_profile");
    if (p.contains("memory_start")) placement.memory_start = static_cast<int>(integer_of(p, "memory_start", -1, 100));
    share.placements.push_back(std::move(placement));
  }
  return share;
}

Commit commit_of(const Json& object) {
  Commit commit;
  commit.nodes = texts_of(object, "nodes");
  commit.provider = text_of(object, "provider");
  commit.region = text_of(object, "region");
  commit.instance_type = text_of(object, "instance_type");
  commit.count = integer_of(object, "count", 1, 1'000'000);
  commit.term = taken(object, parse_commitment_term(text_of(object, "term")));
  commit.payment = taken(object, parse_payment_option(text_of(object, "payment")));
  return commit;
}

Change change_of(const Json& object) {
  const std::string kind = text_of(object, "kind");
  std::vector<std::string> nodes = texts_of(object, "nodes");
  if (kind == "stop") return StopNodes{std::move(nodes)};
  if (kind == "schedule-off") return ScheduleOff{std::move(nodes), hours_of(object)};
  if (kind == "resize")
    return ResizeNodes{std::move(nodes), text_of(object, "to_instance_type"), text_or_empty(object, "to_region"),
                       integer_of(object, "to_count", 1, 100'000)};
  if (kind == "share") return share_of(object);
  if (kind == "switch-market") return SwitchMarket{std::move(nodes), taken(object, parse_market(text_of(object, "to_market")))};
  if (kind == "commit") return commit_of(object);
  if (kind == "limit-reservation")
    return LimitReservation{text_of(object, "workload"), std::move(nodes),
                            Duration::from_seconds(number_of(object, "from_hours", 0, kLongestHours) * 3600),
                            Duration::from_seconds(number_of(object, "to_hours", 0, kLongestHours) * 3600)};
  if (kind == "move-off-gpu") return MoveOffGpu{std::move(nodes), text_of(object, "to_instance_type")};
  if (kind == "move-region") return MoveRegion{std::move(nodes), text_of(object, "to_region")};
  throw Malformed(object, fmt::format("no kind of change is called '{}'", excerpt(kind)));
}

/// A change, or a finding that holds one.
void add(ChangeList& list, const Json& item) {
  if (!item.is_object()) throw Malformed(item, "expected an object with 'kind', or one with 'change'");
  const bool is_finding = item.contains("change");
  const Json& object = is_finding ? item["change"] : item;
  if (!object.is_object()) throw Malformed(item, "'change' is no object");
  list.changes.push_back(change_of(object));
  if (!list.name.empty()) list.name += "; ";
  list.name += is_finding && item.contains("title") ? text_of(item, "title") : describe(list.changes.back());
}

std::vector<ChangeList> lists_of(const Json& document) {
  const bool is_report = document.is_object() && document.contains("findings");
  const Json& items = is_report ? document["findings"] : document;
  std::vector<ChangeList> lists;
  if (!items.is_array()) {
    add(lists.emplace_back(), items);
    return lists;
  }
  for (const Json& item : items) {
    ChangeList& list = lists.emplace_back();
    if (!item.is_array()) {
      add(list, item);
      continue;
    }
    for (const Json& one : item)
      add(list, one);
    if (list.changes.empty()) throw Malformed(document, "an empty array is no change");
  }
  return lists;
}

Result<std::vector<ChangeList>> read_json(std::string_view bytes, const std::string& source) {
  try {
    return lists_of(parse_with_lines(bytes));
  } catch (const Malformed& e) {
    return invalid("{}:{}: {}", source, e.line, e.what());
  } catch (const Json::parse_error& e) {
    const size_t at = std::min(e.byte, bytes.size());
    const auto line = 1 + std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    return invalid("{}:{}: no JSON: {}", source, line, e.what());
  } catch (const Json::exception& e) {
    return invalid("{}: {}", source, e.what());
  }
}

Result<std::vector<ChangeList>> read_text(std::string_view bytes, const std::string& source) {
  std::vector<ChangeList> lists;
  size_t number = 0;
  for (const std::string_view raw : split(bytes, '\n')) {
    ++number;
    const std::string_view line = trim(raw);
    if (line.empty() || line.front() == '#') continue;
    Result<ChangeList> list = sim::parse_changes(line);
    if (!list.ok()) return invalid("{}:{}: {}", source, number, list.error().message);
    lists.push_back(std::move(list.value()));
  }
  return lists;
}

}  // namespace

Result<std::vector<ChangeList>> read_changes(std::string_view bytes, const std::string& source) {
  if (bytes.starts_with("\xEF\xBB\xBF")) bytes.remove_prefix(3);
  const std::string_view content = trim(bytes);
  const bool is_json = content.starts_with('{') || content.starts_with('[');
  TRY_ASSIGN(std::vector<ChangeList> lists, is_json ? read_json(bytes, source) : read_text(bytes, source));
  if (lists.empty()) return invalid("{}: no change in it", source);
  if (lists.size() > kMostLists) return invalid("{}: {} changes; {} can be read at once", source, lists.size(), kMostLists);
  return lists;
}

}  // namespace stint
