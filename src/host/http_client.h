// HTTP requests to servers the user named: bounded in time and size, redirects refused.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace stint {

struct HttpCredentials {
  std::string bearer_token;  ///< sent as `Authorization: Bearer …` when not empty
  std::string user;          ///< basic authentication when not empty
  std::string password;
};

enum class HttpProxy : uint8_t {
  kFromEnvironment,  ///< as http_proxy, https_proxy, all_proxy and no_proxy say
  kNever,            ///< for addresses that mean this machine or its hypervisor
};
enum class HttpBytes : uint8_t {
  kConvenient,  ///< packed answers are unpacked, `/../` in a path is resolved
  kVerbatim,    ///< what is sent and received stays as it is: for objects and signed paths
};

struct HttpOptions {
  HttpCredentials credentials;
  Duration connect_timeout = Duration::seconds(10);
  Duration timeout = Duration::seconds(120);  ///< of the whole request; 0 = none
  Duration stall_timeout;                     ///< of a transfer that stands still; 0 = `timeout` alone counts
  size_t max_body_bytes = size_t{256} << 20;
  std::string ca_file;           ///< PEM: whose signature on the server's certificate is believed; empty = the system's
  std::string certificate_file;  ///< PEM: shown to servers that ask who is there; empty = none
  std::string key_file;          ///< PEM: of that certificate
  HttpProxy proxy = HttpProxy::kFromEnvironment;
  HttpBytes bytes = HttpBytes::kConvenient;
  int64_t send_bytes_per_second = 0;  ///< 0 = as fast as it goes
};

/// One form field, query parameter (values are escaped here) or header.
using HttpField = std::pair<std::string, std::string>;

struct HttpResponse {
  int status = 0;  ///< 200, 404, …: any status is a response, not an error
  std::string body;
  std::vector<HttpField> headers;  ///< names in lower case

  /// @param name  in lower case. @return the first header of that name.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

/// A request of any method, with what a JSON API needs.
struct HttpCall {
  std::string method = "GET";
  std::string url;
  std::vector<HttpField> headers;
  std::string body;
  std::string content_type = "application/json";  ///< sent when there is a body; "" = none is sent
};

/// Keeps its connection between requests. For one thread at a time.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options = {});
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// @param url  http or https. @return kUnavailable when no whole response came, naming the address and the remedy.
  Result<HttpResponse> get(const std::string& url);
  /// POST application/x-www-form-urlencoded.
  Result<HttpResponse> post_form(const std::string& url, const std::vector<HttpField>& fields);
  Result<HttpResponse> send(const HttpCall& call);
  /// GET of a body without end: `take` is given the pieces as they come, until it returns false or the server ends it.
  /// The whole-request timeout does not hold; a server that sends nothing for that long is given up.
  /// @return the status; the body of an answer other than 200 is in the response and not given to `take`.
  Result<HttpResponse> follow(const HttpCall& call, const std::function<bool(std::string_view)>& take);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// `a b/c` → `a%20b%2Fc`.
std::string escape_url(std::string_view text);

}  // namespace stint
