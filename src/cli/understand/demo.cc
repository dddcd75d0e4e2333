// stint demo: writes a story's files, as tools would have written them, and imports them like anybody's.
#include <fmt/format.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/progress.h"
#include "collect/file_import.h"
#include "host/clock.h"
#include "sim/story.h"
#include "store/history_file.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

struct DemoOptions {
  std::string story;
  std::string history;
  std::string out;
  uint64_t seed = 1;
  bool month_after = false;
  bool keep = false;
  bool json = false;
};

/// A folder for the story's files; removed at the end when it was made for this run only.
class DemoFolder {
 public:
  static Result<DemoFolder> make(const DemoOptions& options) {
    std::error_code error;
    if (!options.out.empty()) {
      fs::create_directories(options.out, error);
      if (error) return make_error(ErrorCode::kUnavailable, "cannot make the folder {}: {}", options.out, error.message());
      return DemoFolder(options.out, /*temporary=*/false);
    }
    std::string pattern = options.history + ".inputs-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      return make_error(ErrorCode::kUnavailable,
                        "cannot make a folder beside {}: check that its folder exists and can be written, or give --out",
                        options.history);
    return DemoFolder(pattern, !options.keep);
  }
  DemoFolder(DemoFolder&& other) noexcept : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}
  DemoFolder& operator=(DemoFolder&&) = delete;
  ~DemoFolder() {
    std::error_code ignored;
    if (temporary_) fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] bool temporary() const { return temporary_; }

 private:
  DemoFolder(fs::path path, bool temporary) : path_(std::move(path)), temporary_(temporary) {}
  fs::path path_;
  bool temporary_;
};

/// What the imports of one format came to.
struct FormatTally {
  int files = 0;
  uint64_t accepted = 0, rejected = 0;
  int already_there = 0;
};
using FormatTallies = std::map<std::string, FormatTally>;

std::string source_of(const DemoOptions& options, const StoryFile& file) {
  return fmt::format("{}-{}/{}", options.story, options.seed, file.path);
}

