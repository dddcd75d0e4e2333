// Boost.Beast and Asio stay in this file: they cost every translation unit that includes them many seconds.
#include "host/http_server.h"

#include <openssl/x509.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <chrono>
#include <deque>
#include <optional>
#include <set>
#include <thread>

#include "base/text.h"

namespace stint {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
using Failure = boost::system::error_code;

std::chrono::nanoseconds chrono_of(Duration d) { return std::chrono::nanoseconds(d.count_ns()); }

/// An answer the server itself gives, as RFC 9457 problem details.
HttpReply problem(int status, std::string_view title) {
  return {
      status, "application/problem+json", {}, fmt::format(R"({{"type":"about:blank","title":"{}","status":{}}})", title, status)};
}

/// One client, whatever lies beneath. All of it runs on the server's thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void begin() = 0;
  virtual void reply(HttpReply reply) = 0;
  virtual void begin_stream(std::shared_ptr<std::atomic<size_t>> unread) = 0;
  virtual void write_event(std::string text) = 0;
  /// Sends what was accepted, then closes.
  virtual void end_stream() = 0;
  virtual void heartbeat() = 0;
  virtual void close() = 0;
};

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  for (const auto& [header, value] : headers)
    if (header == name) return &value;
  return nullptr;
}

struct HttpServer::Core {
  // The order matters at the end: what connections use outlives `io`, which holds the last of them.
  HttpServerOptions options;
  HttpHandler handler;
  std::set<Connection*> connections;
  std::optional<ssl::context> tls;
  asio::io_context io{1};
  tcp::acceptor acceptor{io};
  asio::steady_timer accept_again{io};
  asio::steady_timer heartbeat{io};
  uint16_t port = 0;  ///< as given by the system
  std::thread thread;

  Status load_tls();
  Status listen();
  void accept(const std::shared_ptr<Core>& self);
  void take(const std::shared_ptr<Core>& self, tcp::socket socket);
  void beat();
};

/// Holds the server's core so that answering after the server has gone does no harm. Its hold on the connection ends on the
/// server's thread, where connections live and die.
struct Responder::Exchange {
  Exchange(std::shared_ptr<HttpServer::Core> server, std::shared_ptr<Connection> client)
      : core(std::move(server)), connection(std::move(client)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    if (!answered.exchange(true)) send(problem(500, "the request was dropped: report this"));
    asio::post(core->io, [last = std::move(connection)] {});
  }
  void send(HttpReply reply) {
    asio::post(core->io, [client = connection, answer = std::move(reply)]() mutable { client->reply(std::move(answer)); });
  }
  std::shared_ptr<HttpServer::Core> core;
  std::shared_ptr<Connection> connection;
  std::atomic<bool> answered = false;
};

struct EventStream::State {
  State(std::shared_ptr<HttpServer::Core> server, std::shared_ptr<Connection> client)
      : core(std::move(server)), connection(std::move(client)) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    asio::post(core->io, [client = std::move(connection)] { client->end_stream(); });
  }
  std::shared_ptr<HttpServer::Core> core;
  std::shared_ptr<Connection> connection;
  /// Bytes handed over and not yet written; kGone once the connection is closed.
  std::shared_ptr<std::atomic<size_t>> unread = std::make_shared<std::atomic<size_t>>(0);
};

namespace {

constexpr size_t kGone = SIZE_MAX / 2;

template <typename Stream>
class StreamConnection final : public Connection, public std::enable_shared_from_this<StreamConnection<Stream>> {
 public:
  /// @param dispatch  hands a whole request to the handler. @param forget  takes this out of the list of connections.
  using Dispatch = std::function<void(HttpRequest, std::shared_ptr<Connection>)>;
  StreamConnection(Stream stream, const HttpServerOptions& options, Dispatch dispatch, std::function<void(Connection*)> forget)
      : stream_(std::move(stream)),
        options_(options),
        dispatch_(std::move(dispatch)),
        forget_(std::move(forget)),
        buffer_(size_t{options.max_head_bytes} + (size_t{64} << 10)) {
    Failure ignored;
    const auto peer = beast::get_lowest_layer(stream_).socket().remote_endpoint(ignored);
    if (!ignored) peer_ = fmt::format("{}:{}", peer.address().to_string(), peer.port());
    beast::get_lowest_layer(stream_).socket().set_option(tcp::no_delay(true), ignored);
  }
  ~StreamConnection() override {
    if (unread_) unread_->store(kGone);
    forget_(this);
  }

