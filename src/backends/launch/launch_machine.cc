#include "backends/launch/launch_machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "backends/launch/launch_objects.h"
#include "base/text.h"
#include "clouds/object_store.h"
#include "clouds/object_transfer.h"
#include "host/clock.h"
#include "host/descriptor.h"
#include "host/file.h"
#include "host/nvml.h"
#include "host/process.h"
#include "launch/launch_plan.h"
#include "launch/launch_report.h"

namespace stint {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostPiece = size_t{1} << 20;
constexpr Duration kBeat = Duration::minutes(1);
constexpr Duration kLastTries = Duration::minutes(2);

/// What `stint run` has written of it so far.
struct RunEvents {
  bool noticed = false;
  Duration saved;
};

/// The work that a copied checkpoint holds is counted from the start of the run to the checkpoint.
RunEvents read_run_events(std::string_view lines) {
  RunEvents events;
  std::optional<Instant> begun;
  std::map<std::string, Instant> good;
  for (const std::string_view line : split(lines, '\n')) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) continue;
    const auto text = [&](const char* name) {
      const auto found = json.find(name);
      return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    const auto at = parse_instant(text("at"));
    const std::string event = text("event"), checkpoint = text("checkpoint");
    if (!at.ok()) continue;
    if (event == "start" && !begun) begun = *at;
    if (event == "checkpoint") good[checkpoint] = *at;
    if (event == "copied" && begun && good.contains(checkpoint)) events.saved = std::max(events.saved, good[checkpoint] - *begun);
    if (event == "notice") events.noticed = true;
  }
  return events;
}

class LaunchMachine {
 public:
  LaunchMachine(LaunchMachineOptions options, std::unique_ptr<ObjectStore> store, std::string root)
      : options_(std::move(options)),
        folder_(fs::absolute(options_.folder).string()),
        store_(std::move(store)),
        root_(std::move(root)) {}

  Result<int> run() {
    const Status ready = prepare();
    auto child = ready.ok() ? start() : Result<ChildProcess>(ready.error());
    if (!child.ok()) {
      report_.state = ReportedState::kUnfit;
      report_.detail = child.error().message;
      tell_at_last();
      return child.error();
    }
    report_.state = ReportedState::kRunning;
    tell();
    std::optional<ExitStatus> ended;
    while (!ended) {
      ended = child->wait_for(plan_.look_every);
      look();
    }
    report_.state = ReportedState::kEnded;
    report_.exit_code = ended->shell_code();
    tell_at_last();
    return report_.exit_code;
  }

 private:
  /// All that the command needs. What is missing is said in the error.
  Status prepare() {
    std::error_code failed;
    fs::create_directories(folder_, failed);
    TRY(keep_output());
    TRY_ASSIGN(const std::string json, store_->get(launch_plan_key(root_)));
    TRY_ASSIGN(plan_, parse_launch_plan(json, store_->name() + launch_plan_key(root_)));
    tell();
    if (plan_.gpus > 0) TRY(count_gpus());
    const std::string archive = folder_ + "/code.tar.gz";
    fs::remove(archive, failed);
    TRY(fetch_file(*store_, launch_code_key(root_), archive, {.size = plan_.code_bytes, .sha256 = plan_.code_sha256}));
    fs::create_directories(code_folder(), failed);
    TRY_ASSIGN(const CommandOutput unpacked,
               run_command({"tar", "--extract", "--gzip", "--file", archive, "--directory", code_folder()}, kHour, 1 << 20));
    if (unpacked.status.shell_code() != 0) return make_error(ErrorCode::kUnavailable, "{}: tar cannot unpack it", archive);
    return {};
  }

  Status count_gpus() {
    const auto nvml = Nvml::load();
    if (!nvml.ok()) return nvml.error();
    report_.gpus = static_cast<int32_t>(nvml->gpus().size());
    if (report_.gpus < plan_.gpus)
      return make_error(ErrorCode::kUnavailable, "{} GPUs of {} are there", report_.gpus, plan_.gpus);
    return {};
  }