Result<int64_t> write_file(const fs::path& path, const StoryFile& file) {
  std::error_code ignored;
  fs::create_directories(path.parent_path(), ignored);
  std::ofstream stream(path, std::ios::binary | std::ios::trunc);
  int64_t bytes = 0;
  file.write([&](std::string_view piece) {
    stream.write(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes += static_cast<int64_t>(piece.size());
  });
  stream.close();
  if (!stream)
    return make_error(ErrorCode::kUnavailable, "cannot write {}: check the space left and the permissions", path.string());
  return bytes;
}

/// A story is a whole fleet: mixed with other imports its bill would mean nothing.
Status check_history_is_ours(HistoryFile& history, const DemoOptions& options) {
  TRY_ASSIGN(const History held, history.load());
  const std::string prefix = fmt::format("{}-{}/", options.story, options.seed);
  for (const ImportRecord& record : held.imports)
    if (!record.source.starts_with(prefix))
      return make_error(ErrorCode::kConflict, "{} already holds {}: name a new file with --history", options.history,
                        record.source);
  return {};
}

Status import_story(HistoryFile& history, const DemoOptions& options, const fs::path& folder, const std::vector<StoryFile>& files,
                    FormatTallies& tally) {
  for (const StoryFile& file : files) {
    FileImport import;
    import.format = find_import_format(file.format);
    CHECK(import.format != nullptr, "a story names the format {}", file.format);
    import.path = (folder / file.path).string();
    import.options.source = source_of(options, file);
    import.options.node = file.node;
    ProgressLine progress("importing " + file.path);
    TRY_ASSIGN(const ImportOutcome outcome, import_file(history, import, now(), progress.callback()));
    FormatTally& sum = tally[file.format];
    ++sum.files;
    sum.accepted += outcome.record.accepted;
    sum.rejected += outcome.record.rejected;
    sum.already_there += outcome.already_there || outcome.nothing_known ? 1 : 0;
  }
  return {};
}

void print_demo(const DemoOptions& options, const Story& story, const FormatTallies& tally, int64_t bytes,
                const DemoFolder& folder) {
  say("{}\n\n{:<12} {:>5}  {:>12}  {:>8}\n", story.what, "format", "files", "taken", "refused");
  for (const auto& [format, sum] : tally) {
    say("{:<12} {:>5}  {:>12}  {:>8}{}\n", format, sum.files, sum.accepted, sum.rejected,
        sum.already_there == sum.files ? "  (there already)" : "");
  }
  say("\n{:.1f} MB of input, seed {}, {}\n", static_cast<double>(bytes) / 1e6, options.seed,
      folder.temporary() ? "removed again (--keep or --out DIR leaves it)" : "left in " + folder.path().string());
  say("Next: stint {} --history {}{}\n", options.month_after ? "change status" : "audit", options.history,
      options.month_after ? "" : " --month 2026-10");
}

Status print_demo_json(const DemoOptions& options, const FormatTallies& tally, int64_t bytes, const DemoFolder& folder) {
  nlohmann::ordered_json imports = nlohmann::ordered_json::array();
  for (const auto& [format, sum] : tally)
    imports.push_back({{"format", format},
                       {"files", sum.files},
                       {"accepted", sum.accepted},
                       {"rejected", sum.rejected},
                       {"already_there", sum.already_there}});
  const nlohmann::ordered_json json = {
      {"story", options.story},     {"seed", options.seed},
      {"history", options.history}, {"input_folder", folder.temporary() ? "" : folder.path().string()},
      {"input_bytes", bytes},       {"imports", imports}};
  return write_output("", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

/// @return how many rows were refused
uint64_t rejected_in(const FormatTallies& tally) {
  uint64_t rejected = 0;
  for (const auto& [format, sum] : tally)
    rejected += sum.rejected;
  return rejected;
}

Result<uint64_t> run_demo(const DemoOptions& options) {
  if (options.month_after && options.story != "agency") return invalid("--month-after: the agency alone has a month after");
  TRY_ASSIGN(HistoryFile history, HistoryFile::open(options.history, OpenMode::kCreate));
  TRY(check_history_is_ours(history, options));
  TRY_ASSIGN(const DemoFolder folder, DemoFolder::make(options));
  const Story story = options.month_after         ? agency_month_after(options.seed)
                      : options.story == "agency" ? agency_story(options.seed)
                                                  : platform_story(options.seed);
  const std::vector<StoryFile> files = files_of(story, options.seed);
  int64_t bytes = 0;
  for (const StoryFile& file : files) {
    TRY_ASSIGN(const int64_t written, write_file(folder.path() / file.path, file));
    bytes += written;
  }
  FormatTallies tally;
  TRY(import_story(history, options, folder.path(), files, tally));
  if (options.json)
    TRY(print_demo_json(options, tally, bytes, folder));
  else
    print_demo(options, story, tally, bytes, folder);
  return rejected_in(tally);
}

}  // namespace

void add_demo_command(Command& app, Action& action) {
  auto options = std::make_shared<DemoOptions>();
  Command* command =
      app.add_subcommand("demo", "Makes a fleet to try things on: telemetry, bills, jobs and inventory of one month, imported");
  command->add_option("story", options->story, "agency: 47,000 USD over three providers; platform: 200,000 USD on AWS")
      ->required()
      ->check(one_of({"agency", "platform"}));
  command->add_option("--history", options->history, "History file to make")->required();
  command->add_option("--out", options->out, "write the input files here and leave them");
  command->add_option("--seed", options->seed, "another month of the same fleet")->capture_default_str();
  command->add_flag("--month-after", options->month_after, "agency: add November, with its batch machine off by day as advised");
  command->add_flag("--keep", options->keep, "leave the input files beside the History");
  command->add_flag("--json", options->json, "print what was imported as JSON");
  command->footer("Example: stint demo agency --history demo.db && stint audit --history demo.db --month 2026-10");
  command->callback([options, &action] {
    action = [options] {
      const Result<uint64_t> rejected = run_demo(*options);
      if (!rejected) return fail(rejected.error().message);
      return *rejected == 0 ? ExitCode::kOk : ExitCode::kPartly;
    };
  });
}

}  // namespace stint