  void begin() override {
    if constexpr (kTls) {
      deadline(options_.head_timeout);
      stream_.async_handshake(ssl::stream_base::server, [self = this->shared_from_this()](Failure failure) {
        if (failure) return;
        self->read_client_name();
        self->read_head();
      });
    } else {
      read_head();
    }
  }

  void reply(HttpReply answer) override {
    http::response<http::string_body>& response = response_.emplace();
    response.version(version_);
    response.result(static_cast<unsigned>(answer.status));
    response.set(http::field::server, "stint");
    response.set(http::field::content_type, answer.content_type);
    response.set(http::field::cache_control, "no-store");
    response.set("X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : answer.headers)
      response.set(name, value);
    response.keep_alive(keep_alive_);
    response.content_length(answer.body.size());
    if (!head_only_) response.body() = std::move(answer.body);
    deadline(options_.write_timeout);
    http::async_write(stream_, response, [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure) return;
      if (self->keep_alive_)
        self->read_head();
      else
        self->close_after_write();
    });
  }

  void begin_stream(std::shared_ptr<std::atomic<size_t>> unread) override {
    unread_ = std::move(unread);
    constexpr std::string_view kHead =
        "HTTP/1.1 200 OK\r\nServer: stint\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
    unread_->fetch_add(kHead.size());
    events_.emplace_front(kHead);
    write_next();
    watch_for_end();
  }

  /// What another thread posts may overtake what this one posted: an event may be here before its stream begins.
  void write_event(std::string text) override {
    if (closed_) return;
    events_.push_back(std::move(text));
    if (unread_ && events_.size() == 1) write_next();
  }

  void end_stream() override {
    ending_ = true;
    if (unread_ && events_.empty()) close_after_write();
  }

  void heartbeat() override {
    if (!unread_ || !events_.empty()) return;
    constexpr std::string_view kComment = ": still here\n\n";
    unread_->fetch_add(kComment.size());
    write_event(std::string(kComment));
  }

  void close() override {
    closed_ = true;
    if (unread_) unread_->store(kGone);
    Failure ignored;
    beast::get_lowest_layer(stream_).socket().close(ignored);
  }

 private:
  static constexpr bool kTls = !std::is_same_v<Stream, beast::tcp_stream>;

  void deadline(Duration d) { beast::get_lowest_layer(stream_).expires_after(chrono_of(d)); }

  void read_client_name() {
    if constexpr (kTls) {
      X509* certificate = SSL_get_peer_certificate(stream_.native_handle());
      if (certificate == nullptr) return;
      char name[256] = {};
      X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
      tls_client_ = name;
      X509_free(certificate);
    }
  }

  void read_head() {
    parser_.emplace();
    parser_->header_limit(options_.max_head_bytes);
    parser_->body_limit(options_.max_body_bytes);
    deadline(options_.head_timeout);
    http::async_read_header(stream_, buffer_, *parser_, [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure) return self->refuse(failure);
      self->read_body();
    });
  }

