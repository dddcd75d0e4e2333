// Every importer, on every seed of fuzz/seeds/FORMAT: cut anywhere it reads the same; truncated or damaged
// anywhere it gives errors or rejections, never a crash, and never a row that vanishes without a word.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/prng.h"
#include "codec/importer.h"
#include "codec/testing_sink.h"
#include "testing/places.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

struct Seed {
  const ImportFormat* format;
  std::string path;
  std::string bytes;
};

/// fuzz/seeds/FORMAT/*, in order of name.
std::vector<Seed> seeds() {
  std::vector<Seed> out;
  for (const ImportFormat& format : import_formats()) {
    const fs::path dir = fs::path(STINT_SOURCE_DIR) / "fuzz" / "seeds" / format.name;
    if (!fs::exists(dir)) continue;
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(dir))
      files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) {
      std::ifstream in(file, std::ios::binary);
      out.push_back({&format, file.string(), std::string(std::istreambuf_iterator<char>(in), {})});
    }
  }
  return out;
}

struct Outcome {
  bool ok = true;
  size_t values = 0;
  size_t rejected = 0;
  auto operator<=>(const Outcome&) const = default;
};

Outcome run(const Seed& seed, std::string_view bytes, size_t piece) {
  TestingSink sink;
  const ImportOptions options{.source = seed.path, .node = "node", .at = Instant::from_seconds(1'760'000'000)};
  const auto importer = seed.format->create(options, sink);
  Outcome out;
  for (size_t at = 0; at < bytes.size() && out.ok; at += piece)
    out.ok = importer->feed(bytes.substr(at, piece)).ok();
  if (out.ok) out.ok = importer->finish().ok();
  out.values = sink.sample_count() + sink.nodes.size() + sink.runs.size() + sink.bill.size() + sink.prices.size() +
               sink.rules.size() + sink.exchange_rates.size();
  out.rejected = sink.rejected.size();
  return out;
}

TEST(Importers, EveryFormatHasSeeds) {
  std::set<std::string_view> with_seeds;
  for (const Seed& seed : seeds())
    with_seeds.insert(seed.format->name);
  for (const ImportFormat& format : import_formats())
    EXPECT_TRUE(with_seeds.contains(format.name)) << format.name;
}

TEST(Importers, SeedsAreReadWhole) {
  for (const Seed& seed : seeds()) {
    const Outcome whole = run(seed, seed.bytes, seed.bytes.size());
    EXPECT_TRUE(whole.ok) << seed.path;
    EXPECT_GT(whole.values, 0u) << seed.path;
  }
}

TEST(Importers, WhereTheInputIsCutDoesNotMatter) {
  for (const Seed& seed : seeds()) {
    const Outcome whole = run(seed, seed.bytes, seed.bytes.size());
    for (const size_t piece : {size_t{1}, size_t{2}, size_t{7}, size_t{64}, size_t{1000}})
      EXPECT_EQ(run(seed, seed.bytes, piece), whole) << seed.path << " in pieces of " << piece;
  }
}

TEST(Importers, TruncationAtEveryByteIsSurvived) {
  for (const Seed& seed : seeds()) {
    const Outcome whole = run(seed, seed.bytes, seed.bytes.size());
    for (size_t cut = 0; cut < seed.bytes.size(); ++cut) {
      const Outcome part = run(seed, std::string_view(seed.bytes).substr(0, cut), 512);
      EXPECT_LE(part.values, whole.values) << seed.path << " cut at " << cut;
    }
  }
}

TEST(Importers, RandomDamageIsSurvived) {
  const uint64_t prng_seed = 4711;
  SCOPED_TRACE(prng_seed);
  Prng prng(prng_seed);
  for (const Seed& seed : seeds()) {
    for (int round = 0; round < 300; ++round) {
      std::string bytes = seed.bytes;
      for (uint64_t i = 0, n = 1 + prng.below(8); i < n && !bytes.empty(); ++i) {
        const size_t at = prng.below(bytes.size());
        switch (prng.below(4)) {
          case 0: bytes[at] = static_cast<char>(prng.below(256)); break;
          case 1: bytes.erase(at, 1 + prng.below(20)); break;
          case 2: bytes.insert(at, 1 + prng.below(20), static_cast<char>(prng.below(256))); break;
          default: bytes.insert(at, bytes.substr(prng.below(bytes.size()), prng.below(80))); break;
        }
      }
      (void)run(seed, bytes, 1 + prng.below(700));
    }
  }
}

}  // namespace
}  // namespace stint
