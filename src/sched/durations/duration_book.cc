#include "sched/durations/duration_book.h"

#include <algorithm>
#include <utility>

#include "base/integer.h"

namespace stint::sched {
namespace {

constexpr uint64_t kOne = 1024;                  // one run, in a sketch
constexpr Duration kTick = Duration::hours(42);  // a sixteenth of four weeks
constexpr int64_t kTicksPerHalf = 16;
constexpr uint32_t kRanMask = (1U << 30) - 1;

/// 2^(−i/16), in parts of 65,536.
constexpr std::array<uint64_t, kTicksPerHalf> kDecay = {65536, 62757, 60097, 57549, 55109, 52773, 50535, 48393,
                                                        46341, 44376, 42495, 40693, 38968, 37316, 35734, 34219};

/// As so many runs of a key counts what the wider ones say.
constexpr uint64_t kShrinkWide = 4;
constexpr uint64_t kShrinkClose = 1;

enum class Level : uint64_t { kAll = 1, kSize, kUser, kUserSize, kName, kNameSize, kScript };

uint64_t mixed(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15ULL;
  return hash ^ (hash >> 29);
}

uint64_t key_of(Level level, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0) {
  return mixed(mixed(mixed(mixed(0xcbf29ce484222325ULL, static_cast<uint64_t>(level)), a), b), c);
}

/// FNV-1a; runs of digits count as one sign where `without_numbers`.
uint64_t hash_of(std::string_view text, bool without_numbers) {
  if (text.empty()) return 0;
  uint64_t hash = 0xcbf29ce484222325ULL;
  bool in_number = false;
  for (const char c : text) {
    const bool digit = without_numbers && c >= '0' && c <= '9';
    if (digit && in_number) continue;
    in_number = digit;
    hash = (hash ^ static_cast<unsigned char>(digit ? '#' : c)) * 0x100000001b3ULL;
  }
  return hash == 0 ? 1 : hash;
}

uint64_t sum_of(const DurationMass& mass) {
  uint64_t sum = 0;
  for (const uint64_t m : mass)
    sum += m;
  return sum;
}

/// A run of that length: half in its bin, the rest beside it, for the next will not take exactly as long.
void add_end(DurationMass& mass, int bin, uint64_t weight) {
  const auto at = [&](int b) -> uint64_t& { return mass[static_cast<size_t>(std::clamp(b, 0, kDurationBins - 1))]; };
  at(bin) += weight - 2 * (weight / 4);
  at(bin - 1) += weight / 4;
  at(bin + 1) += weight / 4;
}

/// A run that took longer than what is before `bin`: spread as `like` is from there on.
void add_longer(DurationMass& mass, int bin, uint64_t weight, const DurationMass& like) {
  uint64_t behind = 0;
  for (int b = bin; b < kDurationBins; ++b)
    behind += like[static_cast<size_t>(b)];
  if (behind < kWholeMass / 2048) return add_end(mass, std::min(bin + 2, kDurationBins - 1), weight);
  for (int b = bin; b < kDurationBins; ++b)
    mass[static_cast<size_t>(b)] += like[static_cast<size_t>(b)] * weight / behind;
}

void add_run(DurationMass& mass, Duration ran, RunEnd how, uint64_t weight, const DurationMass& like) {
  const int bin = bin_of(ran);
  const uint64_t cut_off = how == RunEnd::kDone ? 0 : how == RunEnd::kBroken ? weight / 2 : weight;
  if (weight > cut_off) add_end(mass, bin, weight - cut_off);
  if (cut_off > 0) add_longer(mass, bin, cut_off, like);
}

/// `wider` counts as `shrink` runs beside those of `own` (in kOne-th of a run).
void mix_in(DurationMass& wider, const DurationMass& own, uint64_t shrink) {
  const uint64_t all = shrink * kOne + sum_of(own);
  const uint64_t of_wider = (shrink * kOne << 32) / all;
  const uint64_t of_own = (kWholeMass << 32) / all;
  for (size_t b = 0; b < wider.size(); ++b)
    wider[b] = (wider[b] * of_wider + own[b] * of_own) >> 32;
}

}  // namespace

Kin kin_of(std::string_view user, std::string_view name, std::string_view script) {
  return {.user = hash_of(user, false), .name = hash_of(name, true), .script = hash_of(script, true)};
}

void DurationBook::age(Sketch& s, int64_t tick) {
  const int64_t ticks = tick - s.tick;
  if (ticks <= 0) return;
  s.tick = tick;
  const int64_t halves = std::min<int64_t>(ticks / kTicksPerHalf, 63);
  for (uint64_t& count : s.counts)
    count = ((count >> halves) * kDecay[static_cast<size_t>(ticks % kTicksPerHalf)]) >> 16;
}

DurationBook::Sketch& DurationBook::sketch(uint64_t key) {
  const auto [at, is_new] = sketch_at_.try_emplace(key, static_cast<uint32_t>(sketches_.size()));
  if (is_new) sketches_.push_back({.key = key});
  return sketches_[at->second];
}

DurationBook::Recent& DurationBook::recent(uint64_t key) {
  if (recents_.size() >= kMostCloseKeys && !recent_at_.contains(key)) drop_oldest();
  const auto [at, is_new] = recent_at_.try_emplace(key, static_cast<uint32_t>(recents_.size()));
  if (is_new) recents_.push_back({.key = key});
  return recents_[at->second];
}

/// Half of the close keys go, those seen last stay, in the order they had.
void DurationBook::drop_oldest() {
  std::vector<uint32_t> last;
  last.reserve(recents_.size());
  for (const Recent& r : recents_)
    last.push_back(r.runs[0].ended_s);
  const auto middle = last.begin() + static_cast<std::ptrdiff_t>(last.size() / 2);
  std::nth_element(last.begin(), middle, last.end());
  const uint32_t bound = *middle;
  size_t dropped = 0;
  const size_t most = recents_.size() / 2;
  std::erase_if(recents_, [&](const Recent& r) { return r.runs[0].ended_s <= bound && dropped++ < most; });
  reindex();
}

void DurationBook::reindex() {
  sketch_at_.clear();
  recent_at_.clear();
  for (uint32_t s = 0; s < sketches_.size(); ++s)
    sketch_at_.emplace(sketches_[s].key, s);
  for (uint32_t r = 0; r < recents_.size(); ++r)
    recent_at_.emplace(recents_[r].key, r);
}

/// Of those that end in one second neither the long nor the short go first: the order must not depend on who came when, for
/// books merge, nor on how long they took, for the rest is not kept.
bool DurationBook::is_newer(const Run& a, const Run& b) {
  if (a.ended_s != b.ended_s) return a.ended_s > b.ended_s;
  return std::pair(mixed(0, a.ran_s), a.ran_s) > std::pair(mixed(0, b.ran_s), b.ran_s);
}

void DurationBook::insert(Recent& r, const Run& run) {
  const auto end = r.runs.begin() + r.kept;
  const auto at = std::find_if(r.runs.begin(), end, [&](const Run& other) { return is_newer(run, other); });
  if (at == r.runs.end()) return;
  std::copy_backward(at, std::min(end, r.runs.end() - 1), std::min(end + 1, r.runs.end()));
  *at = run;
  r.kept = std::min<int64_t>(r.kept + 1, kRunsKept);
}

void DurationBook::count(uint64_t key, const DurationMass& share, int64_t tick) {
  Sketch& s = sketch(key);
  age(s, tick);
  ++s.seen;
  // One that ended before what is known counts less, as if it had been there.
  const int64_t late = s.tick - tick;
  const int64_t halves = std::min<int64_t>(late / kTicksPerHalf, 63);
  for (size_t b = 0; b < share.size(); ++b)
    s.counts[b] += ((share[b] >> halves) * kDecay[static_cast<size_t>(late % kTicksPerHalf)]) >> 16;
}

void DurationBook::learn(const Kin& kin, int64_t gpu_milli, Duration ran, RunEnd how, Instant ended) {
  if (ran < Duration()) return;
  ++learnt_;
  DurationMass share{};
  if (how == RunEnd::kDone) {
    add_end(share, bin_of(ran), kOne);
  } else {
    const std::optional<RunForecast> known = forecast(kin, gpu_milli);
    add_run(share, ran, how, kOne, known ? known->mass() : DurationMass());
  }
  const int64_t tick = floor_div(ended.ns(), kTick.count_ns());
  const auto size = static_cast<uint64_t>(gpu_milli);
  count(key_of(Level::kAll), share, tick);
  count(key_of(Level::kSize, size), share, tick);
  if (kin.user != 0) {
    count(key_of(Level::kUser, kin.user), share, tick);
    count(key_of(Level::kUserSize, kin.user, size), share, tick);
  }
  const Run run = {
      .ended_s = static_cast<uint32_t>(std::clamp<int64_t>(ended.seconds(), 0, UINT32_MAX)),
      .ran_s = static_cast<uint32_t>(std::min<int64_t>(ran.whole_seconds(), kRanMask)) | (static_cast<uint32_t>(how) << 30)};
  const auto remember = [&](uint64_t key) {
    Recent& r = recent(key);
    ++r.seen;
    insert(r, run);
  };
  if (kin.name != 0) {
    remember(key_of(Level::kName, kin.user, kin.name));
    remember(key_of(Level::kNameSize, kin.user, kin.name, size));
  }
  if (kin.script != 0) remember(key_of(Level::kScript, kin.user, kin.script));
}

std::optional<RunForecast> DurationBook::forecast(const Kin& kin, int64_t gpu_milli) const {
  DurationMass mass{};
  Likeness likeness = Likeness::kAny;
  int64_t like = 0;
  const auto widen = [&](Likeness level, uint64_t key) {
    const auto found = sketch_at_.find(key);
    if (found == sketch_at_.end()) return;
    const Sketch& s = sketches_[found->second];
    if (level == Likeness::kAny) {
      const uint64_t all = sum_of(s.counts);
      if (all == 0) return;
      for (size_t b = 0; b < mass.size(); ++b)
        mass[b] = s.counts[b] * kWholeMass / all;
    } else {
      mix_in(mass, s.counts, kShrinkWide);
    }
    likeness = level;
    like = s.seen;
  };
  const auto close = [&](Likeness level, uint64_t key) {
    const auto found = recent_at_.find(key);
    if (found == recent_at_.end()) return;
    const Recent& r = recents_[found->second];
    DurationMass own{};
    for (int64_t i = 0; i < r.kept; ++i) {
      const Run& run = r.runs[static_cast<size_t>(i)];
      const uint64_t weight = i < static_cast<int64_t>(kRunsKept / 2) ? kOne : kOne / 2;
      add_run(own, Duration::seconds(run.ran_s & kRanMask), static_cast<RunEnd>(run.ran_s >> 30), weight, mass);
    }
    mix_in(mass, own, kShrinkClose);
    likeness = level;
    like = r.seen;
  };
  const auto size = static_cast<uint64_t>(gpu_milli);
  widen(Likeness::kAny, key_of(Level::kAll));
  if (like == 0) return std::nullopt;
  widen(Likeness::kSize, key_of(Level::kSize, size));
  if (kin.user != 0) {
    widen(Likeness::kUser, key_of(Level::kUser, kin.user));
    widen(Likeness::kUserSize, key_of(Level::kUserSize, kin.user, size));
  }
  if (kin.name != 0) {
    close(Likeness::kName, key_of(Level::kName, kin.user, kin.name));
    close(Likeness::kNameSize, key_of(Level::kNameSize, kin.user, kin.name, size));
  }
  if (kin.script != 0) close(Likeness::kScript, key_of(Level::kScript, kin.user, kin.script));
  return RunForecast(mass, likeness, like);
}

void DurationBook::merge(const DurationBook& other) {
  learnt_ += other.learnt_;
  for (const Sketch& theirs : other.sketches_) {
    Sketch& own = sketch(theirs.key);
    Sketch aged = theirs;
    age(own, aged.tick);
    age(aged, own.tick);
    own.seen += aged.seen;
    for (size_t b = 0; b < own.counts.size(); ++b)
      own.counts[b] += aged.counts[b];
  }
  for (const Recent& theirs : other.recents_) {
    Recent& own = recent(theirs.key);
    own.seen += theirs.seen;
    for (int64_t i = 0; i < theirs.kept; ++i)
      insert(own, theirs.runs[static_cast<size_t>(i)]);
  }
}

}  // namespace stint::sched