  void read_body() {
    const auto& head = parser_->get();
    version_ = head.version();
    head_only_ = head.method() == http::verb::head;
    if (beast::iequals(head[http::field::expect], "100-continue")) {
      constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
      deadline(options_.body_timeout);
      asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                        [self = this->shared_from_this()](Failure failure, size_t) {
                          if (!failure) self->read_rest();
                        });
      return;
    }
    read_rest();
  }

  void read_rest() {
    deadline(options_.body_timeout);
    http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure) return self->refuse(failure);
      self->hand_over();
    });
  }

  void hand_over() {
    http::request<http::string_body> message = parser_->release();
    parser_.reset();
    keep_alive_ = message.keep_alive();
    HttpRequest request;
    request.method = head_only_ ? "GET" : std::string(message.method_string());
    request.target = std::string(message.target());
    for (const auto& field : message)
      request.headers.emplace_back(to_lower({field.name_string().data(), field.name_string().size()}),
                                   std::string(field.value()));
    request.body = std::move(message.body());
    request.peer = peer_;
    request.tls_client = tls_client_;
    auto parts = parse_http_target(request.target);
    if (!parts.ok()) return reply(problem(400, "the request's target is malformed"));
    request.parts = std::move(*parts);
    beast::get_lowest_layer(stream_).expires_never();
    dispatch_(std::move(request), this->shared_from_this());
  }

  /// Says why, where there is something to say, and closes: after a request that was not understood nothing can be.
  void refuse(const Failure& failure) {
    keep_alive_ = false;
    head_only_ = false;
    version_ = 11;
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow)
      return reply(problem(431, "the request's head is too large"));
    if (failure == http::error::body_limit) return reply(problem(413, "the request's body is too large"));
    if (failure.category() == http::make_error_code(http::error::bad_method).category() &&
        failure != http::error::end_of_stream && failure != http::error::partial_message)
      return reply(problem(400, "this is not an HTTP/1.1 request"));
    close();  // gone, timed out, or cut off in the middle
  }

  void write_next() {
    deadline(options_.write_timeout);
    asio::async_write(stream_, asio::buffer(events_.front()), [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure || self->closed_) return self->close();
      self->unread_->fetch_sub(self->events_.front().size());
      self->events_.pop_front();
      if (!self->events_.empty())
        self->write_next();
      else if (self->ending_)
        self->close_after_write();
    });
  }

  /// An event stream's client has nothing more to say: what comes from it is its end.
  void watch_for_end() {
    beast::get_lowest_layer(stream_).expires_never();
    stream_.async_read_some(asio::buffer(scrap_), [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure || self->closed_) return self->close();
      self->watch_for_end();
    });
  }

  /// Lets the client read the answer before the connection goes, also when it has sent more than was read.
  void close_after_write() {
    if (closed_) return;
    if (unread_) return close();  // an event stream reads all the time: nothing is unread
    if constexpr (kTls) {
      deadline(options_.write_timeout);
      stream_.async_shutdown([self = this->shared_from_this()](Failure) { self->close(); });
    } else {
      Failure ignored;
      beast::get_lowest_layer(stream_).socket().shutdown(tcp::socket::shutdown_send, ignored);
      drain(0);
    }
  }

  void drain(size_t so_far) {
    constexpr size_t kMaxDrained = size_t{1} << 20;
    if (so_far == 0) deadline(Duration::seconds(2));
    if (so_far > kMaxDrained) return close();
    stream_.async_read_some(asio::buffer(scrap_), [self = this->shared_from_this(), so_far](Failure failure, size_t read) {
      if (failure) return self->close();
      self->drain(so_far + read);
    });
  }

  Stream stream_;
  const HttpServerOptions& options_;
  Dispatch dispatch_;
  std::function<void(Connection*)> forget_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  std::optional<http::response<http::string_body>> response_;
  std::string peer_;
  std::string tls_client_;
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool closed_ = false;
  bool ending_ = false;
  std::shared_ptr<std::atomic<size_t>> unread_;  ///< set once this is an event stream
  std::deque<std::string> events_;               ///< the first is being written
  std::array<char, 4096> scrap_ = {};
};

}  // namespace

void Responder::reply(HttpReply reply) const {
  if (!exchange_->answered.exchange(true)) exchange_->send(std::move(reply));
}

EventStream Responder::stream() const {
  auto state = std::make_shared<EventStream::State>(exchange_->core, exchange_->connection);
  if (exchange_->answered.exchange(true))
    state->unread->store(kGone);
  else
    asio::post(state->core->io, [client = state->connection, unread = state->unread] { client->begin_stream(unread); });
  return EventStream(std::move(state));
}

bool EventStream::open() const { return state_->unread->load() < kGone; }

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

bool EventStream::send_text(std::string text) {
  const size_t before = state_->unread->fetch_add(text.size());
  if (before >= kGone) return false;
  if (before + text.size() > state_->core->options.max_unread_event_bytes) {
    asio::post(state_->core->io, [client = state_->connection] { client->close(); });
    state_->unread->store(kGone);
    return false;
  }
  asio::post(state_->core->io,
             [client = state_->connection, bytes = std::move(text)]() mutable { client->write_event(std::move(bytes)); });
  return true;
}

