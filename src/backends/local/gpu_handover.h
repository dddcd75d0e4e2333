// GPUs go from one client to the next only once they are clean: the operator's program has scrubbed their memory where one is named, no
// process computes on them, and what is in use is what the driver keeps for itself (gpu_clear.h).
//
// Which client had a GPU last is durable before a task of another begins, so that a crash in between forgets nothing.
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/gpu_clear.h"
#include "host/process.h"

namespace stint {

class GpuHandover {
 public:
  struct Options {
    std::string book;  ///< file that says who had which GPU last; made where it is missing
    /// Program that overwrites a GPU's memory: called with the GPU's index and, where NVML tells it, its UUID, for a MIG device with that
    /// of the device; it ends with 0 once that is done. "" = none.
    std::string scrub;
    Duration longest = Duration::minutes(5);  ///< of the program; then it is ended, and has failed
    Duration pause = Duration::seconds(5);    ///< between two tries for a GPU that is held back
    GpuClearCheck::Options clear;
    /// Called with why no task begins on a GPU, and with "" once one may again. {} = it is not told.
    std::function<void(int gpu, const std::string& why)> tell = {};
  };
  /// @return error for a damaged book, and for a program that is no file of root's, or of this program's user, alone to write
  static Result<std::unique_ptr<GpuHandover>> open(Options options);
  ~GpuHandover();
  GpuHandover(const GpuHandover&) = delete;
  GpuHandover& operator=(const GpuHandover&) = delete;

  /// "" = memory and processes are looked at; else why they cannot be, for a person.
  [[nodiscard]] const std::string& why_not() const { return clear_.why_not(); }
  [[nodiscard]] bool scrubs() const { return !options_.scrub.empty(); }

  /// From here on the launch's client has its GPUs. A launch that is alone on them finds them clear, whoever had them.
  /// @param busy  GPUs that other tasks are on parts of: they are not looked at, their client is theirs
  /// @return kUnavailable, with the reason: a scrub still runs, has failed, or the GPU is not clear. Ask again later.
  Status take(const Launch& launch, const std::set<int>& busy, Instant now);
  /// Looks again at what is held back.
  void look(Instant now);

 private:
  struct Scrub {
    std::atomic<bool> stop = false;
    std::future<Result<CommandOutput>> result;
  };
  struct Held {
    GrantedGpu gpu;
    Tenancy tenancy = Tenancy::kAlone;
    std::string why;
    Instant next;             ///< try
    bool unscrubbed = false;  ///< or else it is not clear
  };
  explicit GpuHandover(Options options);
  /// Of a GPU as a whole, or of a MIG device.
  [[nodiscard]] static std::string name_of(const GrantedGpu& gpu);
  Status clean(const GrantedGpu& gpu, const std::string& client, Tenancy tenancy, Instant now);
  Status scrub(const GrantedGpu& gpu, Instant now);
  Status is_clear(const GrantedGpu& gpu, Tenancy tenancy, Instant now);
  Status hold_back(Held held);
  void let_go(const GrantedGpu& gpu);
  Status write();

  Options options_;
  GpuClearCheck clear_;
  std::map<std::string, std::string> last_;  ///< client by GPU or MIG device; "" = it was scrubbed, and no one had it since
  std::map<std::string, std::unique_ptr<Scrub>> scrubs_;
  std::map<std::string, Held> held_;
};

}  // namespace stint
