// An HTTP/1.1 server with bounds on everything a client could use up: connections, time, bytes.
//
// One thread of the server's own owns all connections; the handler is called on it and must not block. It answers
// through a Responder, then or later, from any thread. One request of a connection is worked on at a time, so that a
// client that pipelines waits for itself only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "host/byte_budget.h"
#include "host/http_target.h"

namespace stint {

struct HttpRequest {
  std::string method;  ///< `GET`, `POST`, …; HEAD comes as GET, its body is not sent
  std::string target;  ///< as sent
  HttpTarget parts;
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in lower case, in order
  std::string body;
  std::string peer;  ///< `127.0.0.1:40112`
  std::string
      tls_client;  ///< whom the verified client certificate names (certificate_name.h); empty = none was asked for or given
  std::shared_ptr<const void> held;  ///< what its body takes of the server's budget

  /// @param name  in lower case. @return the first header of that name.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;  ///< beside those every reply has
  std::string body;
  std::shared_ptr<const void> held = nullptr;  ///< let go of once it is written
};

/// A stream of server-sent events to one client. Copies are the same stream; it ends with the last of them. Any thread.
/// Source: HTML Living Standard, section 9.2 (server-sent events).
class EventStream {
 public:
  struct State;
  explicit EventStream(std::shared_ptr<State> state) : state_(std::move(state)) {}
  /// @param id    what a client that comes back sends as Last-Event-ID; no line breaks. Empty = none.
  /// @param data  any text; its lines are sent as lines.
  /// @return false when the client has gone or reads so slowly that it was dropped.
  bool send(std::string_view event, std::string_view id, std::string_view data) { return send_text(format(event, id, data)); }
  /// The event as it goes over the wire, for those that go to many, or many at once, by send_text().
  static std::string format(std::string_view event, std::string_view id, std::string_view data);
  bool send_text(std::string text) { return send_text(std::make_shared<const std::string>(std::move(text))); }
  /// The same text for many streams is kept once.
  bool send_text(std::shared_ptr<const std::string> text);
  [[nodiscard]] bool open() const;
  /// Bytes handed over and not yet written; of one that is closed more than any limit.
  [[nodiscard]] size_t unread() const;

 private:
  std::shared_ptr<State> state_;
};

/// The one answer to one request. Copies are the same; when the last goes unanswered, the client gets status 500. Any thread.
class Responder {
 public:
  struct Exchange;
  explicit Responder(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  /// Only the first answer counts.
  void reply(HttpReply reply) const;
  [[nodiscard]] bool answered() const;
  /// Calls back when the client goes away before it has its answer; from the handler only, on the server's thread. A client that sends
  /// its next request early is no longer watched.
  void on_gone(std::function<void()> call) const;
  /// Answers with status 200 and an event stream.
  [[nodiscard]] EventStream stream() const;

 private:
  std::shared_ptr<Exchange> exchange_;
};

using HttpHandler = std::function<void(HttpRequest, Responder)>;

/// What a request's head says of who asks.
struct HttpAdmission {
  std::optional<HttpReply> refusal;  ///< what it is answered, its body unread; none: it may come in
  std::string user;                  ///< who asks, proven; empty: not known
};
/// Looks at a request by its head, before any of its body is read; on the server's thread, must not block.
using HttpGate = std::function<HttpAdmission(const HttpRequest& head)>;

struct TlsOptions {
  std::string certificate_file;  ///< PEM, with its chain
  std::string key_file;          ///< PEM, not encrypted
  std::string client_ca_file;    ///< PEM; when given, every client must show a certificate signed by one of these
  std::string client_crl_file;   ///< PEM; revocation lists of the authorities in client_ca_file; empty = none is checked
};

/// @param address  to listen at. @return error when it is no IP address, or leads beyond this machine without TLS, and that was not allowed
Status check_listening(const std::string& address, const TlsOptions& tls, bool plain_beyond_loopback);

struct HttpServerOptions {
  std::string address = "127.0.0.1";   ///< an IP address, not a name
  uint16_t port = 0;                   ///< 0 = any free one
  TlsOptions tls;                      ///< TLS 1.2 or later when a certificate is given
  bool plain_beyond_loopback = false;  ///< without TLS, tokens and job scripts cross the network readable for all
  /// Beyond it whoever has waited longest without asking gives way, strangers first; where all ask, the newcomer gets status 503.
  size_t max_connections = 1024;
  size_t max_peer_connections = 0;  ///< of one address (IPv6: of one /64), as above; 0 = no limit of its own
  HttpGate gate;                    ///< none: all come in, unknown
  // Of one user, or of one address where users are not known; beyond them status 429. 0 = no limit.
  size_t max_user_requests = 0;
  size_t max_user_streams = 0;
  uint64_t max_user_body_bytes = 0;  ///< of bodies that are read or worked on
  uint32_t max_head_bytes = 16U << 10;
  uint64_t max_body_bytes = uint64_t{4} << 20;
  /// Of the bodies of all requests that are read or worked on; beyond it status 503. null: 4 GiB
  std::shared_ptr<ByteBudget> bodies;
  Duration head_timeout = Duration::seconds(30);  ///< from the connection's being ready for a request to the end of its head
  Duration body_timeout = Duration::seconds(30);
  Duration write_timeout = Duration::seconds(30);     ///< of one reply, or of one event
  Duration heartbeat = Duration::seconds(15);         ///< a comment on idle event streams, which finds clients that are gone
  size_t max_unread_event_bytes = size_t{256} << 10;  ///< per event stream; beyond it the client is dropped
};

class HttpServer {
 public:
  /// Listens and serves until destroyed.
  /// @return kInvalidInput for an address or file that cannot be, and for plain HTTP beyond loopback; kUnavailable when the
  ///   port is taken.
  static Result<HttpServer> start(HttpServerOptions options, HttpHandler handler);
  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) = delete;
  /// Closes all connections and waits for the thread; the handler is not called afterwards.
  ~HttpServer();

  [[nodiscard]] uint16_t port() const;
  /// Reads the certificates again, for connections that come from now on; without TLS it does nothing. @return error naming the file:
  ///   then those that were read before stay.
  Status reload_certificates();
  /// `http://127.0.0.1:8470`
  [[nodiscard]] std::string url() const;

 private:
  struct Core;
  friend struct Responder::Exchange;
  friend struct EventStream::State;
  explicit HttpServer(std::shared_ptr<Core> core);
  std::shared_ptr<Core> core_;
};

}  // namespace stint
