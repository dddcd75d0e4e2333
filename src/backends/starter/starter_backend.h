// Local tasks through the privileged starter (starter_server.h), for a daemon that has no rights of its own.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/local/machine_tasks.h"
#include "backends/starter/starter_messages.h"
#include "backends/starter/starter_socket.h"

namespace stint {

/// One connection, opened anew when it was lost. From any thread, one question at a time.
class StarterClient {
 public:
  StarterClient(std::string socket, StarterRole role) : path_(std::move(socket)), role_(role) {}
  /// @return kUnavailable, too, where it was lost on the way: whether it was done is not known then
  Result<StarterMessage> ask(const StarterRequest& request);
  /// Where it is not connected. @return what the starter said at that
  Status connect();
  [[nodiscard]] bool is_connected() const { return socket_.valid(); }
  [[nodiscard]] const std::string& greeting() const { return greeting_; }
  void disconnect();

 private:
  Result<StarterMessage> exchange(const StarterRequest& request);
  std::string path_;
  StarterRole role_;
  std::mutex mutex_;
  Descriptor socket_;     // guarded
  std::string greeting_;  // guarded
};

class StarterBackend final : public Backend {
 public:
  struct Options {
    std::string socket;
    std::function<void(int gpu, const std::string& why)> tell_held = {};  ///< LocalBackend::Options
  };
  /// @return error when the starter cannot be reached or cannot work.
  static Result<std::unique_ptr<StarterBackend>> connect(Options options);

  [[nodiscard]] std::string_view name() const override { return "local"; }
  [[nodiscard]] std::vector<std::string> notes() const override { return notes_; }
  [[nodiscard]] bool is_ready() const override { return ready_; }
  /// What cannot be given now is given once the starter is there again.
  void submit(std::vector<Order> orders) override;
  std::vector<BackendEvent> drain(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_event_at() const override { return std::nullopt; }
  [[nodiscard]] std::vector<LaunchKey> running() const override { return running_; }
  [[nodiscard]] Result<LogPiece> read_log(const LogQuery& query) const override;

  /// Of the same machine; outlives this.
  [[nodiscard]] static std::unique_ptr<MachineTasks> tasks_of(const std::string& socket);

 private:
  explicit StarterBackend(Options options);
  Status give_orders();

  Options options_;
  StarterClient orders_client_;
  std::unique_ptr<StarterClient> questions_;
  std::vector<std::string> notes_;
  bool ready_ = false;
  std::vector<Order> left_;        ///< to be given, in their order
  std::vector<Refusal> refusals_;  ///< to be told: of orders that the starter does not take
  size_t orders_at_once_;
  std::vector<LaunchKey> running_;
  bool away_ = false;  ///< the starter does not answer, which was told
};

}  // namespace stint
