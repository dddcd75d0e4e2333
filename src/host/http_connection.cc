// Boost.Beast stays in this file: it costs every translation unit that includes it many seconds.
#include "host/http_connection.h"

#include <fmt/compile.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <deque>
#include <optional>

#include "base/text.h"
#include "host/certificate_name.h"

namespace stint {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using tcp = asio::ip::tcp;
/// Of the server's one executor, named: the general kind is copied and asked through pointers at each step.
using PlainStream = beast::basic_stream<tcp, asio::io_context::executor_type>;
using Failure = boost::system::error_code;
using Clock = std::chrono::steady_clock;

template <typename Stream>
class StreamConnection final : public HttpConnection, public std::enable_shared_from_this<StreamConnection<Stream>> {
 public:
  StreamConnection(Stream stream, HttpConnectionHost& host)
      : stream_(std::move(stream)),
        host_(host),
        options_(host.options),
        buffer_(size_t{host.options.max_head_bytes} + (size_t{64} << 10)) {
    Failure ignored;
    const auto peer = beast::get_lowest_layer(stream_).socket().remote_endpoint(ignored);
    if (!ignored) {
      peer_ = fmt::format("{}:{}", peer.address().to_string(), peer.port());
      peer_group_ = group_of(peer.address());
    }
    beast::get_lowest_layer(stream_).socket().set_option(tcp::no_delay(true), ignored);
  }
  ~StreamConnection() override {
    if (unread_) unread_->store(kStreamGone);
    leave();
    host_.connections.erase(this);
  }

  void begin() override {
    if constexpr (kTls) {
      deadline(options_.head_timeout);
      idle_since_ = Clock::now();
      stream_.async_handshake(ssl::stream_base::server, [self = this->shared_from_this()](Failure failure) {
        if (failure) return;
        self->read_client_name();
        self->read_head();
      });
    } else {
      read_head();
    }
  }

