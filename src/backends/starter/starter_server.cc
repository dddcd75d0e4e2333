#include "backends/starter/starter_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/text.h"

namespace stint {
namespace {

/// A connection that the other end has not yet seen to be gone must not keep a new one out at once.
constexpr int kTriesForOrders = 50;
constexpr std::chrono::milliseconds kBetweenTries(100);
constexpr int kBuryEveryMs = 5000;

bool is_question(const StarterRequest& request) {
  return !std::holds_alternative<StarterHello>(request) && !std::holds_alternative<StarterOrders>(request) &&
         !std::holds_alternative<StarterDrain>(request);
}

}  // namespace

Status check_against(const StarterPolicy& policy, const Launch& launch) {
  for (const GrantedGpu& gpu : launch.gpus)
    if (!policy.gpus.empty() && !policy.gpus.contains(gpu.index))
      return invalid("launch {}: GPU {} is none that jobs may have here (--gpus)", format_key(launch.key), gpu.index);
  if (launch.run_as) return invalid("launch {}: whose account it has is not asked for", format_key(launch.key));
  if (policy.jobs.accounts && launch.owner.empty()) return invalid("launch {}: no owner", format_key(launch.key));
  return {};
}

StarterServer::StarterServer(StarterPolicy policy, Descriptor listener, std::function<void(const std::string&)> say,
                             Duration pause)
    : policy_(std::move(policy)),
      listener_(std::move(listener)),
      say_(std::move(say)),
      pause_(pause),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      tasks_(look_at_tasks(policy_.jobs.state_folder, policy_.jobs.accounts ? policy_.jobs.accounts->book : "")) {}

StarterServer::~StarterServer() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& connection : connections_)
      ::shutdown(connection->socket.get(), SHUT_RDWR);
  }
  for (const auto& connection : connections_)
    connection->thread.join();
}

void StarterServer::stop() {
  const uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

void StarterServer::run() {
  for (;;) {
    std::array<pollfd, 2> fds = {pollfd{.fd = wake_.get(), .events = POLLIN, .revents = 0},
                                 pollfd{.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(fds.data(), fds.size(), kBuryEveryMs) < 0 && errno != EINTR) return;
    if (fds[0].revents != 0) return;
    if (fds[1].revents != 0) take_connection();
    bury();
  }
}

void StarterServer::take_connection() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.valid()) return;
  const auto peer = peer_of(socket);
  if (!peer.ok()) return;
  if (peer->uid != policy_.client) {
    say_(fmt::format("refused: user {} (process {}) may not ask, only user {}", peer->uid, peer->pid, policy_.client));
    return;
  }
  bury();
  const std::lock_guard lock(mutex_);
  if (connections_.size() >= kMostClients) {
    (void)send_message(socket, starter_error(make_error(ErrorCode::kUnavailable,
                                                        "the starter has {} connections: no more are taken", kMostClients)));
    return;
  }
  Connection& connection = *connections_.emplace_back(std::make_unique<Connection>());
  connection.socket = std::move(socket);
  connection.thread = std::thread([this, &connection, peer = *peer] { serve(connection, peer); });
}

