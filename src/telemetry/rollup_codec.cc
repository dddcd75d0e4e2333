// A rollup day as bytes; drawn in docs/formats.md "rollup day".
//
//   version u8 = 1 · time unit u8 · hour mask u24 (little endian) · summaries · sketches
//   summary = kinds u8 · count · low · first − hour start · last − first · covered · sum · min · max
//   sketch  = bins · (first key − 1) zigzag · per bin: u8 with the key's step (high nibble) and the count (low nibble)
//
// Integers are LEB128 varints; a nibble of 0 says that a varint follows. Summaries come first so that they can
// be read without touching a sketch.
#include <bit>
#include <cmath>
#include <cstring>

#include "telemetry/rollup.h"
#include "telemetry/rollup_grid.h"

namespace stint {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kHeaderBytes = 5;
constexpr std::array<int64_t, 4> kTimeUnitsNs = {1, 1'000, 1'000'000, 1'000'000'000};
/// Days whose nanoseconds fit an Instant.
constexpr int64_t kLargestDay = 106'000;

/// How a double is written: the shortest that gives it back exactly.
enum class NumberKind : uint8_t { kInteger = 0, kMebi = 1, kFloat = 2, kDouble = 3 };
constexpr double kMebi = 1 << 20;
constexpr double kLargestInteger = 9e15;  // < 2^53

uint64_t zigzag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

void put_varint(std::string& out, uint64_t v) {
  for (; v >= 0x80; v >>= 7)
    out += static_cast<char>(v | 0x80);
  out += static_cast<char>(v);
}

template <typename T>
void put_raw(std::string& out, T v) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &v, sizeof(T));
  static_assert(std::endian::native == std::endian::little);
  out.append(bytes.data(), bytes.size());
}

bool is_integer(double v) { return std::abs(v) < kLargestInteger && v == std::trunc(v); }

NumberKind kind_of(double v) {
  if (is_integer(v)) return v != 0 && is_integer(v / kMebi) ? NumberKind::kMebi : NumberKind::kInteger;
  return std::abs(v) < 3e38 && static_cast<double>(static_cast<float>(v)) == v ? NumberKind::kFloat : NumberKind::kDouble;
}

void put_number(std::string& out, double v) {
  switch (kind_of(v)) {
    case NumberKind::kInteger: put_varint(out, zigzag(static_cast<int64_t>(v))); break;
    case NumberKind::kMebi: put_varint(out, zigzag(static_cast<int64_t>(v / kMebi))); break;
    case NumberKind::kFloat: put_raw(out, static_cast<float>(v)); break;
    case NumberKind::kDouble: put_raw(out, v); break;
  }
}

/// Reads off the front; `ok` turns false at the first read past the end or malformed value and stays so.
struct Reader {
  const char* at;
  const char* end;
  bool ok = true;

  uint8_t byte() {
    if (at == end) {
      ok = false;
      return 0;
    }
    return static_cast<uint8_t>(*at++);
  }
  uint64_t varint() {
    uint64_t value = byte();
    if (value < 0x80) return value;
    value &= 0x7f;
    for (unsigned shift = 7; shift < 64; shift += 7) {
      const uint64_t b = byte();
      value |= (b & 0x7f) << shift;
      if (b < 0x80) return value;
    }
    ok = false;
    return 0;
  }
  uint64_t varint_at_most(uint64_t limit) {
    const uint64_t value = varint();
    if (value <= limit) return value;
    ok = false;
    return 0;
  }
  template <typename T>
  T raw() {
    T value{};
    if (static_cast<size_t>(end - at) < sizeof(T)) {
      ok = false;
      return value;
    }
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
  }
  double number(unsigned kind) {
    switch (static_cast<NumberKind>(kind & 3)) {
      case NumberKind::kInteger: return static_cast<double>(unzigzag(varint()));
      case NumberKind::kMebi: return static_cast<double>(unzigzag(varint())) * kMebi;
      case NumberKind::kFloat: return static_cast<double>(raw<float>());
      case NumberKind::kDouble: return raw<double>();
    }
    return 0;
  }
};

