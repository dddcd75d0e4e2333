// Boost.Asio stays in this file and http_connection.cc: it costs every translation unit that includes it many seconds.
#include "host/http_server.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <concepts>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <tuple>

#include "base/text.h"
#include "host/http_connection.h"
#include "host/secret.h"

namespace stint {
namespace {

namespace asio = boost::asio;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using Failure = boost::system::error_code;
using Clock = std::chrono::steady_clock;

std::chrono::nanoseconds chrono_of(Duration d) { return std::chrono::nanoseconds(d.count_ns()); }

/// What other threads leave for the server's to do. asio::post() wakes it while it holds a lock that the woken one needs: where both
/// share a core, that is two switches more for each answer.
class Mailbox {
 public:
  using Call = std::function<void()>;
  explicit Mailbox(asio::io_context& io) : io_(io), bell_(io, ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { listen(); }

  /// Done at once where this is the server's thread.
  template <std::invocable Now>
  void dispatch(Now call) {
    if (io_.get_executor().running_in_this_thread()) return call();
    put(std::move(call));
  }
  void put(Call call) {
    {
      const std::lock_guard lock(mutex_);
      calls_.push_back(std::move(call));
      if (std::exchange(rung_, true)) return;
    }
    constexpr uint64_t kOne = 1;
    (void)!::write(bell_.native_handle(), &kOne, sizeof kOne);
  }
  /// As dispatch(), but no thread is woken: done half a second later at most.
  template <std::invocable Now>
  void dispatch_quietly(Now call) {
    if (io_.get_executor().running_in_this_thread()) return call();
    const std::lock_guard lock(mutex_);
    calls_.emplace_back(std::move(call));
  }
  void empty() {
    std::vector<Call> calls;
    {
      const std::lock_guard lock(mutex_);
      calls.swap(calls_);
      rung_ = false;
    }
    for (const Call& call : calls)
      call();
  }

 private:
  void listen() {
    bell_.async_read_some(asio::buffer(&times_, sizeof times_), [this](Failure stopped, size_t) {
      if (stopped) return;
      empty();
      listen();
    });
  }

  asio::io_context& io_;
  asio::posix::stream_descriptor bell_;
  uint64_t times_ = 0;
  std::mutex mutex_;
  std::vector<Call> calls_;
  bool rung_ = false;
};

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  for (const auto& [header, value] : headers)
    if (header == name) return &value;
  return nullptr;
}

struct HttpServer::Core {
  // The order matters at the end: what connections use outlives `io`, which holds the last of them.
  HttpConnectionHost host;
  HttpHandler handler;
  std::optional<ssl::context> tls;
  asio::io_context io{1};
  Mailbox mailbox{io};
  asio::basic_socket_acceptor<tcp, asio::io_context::executor_type> acceptor{io};
  asio::steady_timer accept_again{io};
  asio::steady_timer heartbeat{io};
  asio::steady_timer sweep{io};
  uint16_t port = 0;  ///< as given by the system
  std::thread thread;

