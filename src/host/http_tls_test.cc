// A client over TLS that leaves before its answer, speaks early or listens for events: what comes from it meanwhile is its goodbye, or
// its next request, and only a read through TLS can tell.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "host/http_server.h"
#include "host/testing_certificates.h"
#include "host/testing_files.h"

namespace stint {
namespace {

using ::testing::HasSubstr;

class RawTlsClient {
 public:
  explicit RawTlsClient(const HttpServer& server) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    socket_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(server.port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience = {.tv_sec = 5, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    CHECK(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "cannot connect");
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_fd(ssl_.get(), socket_);
    CHECK(SSL_connect(ssl_.get()) == 1, "no handshake");
  }
  RawTlsClient(const RawTlsClient&) = delete;
  RawTlsClient& operator=(const RawTlsClient&) = delete;
  ~RawTlsClient() { close(socket_); }
  void send(std::string_view text) const {
    CHECK(SSL_write(ssl_.get(), text.data(), static_cast<int>(text.size())) == static_cast<int>(text.size()), "cannot send");
  }
  /// The close alert; the connection itself stays.
  void say_goodbye() const { (void)SSL_shutdown(ssl_.get()); }
  /// Everything up to and with `end`; without it when the server closes, or after five seconds of silence.
  [[nodiscard]] std::string receive_until(std::string_view end) const {
    std::string got;
    for (char c = 0; !got.ends_with(end) && SSL_read(ssl_.get(), &c, 1) == 1;)
      got += c;
    return got;
  }

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{nullptr, SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, SSL_free};
  int socket_ = -1;
};

/// Answers when the test says so, and counts whose clients have gone before.
class HttpTls : public ::testing::Test {
 protected:
  HttpTls() {
    HttpServerOptions options;
    options.tls = {files_.server_certificate, files_.server_key, "", ""};
    auto server = HttpServer::start(options, [this](const HttpRequest& request, const Responder& responder) {
      responder.on_gone([this] { ++gone_; });
      if (request.target == "/now") return responder.reply({.body = "now"});
      if (request.target == "/events") {
        responder.stream().send("number", "1", "one");
        return;
      }
      const std::lock_guard lock(mutex_);
      waiting_.emplace(request.target, responder);
    });
    CHECK(server.ok(), "{}", server.error().message);
    server_.emplace(std::move(*server));
  }

  template <typename Condition>
  static bool wait_for(const Condition& condition) {
    for (int i = 0; i < 1000 && !condition(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return condition();
  }
  bool asked(const std::string& target) {
    return wait_for([&] {
      const std::lock_guard lock(mutex_);
      return waiting_.contains(target);
    });
  }
  void answer(const std::string& target) {
    const std::lock_guard lock(mutex_);
    waiting_.at(target).reply({.body = target + " done"});
  }

  ScratchDir dir_;
  TestingCertificates files_ = write_certificates(dir_);
  std::mutex mutex_;
  std::map<std::string, Responder> waiting_;
  std::atomic<int> gone_ = 0;
  std::optional<HttpServer> server_;
};

TEST_F(HttpTls, TellsWhenAClientSaysGoodbyeBeforeItsAnswer) {
  const RawTlsClient stays(*server_);
  stays.send("GET /stays HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(asked("/stays"));
  const RawTlsClient leaves(*server_);
  leaves.send("GET /leaves HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(asked("/leaves"));
  EXPECT_EQ(gone_, 0);
  leaves.say_goodbye();
  EXPECT_TRUE(wait_for([&] { return gone_ == 1; }));
  answer("/stays");
  EXPECT_THAT(stays.receive_until("done"), HasSubstr("/stays done"));
  EXPECT_EQ(gone_, 1);
}

TEST_F(HttpTls, TellsWhenAConnectionBreaksBeforeItsAnswer) {
  {
    const RawTlsClient leaves(*server_);
    leaves.send("GET /leaves HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(asked("/leaves"));
  }
  EXPECT_TRUE(wait_for([&] { return gone_ == 1; }));
}

TEST_F(HttpTls, TakesTheNextRequestEarlyWholeOrInPieces) {
  const RawTlsClient client(*server_);
  client.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(asked("/first"));
  client.send("GET /second HT");
  client.send("TP/1.1\r\nHost: a\r\n\r\nGET /third HTTP/1.1\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  answer("/first");
  EXPECT_THAT(client.receive_until("done"), HasSubstr("/first done"));
  ASSERT_TRUE(asked("/second"));
  answer("/second");
  EXPECT_THAT(client.receive_until("done"), HasSubstr("/second done"));
  client.send("Host: a\r\n\r\n");
  ASSERT_TRUE(asked("/third"));
  answer("/third");
  EXPECT_THAT(client.receive_until("done"), HasSubstr("/third done"));
  for (int i = 0; i < 20; ++i) {  // one after the other, each watched
    client.send("GET /now HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(client.receive_until("\r\n\r\nnow"), HasSubstr("200 OK"));
  }
  EXPECT_EQ(gone_, 0);
}

size_t open_files() {
  return static_cast<size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator()));
}

// A client that asks for one answer and goes: the read that watches it is under way when the server says goodbye.
TEST_F(HttpTls, NothingIsLeftOfWhoWasWatchedAndHasGone) {
  const size_t before = open_files();
  for (const bool goodbye : {false, true})
    for (int i = 0; i < 10; ++i) {
      const std::string target = fmt::format("/{}{}", goodbye ? "polite" : "plain", i);
      const RawTlsClient client(*server_);
      client.send(fmt::format("GET {} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", target));
      ASSERT_TRUE(asked(target));
      answer(target);
      EXPECT_THAT(client.receive_until("done"), HasSubstr(target + " done"));
      if (goodbye) client.say_goodbye();
    }
  // Far less than the time that a client is given to take its answer.
  EXPECT_TRUE(wait_for([&] { return open_files() <= before; })) << open_files() - before << " connections are left";
}

TEST_F(HttpTls, StreamsEventsToAClientThatWasWatched) {
  const RawTlsClient client(*server_);
  client.send("GET /events HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_THAT(client.receive_until("one\n\n"), HasSubstr("text/event-stream"));
}

}  // namespace
}  // namespace stint