/// Calls `on_bin(key, count)` per bin. @return samples in the sketch; reader.ok turns false when it is damaged.
template <typename OnBin>
uint64_t read_sketch(Reader& in, const OnBin& on_bin) {
  const uint64_t bins = in.varint();
  if (bins == 0) return 0;
  int64_t key = unzigzag(in.varint_at_most(2 * grid::kLargestKey + 2));
  uint64_t total = 0;
  for (uint64_t i = 0; i < bins && in.ok; ++i) {
    const uint8_t packed = in.byte();
    uint64_t step = packed >> 4;
    uint64_t count = packed & 15;
    if (step == 0) step = in.varint_at_most(2 * grid::kLargestKey);
    if (count == 0) count = in.varint_at_most(UINT32_MAX);
    key += static_cast<int64_t>(step);
    if (step == 0 || count == 0 || key > grid::kLargestKey || key < -grid::kLargestKey) in.ok = false;
    if (!in.ok) break;
    on_bin(static_cast<int32_t>(key), static_cast<uint32_t>(count));
    total += count;
  }
  return total;
}

Error damaged(int64_t day_index, std::string_view what) {
  return invalid("rollup day {} is damaged ({}): import its source again", day_index, what);
}

}  // namespace

struct RollupCodec {
  static Instant hour_start(int64_t day, uint32_t hour) { return Instant::from_hour_index(day * 24 + hour); }

  /// Index into kTimeUnitsNs of the coarsest unit that holds every time of the day exactly.
  static size_t time_unit(const RollupDay& day) {
    size_t unit = kTimeUnitsNs.size() - 1;
    for (const auto& hour : day.hours) {
      if (!hour) continue;
      while (unit > 0 && (hour->first.ns() % kTimeUnitsNs[unit] != 0 || hour->last.ns() % kTimeUnitsNs[unit] != 0 ||
                          hour->covered.count_ns() % kTimeUnitsNs[unit] != 0))
        --unit;
    }
    return unit;
  }

  static void put_summary(std::string& out, const Rollup& r, Instant start, int64_t unit_ns) {
    const auto kinds = static_cast<unsigned>(kind_of(r.sum)) | static_cast<unsigned>(kind_of(r.min)) << 2 |
                       static_cast<unsigned>(kind_of(r.max)) << 4;
    uint64_t low = 0;
    for (const Sketch::Bin& bin : r.sketch.bins_)
      if (bin.key <= grid::kLowKey) low += bin.count;
    out += static_cast<char>(kinds);
    put_varint(out, r.count);
    put_varint(out, low);
    put_varint(out, static_cast<uint64_t>((r.first - start).count_ns() / unit_ns));
    put_varint(out, static_cast<uint64_t>((r.last - r.first).count_ns() / unit_ns));
    put_varint(out, static_cast<uint64_t>(r.covered.count_ns() / unit_ns));
    put_number(out, r.sum);
    put_number(out, r.min);
    put_number(out, r.max);
  }

  static void put_sketch(std::string& out, const Sketch& s) {
    put_varint(out, s.bins_.size());
    if (s.bins_.empty()) return;
    int64_t key = int64_t{s.bins_.front().key} - 1;
    put_varint(out, zigzag(key));
    for (const Sketch::Bin& bin : s.bins_) {
      const auto step = static_cast<uint64_t>(bin.key - key);
      const uint64_t step_nibble = step < 16 ? step : 0;
      const uint64_t count_nibble = bin.count < 16 ? bin.count : 0;
      out += static_cast<char>(step_nibble << 4 | count_nibble);
      if (step_nibble == 0) put_varint(out, step);
      if (count_nibble == 0) put_varint(out, bin.count);
      key = bin.key;
    }
  }

  static bool read_summary(Reader& in, RollupSummary& s, Instant start, int64_t unit_ns) {
    const uint64_t units_per_hour = static_cast<uint64_t>(kHour.count_ns() / unit_ns);
    const unsigned kinds = in.byte();
    s.count = static_cast<uint32_t>(in.varint_at_most(UINT32_MAX));
    s.low = static_cast<uint32_t>(in.varint_at_most(s.count));
    const auto first = static_cast<int64_t>(in.varint_at_most(units_per_hour - 1));
    const auto span = static_cast<int64_t>(in.varint_at_most(units_per_hour - 1 - static_cast<uint64_t>(first)));
    s.covered = Duration::nanoseconds(static_cast<int64_t>(in.varint_at_most(units_per_hour)) * unit_ns);
    s.first = start + Duration::nanoseconds(first * unit_ns);
    s.last = s.first + Duration::nanoseconds(span * unit_ns);
    s.sum = in.number(kinds);
    s.min = in.number(kinds >> 2);
    s.max = in.number(kinds >> 4);
    return in.ok && kinds < 64 && s.count > 0 && std::isfinite(s.sum) && std::isfinite(s.min) && std::isfinite(s.max) &&
           s.min <= s.max;
  }