  Status listen();
  void accept(const std::shared_ptr<Core>& self);
  void take(HttpSocket socket);
  /// @return false: there is no room for it, and no connection gives way
  bool make_way(const HttpConnection& newcomer);
  [[nodiscard]] HttpConnection* idlest(const std::string* of) const;
  void beat();
  void check_deadlines();
};

/// Holds the server's core so that answering after the server has gone does no harm. Its hold on the connection ends on the
/// server's thread, where connections live and die.
struct Responder::Exchange {
  Exchange(std::shared_ptr<HttpServer::Core> server, std::shared_ptr<HttpConnection> client)
      : core(std::move(server)), connection(std::move(client)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    if (!answered.exchange(true)) send(http_problem(500, "the request was dropped: report this"));
    core->mailbox.dispatch_quietly([last = std::move(connection)] {});
  }
  void send(HttpReply reply) {
    core->mailbox.dispatch([client = connection, answer = std::move(reply)]() mutable { client->reply(std::move(answer)); });
  }
  std::shared_ptr<HttpServer::Core> core;
  std::shared_ptr<HttpConnection> connection;
  std::atomic<bool> answered = false;
};

struct EventStream::State {
  State(std::shared_ptr<HttpServer::Core> server, std::shared_ptr<HttpConnection> client)
      : core(std::move(server)), connection(std::move(client)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    core->mailbox.put([client = std::move(connection)] { client->end_stream(); });
  }
  std::shared_ptr<HttpServer::Core> core;
  std::shared_ptr<HttpConnection> connection;
  /// Bytes handed over and not yet written; kStreamGone once the connection is closed.
  std::shared_ptr<std::atomic<size_t>> unread = std::make_shared<std::atomic<size_t>>(0);
};

void Responder::reply(HttpReply reply) const {
  if (!exchange_->answered.exchange(true)) exchange_->send(std::move(reply));
}

bool Responder::answered() const { return exchange_->answered.load(); }

void Responder::on_gone(std::function<void()> call) const { exchange_->connection->watch(std::move(call)); }

EventStream Responder::stream() const {
  auto state = std::make_shared<EventStream::State>(exchange_->core, exchange_->connection);
  if (exchange_->answered.exchange(true))
    state->unread->store(kStreamGone);
  else
    state->core->mailbox.put([client = state->connection, unread = state->unread] { client->begin_stream(unread); });
  return EventStream(std::move(state));
}

bool EventStream::open() const { return unread() < kStreamGone; }
size_t EventStream::unread() const { return state_->unread->load(); }

// A line break in the id or the name would begin another field: such are left out.
std::string EventStream::format(std::string_view event, std::string_view id, std::string_view data) {
  const auto one_line = [](std::string_view text) { return !text.empty() && text.find_first_of("\r\n") == text.npos; };
  std::string out;
  if (one_line(id)) out += fmt::format("id: {}\n", id);
  if (one_line(event)) out += fmt::format("event: {}\n", event);
  std::string plain(data);
  std::erase(plain, '\r');  // a line break by itself, too
  for (const std::string_view line : split(plain, '\n'))
    out += fmt::format("data: {}\n", line);
  out += '\n';
  return out;
}

bool EventStream::send_text(std::shared_ptr<const std::string> text) {
  const size_t before = state_->unread->fetch_add(text->size());
  if (before >= kStreamGone) return false;
  if (before + text->size() > state_->core->host.options.max_unread_event_bytes) {
    state_->core->mailbox.put([client = state_->connection] { client->close(); });
    state_->unread->store(kStreamGone);
    return false;
  }
  state_->core->mailbox.put([client = state_->connection, bytes = std::move(text)] { client->write_event(bytes); });
  return true;
}

/// Clients' certificates are looked up in their issuer's revocation list. Without a list of that issuer, or with an expired one, a client is refused.
Status read_revoked(ssl::context& tls, const std::string& file) {
  X509_STORE* const store = SSL_CTX_get_cert_store(tls.native_handle());
  X509_LOOKUP* const lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  if (lookup == nullptr || X509_load_crl_file(lookup, file.c_str(), X509_FILETYPE_PEM) < 1)
    return invalid("{}: no list of revoked certificates in PEM form (openssl ca -gencrl makes one)", file);
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
  return {};
}

Result<ssl::context> read_certificates(const TlsOptions& wanted) {
  Failure failure;
  ssl::context tls(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(tls.native_handle(), TLS1_2_VERSION);
  tls.set_options(ssl::context::no_compression | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  if (tls.use_certificate_chain_file(wanted.certificate_file, failure))
    return invalid("{}: no certificate chain in PEM form: {}", wanted.certificate_file, failure.message());
  TRY(check_secret_file(wanted.key_file, SecretReaders::kOwnerAndGroup));
  if (tls.use_private_key_file(wanted.key_file, ssl::context::pem, failure))
    return invalid("{}: no unencrypted private key in PEM form, or not that of {}: {}", wanted.key_file, wanted.certificate_file,
                   failure.message());
  if (wanted.client_ca_file.empty()) return tls;
  if (tls.load_verify_file(wanted.client_ca_file, failure))
    return invalid("{}: no certificates in PEM form: {}", wanted.client_ca_file, failure.message());
  tls.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  if (!wanted.client_crl_file.empty()) TRY(read_revoked(tls, wanted.client_crl_file));
  return tls;
}

Status check_listening(const std::string& address, const TlsOptions& tls, bool plain_beyond_loopback) {
  Failure failure;
  const auto parsed = asio::ip::make_address(address, failure);
  if (failure) return invalid("{}: not an IP address: give one such as 127.0.0.1 or ::1", address);
  if (tls.certificate_file.empty() && !parsed.is_loopback() && !plain_beyond_loopback)
    return invalid("{}: refused without TLS beyond this machine: give a certificate and its key, or listen on 127.0.0.1",
                   address);
  return {};
}

Status HttpServer::Core::listen() {
  Failure failure;
  TRY(check_listening(host.options.address, host.options.tls, host.options.plain_beyond_loopback));
  const auto address = asio::ip::make_address(host.options.address);
  if (!host.options.tls.certificate_file.empty()) {
    TRY_ASSIGN(tls, read_certificates(host.options.tls));
  }
  const tcp::endpoint endpoint(address, host.options.port);
  acceptor.open(endpoint.protocol(), failure);
  if (!failure) acceptor.set_option(asio::socket_base::reuse_address(true), failure);
  if (!failure) acceptor.bind(endpoint, failure);
  if (!failure) acceptor.listen(asio::socket_base::max_listen_connections, failure);
  if (failure)
    return make_error(ErrorCode::kUnavailable, "cannot listen on {} port {}: {}: is another daemon running? Choose another port",
                      host.options.address, host.options.port, failure.message());
  port = acceptor.local_endpoint(failure).port();
  return {};
}

/// @param self  this, as the holder that handlers keep while they answer; not kept by what waits in `io`.
void HttpServer::Core::accept(const std::shared_ptr<Core>& self) {
  acceptor.async_accept([this, weak = std::weak_ptr<Core>(self)](Failure failure, HttpSocket socket) {
    const auto alive = weak.lock();
    if (!alive || failure == asio::error::operation_aborted) return;
    if (failure) {  // out of file descriptors, most likely: trying at once again would only burn time
      accept_again.expires_after(std::chrono::milliseconds(100));
      accept_again.async_wait([this, weak](Failure stopped) {
        const auto still = weak.lock();
        if (!stopped && still) accept(still);
      });
      return;
    }
    take(std::move(socket));
    accept(alive);
  });
}

/// Whoever waits longest without asking: strangers before those who have proven who they are, within them of the address with the most.
/// @param of  only of this address; null: of any
HttpConnection* HttpServer::Core::idlest(const std::string* of) const {
  std::map<std::string_view, size_t> counts;
  for (const HttpConnection* connection : host.connections)
    ++counts[connection->peer_group()];
  const auto rank = [&counts](const HttpConnection* connection) {
    return std::tuple(connection->proven(), SIZE_MAX - counts[connection->peer_group()], *connection->idle_since());
  };
  HttpConnection* found = nullptr;
  for (HttpConnection* connection : host.connections)
    if ((of == nullptr || connection->peer_group() == *of) && connection->idle_since() &&
        (found == nullptr || rank(connection) < rank(found)))
      found = connection;
  return found;
}

bool HttpServer::Core::make_way(const HttpConnection& newcomer) {
  const HttpServerOptions& options = host.options;
  if (host.connections.size() <= options.max_connections && options.max_peer_connections == 0) return true;
  const std::string& group = newcomer.peer_group();
  size_t open = 0, of_group = 0;
  for (const HttpConnection* connection : host.connections) {
    open += connection->closed() ? 0U : 1U;
    of_group += !connection->closed() && connection->peer_group() == group ? 1U : 0U;
  }
  const bool group_full = options.max_peer_connections != 0 && of_group > options.max_peer_connections;
  if (!group_full && open <= options.max_connections) return true;
  HttpConnection* const gives_way = idlest(group_full ? &group : nullptr);
  if (gives_way != nullptr) gives_way->close();
  return gives_way != nullptr;
}

void HttpServer::Core::take(HttpSocket socket) {
  const auto connection = make_http_connection(std::move(socket), tls ? &*tls : nullptr, host);
  if (make_way(*connection)) return connection->begin();
  if (!tls) connection->refuse_newcomer();
}

void HttpServer::Core::beat() {
  heartbeat.expires_after(chrono_of(host.options.heartbeat));
  heartbeat.async_wait([this](Failure stopped) {
    if (stopped) return;
    for (HttpConnection* connection : host.connections)
      connection->heartbeat();
    beat();
  });
}

/// One look at all connections now and then in place of a timer for each operation of each: those cost as much as the reading.
void HttpServer::Core::check_deadlines() {
  const Duration shortest = std::min({host.options.head_timeout, host.options.body_timeout, host.options.write_timeout});
  sweep.expires_after(chrono_of(
      std::clamp(Duration::nanoseconds(shortest.count_ns() / 8), Duration::milliseconds(5), Duration::milliseconds(500))));
  sweep.async_wait([this](Failure stopped) {
    if (stopped) return;
    mailbox.empty();
    for (HttpConnection* connection : host.connections)
      connection->check_deadline(Clock::now());
    check_deadlines();
  });
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;

Result<HttpServer> HttpServer::start(HttpServerOptions options, HttpHandler handler) {
  auto core = std::make_shared<Core>();
  constexpr uint64_t kMostBodies = uint64_t{4} << 30;
  core->host.options = std::move(options);
  core->host.bodies = core->host.options.bodies ? core->host.options.bodies : ByteBudget::of(kMostBodies);
  core->handler = std::move(handler);
  core->host.dispatch = [weak = std::weak_ptr<Core>(core)](HttpRequest request, std::shared_ptr<HttpConnection> connection) {
    if (const auto alive = weak.lock())
      alive->handler(std::move(request), Responder(std::make_shared<Responder::Exchange>(alive, std::move(connection))));
  };
  TRY(core->listen());
  core->accept(core);
  core->beat();
  core->check_deadlines();
  core->thread = std::thread([io = &core->io] { io->run(); });
  return HttpServer(std::move(core));
}

HttpServer::~HttpServer() {
  if (!core_) return;
  core_->mailbox.put([core = core_.get()] {
    core->acceptor.close();
    core->io.stop();
  });
  core_->thread.join();
  // Clients see the end now, also those whose answer somebody still holds a Responder for.
  for (HttpConnection* connection : core_->host.connections)
    connection->close();
  core_->handler = nullptr;
}

uint16_t HttpServer::port() const { return core_->port; }

Status HttpServer::reload_certificates() {
  if (!core_->tls) return {};
  TRY_ASSIGN(ssl::context read, read_certificates(core_->host.options.tls));
  // What a connection has of the one before is its own.
  core_->mailbox.put([core = core_.get(), next = std::make_shared<ssl::context>(std::move(read))] {
    core->tls = std::move(*next);
    if (core->host.options.tls.client_ca_file.empty()) return;
    for (HttpConnection* connection : core->host.connections)
      connection->admit_again(*core->tls);
  });
  return {};
}

std::string HttpServer::url() const {
  const bool six = core_->host.options.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", core_->tls ? "https" : "http", six ? "[" : "", core_->host.options.address, six ? "]" : "",
                     port());
}

}  // namespace stint