Status HttpServer::Core::load_tls() {
  const TlsOptions& wanted = options.tls;
  Failure failure;
  tls.emplace(ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(tls->native_handle(), TLS1_2_VERSION);
  tls->set_options(ssl::context::no_compression | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  if (tls->use_certificate_chain_file(wanted.certificate_file, failure))
    return invalid("{}: no certificate chain in PEM form: {}", wanted.certificate_file, failure.message());
  if (tls->use_private_key_file(wanted.key_file, ssl::context::pem, failure))
    return invalid("{}: no unencrypted private key in PEM form, or not that of {}: {}", wanted.key_file, wanted.certificate_file,
                   failure.message());
  if (wanted.client_ca_file.empty()) return {};
  if (tls->load_verify_file(wanted.client_ca_file, failure))
    return invalid("{}: no certificates in PEM form: {}", wanted.client_ca_file, failure.message());
  tls->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  return {};
}

Status HttpServer::Core::listen() {
  Failure failure;
  const auto address = asio::ip::make_address(options.address, failure);
  if (failure) return invalid("{}: not an IP address: give one such as 127.0.0.1 or ::1", options.address);
  if (!options.tls.certificate_file.empty()) TRY(load_tls());
  if (!tls && !address.is_loopback() && !options.plain_beyond_loopback)
    return invalid("{}: refused without TLS beyond this machine: give a certificate and its key, or listen on 127.0.0.1",
                   options.address);
  const tcp::endpoint endpoint(address, options.port);
  acceptor.open(endpoint.protocol(), failure);
  if (!failure) acceptor.set_option(asio::socket_base::reuse_address(true), failure);
  if (!failure) acceptor.bind(endpoint, failure);
  if (!failure) acceptor.listen(asio::socket_base::max_listen_connections, failure);
  if (failure)
    return make_error(ErrorCode::kUnavailable, "cannot listen on {} port {}: {}: is another daemon running? Choose another port",
                      options.address, options.port, failure.message());
  port = acceptor.local_endpoint(failure).port();
  return {};
}

/// @param self  this, as the holder that handlers keep while they answer; not kept by what waits in `io`.
void HttpServer::Core::accept(const std::shared_ptr<Core>& self) {
  acceptor.async_accept([this, weak = std::weak_ptr<Core>(self)](Failure failure, tcp::socket socket) {
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
    take(alive, std::move(socket));
    accept(alive);
  });
}

void HttpServer::Core::take(const std::shared_ptr<Core>& self, tcp::socket socket) {
  if (connections.size() >= options.max_connections) {
    constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    Failure ignored;
    socket.non_blocking(true, ignored);
    if (!tls) socket.write_some(asio::buffer(kFull.data(), kFull.size()), ignored);
    return;
  }
  const auto dispatch = [this, weak = std::weak_ptr<Core>(self)](HttpRequest request, std::shared_ptr<Connection> connection) {
    if (const auto alive = weak.lock())
      handler(std::move(request), Responder(std::make_shared<Responder::Exchange>(alive, std::move(connection))));
  };
  const auto forget = [this](Connection* gone) { connections.erase(gone); };
  std::shared_ptr<Connection> connection;
  if (tls) {
    beast::ssl_stream<beast::tcp_stream> stream(std::move(socket), *tls);
    connection = std::make_shared<StreamConnection<decltype(stream)>>(std::move(stream), options, dispatch, forget);
  } else {
    beast::tcp_stream stream(std::move(socket));
    connection = std::make_shared<StreamConnection<beast::tcp_stream>>(std::move(stream), options, dispatch, forget);
  }
  connections.insert(connection.get());
  connection->begin();
}

void HttpServer::Core::beat() {
  heartbeat.expires_after(chrono_of(options.heartbeat));
  heartbeat.async_wait([this](Failure stopped) {
    if (stopped) return;
    for (Connection* connection : connections)
      connection->heartbeat();
    beat();
  });
}

HttpServer::HttpServer(std::shared_ptr<Core> core) : core_(std::move(core)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;

Result<HttpServer> HttpServer::start(HttpServerOptions options, HttpHandler handler) {
  auto core = std::make_shared<Core>();
  core->options = std::move(options);
  core->handler = std::move(handler);
  TRY(core->listen());
  core->accept(core);
  core->beat();
  core->thread = std::thread([io = &core->io] { io->run(); });
  return HttpServer(std::move(core));
}

HttpServer::~HttpServer() {
  if (!core_) return;
  asio::post(core_->io, [core = core_.get()] {
    core->acceptor.close();
    core->io.stop();
  });
  core_->thread.join();
  // Clients see the end now, also those whose answer somebody still holds a Responder for.
  for (Connection* connection : core_->connections)
    connection->close();
  core_->handler = nullptr;
}

uint16_t HttpServer::port() const { return core_->port; }

std::string HttpServer::url() const {
  const bool six = core_->options.address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", core_->tls ? "https" : "http", six ? "[" : "", core_->options.address, six ? "]" : "",
                     port());
}

}  // namespace stint