  static Result<RollupDay> decode(int64_t day_index, std::string_view bytes) {
    TRY_ASSIGN(const RollupDayReader reader, RollupDayReader::open(day_index, bytes));
    RollupDay day;
    day.day_index = day_index;
    Reader in{reader.sketches_.data(), reader.sketches_.data() + reader.sketches_.size()};
    for (const RollupSummary& s : reader.hours()) {
      Rollup& r = day.hours[s.hour_of_day].emplace();
      r.count = s.count, r.sum = s.sum, r.min = s.min, r.max = s.max;
      r.covered = s.covered, r.first = s.first, r.last = s.last;
      uint64_t low = 0;
      r.sketch.count_ = read_sketch(in, [&](int32_t key, uint32_t count) {
        r.sketch.bins_.push_back({key, count});
        if (key <= grid::kLowKey) low += count;
      });
      if (!in.ok || low != s.low || (r.sketch.count_ != r.count && r.sketch.count_ != 0)) return damaged(day_index, "sketch");
    }
    if (in.at != in.end) return damaged(day_index, "bytes after its end");
    return day;
  }
};

std::string encode(const RollupDay& day) {
  const size_t unit = RollupCodec::time_unit(day);
  std::string out = {static_cast<char>(kVersion), static_cast<char>(unit), 0, 0, 0};
  for (uint32_t h = 0; h < 24; ++h) {
    const auto& hour = day.hours[h];
    if (!hour) continue;
    const Instant start = RollupCodec::hour_start(day.day_index, h);
    CHECK(hour->count > 0 && (hour->sketch.count() == hour->count || hour->sketch.count() == 0), "{} samples, {} in the sketch",
          hour->count, hour->sketch.count());
    CHECK(start <= hour->first && hour->first <= hour->last && hour->last < start + kHour, "samples outside hour {} of day {}", h,
          day.day_index);
    CHECK(Duration() <= hour->covered && hour->covered <= kHour, "covered {} ns", hour->covered.count_ns());
    out[2 + h / 8] = static_cast<char>(out[2 + h / 8] | 1 << h % 8);
    RollupCodec::put_summary(out, *hour, start, kTimeUnitsNs[unit]);
  }
  for (const auto& hour : day.hours)
    if (hour) RollupCodec::put_sketch(out, hour->sketch);
  return out;
}

Result<RollupDay> decode_rollup_day(int64_t day_index, std::string_view bytes) { return RollupCodec::decode(day_index, bytes); }

Result<RollupDayReader> RollupDayReader::open(int64_t day_index, std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return damaged(day_index, "too short");
  if (static_cast<uint8_t>(bytes[0]) != kVersion)
    return invalid("rollup day {} has version {}: it was written by a newer Stint", day_index, static_cast<uint8_t>(bytes[0]));
  const auto unit = static_cast<uint8_t>(bytes[1]);
  if (unit >= kTimeUnitsNs.size() || day_index > kLargestDay || day_index < -kLargestDay) return damaged(day_index, "header");
  uint32_t mask = 0;
  for (size_t i = 0; i < 3; ++i)
    mask |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[2 + i])) << 8 * i;
  RollupDayReader reader;
  Reader in{bytes.data() + kHeaderBytes, bytes.data() + bytes.size()};
  for (; mask != 0; mask &= mask - 1) {
    RollupSummary& s = reader.hours_[reader.hour_count_++];
    s.hour_of_day = static_cast<uint32_t>(std::countr_zero(mask));
    if (!RollupCodec::read_summary(in, s, RollupCodec::hour_start(day_index, s.hour_of_day), kTimeUnitsNs[unit]))
      return damaged(day_index, "summary");
  }
  reader.sketches_ = {in.at, static_cast<size_t>(in.end - in.at)};
  return reader;
}

Status RollupDayReader::add_sketches(SketchAccumulator& to, uint32_t hour_mask) const {
  Reader in{sketches_.data(), sketches_.data() + sketches_.size()};
  for (const RollupSummary& s : hours()) {
    uint64_t total = 0;
    if (hour_mask >> s.hour_of_day & 1)
      total = read_sketch(in, [&](int32_t key, uint32_t count) { to.add(key, count); });
    else
      total = read_sketch(in, [](int32_t, uint32_t) {});
    if (!in.ok || (total != s.count && total != 0)) return damaged(s.first.hour_index() / 24, "sketch");
  }
  return {};
}

}  // namespace stint
