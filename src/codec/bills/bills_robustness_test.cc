// Damaged bills: every record of a damaged file is either taken or rejected, counted by a second reading of the
// same bytes; truncation and damage never crash. (tests/importers runs all formats for crashes alone.)
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/prng.h"
#include "codec/csv.h"
#include "codec/importer.h"
#include "codec/testing_sink.h"
#include "testing/places.h"

namespace stint {
namespace {

struct Format {
  std::string name;
  std::unique_ptr<Importer> (*create)(const ImportOptions&, Sink&);
  CsvOptions csv;
};

std::vector<std::string> seeds_of(const std::string& format) {
  std::vector<std::string> out;
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(STINT_SOURCE_DIR) / "fuzz" / "seeds" / format))
    if (format != "focus" || entry.path().extension() == ".csv") files.push_back(entry.path());  // rows of CSV are counted
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  EXPECT_FALSE(out.empty()) << format;
  return out;
}

/// Records after the header that are not a job step; none when the file cannot be read to its end.
std::optional<size_t> count_rows(const Format& format, std::string_view bytes) {
  CsvReader reader(format.csv);
  size_t records = 0;
  size_t width = 0;
  int job_column = -1;
  const auto take = [&] {
    const CsvRecord& record = reader.record();
    if (records++ == 0) {
      width = record.fields.size();
      const auto header = CsvHeader::create(record, {}, CsvNames::kExact);
      if (header.ok() && format.name == "sacct") job_column = header.value().find("JobID");
    } else if (job_column >= 0 && record.fields.size() == width && record.at(job_column).find('.') != std::string_view::npos) {
      --records;
    }
  };
  for (;;) {
    const auto ready = reader.next(bytes);
    if (!ready.ok()) return std::nullopt;
    if (!ready.value()) break;
    take();
  }
  const auto last = reader.finish();
  if (!last.ok()) return std::nullopt;
  if (last.value()) take();
  return records == 0 ? 0 : records - 1;
}

void check(const Format& format, const std::string& bytes, size_t piece) {
  TestingSink sink;
  const auto importer = format.create({.source = "damaged"}, sink);
  bool ok = true;
  for (size_t at = 0; at < bytes.size() && ok; at += piece)
    ok = importer->feed(std::string_view(bytes).substr(at, piece)).ok();
  if (ok) ok = importer->finish().ok();
  if (!ok) return;
  const auto rows = count_rows(format, bytes);
  ASSERT_TRUE(rows.has_value());
  const size_t accepted = sink.bill.size() + sink.runs.size() + sink.nodes.size() + sink.rules.size();
  const size_t about_header = sink.rejected.empty() || !sink.rejected[0].second.starts_with("unknown columns") ? 0 : 1;
  ASSERT_EQ(accepted + sink.rejected.size() - about_header, *rows) << bytes;
}

class DamagedBills : public testing::TestWithParam<const char*> {
 protected:
  static Format format() {
    const std::string name = GetParam();
    if (name == "focus") return {name, make_focus_importer, {}};
    if (name == "cur") return {name, make_cur_importer, {}};
    if (name == "azure") return {name, make_azure_importer, {}};
    if (name == "azure-actual") return {name, make_azure_actual_importer, {}};
    if (name == "sacct") return {name, make_sacct_importer, {.separator = '|', .quotes = CsvQuotes::kNone}};
    if (name == "inventory") return {name, make_inventory_importer, {}};
    return {name, make_tenants_importer, {}};
  }
};

TEST_P(DamagedBills, EveryRowOfATruncatedFileIsAccountedFor) {
  for (const std::string& seed : seeds_of(GetParam()))
    for (size_t cut = 0; cut < seed.size(); ++cut)
      ASSERT_NO_FATAL_FAILURE(check(format(), seed.substr(0, cut), 1 + cut % 97)) << "cut at " << cut;
}

TEST_P(DamagedBills, EveryRowOfACorruptedFileIsAccountedFor) {
  const uint64_t random_seed = 20261001;
  Prng random(random_seed);
  for (const std::string& seed : seeds_of(GetParam())) {
    for (int round = 0; round < 400; ++round) {
      std::string bytes = seed;
      for (uint64_t n = 1 + random.below(6); n > 0 && !bytes.empty(); --n) {
        const size_t at = random.below(bytes.size());
        switch (random.below(4)) {
          case 0: bytes[at] = static_cast<char>(random.below(256)); break;
          case 1: bytes[at] = ",\"\n\r|"[random.below(5)]; break;
          case 2: bytes.erase(at, 1 + random.below(9)); break;
          default: bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(60))); break;
        }
      }
      ASSERT_NO_FATAL_FAILURE(check(format(), bytes, 1 + random.below(300))) << "seed " << random_seed << " round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, DamagedBills,
                         testing::Values("focus", "cur", "azure", "azure-actual", "sacct", "inventory", "tenants"),
                         [](const auto& p) {
                           std::string name = p.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(DamagedOpencost, TruncatedOrCorruptedItIsRefusedOrRejectedButNeverCrashes) {
  const uint64_t random_seed = 4;
  Prng random(random_seed);
  SCOPED_TRACE(testing::Message() << "seed " << random_seed);
  for (const std::string& seed : seeds_of("opencost")) {
    for (size_t cut = 0; cut < seed.size(); ++cut) {
      TestingSink sink;
      const auto importer = make_opencost_importer({.source = "cut"}, sink);
      ASSERT_TRUE(importer->feed(seed.substr(0, cut)).ok());
      const bool only_blanks_are_cut = seed.find_first_not_of(" \n", cut) == std::string::npos;
      EXPECT_EQ(importer->finish().ok(), only_blanks_are_cut) << "cut at " << cut;
    }
    for (int round = 0; round < 500; ++round) {
      std::string bytes = seed;
      for (uint64_t n = 1 + random.below(4); n > 0; --n)
        bytes[random.below(bytes.size())] = "0159-.e\"{}[],:nx"[random.below(16)];
      TestingSink sink;
      const auto importer = make_opencost_importer({.source = "damaged"}, sink);
      ASSERT_TRUE(importer->feed(bytes).ok());
      (void)importer->finish().ok();
    }
  }
}

}  // namespace
}  // namespace stint
