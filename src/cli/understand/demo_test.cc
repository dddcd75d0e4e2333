// The stories through the importers: every file is taken whole, and what was written is what is read.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "codec/importer.h"
#include "codec/testing_sink.h"
#include "sim/story.h"
#include "sim/story_trace.h"
#include "testing/places.h"

namespace stint {
namespace {

constexpr uint64_t kSeed = 1;

struct StoryImport {
  std::map<std::string, TestingSink> by_format;
};

/// All files of one format go into one sink.
StoryImport import_all(const Story& story) {
  StoryImport imported;
  for (const StoryFile& file : files_of(story, kSeed)) {
    const ImportFormat* format = find_import_format(file.format);
    EXPECT_NE(format, nullptr) << file.format;
    TestingSink& sink = imported.by_format[file.format];
    const ImportOptions options{file.path, file.node, {}, {}};
    const std::unique_ptr<Importer> importer = format->create(options, sink);
    file.write([&](std::string_view piece) {
      const Status fed = importer->feed(piece);
      EXPECT_TRUE(fed.ok()) << file.path << ": " << fed.error().message;
    });
    const Status finished = importer->finish();
    EXPECT_TRUE(finished.ok()) << file.path << ": " << finished.error().message;
    EXPECT_TRUE(sink.rejected.empty()) << file.path << ":" << sink.rejected.front().first << ": " << sink.rejected.front().second;
  }
  return imported;
}

Money billed(const StoryImport& imported) {
  Money sum;
  for (const auto& [format, sink] : imported.by_format)
    for (const BillLine& line : sink.bill) {
      sum += line.billed;
      EXPECT_EQ(line.billed, line.effective);
    }
  return sum;
}

/// GPU-steps recorded, and how many utilisation samples came out of the importers.
int64_t recorded_steps(const Story& story) {
  const StoryTrace trace(story, kSeed);
  int64_t steps = 0;
  for (size_t n = 0; n < story.nodes.size(); ++n)
    for (size_t g = 0; g < story.nodes[n].gpus.size(); ++g)
      for (const StoryReading& reading : trace.of(n, g))
        steps += reading.present;
  return steps;
}

int64_t utilization_samples(const StoryImport& imported) {
  size_t samples = 0;
  for (const auto& [format, sink] : imported.by_format)
    for (size_t i = 0; i < sink.keys.size(); ++i)
      if (sink.keys[i].metric == Metric::kUtilization) samples += sink.points[i].size();
  return static_cast<int64_t>(samples);
}

void expect_everything(const Story& story, const StoryImport& imported) {
  EXPECT_EQ(billed(imported), story.bill);
  EXPECT_EQ(utilization_samples(imported), recorded_steps(story));
  EXPECT_EQ(imported.by_format.at("sacct").runs.size(), story.runs.size());
  EXPECT_EQ(imported.by_format.at("inventory").nodes.size(), story.nodes.size());
  EXPECT_EQ(imported.by_format.at("tenants").rules.size(), story.rules.size());
}

void expect_bill_lines_to_name_machines(const Story& story, const StoryImport& imported) {
  std::map<std::string, std::string> type_of;
  for (const Node& node : imported.by_format.at("inventory").nodes)
    type_of[node.resource_id] = node.instance_type;
  std::set<std::string> billed_machines;
  for (const auto& [format, sink] : imported.by_format)
    for (const BillLine& line : sink.bill) {
      if (line.spend != SpendKind::kCompute) continue;
      ASSERT_TRUE(type_of.contains(line.resource_id)) << line.resource_id;
      EXPECT_EQ(line.instance_type, type_of[line.resource_id]);
      EXPECT_EQ(line.market, Market::kOnDemand);
      billed_machines.insert(line.resource_id);
    }
  EXPECT_EQ(billed_machines.size(), story.nodes.size());
}

void expect_spend_kinds_apart(const Story& story, const StoryImport& imported) {
  std::map<SpendKind, Money> read, written;
  for (const auto& [format, sink] : imported.by_format)
    for (const BillLine& line : sink.bill)
      read[line.spend] += line.billed;
  for (const StoryCharge& charge : story.charges)
    written[charge.service_category == "Storage"      ? SpendKind::kStorage
            : charge.service_category == "Networking" ? SpendKind::kTransfer
                                                      : SpendKind::kOther] += charge.amount;
  for (const SpendKind kind : {SpendKind::kStorage, SpendKind::kTransfer, SpendKind::kOther})
    EXPECT_EQ(read[kind], written[kind]) << name_of(kind);
}

void expect_jobs_on_their_gpus(const Story& story, const StoryImport& imported) {
  std::map<std::string, const stint::Run*> written;
  for (const stint::Run& run : story.runs)
    written[run.id] = &run;
  for (const stint::Run& run : imported.by_format.at("sacct").runs) {
    ASSERT_TRUE(written.contains(run.id)) << run.id;
    const stint::Run& told = *written[run.id];
    EXPECT_EQ(run.started, told.started);
    EXPECT_EQ(run.ended, told.ended);
    EXPECT_EQ(run.state, told.state);
    EXPECT_EQ(run.holder.account, told.holder.account);
    ASSERT_EQ(run.allocations.size(), told.allocations.size()) << run.id;
    for (size_t i = 0; i < run.allocations.size(); ++i) {
      EXPECT_EQ(run.allocations[i].node, told.allocations[i].node);
      EXPECT_EQ(run.allocations[i].gpu_count, told.allocations[i].gpu_count);
    }
  }
}

/// A story through its importers takes most of a test's time: all is asked of one.
class StoryThroughImporters : public testing::TestWithParam<const char*> {};

TEST_P(StoryThroughImporters, ArrivesAsItWasWritten) {
  const Story story = GetParam() == std::string_view("agency") ? agency_story(kSeed) : platform_story(kSeed);
  const StoryImport imported = import_all(story);
  expect_everything(story, imported);
  expect_bill_lines_to_name_machines(story, imported);
  expect_spend_kinds_apart(story, imported);
  expect_jobs_on_their_gpus(story, imported);
}

INSTANTIATE_TEST_SUITE_P(Stories, StoryThroughImporters, testing::Values("agency", "platform"),
                         [](const auto& story) { return std::string(story.param); });

struct Example {
  const char* format;
  const char* file;
};

TEST(Examples, EachIsTakenWholeByItsImporter) {
  const Example examples[] = {{"inventory", "inventory.csv"},
                              {"tenants", "tenants.csv"},
                              {"nvidia-smi", "nvidia-smi.csv"},
                              {"dcgm", "dcgm.prom"},
                              {"prometheus", "prometheus.json"},
                              {"sacct", "sacct.txt"},
                              {"cur", "cur.csv"},
                              {"focus", "focus.csv"},
                              {"opencost", "opencost.json"},
                              {"skypilot", "skypilot.csv"},
                              {"prices", "prices.csv"}};
  for (const Example& example : examples) {
    std::ifstream stream(std::string(STINT_SOURCE_DIR "/examples/") + example.file, std::ios::binary);
    ASSERT_TRUE(stream) << example.file;
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    TestingSink sink;
    const ImportOptions options{example.file, "box-1", {}, {}};
    const std::unique_ptr<Importer> importer = find_import_format(example.format)->create(options, sink);
    const Status fed = importer->feed(text);
    EXPECT_TRUE(fed.ok()) << example.file << ": " << fed.error().message;
    EXPECT_TRUE(importer->finish().ok()) << example.file;
    for (const auto& [line, reason] : sink.rejected)
      ADD_FAILURE() << example.file << ":" << line << ": " << reason;
    EXPECT_GT(
        sink.sample_count() + sink.nodes.size() + sink.runs.size() + sink.bill.size() + sink.prices.size() + sink.rules.size(),
        0U)
        << example.file;
  }
}

}  // namespace
}  // namespace stint
