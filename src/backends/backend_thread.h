// A backend on a thread of its own: whoever gives orders and asks what happened never waits for it.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "backends/backend.h"

namespace stint {

class BackendThread final : public Backend {
 public:
  /// Looks once before it returns, on the caller's thread, so that a backend that is ready at once is ready here.
  /// @param now  of that look.
  BackendThread(std::unique_ptr<Backend> backend, Instant now);
  /// Orders that were given are carried out before.
  ~BackendThread() override;
  BackendThread(const BackendThread&) = delete;
  BackendThread& operator=(const BackendThread&) = delete;

  [[nodiscard]] std::string_view name() const override { return backend_->name(); }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] bool is_ready() const override { return shown_.ready; }
  [[nodiscard]] Status takes(const Launch& like) const override { return backend_->takes(like); }
  [[nodiscard]] bool chooses_gpus() const override { return backend_->chooses_gpus(); }
  void submit(std::vector<Order> orders) override;
  /// What the thread has been told until now; it then looks again, as of `now`, and calls the listener when there is something.
  std::vector<BackendEvent> drain(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_event_at() const override;
  void on_events(std::function<void()> listener) override;
  [[nodiscard]] std::vector<LaunchKey> running() const override { return shown_.running; }
  [[nodiscard]] std::vector<MachineReport> machines() const override { return shown_.machines; }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override { return backend_->read_log(query); }

 private:
  /// What the backend said of itself in one look.
  struct Seen {
    bool ready = false;
    std::vector<LaunchKey> running;
    std::vector<MachineReport> machines;
    std::optional<Instant> next;
  };
  void run();
  void look(Instant now);
  [[nodiscard]] Seen see() const;

  std::unique_ptr<Backend> backend_;
  std::vector<std::string> notes_;
  // The caller's thread alone: as of the last drain().
  Seen shown_;
  Instant drained_at_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool busy_ = false;                 // guarded: with orders, or a look
  std::vector<Order> orders_;         // guarded
  std::optional<Instant> asked_;      // guarded: to look, as of then
  std::vector<BackendEvent> events_;  // guarded
  Seen seen_;                         // guarded: goes with events_
  bool stopping_ = false;             // guarded
  std::mutex listening_;              // held while the listener runs
  std::function<void()> listener_;    // guarded by it
  std::jthread thread_;
};

}  // namespace stint
