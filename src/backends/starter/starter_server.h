// The privileged starter: carries out the orders of a daemon that has no rights itself, on a Unix socket that one account may open.
//
// Behind each connection for orders stands a fresh LocalBackend on the same folder, as after a restart of a daemon: whatever was lost with
// a connection is told again, and the starter itself has nothing to remember. Tasks belong to their keepers and outlive both.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backends/local/local_backend.h"
#include "backends/local/machine_tasks.h"
#include "backends/starter/starter_messages.h"
#include "backends/starter/starter_socket.h"

namespace stint {

/// What the starter holds its client to. Out of files and arguments of root's, never out of a message.
struct StarterPolicy {
  uint32_t client = 0;         ///< user id that may ask
  std::set<int> gpus;          ///< indexes that tasks may have; empty = all
  LocalBackend::Options jobs;  ///< whose accounts, which folders, limits and devices
};

/// May the client ask for that launch? What it may not ask for at all is no field of the message.
Status check_against(const StarterPolicy& policy, const Launch& launch);

class StarterServer {
 public:
  static constexpr size_t kMostClients = 16;  ///< connections at a time
  /// @param say  called, by any thread, with what somebody asked for and did not get. @param pause  before one that asked for what it may
  /// not is listened to again
  StarterServer(StarterPolicy policy, Descriptor listener, std::function<void(const std::string&)> say,
                Duration pause = Duration::seconds(1));
  ~StarterServer();
  StarterServer(const StarterServer&) = delete;
  StarterServer& operator=(const StarterServer&) = delete;

  /// Serves until stop().
  void run();
  /// From any thread, also within a signal's handling thread.
  void stop();

 private:
  struct Connection {
    Descriptor socket;
    std::thread thread;
    std::atomic<bool> over = false;
  };
  void take_connection();
  void bury();
  void serve(Connection& connection, const SocketPeer& peer);
  Status serve_orders(const Descriptor& socket);
  Status serve_questions(const Descriptor& socket);
  Result<StarterRequest> next_request(const Descriptor& socket);
  Status answer_question(const Descriptor& socket, const StarterRequest& request);
  void refuse(const SocketPeer& peer, const std::string& why);

  StarterPolicy policy_;
  Descriptor listener_;
  std::function<void(const std::string&)> say_;
  Duration pause_;
  Descriptor wake_;  ///< eventfd: stop() was called
  std::unique_ptr<MachineTasks> tasks_;
  std::mutex orders_;  ///< held by the one connection for orders
  std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_;  // guarded
  std::vector<int> keepers_;                              // guarded: of connections that are gone, to be waited for
};

}  // namespace stint
