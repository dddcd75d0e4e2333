// One client of the HTTP server: reads its requests, writes its answers or its stream of events, and is closed when it lets the
// server wait. Private to the server: this header brings Boost.Asio.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "host/http_server.h"

namespace stint {

/// An answer the server itself gives, as RFC 9457 problem details.
[[nodiscard]] HttpReply http_problem(int status, std::string_view title);

/// Bytes not yet read of an event stream whose connection is closed.
constexpr size_t kStreamGone = SIZE_MAX / 2;

/// Whatever lies beneath. All of it runs on the server's thread.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  virtual void begin() = 0;
  /// Says that there is no room, and closes; in place of begin().
  virtual void refuse_newcomer() = 0;
  virtual void reply(HttpReply reply) = 0;
  /// @param gone  called once if the client goes before its answer.
  virtual void watch(std::function<void()> gone) = 0;
  /// @param unread  bytes handed over and not yet written; kStreamGone once the connection is closed.
  virtual void begin_stream(std::shared_ptr<std::atomic<size_t>> unread) = 0;
  virtual void write_event(std::shared_ptr<const std::string> text) = 0;
  /// Sends what was accepted, then closes.
  virtual void end_stream() = 0;
  virtual void heartbeat() = 0;
  /// Closes it when it has kept the server waiting for too long.
  virtual void check_deadline(std::chrono::steady_clock::time_point now) = 0;
  virtual void close() = 0;
  /// The server has read its certificates again: closes the connection if its client's certificate fails the new check.
  virtual void admit_again(boost::asio::ssl::context& tls) = 0;
  /// Whose it is, as far as its address tells.
  [[nodiscard]] virtual const std::string& peer_group() const = 0;
  /// Somebody known has asked by it.
  [[nodiscard]] virtual bool proven() const = 0;
  [[nodiscard]] virtual bool closed() const = 0;
  /// Since when it waits for a request's head; none: it has one, or is closed.
  [[nodiscard]] virtual std::optional<std::chrono::steady_clock::time_point> idle_since() const = 0;
};

/// What one user, or one address, has of the server now.
struct HttpUse {
  size_t requests = 0;
  size_t streams = 0;
  uint64_t body_bytes = 0;
};

/// What connections share; it outlives them.
struct HttpConnectionHost {
  HttpServerOptions options;
  std::set<HttpConnection*> connections;  ///< each takes itself out when it ends
  std::map<std::string, HttpUse> uses;    ///< of those who ask now
  std::shared_ptr<ByteBudget> bodies;     ///< what all bodies take
  /// Takes a whole request.
  std::function<void(HttpRequest, std::shared_ptr<HttpConnection>)> dispatch;
};

using HttpSocket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

/// In `host.connections` from here on.
/// @param tls  null: plain.
[[nodiscard]] std::shared_ptr<HttpConnection> make_http_connection(HttpSocket socket, boost::asio::ssl::context* tls,
                                                                   HttpConnectionHost& host);

}  // namespace stint
