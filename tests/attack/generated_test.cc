// Commands and configuration made for hostile names are run: by a shell, a crontab's rules and a reader of YAML, in a scratch folder.
// What a name tries to start would leave a file there.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "advise/apply/apply_text.h"
#include "base/prng.h"
#include "host/process.h"
#include "host/scratch_dir.h"

namespace stint {
namespace {

const std::vector<std::string>& hostile_pieces() {
  static const std::vector<std::string> pieces = {"g5.xlarge",
                                                  ";touch ESCAPED;",
                                                  "$(touch ESCAPED)",
                                                  "`touch ESCAPED`",
                                                  "'",
                                                  "\"",
                                                  "\n",
                                                  "touch ESCAPED",
                                                  "&&",
                                                  "|",
                                                  "#",
                                                  "\\",
                                                  "%",
                                                  "{",
                                                  "}",
                                                  "${",
                                                  "%{",
                                                  "-o",
                                                  "--",
                                                  ": ",
                                                  "- ",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  "\x1b[31m",
                                                  "\xc2\x9b",
                                                  "\xff",
                                                  "\r",
                                                  "\t",
                                                  "ü",
                                                  " ",
                                                  "=",
                                                  "*",
                                                  "!",
                                                  "\x7f",
                                                  "NodeName=",
                                                  ">ESCAPED",
                                                  "<"};
  return pieces;
}

std::vector<std::string> hostile_names() {
  std::vector<std::string> names = {
      "g5.xlarge;touch ESCAPED",      "$(touch ESCAPED)",         "`touch ESCAPED`",     "'; touch ESCAPED; '",
      "'';touch ESCAPED;''",          "\"; touch ESCAPED; \"",    "a\ntouch ESCAPED\n",  "x' && touch ESCAPED #",
      "\\'; touch ESCAPED; \\'",      "a%touch ESCAPED%",         "'\\%\ntouch ESCAPED", "\\\\%;touch ESCAPED",
      "-oProxyCommand=touch ESCAPED", "${file(\"/etc/passwd\")}", "a: b\n- injected: 1", "x\x1b]0;title\x07"};
  Prng random(20261123);
  for (int i = 0; i < 60; ++i) {
    std::string name;
    for (uint64_t n = 1 + random.below(6); n > 0; --n)
      name += hostile_pieces()[random.below(hostile_pieces().size())];
    names.push_back(name);
  }
  return names;
}

FleetPlan fleet_named(const std::string& name, const std::string& provider) {
  WeekHours off;
  off.set(3);
  FleetPlan fleet;
  fleet.nodes.push_back({.name = name,
                         .resource_id = name,
                         .provider = provider,
                         .region = name,
                         .zone = name,
                         .instance_type = name,
                         .market = Market::kOnDemand,
                         .gpu_model = name,
                         .gpu_count = 2,
                         .off = off,
                         .sharing = {}});
  return fleet;
}

std::vector<Change> changes_of(const std::string& name, const std::string& provider) {
  WeekHours off;
  off.set(5);
  std::vector<Change> changes = {StopNodes{{name}}, ScheduleOff{{name}, off}, ResizeNodes{{name}, name, "", 3},
                                 SwitchMarket{{name}, Market::kSpot}, SwitchMarket{{name}, Market::kOnDemand}};
  for (const SharingMode mode : {SharingMode::kMig, SharingMode::kMps, SharingMode::kTimeSlice}) {
    ShareGpus share{mode, {name}, {name}, {}};
    share.placements = {{name, name, 0, name, 0, name, 4, 1}, {name, name, 1, name, 0, name, 0, 1}};
    changes.emplace_back(share);
  }
  Commit commit;
  commit.provider = provider;
  commit.region = name;
  commit.instance_type = name;
  commit.count = 1;
  changes.emplace_back(commit);
  MoveOffGpu off_gpu;
  off_gpu.nodes = {name};
  off_gpu.to_instance_type = name;
  changes.emplace_back(off_gpu);
  MoveRegion region;
  region.nodes = {name};
  region.to_region = name;
  changes.emplace_back(region);
  LimitReservation limit;
  limit.nodes = {name};
  limit.workload = name;
  changes.emplace_back(limit);
  return changes;
}

/// As cron cuts it: the command ends at the first % without a backslash; of `\%` and `\\` the first backslash goes.
std::string command_of_crontab_line(const std::string& line) {
  size_t at = 0;
  for (int field = 0; field < 5; ++field)
    at = line.find(' ', at) + 1;
  std::string command;
  for (; at < line.size() && line[at] != '%'; ++at) {
    const bool is_pair = line[at] == '\\' && at + 1 < line.size();
    if (is_pair && (line[at + 1] == '%' || line[at + 1] == '\\'))
      ++at;
    else if (is_pair)
      command += line[at++];
    command += line[at];
  }
  return command;
}

class Generated : public testing::Test {
 protected:
  /// What the commands call is there and does nothing; ssh hands its words to a shell, as the machine behind it would.
  static constexpr const char* kStubs =
      "set -u\n"
      "aws() { :; }; gcloud() { :; }; az() { :; }; kubectl() { :; }; scontrol() { :; }\n"
      "ssh() { case $1 in --) shift ;; -*) : >ESCAPED ;; esac; shift; command sh -c \"nvidia_smi() { :; }; $(printf %s \"$*\" | "
      "sed "
      "'s/nvidia-smi/nvidia_smi/g; s/nvidia-cuda-mps-control/:/g')\"; }\n";

