#include "collect/file_import.h"

#include <gmock/gmock.h>

#include "collect/testing_zip.h"
#include "host/file.h"
#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

const Instant kNow = *parse_instant("2026-11-01T09:00:00Z");

/// A format of the tests: each line is a node's name; `!` rejects, `?` ends the import.
class NameImporter final : public Importer {
 public:
  NameImporter(const ImportOptions& options, Sink& sink) : options_(options), sink_(sink) {}
  Status feed(std::string_view bytes) override {
    text_.append(bytes);
    return {};
  }
  Status finish() override {
    uint64_t line = 0;
    for (size_t at = 0; at < text_.size(); ++line) {
      const size_t end = std::min(text_.find('\n', at), text_.size());
      const std::string name = text_.substr(at, end - at);
      at = end + 1;
      if (name == "?") return invalid("{}: no such format", options_.source);
      if (name == "!") {
        sink_.reject(line + 1, "refused");
      } else {
        Node node;
        node.name = name;
        node.region = options_.source;
        sink_.node(node);
      }
    }
    return {};
  }

 private:
  ImportOptions options_;
  Sink& sink_;
  std::string text_;
};

constexpr ImportFormat kNames = {"names", "a node a line", [](const ImportOptions& o, Sink& s) -> std::unique_ptr<Importer> {
                                   return std::make_unique<NameImporter>(o, s);
                                 }};

class FileImportTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, std::string_view bytes) {
    put_file(dir_ / name, bytes);
    return dir_ / name;
  }
  Result<ImportOutcome> import(const std::string& path, const std::string& node = "") {
    FileImport request{.format = &kNames, .path = path, .options = {}};
    request.options.node = node;
    return import_file(history_, request, kNow);
  }
  uint64_t nodes() { return history_.info()->nodes; }

  ScratchDir dir_;
  HistoryFile history_ = std::move(HistoryFile::open(dir_ / "fleet.db", OpenMode::kCreate)).value();
};

TEST_F(FileImportTest, SameBytesTwiceChangeNothing) {
  const std::string path = put("a.txt", "n1\nn2\n!\n");
  const auto first = import(path);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_EQ(first->record.accepted, 2U);
  EXPECT_EQ(first->record.rejected, 1U);
  EXPECT_EQ(first->reach.nodes, 2U);
  ASSERT_EQ(first->first_rejections.size(), 1U);
  EXPECT_EQ(first->first_rejections[0].line, 3U);
  // Under another name too: the bytes count.
  const auto again = import(put("b.txt", "n1\nn2\n!\n"));
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->already_there);
  EXPECT_EQ(again->record.source, path);
  EXPECT_EQ(history_.info()->imports, 1U);
}

TEST_F(FileImportTest, OtherOptionsAreAnotherImport) {
  const std::string path = put("a.txt", "n1\n");
  EXPECT_FALSE(import(path, "x")->already_there);
  EXPECT_FALSE(import(path, "y")->already_there);
  EXPECT_TRUE(import(path, "x")->already_there);
}

TEST_F(FileImportTest, GzipIsUnpackedAndACutOneLeavesNothing) {
  const std::string packed = gzip("n1\nn2\nn3\n");
  const auto cut = import(put("cut.gz", packed.substr(0, packed.size() - 5)));
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message, HasSubstr("cut.gz: gzip data end in the middle"));
  EXPECT_EQ(nodes(), 0U);
  EXPECT_TRUE(import(put("whole.gz", packed)).ok());
  EXPECT_EQ(nodes(), 3U);
}

TEST_F(FileImportTest, AFileOfAnotherFormatLeavesNothing) {
  const auto outcome = import(put("a.txt", "n1\n?\n"));
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("a.txt"));
  EXPECT_EQ(nodes(), 0U);
}

TEST_F(FileImportTest, EveryFileOfAnArchiveIsRead) {
  std::filesystem::create_directories(dir_ / "in/sub");
  const std::string long_name = std::string(120, 'l') + ".txt";
  put("in/a.txt", "n1\n");
  put("in/sub/" + long_name, "n2\nn3\n");
  put("in/._a.txt", "attributes");
  put("in/empty.txt", "");
  for (const char* format : {"gnu", "ustar", "pax"}) {
    const std::string archive = dir_ / (std::string(format) + ".tar.gz");
    const std::string command = fmt::format("tar -C {} --format={} -czf {} .", dir_ / "in", format, archive);
    if (std::system((command + " 2>/dev/null").c_str()) != 0) continue;  // ustar cannot hold every long name
    const auto outcome = import(archive);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->record.accepted, 3U) << format;
  }
  EXPECT_EQ(nodes(), 3U);
  const auto history = history_.load();
  EXPECT_THAT(history->nodes[1].region, HasSubstr(long_name));
}

TEST_F(FileImportTest, ACutArchiveLeavesNothing) {
  put("a.txt", "n1\n");
  ASSERT_EQ(std::system(fmt::format("tar -C {0} -cf {0}/a.tar a.txt", dir_ / "").c_str()), 0);
  auto whole = InputFile::open(dir_ / "a.tar");
  const std::string bytes(*whole->read());
  const auto cut = import(put("cut.tar", std::string_view(bytes).substr(0, 513)));
  ASSERT_FALSE(cut.ok());
  EXPECT_THAT(cut.error().message, HasSubstr("Truncated"));
  std::string damaged = bytes;
  damaged[700] = 'x';
  damaged.replace(512 + 512, 512, std::string(512, 'y'));
  EXPECT_FALSE(import(put("damaged.tar", damaged)).ok());
  EXPECT_EQ(nodes(), 0U);
}

TEST_F(FileImportTest, AbsentFilesAreNamed) {
  EXPECT_THAT(import(dir_ / "absent.csv").error().message, HasSubstr("absent.csv"));
  EXPECT_THAT(import(dir_ / "").error().message, HasSubstr("folder"));
}

TEST_F(FileImportTest, FilesInAZipArchiveAreReadLikePlainOnes) {
  const auto outcome =
      import(put("a.zip", zip({{"d/a.txt", "n1\n"}, {"b.txt.gz", gzip("n2\nn3\n")}, {"__MACOSX/._a", "?"}, {"d/", ""}})));
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->record.accepted, 3U);
}

TEST_F(FileImportTest, ABombChangesNothing) {
  const std::string zeros(size_t{100} << 20, '0');
  EXPECT_THAT(import(put("a.gz", gzip(zeros))).error().message, HasSubstr("unpacks to more than 250 times its size"));
  EXPECT_THAT(import(put("a.zip", zip({{"a", zeros}}))).error().message, HasSubstr("unpacks to more than 250 times its size"));
  EXPECT_EQ(nodes(), 0U);
}

}  // namespace
}  // namespace stint
