// Against a server of the test's own: it takes one connection per prepared answer.
#include "host/http_client.h"

#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace stint {
namespace {

using ::testing::HasSubstr;

class OneAnswerServer {
 public:
  explicit OneAnswerServer(std::string answer) : listener_(socket(AF_INET, SOCK_STREAM, 0)), answer_(std::move(answer)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    CHECK(bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener_, 1) == 0, "no port");
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  OneAnswerServer(const OneAnswerServer&) = delete;
  OneAnswerServer& operator=(const OneAnswerServer&) = delete;
  ~OneAnswerServer() { finish(); }
  [[nodiscard]] std::string url(const std::string& path) const { return fmt::format("http://127.0.0.1:{}{}", port_, path); }
  /// What the client sent.
  const std::string& request() {
    finish();
    return request_;
  }

 private:
  void finish() {
    if (!thread_.joinable()) return;
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  void serve() {
    const int connection = accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    // Until the whole head and as much body as it announces have come.
    for (char piece[4096]; !complete();) {
      const ssize_t n = read(connection, piece, sizeof piece);
      if (n <= 0) break;
      request_.append(piece, static_cast<size_t>(n));
    }
    if (!answer_.empty()) {
      (void)!write(connection, answer_.data(), answer_.size());
    } else {
      char c = 0;
      (void)!read(connection, &c, 1);  // says nothing until the client goes
    }
    close(connection);
  }
  [[nodiscard]] bool complete() const {
    const size_t head = request_.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const size_t length = request_.find("Content-Length: ");
    return length == std::string::npos ||
           request_.size() >= head + 4 + static_cast<size_t>(std::atoi(request_.c_str() + length + 16));
  }

  int listener_;
  uint16_t port_ = 0;
  std::string answer_;
  std::string request_;
  std::thread thread_;
};

std::string answer(std::string_view head, std::string_view body) {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", head, body.size(), body);
}

TEST(HttpClient, PostsAFormAndGivesStatusAndBody) {
  OneAnswerServer server(answer("422 Unprocessable", "too much"));
  HttpClient client({.credentials = {.bearer_token = "t0ken", .user = {}, .password = {}}});
  const auto response = client.post_form(server.url("/api"), {{"query", "{a=\"b c\"}"}, {"start", "1"}});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 422);
  EXPECT_EQ(response->body, "too much");
  EXPECT_THAT(server.request(), HasSubstr("POST /api HTTP/1.1"));
  EXPECT_THAT(server.request(), HasSubstr("Authorization: Bearer t0ken"));
  EXPECT_THAT(server.request(), HasSubstr("query=%7Ba%3D%22b%20c%22%7D&start=1"));
}

TEST(HttpClient, SendsNameAndPassword) {
  OneAnswerServer server(answer("200 OK", "x"));
  HttpClient client({.credentials = {.bearer_token = {}, .user = "ann", .password = "pw"}});
  ASSERT_TRUE(client.get(server.url("/")).ok());
  EXPECT_THAT(server.request(), HasSubstr("Authorization: Basic YW5uOnB3"));
}

TEST(HttpClient, DoesNotFollowRedirects) {
  OneAnswerServer server("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  HttpClient client;
  const auto response = client.get(server.url("/"));
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->status, 302);
}

TEST(HttpClient, BoundsTheAnswer) {
  OneAnswerServer server(answer("200 OK", std::string(100'000, 'x')));
  HttpOptions options;
  options.max_body_bytes = 50'000;
  HttpClient client(options);
  const auto response = client.get(server.url("/"));
  ASSERT_FALSE(response.ok());
  EXPECT_THAT(response.error().message, HasSubstr("ask for less"));
}

TEST(HttpClient, SilenceEndsInAnErrorWithTheAddress) {
  OneAnswerServer server("");
  HttpOptions options;
  options.timeout = Duration::milliseconds(100);
  HttpClient client(options);
  const auto response = client.get(server.url("/slow"));
  ASSERT_FALSE(response.ok());
  EXPECT_EQ(response.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(response.error().message, HasSubstr("/slow"));
}

TEST(HttpClient, NoServerAndNoHttpAreErrorsWithARemedy) {
  HttpClient client;
  EXPECT_THAT(client.get("http://127.0.0.1:1/").error().message, HasSubstr("check that the server runs"));
  EXPECT_THAT(client.get("file:///etc/passwd").error().message, HasSubstr("such as http://"));
}

TEST(HttpClient, VerbatimKeepsPathsAndPackedBodies) {
  OneAnswerServer server("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc");
  HttpClient client({.bytes = HttpBytes::kVerbatim});
  const auto response = client.send({.method = "PUT", .url = server.url("/a/../b"), .body = "x", .content_type = ""});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(response->body, "abc");
  EXPECT_THAT(server.request(), HasSubstr("PUT /a/../b HTTP/1.1"));
  EXPECT_THAT(server.request(), ::testing::Not(HasSubstr("Content-Type")));
  EXPECT_THAT(server.request(), ::testing::Not(HasSubstr("Accept-Encoding")));
}

TEST(HttpClient, TheAnswerToHeadHasNoBody) {
  OneAnswerServer server("HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\nX-Note: n\r\n\r\n");
  HttpClient client({.timeout = Duration::seconds(20)});
  const auto response = client.send({.method = "HEAD", .url = server.url("/k")});
  ASSERT_TRUE(response.ok()) << response.error().message;
  EXPECT_EQ(*response->header("x-note"), "n");
  EXPECT_EQ(*response->header("content-length"), "5000000");
}

TEST(HttpClient, NoProxyWhereThereMustBeNone) {
  OneAnswerServer server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  ::setenv("http_proxy", "http://127.0.0.1:9", 1);
  HttpClient client({.proxy = HttpProxy::kNever});
  const auto response = client.get(server.url("/k"));
  ::unsetenv("http_proxy");
  EXPECT_TRUE(response.ok() && response->body == "ok");
}

}  // namespace
}  // namespace stint