  void run_in_a_shell(const std::vector<std::string>& lines, const std::string& about) {
    std::ofstream script(dir_ / "script", std::ios::binary);
    script << "cd " << (dir_ / "work") << " || exit 1\n" << kStubs;
    for (const std::string& line : lines)
      script << line << "\n";
    script << "echo to the end\n";
    script.close();
    const auto done = run_command({"/bin/sh", dir_ / "script"}, Duration::seconds(60));
    ASSERT_TRUE(done.ok()) << done.error().message;
    EXPECT_TRUE(done->standard_output.ends_with("to the end\n")) << about << "\n" << read("script");
    EXPECT_TRUE(std::filesystem::is_empty(dir_ / "work")) << about << "\n" << read("script");
    std::filesystem::remove_all(dir_ / "work");
    std::filesystem::create_directory(dir_ / "work");
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(dir_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void SetUp() override { std::filesystem::create_directory(dir_ / "work"); }
  ScratchDir dir_;
};

TEST_F(Generated, ShellRunsWhatIsMeantAndNothingElse) {
  for (const std::string& name : hostile_names())
    for (const char* provider : {"aws", "gcp", "azure", "other"}) {
      const FleetPlan before = fleet_named(name, provider);
      std::vector<std::string> lines;
      for (const Change& change : changes_of(name, provider)) {
        const auto all = instructions(change, before);
        ASSERT_TRUE(all.ok()) << all.error().message;
        for (const Instruction& i : *all) {
          if (i.syntax == Syntax::kShell) lines.insert(lines.end(), i.lines.begin(), i.lines.end());
          if (i.syntax != Syntax::kCrontab) continue;
          for (const std::string& line : i.lines)
            if (!line.starts_with('#') && !line.starts_with("CRON_TZ=")) lines.push_back(command_of_crontab_line(line));
        }
        FleetPlan after = before;
        if (const auto undone = carry_out(after, change); undone.ok())
          for (const Instruction& i : undo_instructions(*undone))
            if (i.syntax == Syntax::kShell) lines.insert(lines.end(), i.lines.begin(), i.lines.end());
      }
      ASSERT_GT(lines.size(), 20U);
      run_in_a_shell(lines, fmt::format("{} at {}", name, provider));
      if (HasFailure()) return;
    }
}

TEST_F(Generated, NoLineHasAControlCharacter) {
  for (const std::string& name : hostile_names())
    for (const char* provider : {"aws", "gcp", "azure", "other"})
      for (const Change& change : changes_of(name, provider)) {
        const auto all = instructions(change, fleet_named(name, provider));
        ASSERT_TRUE(all.ok());
        for (const Instruction& i : *all)
          for (const std::string& line : i.lines)
            ASSERT_TRUE(std::ranges::none_of(line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; }))
                << line;
      }
}

TEST_F(Generated, YamlHoldsTheNamesAsTheyAre) {
  if (const auto there = run_command({"python3", "-c", "import yaml"}, Duration::seconds(60));
      !there.ok() || there->status.shell_code() != 0)
    GTEST_SKIP() << "no PyYAML here";
  std::ofstream documents(dir_ / "all.yaml", std::ios::binary);
  for (const std::string& name : hostile_names())
    for (const Change& change : changes_of(name, "aws")) {
      const auto all = instructions(change, fleet_named(name, "aws"));
      ASSERT_TRUE(all.ok());
      for (const Instruction& i : *all) {
        if (i.syntax != Syntax::kYaml) continue;
        documents << "---\n";
        for (const std::string& line : i.lines)
          documents << line << "\n";
      }
    }
  documents.close();
  std::ofstream program(dir_ / "read.py");
  program
      << "import sys, yaml\n"
         "known = {'nodeSelector', 'tolerations', 'version', 'mig-configs', 'sharing', 'migStrategy', 'activeDeadlineSeconds'}\n"
         "n = 0\n"
         "text = open(sys.argv[1], encoding='utf-8').read()\n"
         "for document in yaml.safe_load_all(text):\n"
         "    if document is None:\n"
         "        continue\n"
         "    n += 1\n"
         "    assert set(document) <= known, document\n"
         "    assert all(len(v) == 1 for k, v in document.items() if k == 'nodeSelector'), document\n"
         "print('read', n)\n";
  program.close();
  const auto done = run_command({"python3", dir_ / "read.py", dir_ / "all.yaml"}, Duration::seconds(120));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_THAT(done->standard_output, testing::StartsWith("read ")) << done->standard_error;
}

TEST_F(Generated, SlurmsConfigurationNamesNothingElse) {
  for (const std::string& name : hostile_names())
    for (const Change& change : changes_of(name, "aws")) {
      const auto all = instructions(change, fleet_named(name, "aws"));
      ASSERT_TRUE(all.ok());
      for (const Instruction& i : *all) {
        if (i.syntax != Syntax::kConf) continue;
        for (const std::string& line : i.lines)
          EXPECT_TRUE(line.starts_with('#') || line.starts_with("GresTypes=") || line.starts_with("NodeName=g5.xlarge ") ||
                      line.starts_with("PartitionName=mig Nodes=g5.xlarge ") ||
                      name.find_first_of("; \n'\"$`\\%") == std::string::npos)
              << line;
      }
    }
}

}  // namespace
}  // namespace stint