  /// Standard output and error of this process and all below it go into a file, which goes into the store piece by piece.
  Status keep_output() {
    output_file_ = folder_ + "/output";
    const Descriptor file(::open(output_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
    if (!file.valid() || ::dup2(file.get(), STDOUT_FILENO) < 0 || ::dup2(file.get(), STDERR_FILENO) < 0)
      return make_error(ErrorCode::kUnavailable, "{}: cannot be written: {}", output_file_, std::strerror(errno));
    return {};
  }

  Result<ChildProcess> start() {
    events_file_ = folder_ + "/events.jsonl";
    const auto rate = std::to_string(std::max<int64_t>(1, plan_.look_every.whole_seconds())) + "s";
    std::vector<std::string> command = {options_.program,
                                        "run",
                                        "--checkpoint-dir",
                                        plan_.checkpoint_folder,
                                        "--sync-to",
                                        plan_.store + "/checkpoints",
                                        "--sync-keep",
                                        std::to_string(plan_.keep),
                                        "--retries",
                                        std::to_string(plan_.retries),
                                        "--cloud",
                                        options_.cloud,
                                        "--look-every",
                                        rate,
                                        "--events",
                                        events_file_,
                                        "--"};
    command.insert(command.end(), plan_.command.begin(), plan_.command.end());
    for (const auto& [name, value] : plan_.environment)
      ::setenv(name.c_str(), value.c_str(), 1);
    if (!plan_.data.empty()) ::setenv("STINT_DATA", plan_.data.c_str(), 1);
    if (::chdir(code_folder().c_str()) != 0)
      return make_error(ErrorCode::kUnavailable, "{}: {}", code_folder(), std::strerror(errno));
    return ChildProcess::start(command);
  }

  void take_events() {
    const auto text = events_file_.empty() ? Result<std::string>(Error{}) : read_all(events_file_);
    const size_t end = text.ok() ? text->rfind('\n') : std::string::npos;
    if (end == std::string::npos) return;
    const RunEvents events = read_run_events(std::string_view(*text).substr(0, end));
    report_.saved = events.saved;
    // It was to leave before its work was done, or may have been: the next machine finds out from the last checkpoint.
    report_.interrupted = report_.state == ReportedState::kEnded && events.noticed;
  }

  void look() {
    take_events();
    const bool has_news = send_output() || report_ != told_;
    if (has_news || now() - told_at_ >= kBeat) tell();
  }

  /// @return whether a piece more is in the store.
  bool send_output() {
    const Descriptor file(::open(output_file_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid()) return false;
    bool sent = false;
    for (std::string piece(kMostPiece, '\0');; piece.resize(kMostPiece)) {
      const ssize_t n = ::pread(file.get(), piece.data(), piece.size(), sent_);
      if (n <= 0) return sent;
      piece.resize(static_cast<size_t>(n));
      if (!store_->put(launch_output_key(root_, options_.machine, report_.pieces + 1), piece, {}).ok()) return sent;
      ++report_.pieces;
      sent_ += n;
      sent = true;
    }
  }

  bool tell() {
    ++report_.beat;
    if (!store_->put(launch_report_key(root_, options_.machine), to_json(report_), {}).ok()) return false;
    told_ = report_;
    told_at_ = now();
    return true;
  }

  /// What is not told now is lost with the machine.
  void tell_at_last() {
    const Instant until = now() + kLastTries;
    take_events();
    do {
      (void)send_output();
      if (tell()) return;
    } while (now() < until);
  }

  [[nodiscard]] std::string code_folder() const { return folder_ + "/code"; }

  LaunchMachineOptions options_;
  std::string folder_;  // absolute
  std::unique_ptr<ObjectStore> store_;
  std::string root_;
  LaunchPlan plan_;
  std::string output_file_, events_file_;
  LaunchReport report_, told_;
  Instant told_at_;
  off_t sent_ = 0;
};

}  // namespace

Result<int> run_launch_machine(const LaunchMachineOptions& options) {
  TRY_ASSIGN(const ObjectUrl url, parse_object_url(options.store));
  TRY_ASSIGN(auto store, open_object_store(url));
  return LaunchMachine(options, std::move(store), url.key).run();
}

}  // namespace stint
