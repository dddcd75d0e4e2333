#include "collect/parquet.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "base/prng.h"
#include "collect/file_import.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"
#include "testing/places.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const Instant kImportedAt = *parse_instant("2026-11-01T09:00:00Z");

std::string seed_path() { return std::string(STINT_SOURCE_DIR) + "/fuzz/seeds/parquet/cur2.parquet"; }
std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
Result<std::string> csv_of(const std::string& path) {
  std::string csv;
  TRY(read_parquet(path, [&](std::string_view piece) { return csv += piece, Status(); }));
  return csv;
}

/// Sets STINT_DUCKDB for a test.
class NamedLibrary {
 public:
  explicit NamedLibrary(const char* name) {
    if (const char* before = std::getenv("STINT_DUCKDB")) before_ = before;
    ::setenv("STINT_DUCKDB", name, 1);
  }
  NamedLibrary(const NamedLibrary&) = delete;
  NamedLibrary& operator=(const NamedLibrary&) = delete;
  ~NamedLibrary() {
    if (before_.empty())
      ::unsetenv("STINT_DUCKDB");
    else
      ::setenv("STINT_DUCKDB", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

class ParquetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const Status there = find_duckdb(); !there.ok())
      GTEST_SKIP() << "no DuckDB: STINT_DUCKDB=$(scripts/setup-duckdb) runs this test: " << there.error().message;
  }
  ScratchDir dir_;
};

TEST(ParquetWithoutLibrary, SaysWhatToInstall) {
  const NamedLibrary none("/nowhere/libduckdb.so");
  const auto csv = csv_of(seed_path());
  ASSERT_FALSE(csv.ok());
  EXPECT_EQ(csv.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(csv.error().message, HasSubstr("scripts/setup-duckdb"));
}

TEST(ParquetWithoutLibrary, AnotherLibraryIsNoDuckDb) {
  const NamedLibrary other("libz.so.1");
  EXPECT_THAT(csv_of(seed_path()).error().message, HasSubstr("is no DuckDB library"));
}

TEST_F(ParquetTest, MapsAreJsonTimesAreUtcAndAbsentIsEmpty) {
  const auto csv = csv_of(seed_path());
  ASSERT_TRUE(csv.ok()) << csv.error().message;
  EXPECT_THAT(*csv, HasSubstr("line_item_usage_start_date"));
  EXPECT_THAT(*csv, HasSubstr("2026-10-01T05:00:00Z"));
  EXPECT_THAT(*csv, HasSubstr(R"("{""user_Client"":""client-1"",""user_Project"":""p\""1""}")"));
  EXPECT_THAT(*csv, HasSubstr("21.957642005"));
}

TEST_F(ParquetTest, ACostAndUsageReportIsImported) {
  HistoryFile history = std::move(HistoryFile::open(dir_ / "fleet.db", OpenMode::kCreate)).value();
  // A name that a library could take for a pattern.
  const std::string path = dir_ / "cur-*[1]'00001.parquet";
  put_file(path, bytes_of(seed_path()));
  const FileImport request{.format = find_import_format("cur"), .path = path, .delivery = {}, .options = {}};
  const auto outcome = import_file(history, request, kImportedAt);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->record.accepted, 6U);
  EXPECT_EQ(outcome->record.rejected, 0U);
  const auto loaded = history.load({});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  Money sum = Money::nanos(0);
  for (const BillLine& line : loaded->bill)
    sum += line.billed;
  // 6 × 21.957642 + (0 + 1 + 2 + 3 + 4 + 5) nano-dollars.
  EXPECT_EQ(sum, *Money::parse("131.745852015"));
  EXPECT_EQ(loaded->bill.at(1).instance_type, "p4d.24xlarge");
  EXPECT_TRUE(import_file(history, request, kImportedAt)->already_there);
}

TEST_F(ParquetTest, DamagedFilesAreErrorsAndNeverMore) {
  const std::string whole = bytes_of(seed_path());
  const uint64_t random_seed = 17;
  Prng random(random_seed);
  int errors = 0;
  constexpr int kRounds = 60;
  for (int round = 0; round < kRounds; ++round) {
    std::string damaged = whole;
    if (round % 3 == 0) damaged.resize(4 + random.below(whole.size() - 4));
    for (uint64_t n = 1 + random.below(8); n > 0; --n)
      damaged[4 + random.below(damaged.size() - 4)] = static_cast<char>(random.below(256));
    put_file(dir_ / "damaged.parquet", damaged);
    const auto csv = csv_of(dir_ / "damaged.parquet");
    if (csv.ok()) continue;
    ++errors;
    EXPECT_THAT(csv.error().message, HasSubstr("damaged.parquet")) << "seed " << random_seed << " round " << round;
  }
  // Every cut file, at the least.
  EXPECT_GE(errors, kRounds / 3);
}

TEST_F(ParquetTest, AnErrorOfItsUserEndsTheReader) {
  const Status done = read_parquet(seed_path(), [](std::string_view) { return Status(invalid("enough")); });
  EXPECT_EQ(done.error().message, "enough");
}

}  // namespace
}  // namespace stint
