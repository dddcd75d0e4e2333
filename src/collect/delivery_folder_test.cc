#include "collect/delivery_folder.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "host/scratch_dir.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeliveryFolderTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name, std::string_view text = "a\n") {
    const std::filesystem::path path = dir_ / name;
    std::filesystem::create_directories(path.parent_path());
    put_file(path, text);
    return path;
  }
  Result<std::vector<std::string>> files() { return files_of_delivery(dir_ / "export"); }
  ScratchDir dir_;
};

TEST_F(DeliveryFolderTest, PartsWithoutManifestAreAllTaken) {
  const std::string one = put("export/part-0001.csv.gz"), two = put("export/part-0002.csv.gz");
  put("export/create-table.sql"), put("export/.DS_Store"), put("export/part-0001.csv.gz.md5"), put("export/_SUCCESS");
  EXPECT_THAT(files().value(), ElementsAre(one, two));
}

TEST_F(DeliveryFolderTest, CurManifestsNameTheFilesOfEachPeriod) {
  const std::string september = put("export/data/BILLING_PERIOD=2026-09/cur-00001.csv.gz");
  const std::string october = put("export/data/BILLING_PERIOD=2026-10/cur-00001.csv.gz");
  put("export/data/BILLING_PERIOD=2026-10/cur-00002.csv.gz");  // of an earlier, longer delivery
  for (const std::string period : {"2026-09", "2026-10"})
    put("export/metadata/BILLING_PERIOD=" + period + "/cur-Manifest.json",
        R"({"exportName":"cur","dataFiles":["s3://bucket/bills/cur/data/BILLING_PERIOD=)" + period + R"(/cur-00001.csv.gz"]})");
  EXPECT_THAT(files().value(), ElementsAre(september, october));
}

TEST_F(DeliveryFolderTest, LegacyReportsManifestAboveItsCopies) {
  put("export/20261001-20261101/aaaa/r-1.csv.zip");
  const std::string newest = put("export/20261001-20261101/bbbb/r-1.csv.zip");
  const auto manifest = [](const std::string& id) {
    return R"({"billingPeriod":{"start":"20261001T000000.000Z"},"reportKeys":["bills/r/20261001-20261101/)" + id +
           R"(/r-1.csv.zip"]})";
  };
  put("export/20261001-20261101/aaaa/r-Manifest.json", manifest("aaaa"));
  put("export/20261001-20261101/bbbb/r-Manifest.json", manifest("bbbb"));
  put("export/20261001-20261101/r-Manifest.json", manifest("bbbb"));
  EXPECT_THAT(files().value(), ElementsAre(newest));
}

TEST_F(DeliveryFolderTest, TheNewestRunOfAnAzureExportCounts) {
  const auto run = [&](const std::string& id, const std::string& at) {
    put("export/20261001-20261031/" + id + "/manifest.json",
        R"({"exportConfig":{"exportName":"focus"},"runInfo":{"startDate":"2026-10-01T00:00:00","submittedTime":")" + at +
            R"("},"blobs":[{"blobName":"costs/focus/20261001-20261031/)" + id + R"(/part_0_0001.csv.gz"}]})");
    return put("export/20261001-20261031/" + id + "/part_0_0001.csv.gz");
  };
  run("zzzz", "2026-10-09T08:00:00Z");
  const std::string newest = run("aaaa", "2026-10-10T08:00:00Z");
  EXPECT_THAT(files().value(), ElementsAre(newest));
}

TEST_F(DeliveryFolderTest, AListedFileThatIsNotThereIsAnError) {
  put("export/part_1.csv");
  put("export/manifest.json", R"({"blobs":[{"blobName":"x/part_1.csv"},{"blobName":"x/part_2.csv"}]})");
  EXPECT_THAT(files().error().message, HasSubstr("names x/part_2.csv, which is not in the folder"));
}

TEST_F(DeliveryFolderTest, AFolderWithoutDataIsAnError) {
  put("export/README.md");
  EXPECT_THAT(files().error().message, HasSubstr("holds no files of a bill"));
}

}  // namespace
}  // namespace stint