void StarterServer::bury() {
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [](const auto& connection) {
    if (!connection->over) return false;
    connection->thread.join();
    return true;
  });
  std::erase_if(keepers_, [](int pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
}

void StarterServer::refuse(const SocketPeer& peer, const std::string& why) {
  say_(fmt::format("refused: user {} (process {}): {}", peer.uid, peer.pid, why));
}

void StarterServer::serve(Connection& connection, const SocketPeer& peer) {
  const auto serve_all = [&]() -> Status {
    TRY_ASSIGN(const StarterRequest hello, next_request(connection.socket));
    const auto* said = std::get_if<StarterHello>(&hello);
    if (said == nullptr) return invalid("a request before 'hello'");
    return said->role == StarterRole::kOrders ? serve_orders(connection.socket) : serve_questions(connection.socket);
  };
  const Status served = serve_all();
  if (!served.ok() && served.error().code == ErrorCode::kInvalidInput) {
    refuse(peer, served.error().message);
    (void)send_message(connection.socket, starter_error(served.error()));
    // Whoever asks for what it may not does not fill the journal.
    pollfd stopped = {.fd = wake_.get(), .events = POLLIN, .revents = 0};
    (void)::poll(&stopped, 1, static_cast<int>(pause_.count_ns() / 1'000'000));
  }
  ::shutdown(connection.socket.get(), SHUT_RDWR);
  connection.over = true;
}

Result<StarterRequest> StarterServer::next_request(const Descriptor& socket) {
  TRY_ASSIGN(const StarterMessage message, receive_message(socket, kMostStarterMessage, 0));
  return parse_starter_request(message.text);
}

Status StarterServer::serve_orders(const Descriptor& socket) {
  std::unique_lock<std::mutex> mine(orders_, std::try_to_lock);
  for (int i = 0; !mine && i < kTriesForOrders; ++i) {
    std::this_thread::sleep_for(kBetweenTries);
    (void)mine.try_lock();
  }
  if (!mine)
    return send_message(socket, starter_error(make_error(ErrorCode::kConflict, "another daemon gives orders to this starter")));
  std::vector<HeldGpu> held;
  LocalBackend::Options options = policy_.jobs;
  options.alone_is_alone = true;
  options.tell_held = [&held](int gpu, const std::string& why) { held.push_back({gpu, why}); };
  auto made = LocalBackend::create(std::move(options));
  if (!made.ok()) return send_message(socket, starter_error(made.error()));
  LocalBackend& backend = **made;
  // Tasks outlive the connection.
  struct Keepers {
    StarterServer& server;
    LocalBackend& backend;
    ~Keepers() {
      const std::lock_guard lock(server.mutex_);
      for (const int keeper : backend.take_keepers())
        server.keepers_.push_back(keeper);
    }
  } const keepers{*this, backend};
  TRY(send_message(socket, starter_notes(backend.notes())));
  for (;;) {
    TRY_ASSIGN(StarterRequest request, next_request(socket));
    if (auto* orders = std::get_if<StarterOrders>(&request)) {
      for (const Order& order : orders->orders)
        if (order.launch)
          if (const Status may = check_against(policy_, *order.launch); !may.ok()) return may.error();
      backend.submit(std::move(orders->orders));
      TRY(send_message(socket, starter_done()));
    } else if (const auto* drain = std::get_if<StarterDrain>(&request)) {
      StarterEvents events{.events = backend.drain(drain->now), .running = backend.running(), .held = std::exchange(held, {})};
      TRY(send_message(socket, starter_events(events)));
    } else {
      return invalid("a question where orders are given");
    }
  }
}

Status StarterServer::serve_questions(const Descriptor& socket) {
  TRY(send_message(socket, starter_done()));
  for (;;) {
    TRY_ASSIGN(const StarterRequest request, next_request(socket));
    if (!is_question(request)) return invalid("an order where questions are asked");
    TRY(answer_question(socket, request));
  }
}

Status StarterServer::answer_question(const Descriptor& socket, const StarterRequest& request) {
  const auto done = [&](const Status& status) {
    return send_message(socket, status.ok() ? starter_done() : starter_error(status.error()));
  };
  if (const auto* read = std::get_if<StarterReadLog>(&request)) {
    const auto piece = read_log(files_of_log(policy_.jobs.state_folder + "/logs", read->query.key), read->query);
    if (!piece.ok()) return done(piece.error());
    return send_message(socket, starter_log(*piece), piece->bytes);
  }
  if (std::holds_alternative<StarterKeptLogs>(request)) return send_message(socket, starter_kept(tasks_->kept_logs()));
  if (const auto* cut = std::get_if<StarterCutLog>(&request)) return done(tasks_->cut_log(cut->key));
  if (const auto* shorten = std::get_if<StarterShortenLog>(&request))
    return done(tasks_->shorten_log(shorten->key, shorten->most));
  return send_message(socket, starter_owner(tasks_->owner_of(std::get<StarterOwner>(request).pid)));
}

}  // namespace stint
