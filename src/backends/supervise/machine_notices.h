// Notices of the machine's own cloud, while a supervisor runs: a process of its own watches, what it hears is told and decided here.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "backends/supervise/supervisor_log.h"
#include "backends/supervise/worker_process.h"
#include "clouds/notice_look.h"

namespace stint {

struct NoticeNews {
  SeenNotice seen;
  std::string failure;  ///< the metadata does not answer, or makes no sense: what it says; "" = all is well
};

/// Looks until there is something to tell, beyond what is known: a notice, an earlier end, that a notice is no longer there
/// (seen twice in a row: an answer may be late), no sense for a minute, sense again.
/// @param sleep  false = no more: then none is returned.
std::optional<NoticeNews> await_notice_news(NoticeLook& look, const NoticeNews& known,
                                            const std::function<bool(Duration)>& sleep);
/// Does it announce the machine's end?
bool ends_machine(const CloudNotice& notice);

std::string to_json(const NoticeNews& news);
Result<NoticeNews> parse_notice_news(std::string_view json);

/// For a process without threads.
class MachineNotices {
 public:
  /// @param cloud  none = nothing is watched.
  MachineNotices(std::optional<CloudProvider> cloud, SupervisorLog& log) : cloud_(cloud), log_(log) {}

  struct Leave {
    Duration left;
    std::string why;
    SupervisorLog::Fields fields;
  };
  /// Keeps the watcher going, tells what it heard. @param lead  how long before its end the command must hear of it.
  /// @return that it must hear now; once for each notice.
  std::optional<Leave> step(Instant now, Duration lead);
  /// Has a notice that the command was told of been taken back since the last call?
  bool take_withdrawn() { return std::exchange(withdrawn_, false); }
  /// When step() will say that the command must hear, where nothing else happens before.
  [[nodiscard]] std::optional<Instant> due_at(Duration lead) const;
  [[nodiscard]] std::optional<pid_t> watcher() const;
  /// Lets the machine go before its time, where that can be said and no other machine goes with it.
  void acknowledge(Instant now);

 private:
  void hear(const NoticeNews& news, Instant now);
  void hear_of_end(const NoticeNews& news, Instant now);
  [[nodiscard]] std::string announcement(const SeenNotice& seen) const;
  [[nodiscard]] SupervisorLog::Fields fields_of(const SeenNotice& seen) const;

  std::optional<CloudProvider> cloud_;
  SupervisorLog& log_;
  std::optional<WorkerProcess> watcher_;
  Instant next_start_;
  NoticeNews known_;
  std::optional<Instant> gone_at_;  ///< of the notice in force, by the clock of the caller
  bool told_ = false;               ///< the command heard of it
  bool withdrawn_ = false;
};

}  // namespace stint