  void admit_again(ssl::context& tls) override {
    if constexpr (kTls) {
      if (closed() || !SSL_is_init_finished(stream_.native_handle())) return;
      const std::unique_ptr<X509, decltype(&X509_free)> shown(SSL_get_peer_certificate(stream_.native_handle()), X509_free);
      const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(), X509_STORE_CTX_free);
      const bool good = shown && check &&
                        X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(tls.native_handle()), shown.get(),
                                            SSL_get_peer_cert_chain(stream_.native_handle())) == 1 &&
                        X509_STORE_CTX_set_default(check.get(), "ssl_client") == 1 && X509_verify_cert(check.get()) == 1;
      if (!good) close();
    }
  }

  void refuse_newcomer() override {
    constexpr std::string_view kFull =
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    (void)::send(beast::get_lowest_layer(stream_).socket().native_handle(), kFull.data(), kFull.size(),
                 MSG_DONTWAIT | MSG_NOSIGNAL);
    close();
  }

  void reply(HttpReply answer) override {
    stop_watching();
    write_head(answer);
    reply_held_ = std::move(answer.held);
    reply_body_ = head_only_ ? std::string() : std::move(answer.body);
    deadline(options_.write_timeout);
    if constexpr (kTls) {
      // One buffer at a time: Boost 1.74's write of two through TLS says that all is done after the first, when the second is longer
      // than a TLS record. What fits a record goes in one.
      if (reply_body_.size() <= kTlsRecord) reply_head_ += std::exchange(reply_body_, {});
      asio::async_write(stream_, asio::buffer(reply_head_), [self = this->shared_from_this()](Failure failure, size_t) {
        if (failure || self->reply_body_.empty()) return self->after_reply(failure);
        asio::async_write(self->stream_, asio::buffer(self->reply_body_),
                          [self](Failure broken, size_t) { self->after_reply(broken); });
      });
    } else {
      const std::array buffers = {asio::const_buffer(reply_head_.data(), reply_head_.size()),
                                  asio::const_buffer(reply_body_.data(), reply_body_.size())};
      asio::async_write(stream_, buffers,
                        [self = this->shared_from_this()](Failure failure, size_t) { self->after_reply(failure); });
    }
  }

  void watch(std::function<void()> gone) override {
    if (answered_) return;
    gone_ = std::move(gone);
    if constexpr (kTls) return read_early();
    beast::get_lowest_layer(stream_).socket().async_wait(
        tcp::socket::wait_read, [self = this->shared_from_this()](Failure failure) {
          if (failure || !self->gone_) return;
          char next = 0;
          const ssize_t got =
              recv(beast::get_lowest_layer(self->stream_).socket().native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
          const auto call = std::exchange(self->gone_, nullptr);
          if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return;
          self->close();
          call();
        });
  }

  void begin_stream(std::shared_ptr<std::atomic<size_t>> unread) override {
    stop_watching();
    if (!may_stream()) {
      unread->store(kStreamGone);
      ending_ = true;
      return reply(http_problem(429, "too many event streams of yours: close one"));
    }
    unread_ = std::move(unread);
    constexpr std::string_view kHead =
        "HTTP/1.1 200 OK\r\nServer: stint\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n";
    unread_->fetch_add(kHead.size());
    events_.push_front(std::make_shared<const std::string>(kHead));
    write_next();
    if (!reading_early_) watch_for_end();
  }

  /// What another thread posts may overtake what this one posted: an event may be here before its stream begins.
  void write_event(std::shared_ptr<const std::string> text) override {
    if (closed_ || (ending_ && !unread_)) return;
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
    write_event(std::make_shared<const std::string>(kComment));
  }

  void check_deadline(Clock::time_point now) override {
    if (now > deadline_) close();
  }
  const std::string& peer_group() const override { return peer_group_; }
  bool proven() const override { return proven_; }
  bool closed() const override { return closed_; }
  std::optional<Clock::time_point> idle_since() const override { return closed_ ? std::nullopt : idle_since_; }

  void close() override {
    closed_ = true;
    if (unread_) unread_->store(kStreamGone);
    Failure ignored;
    beast::get_lowest_layer(stream_).socket().close(ignored);
  }

 private:
  static constexpr size_t kUsualHeaders = 8;
  static constexpr size_t kTlsRecord = size_t{16} << 10;
  static constexpr bool kTls = !std::is_same_v<Stream, PlainStream>;

  void deadline(Duration d) { deadline_ = Clock::now() + std::chrono::nanoseconds(d.count_ns()); }
  void no_deadline() { deadline_ = Clock::time_point::max(); }

  void write_head(const HttpReply& answer) {
    reply_head_.clear();
    const beast::string_view reason = http::obsolete_reason(http::int_to_status(static_cast<unsigned>(answer.status)));
    fmt::format_to(std::back_inserter(reply_head_),
                   FMT_COMPILE("HTTP/1.{} {} {}\r\nServer: stint\r\nContent-Type: {}\r\nCache-Control: no-store\r\n"
                               "X-Content-Type-Options: nosniff\r\nContent-Length: {}\r\n"),
                   version_ % 10, answer.status, std::string_view(reason.data(), reason.size()), answer.content_type,
                   answer.body.size());
    for (const auto& [name, value] : answer.headers)
      fmt::format_to(std::back_inserter(reply_head_), FMT_COMPILE("{}: {}\r\n"), name, value);
    // RFC 6797, for a year: whoever came over TLS once is not led to plain HTTP.
    if (kTls) reply_head_ += "Strict-Transport-Security: max-age=31536000\r\n";
    if (!keep_alive_) reply_head_ += "Connection: close\r\n";
    if (keep_alive_ && version_ < 11) reply_head_ += "Connection: keep-alive\r\n";
    reply_head_ += "\r\n";
  }

  void after_reply(const Failure& failure) {
    reply_held_ = nullptr;
    leave();
    if (failure) return;
    if (keep_alive_)
      read_head();
    else
      close_after_write();
  }

  void stop_watching() {
    answered_ = true;
    if (!std::exchange(gone_, nullptr) || kTls) return;  // a read through TLS goes on: see read_early()
    Failure ignored;
    beast::get_lowest_layer(stream_).socket().cancel(ignored);
  }

  /// Counts the request to whoever asks. @return false: they have too many
  bool enter(const std::string& user) {
    user_ = user.empty() ? peer_group_ : user;
    proven_ = proven_ || !user.empty();
    HttpUse& use = host_.uses[user_];
    ++use.requests;
    in_stream_ = false;
    return options_.max_user_requests == 0 || use.requests <= options_.max_user_requests;
  }
  bool may_stream() {
    const auto use = host_.uses.find(user_);
    if (use == host_.uses.end() || in_stream_) return true;
    if (options_.max_user_streams != 0 && use->second.streams >= options_.max_user_streams) return false;
    --use->second.requests;
    ++use->second.streams;
    in_stream_ = true;
    return true;
  }
  void leave() {
    const auto use = user_.empty() ? host_.uses.end() : host_.uses.find(user_);
    user_.clear();
    if (use == host_.uses.end()) return;
    --(in_stream_ ? use->second.streams : use->second.requests);
    use->second.body_bytes -= std::exchange(body_bytes_, 0);
    if (use->second.requests == 0 && use->second.streams == 0) host_.uses.erase(use);
  }

  /// A /64 of IPv6 is one customer's; IPv4 in IPv6's form is IPv4.
  static std::string group_of(const asio::ip::address& address) {
    if (address.is_v4()) return address.to_string();
    asio::ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
    if (address.to_v6().is_v4_mapped()) return fmt::format("{}.{}.{}.{}", bytes[12], bytes[13], bytes[14], bytes[15]);
    std::fill(bytes.begin() + 8, bytes.end(), 0);
    return asio::ip::address_v6(bytes).to_string() + "/64";
  }

  void read_client_name() {
    if constexpr (kTls) {
      X509* certificate = SSL_get_peer_certificate(stream_.native_handle());
      if (certificate == nullptr) return;
      tls_client_ = name_in_certificate(certificate);
      X509_free(certificate);
    }
  }

  /// Through TLS the goodbye looks like any other bytes until it is read. What else comes is the next request's beginning; so the read
  /// is that request's as well, and whoever wants to read next takes it over: there is never a second one beside it.
  void read_early() {
    if (reading_early_ || buffer_.size() > 0) return;  // the next request is here: it is no longer watched
    reading_early_ = true;
    constexpr size_t kPiece = size_t{4} << 10;
    stream_.async_read_some(buffer_.prepare(kPiece), [self = this->shared_from_this()](Failure failure, size_t read) {
      self->reading_early_ = false;
      if (!failure) self->buffer_.commit(read);
      self->after_early_read(failure);
    });
  }

  void after_early_read(const Failure& failure) {
    const auto gone = std::exchange(gone_, nullptr);
    if (closed_) return;
    if (unread_) return failure ? close() : watch_for_end();
    if (!failure) return std::exchange(head_awaited_, false) ? read_head() : void();
    if (answered_ && !head_awaited_ && !said_goodbye_) {  // its answer is being written
      broken_ = failure != asio::error::eof;
      return;
    }
    close();
    if (gone) gone();
  }

  void read_head() {
    answered_ = false;
    idle_since_ = Clock::now();
    if (reading_early_) {
      head_awaited_ = true;
      return deadline(options_.head_timeout);
    }
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
    idle_since_ = std::nullopt;
    const auto& head = parser_->get();
    version_ = head.version();
    head_only_ = head.method() == http::verb::head;
    keep_alive_ = head.keep_alive();
    // What came with the head is there already; else a refusal leaves what comes after it unread.
    const bool has_body = parser_->chunked() || parser_->content_length().value_or(0) > 0;
    if (!take_head()) return turn_away(http_problem(400, "the request's target is malformed"), has_body);
    HttpAdmission admission;
    if (options_.gate) admission = options_.gate(request_);
    if (!enter(admission.user))
      return turn_away(http_problem(429, "too many requests of yours at a time: wait for their answers"), has_body);
    if (admission.refusal) return turn_away(std::move(*admission.refusal), has_body);
    if (has_body) {
      // A body of unknown length may become as long as is allowed.
      const uint64_t bytes = parser_->content_length().value_or(options_.max_body_bytes);
      HttpUse& use = host_.uses[user_];
      if (options_.max_user_body_bytes != 0 && use.body_bytes + bytes > options_.max_user_body_bytes)
        return turn_away(http_problem(429, "too many large requests of yours at a time"), has_body);
      request_.held = host_.bodies->take(bytes);
      if (!request_.held) return turn_away(http_problem(503, "too many large requests at a time"), has_body);
      body_bytes_ = bytes;
      use.body_bytes += bytes;
    }
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

  void turn_away(HttpReply answer, bool body_unread) {
    if (body_unread) keep_alive_ = false;
    request_ = {};
    reply(std::move(answer));
  }

  /// @return false: the target is malformed
  bool take_head() {
    const auto& head = parser_->get();
    request_ = {};
    request_.method = head_only_ ? "GET" : std::string(head.method_string());
    request_.target = std::string(head.target());
    request_.headers.reserve(kUsualHeaders);
    for (const auto& field : head)
      request_.headers.emplace_back(to_lower({field.name_string().data(), field.name_string().size()}),
                                    std::string(field.value()));
    request_.peer = peer_;
    request_.tls_client = tls_client_;
    auto parts = parse_http_target(request_.target);
    if (!parts.ok()) return false;
    request_.parts = std::move(*parts);
    return true;
  }

  void read_rest() {
    // What came with the head needs no more waiting.
    while (!parser_->is_done() && buffer_.size() > 0) {
      Failure failure;
      const size_t taken = parser_->put(buffer_.data(), failure);
      buffer_.consume(taken);
      if (failure == http::error::need_more) break;
      if (failure) return refuse(failure);
    }
    if (parser_->is_done()) return hand_over();
    // Else it comes in pieces of what the head has left room for, 512 bytes and a system call each. Given back with the body's end.
    buffer_.reserve(static_cast<size_t>(std::min(body_bytes_, uint64_t{64} << 10)));
    deadline(options_.body_timeout);
    http::async_read(stream_, buffer_, *parser_, [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure) return self->refuse(failure);
      self->buffer_.shrink_to_fit();
      self->hand_over();
    });
  }

  void hand_over() {
    request_.body = std::move(parser_->get().body());
    parser_.reset();
    no_deadline();
    host_.dispatch(std::exchange(request_, {}), this->shared_from_this());
  }

  /// Says why, where there is something to say, and closes: after a request that was not understood nothing can be.
  void refuse(const Failure& failure) {
    keep_alive_ = false;
    head_only_ = false;
    version_ = 11;
    if (failure == http::error::header_limit || failure == http::error::buffer_overflow)
      return reply(http_problem(431, "the request's head is too large"));
    if (failure == http::error::body_limit) return reply(http_problem(413, "the request's body is too large"));
    if (failure.category() == http::make_error_code(http::error::bad_method).category() &&
        failure != http::error::end_of_stream && failure != http::error::partial_message)
      return reply(http_problem(400, "this is not an HTTP/1.1 request"));
    close();  // gone, timed out, or cut off in the middle
  }

  void write_next() {
    deadline(options_.write_timeout);
    asio::async_write(stream_, asio::buffer(*events_.front()), [self = this->shared_from_this()](Failure failure, size_t) {
      if (failure || self->closed_) return self->close();
      self->unread_->fetch_sub(self->events_.front()->size());
      self->events_.pop_front();
      if (!self->events_.empty())
        self->write_next();
      else if (self->ending_)
        self->close_after_write();
    });
  }

  /// An event stream's client has nothing more to say: what comes from it is its end.
  void watch_for_end() {
    no_deadline();
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
      // The goodbye waits for the client's. After a broken read it would wait in vain: Boost reads the socket again, and no event comes.
      if (broken_) return close();
      said_goodbye_ = true;
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
  HttpConnectionHost& host_;
  const HttpServerOptions& options_;
  beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;  ///< being read
  std::string reply_head_, reply_body_;
  std::shared_ptr<const void> reply_held_;
  Clock::time_point deadline_ = Clock::time_point::max();
  std::string user_;         ///< in host_.uses, while a request is read or worked on
  uint64_t body_bytes_ = 0;  ///< counted there
  bool in_stream_ = false;   ///< counted there as a stream
  bool proven_ = false;
  std::optional<Clock::time_point> idle_since_;
  std::function<void()> gone_;
  bool answered_ = false;
  bool reading_early_ = false;  ///< over TLS: a read is on its way while the request is at work
  bool head_awaited_ = false;   ///< and the next request is what it brings
  bool broken_ = false;         ///< over TLS: reading has failed, without the client's goodbye
  bool said_goodbye_ = false;   ///< over TLS: the server has, and waits for the client's
  std::string peer_;
  std::string peer_group_ = "unknown";
  std::string tls_client_;
  unsigned version_ = 11;
  bool keep_alive_ = false;
  bool head_only_ = false;
  bool closed_ = false;
  bool ending_ = false;
  std::shared_ptr<std::atomic<size_t>> unread_;            ///< set once this is an event stream
  std::deque<std::shared_ptr<const std::string>> events_;  ///< the first is being written
  std::array<char, 4096> scrap_ = {};
};

}  // namespace

HttpReply http_problem(int status, std::string_view title) {
  return {
      status, "application/problem+json", {}, fmt::format(R"({{"type":"about:blank","title":"{}","status":{}}})", title, status)};
}

std::shared_ptr<HttpConnection> make_http_connection(HttpSocket socket, ssl::context* tls, HttpConnectionHost& host) {
  std::shared_ptr<HttpConnection> connection;
  if (tls != nullptr) {
    beast::ssl_stream<PlainStream> stream(std::move(socket), *tls);
    connection = std::make_shared<StreamConnection<decltype(stream)>>(std::move(stream), host);
  } else {
    connection = std::make_shared<StreamConnection<PlainStream>>(PlainStream(std::move(socket)), host);
  }
  host.connections.insert(connection.get());
  return connection;
}

}  // namespace stint
