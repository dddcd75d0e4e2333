#include "store/kept_columns.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>

#include "codec/bills/source_columns.h"
#include "host/scratch_dir.h"
#include "store/history_file.h"

namespace stint {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Instant kStart = Instant::from_hour_index(490'000);

/// What a report of Amazon's says of a line beside what FOCUS takes: much the same for each.
std::string columns_of_line(int line) {
  return fmt::format(
      R"({{"identity_line_item_id":"{:032x}","line_item_legal_entity":"Amazon Web Services, Inc.","product":"{}"}})",
      static_cast<uint64_t>(line) * 0x9e3779b97f4a7c15U, std::string(400, 'p'));
}

enum class WithColumns { kYes, kNo };

/// A History of so many hours, all but every third with columns.
void import(const std::string& path, int lines, WithColumns with) {
  auto file = HistoryFile::open(path, OpenMode::kCreate);
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto import = file->begin_import("test", "a", kStart);
  ASSERT_TRUE(import.ok()) << import.error().message;
  for (int i = 0; i < lines; ++i) {
    BillLine line;
    line.resource_id = fmt::format("i-{}", i);
    line.charge_period = {kStart + kHour * i, kStart + kHour * (i + 1)};
    if (with == WithColumns::kYes && i % 3 != 0) line.tags = {{std::string(kSourceColumnsTag), columns_of_line(i)}};
    (*import)->bill_line(line);
  }
  ASSERT_TRUE((*import)->commit("a").ok());
}

void execute(const std::string& path, const std::string& sql) {
  Database database = Database::open(path, DatabaseAccess::kReadWrite).value();
  ASSERT_TRUE(database.execute(sql).ok()) << sql;
}

TEST(KeptColumns, ThoseOfManyLinesComeBackWhole) {
  constexpr int kLines = 6'000;
  const ScratchDir dir;
  import(dir / "fleet.db", kLines, WithColumns::kYes);
  auto file = HistoryFile::open(dir / "fleet.db", OpenMode::kReadWrite);
  EXPECT_THAT(*file->check(), IsEmpty());
  for (const Interval period : {Interval{}, Interval{kStart + kHour * 2'500, kStart + kHour * 2'600}}) {
    const auto columns = file->load_source_columns(period);
    ASSERT_TRUE(columns.ok()) << columns.error().message;
    const int first = period.empty() ? 0 : 2'500;
    ASSERT_EQ(columns->size(), period.empty() ? size_t{kLines} : 100);
    for (size_t i = 0; i < columns->size(); ++i) {
      const int line = first + static_cast<int>(i);
      ASSERT_EQ((*columns)[i], line % 3 == 0 ? "" : columns_of_line(line)) << line;
    }
  }
  ASSERT_TRUE(file->drop_import(1).ok());
  EXPECT_THAT(*file->check(), IsEmpty());
}

TEST(KeptColumns, TakeATenthOfTheirText) {
  constexpr int kLines = 6'000;
  const ScratchDir dir;
  import(dir / "with.db", kLines, WithColumns::kYes);
  import(dir / "without.db", kLines, WithColumns::kNo);
  const uintmax_t text = columns_of_line(1).size() * (kLines / 3 * 2);
  EXPECT_LT(std::filesystem::file_size(dir / "with.db"), std::filesystem::file_size(dir / "without.db") + text / 10);
}

TEST(KeptColumns, WhatSchema7KeptAmongTheTagsIsReadAsItIs) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  {
    import(path, 3, WithColumns::kYes);
  }
  execute(path,
          "DROP TABLE bill_source; DROP TABLE run_owner; DROP TABLE node_rate; DROP TABLE machine_act; UPDATE meta SET value = "
          "'7' WHERE key = "
          "'schema_version'; UPDATE bill_line SET tags = "
          "'[[\"team\",\"nlp\"],[\"focus:columns\",\"{\\\"a\\\":\\\"1\\\"}\"]]' WHERE id = 2");
  for (const OpenMode mode : {OpenMode::kReadOnly, OpenMode::kReadWrite}) {
    auto file = HistoryFile::open(path, mode);
    ASSERT_TRUE(file.ok()) << file.error().message;
    EXPECT_THAT(*file->load_source_columns(), testing::ElementsAre("", R"({"a":"1"})", ""));
    EXPECT_EQ(file->load()->bill[1].tags, (std::vector<Tag>{{"team", "nlp"}}));
  }
}

TEST(KeptColumns, ADamagedBlockIsNamedWithItsLines) {
  const ScratchDir dir;
  const std::string path = dir / "fleet.db";
  {
    import(path, 3, WithColumns::kYes);
  }
  for (const char* damage :
       {"texts = substr(texts, 1, 20)", "bytes = bytes + 1", "bytes = 1 << 40", "bytes = -1", "last_line = 2"}) {
    std::filesystem::copy_file(path, dir / "damaged.db", std::filesystem::copy_options::overwrite_existing);
    execute(dir / "damaged.db", fmt::format("UPDATE bill_source SET {}", damage));
    auto file = HistoryFile::open(dir / "damaged.db", OpenMode::kReadOnly);
    const auto columns = file->load_source_columns();
    ASSERT_FALSE(columns.ok()) << damage;
    EXPECT_THAT(columns.error().message, HasSubstr("of bill lines 2 to")) << damage;
    EXPECT_THAT(*file->check(), testing::Contains(HasSubstr("is damaged"))) << damage;
    EXPECT_TRUE(file->load().ok()) << "bills do without them";
  }
}

}  // namespace
}  // namespace stint
