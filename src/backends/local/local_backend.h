// Tasks as processes of this machine, each with its own keeper (keeper.h), so that they outlive the daemon.
//
// All state lies in a folder: `tasks/KEY/` for what was launched and is not forgotten, `logs/KEY.out|err` for what it
// printed. An object made on that folder later goes on where the last one was.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "backends/direct_backend.h"
#include "backends/local/account_book.h"
#include "backends/local/cgroup.h"
#include "backends/local/gpu_handover.h"
#include "backends/local/task_folder.h"
#include "backends/local/task_room.h"

namespace stint {

class LocalBackend final : public DirectBackend {
 public:
  struct Options {
    std::string state_folder;  ///< made where it is missing; one LocalBackend at a time uses it
    /// Program and arguments that run a keeper, its folder appended: this very program by default.
    std::vector<std::string> keeper = {"/proc/self/exe", "keeper"};
    std::string cgroup;  ///< folder of the cgroup v2 tree that is ours to write; "" = none
    GpuClearCheck::Options clear;
    std::string scrub;  ///< program that overwrites the memory of a GPU before another client gets it (gpu_handover.h); "" = none
    std::function<void(int gpu, const std::string& why)> tell_held;  ///< GpuHandover::Options::tell
    int64_t most_processes = 0;                                      ///< of a task, threads included; 0 = not limited
    Bytes keep_free;  ///< of the disk with the logs: below it nearly nothing of a stream is kept; 0 = no such bound
    Bytes most_log;   ///< of each stream of a task; 0 = not limited
    /// Memory of a task that names none; 0 = not limited. none = its share of the machine (Launch), where the kernel limits tasks as a
    /// whole: a limit of each process by itself would stop programs that only set addresses aside.
    std::optional<Bytes> usual_memory;
    std::optional<RunAs> run_as;  ///< of launches that name no user; none = the user this program runs as
    struct Accounts {
      UidRange range;
      std::string book;  ///< file that says whose they are
    };
    std::optional<Accounts> accounts;  ///< each owner has one for ever; in place of `run_as`
    std::vector<std::string>
        more_devices;  ///< below /dev, that tasks of other accounts find beside the usual ones and their GPUs
    /// A launch that is to be alone on a GPU does not begin on one that another task has, whoever orders it.
    bool alone_is_alone = false;
    std::string homes;  ///< folder for what jobs of other accounts have for themselves; "" = beside the state folder
  };
  /// @return error when the folder cannot be used. Limits that cannot be enforced are no error: notes() names them.
  static Result<std::unique_ptr<LocalBackend>> create(Options options);
  ~LocalBackend() override;

  [[nodiscard]] std::string_view name() const override { return "local"; }
  [[nodiscard]] std::vector<std::string> notes() const override;
  /// Returns when its keeper is being started: whether the command itself can be run is told by poll().
  Status start(const Launch& launch, Instant now) override;
  Status signal(const LaunchKey& key, int signal) override;
  Status stop(const LaunchKey& key, Duration grace, Instant now) override;
  std::vector<Report> poll(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_report_at() const override { return std::nullopt; }
  [[nodiscard]] std::vector<LaunchKey> running() const override;
  /// Its logs stay.
  Status forget(const LaunchKey& key) override;
  /// Of a launch that is forgotten, too.
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override;

  /// Processes that this object started and that have not ended: whoever lets it go and lives on has to wait for them.
  [[nodiscard]] std::vector<int> take_keepers() { return std::exchange(keepers_, {}); }

  /// Where a launch's output goes when it names no file: `logs/KEY.out`, `logs/KEY.err`.
  [[nodiscard]] std::string output_path(const LaunchKey& key) const { return log_base(options_.state_folder, key) + ".out"; }
  [[nodiscard]] std::string error_path(const LaunchKey& key) const { return log_base(options_.state_folder, key) + ".err"; }
  /// The same of any backend's folder, without the ending.
  static std::string log_base(const std::string& state_folder, const LaunchKey& key);

 private:
  enum class Told : uint8_t { kNothing, kStart, kEnd };
  struct Task {
    Told told = Told::kNothing;
    Instant began = {};            ///< as told
    bool keeper_expected = false;  ///< one was started by this object, or had begun before it
  };

  explicit LocalBackend(Options options);
  [[nodiscard]] TaskFolder folder_of(const LaunchKey& key) const;
  [[nodiscard]] TaskPlan plan_of(const Launch& launch) const;
  [[nodiscard]] std::string device_group_of(const LaunchKey& key) const;
  Status give_accounts();
  /// Do jobs have other accounts than this program?
  [[nodiscard]] bool keeps_apart() const;
  [[nodiscard]] Status check_can_run(const Launch& launch);
  Status give_gpus(Launch& launch, Instant now);
  struct TakenGpus {
    std::set<std::string> mig_devices;
    std::set<int> indexes;  ///< of GPUs, whole or in parts that are no MIG devices
    std::set<int> alone;    ///< those of them that a task has for itself
  };
  [[nodiscard]] TakenGpus gpus_taken() const;
  Status start_keeper(const TaskFolder& folder);
  void look_at(const LaunchKey& key, Task& task, Instant now, std::vector<Report>& reports);
  [[nodiscard]] bool anything_left(const TaskFolder& folder, const LaunchKey& key) const;
  void bury_keepers();

  Options options_;
  std::optional<CgroupTree> cgroups_;
  std::string why_no_cgroups_;
  std::string why_no_device_filter_;
  std::string
      device_groups_;  ///< folder for those of cgroup version 1, where the filter of version 2 is not to be had; "" = none
  std::optional<AccountBook> accounts_;
  RoomMeans means_;
  std::string homes_;
  std::unique_ptr<GpuHandover> handover_;
  std::map<LaunchKey, Task> tasks_;
  std::vector<int> keepers_;  ///< pids of those this object started and has not waited for
};

}  // namespace stint
