#include "model/mig.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "base/text.h"

namespace stint {
namespace {

/// Names and usable memory of one GPU's profiles. The shapes are the same for all GPUs with 7 + 8 slices.
/// Memory in MiB is what `nvidia-smi mig -lgip` prints for the smallest of the drivers seen; where only the
/// 1g value is published (A30, H200, B200), its multiple by memory slices is a lower bound. Of GB200 and B300 no value is published:
/// the part of the GPU's memory that instances of a B200 have, the least of all, rounded down. Their names: NVIDIA GPU Operator,
/// release notes of 25.3 and 25.10.
struct EightSliceNames {
  std::string_view gpu_model;
  std::string_view one, one_double, two, three, four, seven;
  int64_t mib_one, mib_two, mib_half, mib_full;  // memory of 1, 2, 4 and 8 memory slices
};

constexpr std::array<EightSliceNames, 9> kEightSlice = {{
    {"A100-40GB", "1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", 4864, 9856, 19968, 40192},
    {"A100-80GB", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", 9728, 19968, 40192, 80384},
    {"H100-80GB", "1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb", 9984, 20090, 40448, 81152},
    {"H100-NVL", "1g.12gb", "1g.24gb", "2g.24gb", "3g.47gb", "4g.47gb", "7g.94gb", 10874, 22016, 47226, 95354},
    {"GH200", "1g.12gb", "1g.24gb", "2g.24gb", "3g.48gb", "4g.48gb", "7g.96gb", 11264, 23552, 47616, 95232},
    {"H200", "1g.18gb", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb", 16384, 32768, 65536, 131072},
    {"B200", "1g.23gb", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb", 20992, 41984, 83968, 167936},
    {"GB200", "1g.23gb", "1g.47gb", "2g.47gb", "3g.93gb", "4g.93gb", "7g.186gb", 21504, 43008, 86016, 172032},
    {"B300", "1g.34gb", "1g.67gb", "2g.67gb", "3g.135gb", "4g.135gb", "7g.269gb", 31232, 62464, 124928, 249856},
}};

/// Other canonical names with the geometry of one above.
constexpr std::array<std::pair<std::string_view, std::string_view>, 1> kSameGeometry = {{{"H100-PCIe", "H100-80GB"}}};

MigGeometry eight_slice_geometry(const EightSliceNames& n) {
  const auto mib = [](int64_t m) { return Bytes::mebi(m); };
  MigGeometry g{std::string(n.gpu_model), 7, 8, {}};
  g.profiles = {
      {std::string(n.one), 1, 1, mib(n.mib_one), false, 7, {0, 1, 2, 3, 4, 5, 6}},
      {std::string(n.one) + "+me", 1, 1, mib(n.mib_one), true, 1, {0, 1, 2, 3, 4, 5, 6}},
      {std::string(n.one_double), 1, 2, mib(n.mib_two), false, 4, {0, 2, 4, 6}},
      {std::string(n.two), 2, 2, mib(n.mib_two), false, 3, {0, 2, 4}},
      {std::string(n.three), 3, 4, mib(n.mib_half), false, 2, {0, 4}},
      {std::string(n.four), 4, 4, mib(n.mib_half), false, 1, {0}},
      {std::string(n.seven), 7, 8, mib(n.mib_full), false, 1, {0}},
  };
  return g;
}

MigGeometry a30_geometry() {
  MigGeometry g{"A30", 4, 4, {}};
  g.profiles = {
      {"1g.6gb", 1, 1, Bytes::mebi(5836), false, 4, {0, 1, 2, 3}}, {"1g.6gb+me", 1, 1, Bytes::mebi(5836), true, 1, {0, 1, 2, 3}},
      {"2g.12gb", 2, 2, Bytes::mebi(11672), false, 2, {0, 2}},     {"2g.12gb+me", 2, 2, Bytes::mebi(11672), true, 1, {0, 2}},
      {"4g.24gb", 4, 4, Bytes::mebi(23344), false, 1, {0}},
  };
  return g;
}

/// As nvidia-smi names them (NVIDIA MIG user guide); memory: 22 GiB for each fourth, below what any driver gives.
MigGeometry rtx_pro_6000_geometry() {
  MigGeometry g{"RTX PRO 6000", 4, 4, {}};
  g.profiles = {
      {"1g.24gb", 1, 1, Bytes::gibi(int64_t{22}), false, 4, {0, 1, 2, 3}},
      {"2g.48gb", 2, 2, Bytes::gibi(int64_t{44}), false, 2, {0, 2}},
      {"4g.96gb", 4, 4, Bytes::gibi(int64_t{88}), false, 1, {0}},
  };
  return g;
}

const MigProfile& profile_of(const MigGeometry& g, const MigPlacement& p) { return g.profiles[static_cast<size_t>(p.profile)]; }

uint32_t memory_mask(const MigProfile& profile, int start) { return ((1U << profile.memory_slices) - 1U) << start; }

/// What a layout has taken; a placement is legal to add when it overlaps nothing of it.
struct Taken {
  uint32_t memory = 0;
  int compute = 0;
  bool media = false;

  [[nodiscard]] bool admits(const MigGeometry& g, const MigProfile& profile, int start) const {
    return (memory & memory_mask(profile, start)) == 0 && compute + profile.compute_slices <= g.compute_slices &&
           !(media && profile.media);
  }
  void add(const MigProfile& profile, int start) {
    memory |= memory_mask(profile, start);
    compute += profile.compute_slices;
    media = media || profile.media;
  }
};

Taken taken_by(const MigGeometry& g, std::span<const MigPlacement> layout) {
  Taken t;
  for (const MigPlacement& p : layout)
    t.add(profile_of(g, p), p.start);
  return t;
}

/// All placements the geometry's table lists, ascending by start, then profile.
std::vector<MigPlacement> table_of(const MigGeometry& g, MediaProfiles media) {
  std::vector<MigPlacement> table;
  for (size_t i = 0; i < g.profiles.size(); ++i) {
    if (g.profiles[i].media && media == MediaProfiles::kExclude) continue;
    for (const int start : g.profiles[i].starts)
      table.push_back({start, static_cast<int>(i)});
  }
  std::sort(table.begin(), table.end());
  return table;
}

/// Extends `layout` by placements later in the table, so each set of placements comes up once, in order.
void extend(const MigGeometry& g, std::span<const MigPlacement> table, const Taken& taken, MigLayout& layout,
            std::vector<MigLayout>& out) {
  out.push_back(layout);
  for (size_t i = 0; i < table.size(); ++i) {
    const MigProfile& profile = profile_of(g, table[i]);
    if (!taken.admits(g, profile, table[i].start)) continue;
    Taken next = taken;
    next.add(profile, table[i].start);
    layout.push_back(table[i]);
    extend(g, table.subspan(i + 1), next, layout, out);
    layout.pop_back();
  }
}

int64_t best_addition(const MigGeometry& g, std::span<const MigPlacement> table, const Taken& taken) {
  int64_t best = 0;
  for (size_t i = 0; i < table.size(); ++i) {
    const MigProfile& profile = profile_of(g, table[i]);
    if (!taken.admits(g, profile, table[i].start)) continue;
    Taken next = taken;
    next.add(profile, table[i].start);
    best = std::max(best, g.parts_of(profile) + best_addition(g, table.subspan(i + 1), next));
  }
  return best;
}

}  // namespace

int64_t MigGeometry::total_parts() const {
  const int common = std::gcd(compute_slices, memory_slices);
  return int64_t{2} * compute_slices * memory_slices / common;
}

int64_t MigGeometry::parts_of(const MigProfile& profile) const {
  const int common = std::gcd(compute_slices, memory_slices);
  return (int64_t{memory_slices} * profile.compute_slices + int64_t{compute_slices} * profile.memory_slices) / common;
}

const MigProfile* MigGeometry::find_profile(std::string_view name) const {
  std::string wanted = to_lower(trim(name));
  if (wanted.starts_with("mig ") || wanted.starts_with("mig-")) wanted.erase(0, 4);
  if (wanted.size() > 3 && wanted[1] == 'c' && wanted[2] == '.') wanted.erase(0, 3);
  if (wanted.ends_with(".me")) wanted.replace(wanted.size() - 3, 3, "+me");
  const auto it = std::find_if(profiles.begin(), profiles.end(), [&](const MigProfile& p) { return p.name == wanted; });
  return it == profiles.end() ? nullptr : &*it;
}

int MigGeometry::index_of(const MigProfile& profile) const {
  const auto index = &profile - profiles.data();
  CHECK(index >= 0 && static_cast<size_t>(index) < profiles.size(), "profile {} is not one of {}", profile.name, gpu_model);
  return static_cast<int>(index);
}

std::span<const MigGeometry> mig_geometries() {
  static const std::vector<MigGeometry> kGeometries = [] {
    std::vector<MigGeometry> all = {a30_geometry(), rtx_pro_6000_geometry()};
    for (const EightSliceNames& names : kEightSlice)
      all.push_back(eight_slice_geometry(names));
    return all;
  }();
  return kGeometries;
}

const MigGeometry* find_mig_geometry(std::string_view gpu_model) {
  for (const auto& [name, same_as] : kSameGeometry)
    if (equals_ignoring_case(name, gpu_model)) gpu_model = same_as;
  for (const MigGeometry& g : mig_geometries())
    if (equals_ignoring_case(g.gpu_model, gpu_model)) return &g;
  return nullptr;
}

int64_t compute_milli(std::string_view gpu_model, std::string_view profile) {
  constexpr int64_t kGpu = 1000, kUsualSlices = 7;
  const MigGeometry* geometry = find_mig_geometry(gpu_model);
  const MigProfile* part = geometry == nullptr ? nullptr : geometry->find_profile(profile);
  if (part != nullptr) return kGpu * part->compute_slices / geometry->compute_slices;
  const int64_t slices = parse_int(profile.substr(0, profile.find('g'))).value_or(1);
  return kGpu * std::clamp<int64_t>(slices, 1, kUsualSlices) / kUsualSlices;
}

Status check_layout(const MigGeometry& geometry, std::span<const MigPlacement> layout) {
  Taken taken;
  std::map<int, int> counts;
  for (const MigPlacement& p : layout) {
    if (p.profile < 0 || static_cast<size_t>(p.profile) >= geometry.profiles.size())
      return invalid("{} has no MIG profile number {}", geometry.gpu_model, p.profile);
    const MigProfile& profile = profile_of(geometry, p);
    if (std::find(profile.starts.begin(), profile.starts.end(), p.start) == profile.starts.end())
      return invalid("{} cannot start at memory slice {} of {}: it starts at {}", profile.name, p.start, geometry.gpu_model,
                     fmt::join(profile.starts, ", "));
    if ((taken.memory & memory_mask(profile, p.start)) != 0)
      return invalid("{} at memory slice {} of {} overlaps another instance", profile.name, p.start, geometry.gpu_model);
    if (taken.compute + profile.compute_slices > geometry.compute_slices)
      return invalid("{} at memory slice {} needs {} compute slices; {} of {}'s {} are left", profile.name, p.start,
                     profile.compute_slices, geometry.compute_slices - taken.compute, geometry.gpu_model,
                     geometry.compute_slices);
    if (taken.media && profile.media)
      return invalid("{} at memory slice {}: the media extensions of {} are taken by another +me instance", profile.name, p.start,
                     geometry.gpu_model);
    if (++counts[p.profile] > profile.max_count)
      return invalid("{} fits {} times on {}, not more", profile.name, profile.max_count, geometry.gpu_model);
    taken.add(profile, p.start);
  }
  return {};
}

std::vector<MigPlacement> placements_left(const MigGeometry& geometry, std::span<const MigPlacement> layout,
                                          MediaProfiles media) {
  const Taken taken = taken_by(geometry, layout);
  std::vector<MigPlacement> left = table_of(geometry, media);
  std::erase_if(left, [&](const MigPlacement& p) { return !taken.admits(geometry, profile_of(geometry, p), p.start); });
  return left;
}

std::vector<MigLayout> all_layouts(const MigGeometry& geometry, MediaProfiles media) {
  std::vector<MigLayout> out;
  MigLayout layout;
  extend(geometry, table_of(geometry, media), {}, layout, out);
  return out;
}

std::vector<MigLayout> maximal_layouts(const MigGeometry& geometry, MediaProfiles media) {
  std::vector<MigLayout> layouts = all_layouts(geometry, media);
  std::erase_if(layouts, [&](const MigLayout& l) { return !placements_left(geometry, l, media).empty(); });
  return layouts;
}

MigParts parts_in(const MigGeometry& geometry, std::span<const MigPlacement> layout) {
  MigParts parts;
  for (const MigPlacement& p : layout)
    parts.used += geometry.parts_of(profile_of(geometry, p));
  // A +me profile holds what its plain twin holds, so the plain ones reach every best sum.
  parts.available = best_addition(geometry, table_of(geometry, MediaProfiles::kExclude), taken_by(geometry, layout));
  parts.stranded = geometry.total_parts() - parts.used - parts.available;
  return parts;
}

DeviceParts device_parts(int64_t parts, int64_t total) {
  CHECK(total > 0 && parts >= 0 && parts <= total && total <= 1'000'000, "{} parts of {}", parts, total);
  return kWholeDevice * parts / total;
}

std::string describe(const MigGeometry& geometry, std::span<const MigPlacement> layout) {
  std::map<int, int, std::greater<>> counts;
  for (const MigPlacement& p : layout)
    ++counts[p.profile];
  std::vector<std::string> words;
  for (const auto& [profile, count] : counts)
    words.push_back(fmt::format("{} × {}", count, geometry.profiles[static_cast<size_t>(profile)].name));
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, " + "));
}

}  // namespace stint
